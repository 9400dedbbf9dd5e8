"""Results that come too late: the first that says otherwise is kept."""

from dataclasses import replace

from sqlalchemy import Connection, select

from orth.domain import reasons
from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT
from orth.store.database import Database
from orth.store.executions import Ending, end_executions
from orth.store.late_results import record_late
from orth.store.tables import executions
from tests.store.builders import NOW, assign, execution, open_some, success

GIVEN_UP = (reasons.RESULT_LOST,)


def late_code(connection: Connection, execution_id: int) -> int | None:
    code: int | None = connection.execute(
        select(executions.c.late_code).where(executions.c.id == execution_id)
    ).scalar_one()
    return code


async def test_only_what_says_otherwise_is_kept_and_only_once(db: Database) -> None:
    done, failed, lost, dropped, still_open = await db.tx(open_some, 5)
    await db.tx(assign, done, failed, lost, dropped, still_open)
    endings = [
        success(done),
        Ending(execution_id=failed, trigger_code=SUCCESS, handle_code=FAILURE),
        Ending(execution_id=lost, trigger_code=SUCCESS, handle_code=FAILURE, reason_code=reasons.RESULT_LOST),
        Ending(execution_id=dropped, trigger_code=SUCCESS, handle_code=FAILURE, reason_code=reasons.JOB_STOPPED),
    ]
    await db.tx(end_executions, endings, NOW)
    before = [await db.read(execution, one) for one in (done, failed, lost)]
    same = {done: SUCCESS, failed: 417, dropped: FAILURE, still_open: SUCCESS, 404: SUCCESS}
    assert await db.tx(record_late, same, GIVEN_UP) == set()
    otherwise = {done: TIMED_OUT, failed: SUCCESS, lost: FAILURE}
    assert await db.tx(record_late, otherwise, GIVEN_UP) == {done, failed, lost}
    assert await db.tx(record_late, {done: FAILURE, failed: TIMED_OUT}, GIVEN_UP) == set()
    assert [await db.read(late_code, one) for one in (done, failed, lost, still_open)] == [
        TIMED_OUT,
        SUCCESS,
        FAILURE,
        None,
    ]
    after = [await db.read(execution, one) for one in (done, failed, lost)]
    assert [replace(one, late_code=None) for one in after] == before, "nothing else changes"
