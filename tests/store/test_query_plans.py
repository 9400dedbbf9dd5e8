"""With a long history, nothing that is asked often reads the whole of it.

Each verb is run for real; the statements it sent are then explained by the database that carried them out.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection, Table

from orth.domain.executions import Phase, Status
from orth.store.batches import done_instants, open_instants, progress_of
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
from orth.store.executions import (
    end_executions,
    find_execution,
    ids_of_trigger,
    list_executions,
    list_taken,
    opened_keys,
    sent_ids,
)
from orth.store.groups import create_group
from orth.store.jobs import claim_due_jobs, create_job, delete_job, list_jobs, upcoming_jobs
from orth.store.tables import executions, jobs
from tests.store.builders import NOW, a_due_job, a_group, open_some, success

HISTORY = 20_000
OPEN = 20
LARGE = {executions.name, jobs.name}

BY = {
    "take_due": "ix_log_phase",
    "take_ahead": "ix_log_phase",
    "next_due": "ix_log_phase",
    "list_unknown": "ix_log_phase",
    "list_executions of a job": "ix_log_job",
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
    connection.execute(sa.update(executions).values(phase=Phase.ENDED, trigger_code=200, handle_code=200))
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


def learn_sizes(connection: Connection) -> None:
    """What servers do by themselves now and then, and SQLite never."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.text("ANALYZE"))
    elif connection.dialect.name != "sqlite":
        connection.execute(sa.text(f"ANALYZE TABLE {executions.name}, {jobs.name}"))


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
        "sent_ids": lambda c: sent_ids(c, ids),
        "ids_of_trigger": lambda c: ids_of_trigger(c, job, "now:1"),
        "opened_keys": lambda c: opened_keys(c, [(job, "now:1"), (job + 1, "past:0")]),
        "open_instants": lambda c: open_instants(c, 7),
        "done_instants": lambda c: done_instants(c, job, NOW, NOW + 1),
        "progress_of": lambda c: progress_of(c, [7, 8]),
        "find_execution": lambda c: find_execution(c, ids[0]),
        "list_executions of a job": lambda c: list_executions(c, before=None, limit=50, job_id=job),
        "list_executions of a job, next page": lambda c: list_executions(c, before=ids[9], limit=50, job_id=job),
        "list_executions that wait": lambda c: list_executions(c, before=None, limit=50, status=Status.INIT),
        "list_executions that run": lambda c: list_executions(c, before=None, limit=50, status=Status.PENDING),
        "claim_due_jobs": lambda c: claim_due_jobs(c, NOW, 5),
        "claim_due_jobs ahead": lambda c: claim_due_jobs(c, NOW, 5, 1000),
        "upcoming_jobs": lambda c: upcoming_jobs(c, NOW, 1000),
        "list_jobs": lambda c: list_jobs(c, job, 50),
        "delete_job": lambda c: delete_job(c, job + HISTORY // 2),
    }


async def test_no_frequent_question_reads_everything(db: Database) -> None:
    job, ids = await db.tx(fill)
    await db.tx(learn_sizes)
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
    return any(f"{way} {name}" in step for name in LARGE for way in ("SCAN", "Seq Scan on", "ALL of", "index of"))
