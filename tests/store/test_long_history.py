"""What PostgreSQL does with a long history when it is left to choose: where rows go, and how many of them it reads.

Plans alone do not tell: these statements are carried out, and what they touched is counted.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from orth.domain.executions import Phase, Status
from orth.store.database import Database
from orth.store.execution_filters import Filter
from orth.store.execution_lists import look
from orth.store.tables import executions
from tests.store.builders import NOW, open_some
from tests.store.test_query_plans import double, learn_sizes, listening

pytestmark = pytest.mark.parametrize("schema_url", ["postgresql"], indirect=True)

SELDOM, OFTEN = "http://seldom:1", "http://often:1"
HOUR = 3_600_000
WINDOW = 200


def a_past(connection: Connection) -> None:
    """Executions that ended long ago, one in a hundred by a timeout, some at an executor of their own."""
    open_some(connection, 1000, prefix="past")
    ended = {"phase": Phase.ENDED, "trigger_code": 200, "handle_code": 200, "trigger_time": NOW - 48 * HOUR}
    outcome = sa.case((executions.c.id % 100 == 0, 3), else_=1)
    address = sa.case((executions.c.id % 80 == 7, SELDOM), else_=OFTEN)
    connection.execute(
        sa.update(executions).values(**ended, outcome=outcome, executor_address=address, handle_msg="x" * 500)
    )
    double(connection, executions, lambda turn: {"trigger_key": executions.c.trigger_key + f"+{turn}"})


async def test_a_new_execution_is_put_into_no_page_of_the_history(db: Database) -> None:
    await db.tx(a_past)
    with filled_whole(db):  # as by a copy from a backup
        for statement in ("VACUUM FULL", "VACUUM"):
            by_itself(db, f"{statement} {executions.name}")
    with db.engine.connect() as connection:
        pages = connection.execute(sa.text(f"SELECT pg_relation_size('{executions.name}') / 8192")).scalar_one()
    new = await db.tx(open_some, 100, prefix="new")
    with db.engine.connect() as connection:
        place = sa.literal_column("(ctid::text::point)[0]")
        found = connection.scalars(sa.select(place).where(executions.c.id.in_(new))).all()
    assert min(found) >= pages - 1, f"put into some of the {pages} pages that were there: {sorted(set(found))[:9]}"


async def test_what_is_outside_the_window_is_not_looked_at(db: Database) -> None:
    await db.tx(a_past)
    learn_sizes(db)
    _window, rows, _last = await db.tx(steps_of, Filter(executor=SELDOM, statuses=frozenset({Status.TIMEOUT})))
    window = f"{executions.name}_1"
    asked = [step["Index Cond"] for step in rows if "Index Cond" in step and step.get("Alias") != window]
    assert asked
    assert [condition for condition in asked if "(id " not in condition] == []


async def test_a_page_of_a_busy_hour_does_not_read_the_hour(db: Database) -> None:
    await db.tx(a_past)
    learn_sizes(db)  # and not again: what has just begun to happen is never in the statistics
    await db.tx(open_some, 3000, prefix="busy")
    plans = await db.tx(steps_of, Filter(since=NOW - HOUR))
    assert sum(rows_read(step) for steps in plans for step in steps) < 300


def steps_of(connection: Connection, wanted: Filter) -> list[list[dict[str, Any]]]:
    """What the database did to answer a look: the steps of each statement."""
    with listening(connection) as sent:
        look(connection, wanted, before=None, limit=50, window=WINDOW)
    plans = [
        connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}", values).scalar_one()
        for statement, values in sent
    ]
    return [list(_flat(plan["Plan"])) for (plan,) in plans]


def _flat(step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {name: value for name, value in step.items() if name != "Plans"}
    for below in step.get("Plans", []):
        yield from _flat(below)


def rows_read(step: dict[str, Any]) -> int:
    if "Scan" not in step["Node Type"]:
        return 0
    return int((step["Actual Rows"] + step.get("Rows Removed by Filter", 0)) * step["Actual Loops"])


@contextmanager
def filled_whole(db: Database) -> Iterator[None]:
    with db.engine.connect() as connection:
        set_before = sa.text(f"SELECT unnest(reloptions) FROM pg_class WHERE relname = '{executions.name}'")
        before = connection.scalars(set_before).all()
    by_itself(db, f"ALTER TABLE {executions.name} SET (fillfactor = 100)")
    yield
    by_itself(db, f"ALTER TABLE {executions.name} RESET (fillfactor)")
    for option in before:
        by_itself(db, f"ALTER TABLE {executions.name} SET ({option})")


def by_itself(db: Database, statement: str) -> None:
    with db.engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(sa.text(statement))
