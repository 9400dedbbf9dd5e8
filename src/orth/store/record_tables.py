"""What is kept about executions that have ended: their counts, their logs, those that need somebody, and alarms."""

from sqlalchemy import BigInteger, Column, Index, Integer, SmallInteger, String, Text, UniqueConstraint

from orth.store.schema import BigId, Instant, LongBytes, LongText, table

# Written with the end itself, a row for each job, hour and outcome of a batch; folded into ``statistics`` and removed.
statistics_deltas = table(
    "orth_statistic_delta",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("job_id", BigInteger, nullable=False),
    Column("job_group", BigInteger, nullable=False),
    Column("hour", Instant, nullable=False),  # its first instant, by the end of the executions
    Column("outcome", SmallInteger, nullable=False),
    Column("executions", Integer, nullable=False),
    Column("total_ms", BigInteger, nullable=False),
    Column("longest_ms", BigInteger, nullable=False),
    Column("ran", Integer),  # of the executions; earlier versions do not say
)

statistics = table(
    "orth_statistic",
    Column("job_id", BigInteger, primary_key=True, autoincrement=False),
    Column("hour", Instant, primary_key=True, autoincrement=False),
    Column("outcome", SmallInteger, primary_key=True, autoincrement=False),
    Column("job_group", BigInteger, nullable=False),
    Column("executions", BigInteger, nullable=False),
    Column("total_ms", BigInteger, nullable=False),
    Column("longest_ms", BigInteger, nullable=False),
    Column("ran", BigInteger),  # of the executions; earlier versions do not say
    Index("ix_statistic_hour", "hour"),
)

daily_reports = table(
    "orth_job_log_report",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("trigger_day", Instant, nullable=False, unique=True),
    Column("running_count", Integer, nullable=False),
    Column("suc_count", Integer, nullable=False),
    Column("fail_count", Integer, nullable=False),
    Column("update_time", Instant, nullable=False),
)

# Executions that failed for good. ``replayed_by`` is the execution that does it again, once somebody asked for that.
dead_letters = table(
    "orth_dead_letter",
    Column("execution_id", BigInteger, primary_key=True, autoincrement=False),
    Column("job_id", BigInteger, nullable=False),
    Column("job_group", BigInteger, nullable=False),
    Column("ended_at", Instant, nullable=False),
    Column("outcome", SmallInteger, nullable=False),
    Column("reason_code", String(32)),
    Column("replayed_by", BigInteger),
    Column("dropped_by", String(64)),  # somebody decided that nothing is to be done
    Index("ix_dead_letter_job", "job_id", "execution_id"),
    Index("ix_dead_letter_ended", "ended_at"),
)

# A log that outlives its executor: here, or in a file of the coordinators at ``place``.
log_archives = table(
    "orth_log_archive",
    Column("execution_id", BigInteger, primary_key=True, autoincrement=False),
    Column("stored_at", Instant, nullable=False),
    Column("lines", BigInteger, nullable=False),
    Column("size", BigInteger, nullable=False),  # of the text
    Column("complete", SmallInteger, nullable=False),  # 0 = it was longer than what is kept
    Column("place", String(255)),
    Column("content", LongBytes),
    Index("ix_log_archive_stored", "stored_at"),
)

alarm_channels = table(
    "orth_alarm_channel",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("kind", String(16), nullable=False),
    Column("definition", LongText, nullable=False),  # a JSON object, by kind
    Column("enabled", SmallInteger, nullable=False),
    Column("version", Integer, nullable=False),
    Column("update_time", Instant, nullable=False),
)

# Jobs that are failing, from the alarm that said so to the one that says it is over.
alarm_standings = table(
    "orth_alarm_standing",
    Column("job_id", BigInteger, primary_key=True, autoincrement=False),
    Column("execution_id", BigInteger, nullable=False),  # the first that failed
    Column("since", Instant, nullable=False),
    Column("told_at", Instant, nullable=False),
    Column("failures", Integer, nullable=False),
    Column("job_group", BigInteger, nullable=False, server_default="0"),  # in which it failed
)

silences = table(
    "orth_silence",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("job_id", BigInteger),  # null = whatever the job
    Column("job_group", BigInteger),  # null = whatever the group; of a job: the one it was in
    Column("starts_at", Instant, nullable=False),
    Column("ends_at", Instant, nullable=False),
    Column("reason", String(255), nullable=False),
    Column("actor", String(64), nullable=False),
    Index("ix_silence_ends", "ends_at"),
)

# Messages to be sent: what to say, by which channel, and how far that is.
alarms = table(
    "orth_alarm",
    Column("id", BigId, primary_key=True, autoincrement=True),
    Column("execution_id", BigInteger, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("channel", String(64), nullable=False),
    Column("state", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_attempt", Instant, nullable=False),
    Column("locked_by", String(64)),
    Column("message", Text),
    Column("created_at", Instant, nullable=False),
    Column("job_id", BigInteger, nullable=False, server_default="0"),
    Column("locked_until", Instant),  # whoever locked it may have died
    Column("error", String(500)),
    Column("job_group", BigInteger, nullable=False, server_default="0"),  # of the execution
    UniqueConstraint("execution_id", "kind", "channel", name="uq_alarm_once"),
    Index("ix_alarm_waiting", "state", "next_attempt"),
    Index("ix_alarm_job", "job_id", "id"),
)
