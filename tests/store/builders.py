"""What the tests of the store are made of: rows with sensible defaults, and a view of who waits for whom."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, text

from orth.domain.executions import FAILURE, SUCCESS, Execution
from orth.domain.jobs import AddressType, Group, Job, ScheduleType, TriggerCause
from orth.errors import NotFound
from orth.store.database import Database
from orth.store.dispatching import Assignment, assign_executions
from orth.store.executions import Ending, Opening, find_execution, ids_of_trigger, open_executions
from orth.store.groups import create_group
from orth.store.jobs import create_job
from tests.servers.processes import wait_until

NOW = 1_750_000_000_000
KINDS = ("sqlite", "postgresql", "mariadb")

on_servers = pytest.mark.parametrize("schema_url", ["postgresql", "mariadb"], indirect=True)
"""For what needs row locks, which SQLite does not have."""
on_sqlite = pytest.mark.parametrize("schema_url", ["sqlite"], indirect=True)

# --- groups and jobs ---


def a_group(app_name: str = "reports", **changes: Any) -> Group:
    return replace(Group(0, app_name, "Reports", AddressType.AUTO, ()), **changes)


def a_job(job_group: int, **changes: Any) -> Job:
    return replace(Job(id=0, job_group=job_group, job_desc="nightly", executor_handler="nightly"), **changes)


def a_due_job(job_group: int, due_time: int = NOW, **changes: Any) -> Job:
    return a_job(
        job_group,
        schedule_type=ScheduleType.FIX_RATE,
        schedule_conf="30",
        trigger_status=True,
        trigger_next_time=due_time,
        due_time=due_time,
        **changes,
    )


async def stored_group(db: Database, app_name: str = "reports", **changes: Any) -> int:
    return await db.tx(create_group, a_group(app_name, **changes), NOW)


async def stored_job(db: Database, **changes: Any) -> int:
    """A job in a group of its own."""
    return await db.tx(_create_job_and_group, a_job(0, **changes))


async def stored_due_jobs(db: Database, *due_times: int) -> list[int]:
    """Running jobs of one group, due at the given instants."""
    group = await stored_group(db)
    return [await db.tx(create_job, a_due_job(group, due), NOW) for due in due_times]


def _create_job_and_group(connection: Connection, job: Job) -> int:
    name = f"group-{connection.execute(text('SELECT count(*) FROM orth_job_group')).scalar()}"
    return create_job(connection, replace(job, job_group=create_group(connection, a_group(name), NOW)), NOW)


# --- executions ---


def an_opening(trigger_key: str = "fire:1", **changes: Any) -> Opening:
    opening = Opening(
        job_id=1,
        job_group=1,
        job_version=1,
        cause=TriggerCause.CRON,
        trigger_key=trigger_key,
        schedule_time=NOW,
        executor_handler="nightly",
        executor_param="",
        retries_left=0,
    )
    return replace(opening, **changes)


def success(execution_id: int, **changes: Any) -> Ending:
    return replace(Ending(execution_id=execution_id, trigger_code=SUCCESS, handle_code=SUCCESS), **changes)


def refusal(execution_id: int) -> Ending:
    return Ending(execution_id=execution_id, trigger_code=FAILURE, trigger_msg="nobody takes it")


def open_some(connection: Connection, /, count: int, *, prefix: str = "fire", **changes: Any) -> list[int]:
    """Open executions ``prefix:0``, ``prefix:1`` …; their ids, in that order."""
    openings = [an_opening(f"{prefix}:{number}", **changes) for number in range(count)]
    open_executions(connection, openings, NOW)
    return [ids_of_trigger(connection, opening.job_id, opening.trigger_key)[0] for opening in openings]


def assign(connection: Connection, /, *ids: int, epoch: int = 1) -> None:
    """Put opened executions on their way to some executor."""
    assignments = [Assignment(one, "http://10.0.0.1:9999", "process-1", "routed") for one in ids]
    assign_executions(connection, assignments, epoch, NOW)


def execution(connection: Connection, execution_id: int) -> Execution:
    found = find_execution(connection, execution_id)
    if found is None:
        raise NotFound("execution", execution_id)
    return found


# --- two at once ---


async def until(condition: Callable[[], bool], what: str, seconds: float = 10.0) -> None:
    """Wait for ``condition`` beside the event loop; ``AssertionError`` naming ``what`` when it does not come true."""
    await asyncio.to_thread(wait_until, condition, what, seconds)


async def until_blocked(db: Database, count: int = 1) -> None:
    """Wait until so many transactions wait for a lock, as the server sees it."""
    await until(lambda: _waiting_for_locks(db) >= count, f"{count} transactions to wait for a lock")


async def until_done_or_blocked(db: Database, task: "asyncio.Task[Any]") -> None:
    """Wait until ``task`` has got as far as it can: PostgreSQL looks past an uncommitted row, MariaDB waits for it."""
    await until(lambda: task.done() or _waiting_for_locks(db) > 0, "the task to end or to wait")


def _waiting_for_locks(db: Database) -> int:
    with db.engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            sessions = "SELECT count(*) FROM pg_stat_activity"
            query = f"{sessions} WHERE datname = current_database() AND wait_event_type = 'Lock'"
            return int(connection.execute(text(query)).scalar_one())
        # Of the whole server, which is ours. (The table innodb_trx stands still for those who look often.)
        return int(connection.execute(text("SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_current_waits'")).one()[1])


_HOLD_WRITE_LOCK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("ROLLBACK")
"""


@contextmanager
def write_lock_elsewhere(db: Database) -> Iterator[Callable[[], None]]:
    """Let another process hold the write lock of a SQLite file, until the end or until the call that is given."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _HOLD_WRITE_LOCK, str(db.url.database)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder.stdin.close
