"""Jobs as a list for people: filters, last executions, executors; and only of groups one may see."""

import json
from dataclasses import replace

import pytest
from sqlalchemy import Connection, update

from orth.coordinator.finishing import finish
from orth.domain.executions import FAILURE, SUCCESS
from orth.domain.jobs import AddressType, GlueType, Group
from orth.store import job_board
from orth.store.database import Database
from orth.store.groups import create_group
from orth.store.job_board import (
    InUse,
    Named,
    Online,
    Only,
    Wanted,
    executors_online,
    find_jobs,
    in_use,
    last_runs,
    lasts,
    list_board,
)
from orth.store.jobs import create_job
from orth.store.registry import Beat, record_beats
from orth.store.tables import jobs
from tests.store.builders import NOW, a_due_job, a_job, open_some, stored_group, success
from tests.store.test_overview import broadcast, ended

HEARD = NOW - 33_000


async def listed(db: Database, *, before: int | None = None, limit: int = 10, **wanted: object) -> list[int]:
    asked = Wanted(**wanted)  # type: ignore[arg-type]

    def look(connection: Connection) -> list[int]:
        online = executors_online(connection, HEARD, asked.groups)
        return [job.id for job in list_board(connection, asked, online, before=before, limit=limit)]

    return await db.read(look)


async def test_the_newest_comes_first_page_by_page(db: Database) -> None:
    group = await stored_group(db, "first")
    ids = [await db.tx(create_job, a_job(group), NOW) for _ in range(5)]
    assert await listed(db, limit=2) == [ids[4], ids[3]]
    assert await listed(db, limit=2, before=ids[3]) == [ids[2], ids[1]]
    assert await listed(db, before=ids[0]) == []


async def test_only_jobs_of_groups_one_may_see(db: Database) -> None:
    first, second = await stored_group(db, "first"), await stored_group(db, "second")
    one = await db.tx(create_job, a_job(first), NOW)
    other = await db.tx(create_job, a_job(second), NOW)
    assert await listed(db, groups={first}) == [one]
    assert await listed(db, job_group=second) == [other]
    assert await listed(db, groups=frozenset()) == []


async def test_a_text_is_looked_for_in_name_handler_author_and_id(db: Database) -> None:
    group = await stored_group(db, "first")
    named = await db.tx(create_job, a_job(group, job_desc="Nightly 100% report"), NOW)
    handled = await db.tx(create_job, a_job(group, executor_handler="report.daily"), NOW)
    owned = await db.tx(create_job, a_job(group, author="Reporter"), NOW)
    assert await listed(db, text="REPORT") == [owned, handled, named]
    assert await listed(db, text="100%") == [named]
    assert await listed(db, text="0_") == [], "signs that mean something to the database mean themselves"
    assert handled in await listed(db, text=str(handled))
    assert await listed(db, text="9" * 30) == []


async def test_who_answers_for_a_job_and_its_tags_are_asked_for_exactly(db: Database) -> None:
    first, second = await stored_group(db, "first"), await stored_group(db, "second")
    both = await db.tx(create_job, a_job(first, author="data", tags=("prices", "eu")), NOW)
    one = await db.tx(create_job, a_job(first, author="data team", tags=("prices_eu",)), NOW)
    await db.tx(create_job, a_job(second, author="", tags=()), NOW)
    other = await db.tx(create_job, a_job(second, author="ops", tags=("eu",)), NOW)
    assert await listed(db, author="data") == [both]
    assert await listed(db, tags=("eu",)) == [other, both]
    assert await listed(db, tags=("eu", "prices")) == [both]
    assert await listed(db, tags=("price",)) == [], "part of a tag is another one"
    assert await listed(db, tags=("pri%s",)) == []
    assert await listed(db, tags=("prices_eu",)) == [one], "signs that mean something to the database mean themselves"
    assert await listed(db, text="eu") == [other, one, both]
    assert await listed(db, ids=frozenset({one, other})) == [other, one]
    assert await db.read(in_use, None, 10) == InUse(["data", "data team", "ops"], ["eu", "prices", "prices_eu"])
    assert await db.read(in_use, {second}, 10) == InUse(["ops"], ["eu"])
    assert await db.read(in_use, None, 1) == InUse(["data"], ["eu"])


async def test_jobs_are_found_by_name_and_counted_up_to_a_bound(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    group = await stored_group(db, "first")
    ids = [await db.tx(create_job, a_job(group, job_desc=f"job {number}"), NOW) for number in range(6)]
    found, left = await db.read(find_jobs, Wanted(job_group=group), {}, before=ids[5], limit=2)
    assert (found, left) == ([Named(ids[4], "job 4"), Named(ids[3], "job 3")], 3)
    monkeypatch.setattr(job_board, "COUNTED", 2)
    assert (await db.read(find_jobs, Wanted(), {}, before=None, limit=2))[1] == 2
    assert (await db.read(find_jobs, Wanted(groups=frozenset()), {}, before=None, limit=2)) == ([], 0)


async def test_what_fails_fails_until_its_last_end_is_a_success(db: Database) -> None:
    group = await stored_group(db, "first")
    bad, mended, open_one = [await db.tx(create_job, a_job(group), NOW) for _ in range(3)]
    await ended(db, bad, group, SUCCESS, FAILURE)
    await ended(db, mended, group, FAILURE, SUCCESS)
    await ended(db, open_one, group, FAILURE)
    await db.tx(lambda connection: open_some(connection, 1, prefix="open", job_id=open_one, job_group=group))
    assert await listed(db, only=Only.FAILING) == [open_one, bad], "an open execution has not ended"


async def test_a_broadcast_fails_with_any_of_its_shards_until_a_later_trigger_succeeds(db: Database) -> None:
    group = await stored_group(db, "first")
    job, other = [await db.tx(create_job, a_job(group), NOW) for _ in range(2)]
    await broadcast(db, other, group, "fire:1", FAILURE, SUCCESS, number=1)
    await ended(db, other, group, SUCCESS)

    async def last() -> int:
        runs = await db.read(last_runs, [job], 2, None)
        return (await db.read(lasts, runs, None))[job].id

    shards = await broadcast(db, job, group, "fire:1", FAILURE, SUCCESS, SUCCESS, number=2)
    assert await listed(db, only=Only.FAILING) == [job]
    assert await last() == shards[0], "also when it is not among the runs that are shown"
    shards = await broadcast(db, job, group, "fire:2", SUCCESS, None, SUCCESS, number=3)
    assert await last() == shards[1], "it is open while any of its shards is"
    await db.tx(finish, [success(shards[1])], NOW)
    assert await listed(db, only=Only.FAILING) == []
    assert await last() == shards[2]
    assert await listed(db, only=Only.FAILING, groups=frozenset()) == []


async def test_what_is_paused_has_a_schedule(db: Database) -> None:
    group = await stored_group(db, "first")
    await db.tx(create_job, a_due_job(group), NOW)
    paused = await db.tx(create_job, replace(a_due_job(group), trigger_status=False), NOW)
    await db.tx(create_job, a_job(group), NOW)
    assert await listed(db, only=Only.PAUSED) == [paused]


async def test_what_never_ran(db: Database) -> None:
    group = await stored_group(db, "first")
    ran, never = [await db.tx(create_job, a_job(group), NOW) for _ in range(2)]
    await ended(db, ran, group, SUCCESS)
    assert await listed(db, only=Only.NEVER_RAN) == [never]


async def test_what_nobody_could_run(db: Database) -> None:
    busy, silent, empty = [await stored_group(db, name) for name in ("busy", "silent", "empty")]
    manual = await db.tx(
        create_group, Group(0, "manual", "Manual", AddressType.MANUAL, ("http://10.0.0.8:1", "http://10.0.0.9:1")), NOW
    )
    ids = {group: await db.tx(create_job, a_job(group), NOW) for group in (busy, silent, empty, manual)}
    await db.tx(record_beats, [Beat("busy", "http://10.0.0.1:1")], NOW)
    await db.tx(record_beats, [Beat("busy", "http://10.0.0.2:1"), Beat("silent", "http://10.0.0.3:1")], NOW - 60_000)
    assert await db.read(executors_online, HEARD, None) == {
        busy: Online(1, 2),
        silent: Online(0, 1),
        empty: Online(0, 0),
        manual: Online(2, 2),
    }
    assert await listed(db, only=Only.NO_EXECUTOR) == [ids[empty], ids[silent]]
    assert await listed(db, only=Only.NO_EXECUTOR, groups={busy, silent}) == [ids[silent]]


async def test_handlers_that_nobody_offers(db: Database) -> None:
    told, mixed, silent = [await stored_group(db, name) for name in ("told", "mixed", "silent")]
    said = json.dumps({"handlers": [{"name": "report"}]})
    beats = [Beat("told", f"http://10.0.0.{number}:1", handlers=said) for number in (1, 2)]
    beats += [Beat("mixed", "http://10.0.0.3:1", handlers=said), Beat("mixed", "http://10.0.0.4:1")]
    await db.tx(record_beats, beats, NOW)
    for group in (told, mixed, silent):
        await db.tx(create_job, a_job(group, executor_handler="report"), NOW)
    dead, _, _ = [await db.tx(create_job, a_job(one, executor_handler="gone"), NOW) for one in (told, mixed, silent)]
    await db.tx(create_job, a_job(told, executor_handler="gone", executor_queue="elsewhere"), NOW)
    await db.tx(create_job, a_job(told, executor_handler="", glue_type=GlueType.GLUE_SHELL), NOW)
    assert await listed(db, only=Only.NO_HANDLER) == [dead], "only where all executors say what they have"
    assert await listed(db, only=Only.NO_HANDLER, groups={mixed}) == []


async def test_the_last_executions_of_each_job_newest_first(db: Database) -> None:
    group = await stored_group(db, "first")
    one, other, never = [await db.tx(create_job, a_job(group), NOW) for _ in range(3)]
    first = await ended(db, one, group, SUCCESS, FAILURE, SUCCESS, took=500)
    second = await ended(db, other, group, FAILURE)
    found = await db.read(last_runs, [one, other, never], 2, None)
    assert {job: [run.id for run in runs] for job, runs in found.items()} == {
        one: [first[2], first[1]],
        other: [second[0]],
    }
    newest = found[one][0]
    assert (newest.trigger_code, newest.handle_code, newest.handle_time) == (SUCCESS, SUCCESS, NOW + 2 + 500)
    assert await db.read(last_runs, [], 2, None) == {}


async def test_a_job_that_moved_leaves_its_history_behind(db: Database) -> None:
    old, new = await stored_group(db, "old"), await stored_group(db, "new")
    job = await db.tx(create_job, a_job(old), NOW)
    await ended(db, job, old, FAILURE)
    await db.tx(lambda connection: connection.execute(update(jobs).values(job_group=new)))
    assert await db.read(last_runs, [job], 5, {new}) == {}
    assert await listed(db, only=Only.FAILING, groups={new}) == []
    assert await listed(db, only=Only.NEVER_RAN, groups={new}) == [job]
    assert await listed(db, only=Only.FAILING) == [job]
