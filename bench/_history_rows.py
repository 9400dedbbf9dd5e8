"""A long history for ``history``, written by PostgreSQL itself, and the statistics that its ends would have left.

Four weeks, executions spread evenly over jobs, groups and executors; one in twenty did not succeed. One group, with its
executor, stopped halfway: what is asked about it lies deep. Two messages occur once each, in the oldest and in the
newest tenth.
"""

from sqlalchemy import Engine, text

from orth.store.tables import executions

DAY = 86_400_000
SPAN = 28 * DAY
JOBS = 2_000
GROUPS = 20
EXECUTORS = 50
STOPPED = GROUPS + 1
OLD_TEXT, NEW_TEXT = "a needle in the oldest hay", "a needle in fresh hay"

_TOTAL = "CAST(:rows AS bigint)"
_ROWS = f"""
INSERT INTO orth_job_log (job_group, job_id, job_version, cause, trigger_key, shard_index, shard_total,
    executor_address, incarnation, executor_handler, executor_param, executor_fail_retry_count, attempt,
    schedule_time, trigger_time, trigger_code, trigger_msg, start_time, handle_time, handle_code, handle_msg,
    alarm_status, phase, phase_time, epoch, outcome)
SELECT grp, job, 1, CASE WHEN n % 97 = 0 THEN 'api' WHEN n % 31 = 0 THEN 'retry' ELSE 'cron' END, 'fire:' || n, 0, 1,
    'http://10.0.0.' || CASE WHEN grp = {STOPPED} THEN 0 ELSE 1 + n % {EXECUTORS} END || '\\:9999', 'a1b2c3d4e5f60718',
    'nightly_report', '{{"region": "eu", "limit": ' || n % 1000 || '}}', 0, 1,
    at, at, CASE outcome WHEN 4 THEN 500 ELSE 200 END, 'routed by ROUND', at + 20, at + 20 + n % 5000,
    CASE outcome WHEN 1 THEN 200 WHEN 2 THEN 500 WHEN 3 THEN 502 ELSE 0 END,
    CASE WHEN n = {_TOTAL} / 20 THEN '{OLD_TEXT}' WHEN n = {_TOTAL} - {_TOTAL} / 20 THEN '{NEW_TEXT}'
         WHEN outcome = 1 THEN 'ok' ELSE 'Traceback (most recent call last): ' || repeat('at line of code; ', 20) END,
    0, 'ended', at + 20 + n % 5000, 1, outcome
FROM (
    SELECT n, 1 + n * 7 % {JOBS} AS job, CAST(:start AS bigint) + n * {SPAN} / {_TOTAL} AS at,
        CASE WHEN n % 40 = 7 AND n < {_TOTAL} / 2 THEN {STOPPED} ELSE 1 + n * 7 % {JOBS} % {GROUPS} END AS grp,
        CASE WHEN n % 33 = 1 THEN 2 WHEN n % 101 = 2 THEN 3 WHEN n % 103 = 3 THEN 4 ELSE 1 END AS outcome
    FROM generate_series(CAST(:first AS bigint), CAST(:last AS bigint)) AS n
) AS made
"""

_COUNTS = """
INSERT INTO orth_statistic (job_id, hour, outcome, job_group, executions, total_ms, longest_ms)
SELECT {key}, handle_time - handle_time % 3600000, outcome, max({group}), count(*),
    sum(handle_time - start_time), max(handle_time - start_time)
FROM orth_job_log WHERE phase = 'ended' GROUP BY 1, 2, 3
"""

_INDEXES = """
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'orth_job_log' AND indexname NOT LIKE '%pkey'
    AND indexname NOT LIKE 'uq_%'
"""
_CHUNK = 1_000_000


def write_history(engine: Engine, rows: int, now: int) -> None:
    """Fill an empty database. Indexes are made afterwards, which is several times faster."""
    with engine.connect() as connection:
        connection = connection.execution_options(isolation_level="AUTOCOMMIT")
        for setting in ("statement_timeout = 0", "synchronous_commit = off", "maintenance_work_mem = '512MB'"):
            connection.execute(text(f"SET {setting}"))
        connection.execute(text("SET work_mem = '256MB'"))
        indexes = connection.execute(text(_INDEXES)).all()
        filled = executions.dialect_options["postgresql"]["with"]["fillfactor"]
        for index in indexes:
            connection.execute(text(f"DROP INDEX {index.indexname}"))
        # The room that a page keeps for new executions is used up by the time they have ended.
        connection.execute(text("ALTER TABLE orth_job_log SET (fillfactor = 100)"))
        for first in range(1, rows + 1, _CHUNK):
            last = min(rows, first + _CHUNK - 1)
            given = {"rows": rows, "first": first, "last": last, "start": now - SPAN}
            connection.execute(text(_ROWS), given)
        for index in indexes:
            connection.execute(text(index.indexdef))
        connection.execute(text(f"ALTER TABLE orth_job_log SET (fillfactor = {filled})"))
        for key, group in (("job_id", "job_group"), ("0", "0"), ("-job_group", "job_group")):
            connection.execute(text(_COUNTS.format(key=key, group=group)))
        connection.execute(text("VACUUM ANALYZE"))
        connection.execute(text("CHECKPOINT"))
        for setting in ("statement_timeout", "synchronous_commit", "maintenance_work_mem", "work_mem"):
            connection.execute(text(f"RESET {setting}"))


def size_of(engine: Engine) -> str:
    with engine.connect() as connection:
        found = connection.execute(text("SELECT pg_size_pretty(pg_database_size(current_database()))")).scalar_one()
    return str(found)
