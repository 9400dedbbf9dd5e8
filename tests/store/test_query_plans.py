"""With a long history, nothing that is asked often reads the whole of it.

Each verb is run for real; the statements it sent are then explained by the database that carried them out.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Table

from orth.domain.executions import CANCELLED_STATUS, Execution, Phase, Status
from orth.store.batches import done_instants, open_instants, progress_of
from orth.store.bulk import find_failed
from orth.store.daily_reports import write_reports
from orth.store.database import Database
from orth.store.dispatching import (
    Assignment,
    doubt_earlier_dispatches,
    list_unknown,
    next_due,
    put_back,
    reassign_executions,
    record_accepted,
    take_ahead,
    take_due,
)
from orth.store.execution_filters import Filter
from orth.store.execution_lists import find_longest, list_executions, look
from orth.store.executions import (
    end_executions,
    find_execution,
    ids_of_trigger,
    list_taken,
    opened_keys,
    sent_among,
    unreadable_executions,
)
from orth.store.groups import create_group
from orth.store.job_board import broken_broadcasts
from orth.store.jobs import claim_due_jobs, create_job, delete_job, list_jobs, upcoming_jobs
from orth.store.overview import Known, failing_now
from orth.store.purging import purge_executions
from orth.store.statistics import open_counts
from orth.store.tables import executions, jobs
from orth.store.turns import turns_of
from tests.servers.processes import wait_until
from tests.store.builders import NOW, a_due_job, a_group, execution, open_some, success

HISTORY = 20_000
OPEN = 20
WENT_WRONG = frozenset({Status.FAILED, Status.TIMEOUT, Status.TRIGGER_FAILED})
LONGEST = ("a job", "a status", "several statuses", "a group")
LARGE = {executions.name, jobs.name}

BY = {
    "take_due": "ix_log_phase",
    "take_ahead": "ix_log_phase",
    "next_due": "ix_log_phase",
    "list_unknown": "ix_log_phase",
    "unreadable_executions": "ix_log_phase",
    "list_executions of a job": "ix_log_job",
    "look for a job": "ix_log_job",
    "look for a status": "ix_log_outcome",
    "look for a job's failures": "ix_log_job_outcome",
    "look for several statuses": "ix_log_outcome",
    "look for what was cancelled": "ix_log_outcome",
    "look for what a job cancelled": "ix_log_job_outcome",
    "look for failures and what was cancelled": "ix_log_outcome",
    "look for several statuses of a job": "ix_log_job_outcome",
    "look for all that is open": "ix_log_outcome",
    "look for a group": "ix_log_group",
    "look for several groups": "ix_log_group",
    "look for a text in several groups": "ix_log_group",
    "look for an executor": "ix_log_address",
    "look for a batch": "ix_log_batch",
    "look for a group's failures": "ix_log_outcome",
    "look for a time": "ix_log_trigger_time",
    "look for a text in a group": "ix_log_group",
    "longest of a job": "ix_log_job",
    "longest of a status": "ix_log_outcome",
    "longest of several statuses": "ix_log_outcome",
    "longest of a group": "ix_log_group",
    "find_failed": "ix_log_outcome",
    "find_failed of a job": "ix_log_job_outcome",
    "broken_broadcasts": "ix_log_job_outcome",
    "failing_now": "ix_log_job_outcome",
    "open_counts": "ix_log_phase",
    "open_counts of a job": "ix_log_job_outcome|index_merge of orth_job_log by ix_log_outcome",
    "turns_of": "ix_log_phase|ix_log_job_outcome|index_merge of orth_job_log by ix_log_outcome",
    "write_reports": "ix_log_phase",
    "claim_due_jobs": "ix_info_due",
    "claim_due_jobs ahead": "ix_info_due",
    "upcoming_jobs": "ix_info_due",
    # The whole key: by job alone would mean reading all that the job ever did.
    "ids_of_trigger": r"uq_log_trigger|job_id=\? AND trigger_key=\?",
}

Sent = tuple[str, Any]


def fill(connection: Connection) -> tuple[int, list[int]]:
    """Twenty thousand jobs and as many ended executions, then a few open ones; a job and its open executions."""
    group = create_group(connection, a_group(), NOW)
    job = create_job(connection, a_due_job(group, NOW + 60_000), NOW)
    for number in range(24):
        open_some(connection, 25, prefix=f"past:{number}", job_id=job + 1 + number)
    number = executions.c.id % 50
    outcome = sa.case((number == 0, 2), (number == 1, 3), (number == 3, 5), else_=1)
    address = sa.case((number == 2, "http://c:1"), else_="http://a:1")
    ended = {"phase": Phase.ENDED, "trigger_code": 200, "handle_code": 200, "outcome": outcome}
    where = {"executor_address": address, "job_group": 1 + executions.c.job_id % 10}
    connection.execute(sa.update(executions).values(**ended, **where))
    double(connection, executions, lambda turn: {"trigger_key": executions.c.trigger_key + f"+{turn}"})
    double(connection, jobs, lambda turn: {"due_time": jobs.c.due_time + turn})
    connection.execute(sa.update(jobs).where(jobs.c.id <= job + 9).values(due_time=NOW))
    return job, open_some(connection, OPEN, prefix="now", job_id=job)


def double(connection: Connection, table: Table, changed: Callable[[int], dict[str, Any]]) -> None:
    """Copy all rows, with what must differ, until there are enough."""
    names = [column.name for column in table.columns if column.name != "id"]
    for turn in itertools.count():
        if connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one() >= HISTORY:
            return
        copied = {**table.c, **changed(turn)}
        connection.execute(sa.insert(table).from_select(names, sa.select(*(copied[name] for name in names))))


def learn_sizes(db: Database) -> None:
    """What servers do by themselves now and then, and SQLite never."""
    with db.engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            connection = connection.execution_options(isolation_level="AUTOCOMMIT")
            wait_until(lambda: vacuumed(connection), "PostgreSQL to know that everybody may see nearly all rows")
        elif connection.dialect.name != "sqlite":
            connection.execute(sa.text(f"ANALYZE TABLE {executions.name}, {jobs.name}"))


def vacuumed(connection: Connection) -> bool:
    """Look through the tables; whether nobody, such as the server's own look, was in the way. As long as rows may be
    unseen by some, no index answers by itself, and the plans are those of a moment.
    """
    connection.execute(sa.text("VACUUM ANALYZE"))
    seen = sa.text("SELECT bool_and(relallvisible >= 0.9 * relpages - 2) FROM pg_class WHERE relname = ANY(:names)")
    return bool(connection.execute(seen, {"names": sorted(LARGE)}).scalar_one())


def filters(job: int) -> dict[str, Filter]:
    """What an index answers, alone or in part."""
    return {
        "a job": Filter(job_id=job),
        "a status": Filter(statuses=frozenset({Status.TIMEOUT})),
        "a job's failures": Filter(job_id=job + 3, statuses=frozenset({Status.FAILED})),
        "several statuses": Filter(statuses=WENT_WRONG),
        "several statuses of a job": Filter(job_id=job + 3, statuses=WENT_WRONG),
        "all that is open": Filter(statuses=frozenset({Status.INIT, Status.PENDING})),
        "a job's open ones": Filter(job_id=job, statuses=frozenset({Status.PENDING})),
        "what was cancelled": Filter(statuses=frozenset({CANCELLED_STATUS})),
        "what a job cancelled": Filter(job_id=job + 3, statuses=frozenset({CANCELLED_STATUS})),
        "failures and what was cancelled": Filter(statuses=frozenset({Status.FAILED, CANCELLED_STATUS})),
        "a group": Filter(job_group=3),
        "several groups": Filter(groups=frozenset({2, 3, 5})),
        "a text in several groups": Filter(groups=frozenset({2, 3, 5}), text="disk"),
        "an executor": Filter(executor="http://c:1"),
        "a batch": Filter(batch_id=7),
        "a group's failures": Filter(job_group=3, statuses=frozenset({Status.FAILED})),
        "a time": Filter(job_id=job, since=NOW - 60_000, until=NOW),
        "a text in a group": Filter(job_group=3, text="x"),
    }


def looking(wanted: Filter) -> Callable[[Connection], object]:
    return lambda c: look(c, wanted, before=None, limit=50, window=1000)


def longest(wanted: Filter) -> Callable[[Connection], object]:
    return lambda c: find_longest(c, wanted, stretch=None, limit=50, window=1000, now=NOW)


def taken(connection: Connection, execution_id: int) -> Execution:
    return replace(execution(connection, execution_id), phase=Phase.DISPATCHED, executor_address="http://a:1")


def questions(job: int, ids: list[int]) -> dict[str, Callable[[Connection], object]]:
    return {
        "take_due": lambda c: take_due(c, NOW, 5),
        "take_ahead": lambda c: take_ahead(c, NOW, 0, 5),
        "next_due": lambda c: next_due(c, NOW),
        "reassign_executions": lambda c: reassign_executions(c, [Assignment(ids[0], "http://b:1", None, "")], 1, NOW),
        "put_back": lambda c: put_back(c, ids[:3], NOW, "circuit_open", 1, NOW),
        "list_unknown": lambda c: list_unknown(c, 5),
        "list_taken": lambda c: list_taken(c, ids[9], 5),
        "doubt_earlier_dispatches": lambda c: doubt_earlier_dispatches(c, 2, NOW),
        "record_accepted": lambda c: record_accepted(c, ids, NOW),
        "end_executions": lambda c: end_executions(c, [success(one) for one in ids[:3]], NOW),
        "sent_among": lambda c: sent_among(c, ids),
        "ids_of_trigger": lambda c: ids_of_trigger(c, job, "now:1"),
        "opened_keys": lambda c: opened_keys(c, [(job, "now:1"), (job + 1, "past:0")]),
        "open_instants": lambda c: open_instants(c, 7),
        "done_instants": lambda c: done_instants(c, job, 1, NOW, NOW + 1),
        "progress_of": lambda c: progress_of(c, [7, 8]),
        "find_execution": lambda c: find_execution(c, ids[0]),
        "unreadable_executions": lambda c: unreadable_executions(c, 5),
        "list_executions of a job": lambda c: list_executions(c, Filter(job_id=job), limit=50),
        "list_executions of a job, next page": lambda c: list_executions(
            c, Filter(job_id=job), before=ids[9], limit=50
        ),
        "list_executions that wait": lambda c: list_executions(c, Filter(statuses=frozenset({Status.INIT})), limit=50),
        "list_executions that run": lambda c: list_executions(
            c, Filter(statuses=frozenset({Status.PENDING})), limit=50
        ),
        **{f"look for {what}": looking(wanted) for what, wanted in filters(job).items()},
        **{f"longest of {what}": longest(filters(job)[what]) for what in LONGEST},
        "find_failed": lambda c: find_failed(c, Filter(text="nowhere"), 50),
        "find_failed of a job": lambda c: find_failed(c, Filter(job_id=job + 3, statuses=WENT_WRONG), 50),
        "broken_broadcasts": lambda c: broken_broadcasts(c, None, [jobs.c.id.in_([job, job + 1])]),
        "failing_now": lambda c: failing_now(c, job + 1, Known(1 + (job + 1) % 10, "")),
        "open_counts": lambda c: open_counts(c),
        "open_counts of a job": lambda c: open_counts(c, job_id=job),
        "turns_of": lambda c: turns_of(c, [taken(c, ids[5])], NOW),
        "write_reports": lambda c: write_reports(c, NOW, 3),
        "purge_executions": lambda c: purge_executions(c, NOW, after=ids[0] - 9, limit=5),
        "claim_due_jobs": lambda c: claim_due_jobs(c, NOW, 5),
        "claim_due_jobs ahead": lambda c: claim_due_jobs(c, NOW, 5, 1000),
        "upcoming_jobs": lambda c: upcoming_jobs(c, NOW, 1000),
        "list_jobs": lambda c: list_jobs(c, job, 50),
        "list_jobs of some groups": lambda c: list_jobs(c, job, 50, groups={2, 3, 5}),
        "delete_job": lambda c: delete_job(c, job + HISTORY // 2),
    }


async def test_no_frequent_question_reads_everything(db: Database) -> None:
    job, ids = await db.tx(fill)
    learn_sizes(db)
    plans = await db.tx(explained, questions(job, ids))
    assert {name: plan for name, plan in plans.items() if any(map(reads_everything, plan))} == {}
    for name, index in BY.items():
        assert any(re.search(index, step) for step in plans[name]), (name, plans[name])


def explained(connection: Connection, asked: dict[str, Callable[[Connection], object]]) -> dict[str, list[str]]:
    """For each question, how the database went about its statements on the large tables."""
    plans: dict[str, list[str]] = {}
    for name, ask in asked.items():
        with listening(connection) as sent:
            ask(connection)
        assert sent, f"{name} asked nothing of a large table"
        plans[name] = [step for statement in sent for step in explain(connection, *statement)]
    return plans


@contextmanager
def listening(connection: Connection) -> Iterator[list[Sent]]:
    sent: list[Sent] = []

    def note(_c: Connection, _cursor: object, statement: str, values: Any, _context: object, many: bool) -> None:
        if any(name in statement for name in LARGE):
            sent.append((statement, values[0] if many else values))

    sa.event.listen(connection, "before_cursor_execute", note)
    yield sent
    sa.event.remove(connection, "before_cursor_execute", note)


def explain(connection: Connection, statement: str, values: Any) -> list[str]:
    word = "EXPLAIN QUERY PLAN" if connection.dialect.name == "sqlite" else "EXPLAIN"
    rows = connection.exec_driver_sql(f"{word} {statement}", values).all()
    if connection.dialect.name == "sqlite":
        return [row.detail for row in rows]
    if connection.dialect.name == "postgresql":
        return [str(row[0]) for row in rows]
    return [f"{row.type} of {row.table} by {row.key}: {row.rows} rows" for row in rows]


def reads_everything(step: str) -> bool:
    """Whether a step of any of the three databases goes through a whole large table, or a whole index of one."""
    tables = "|".join(LARGE)
    return re.search(rf"(SCAN|Seq Scan on|ALL of|index of) ({tables})\b", step) is not None
