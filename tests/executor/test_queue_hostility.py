"""Somebody who can write to the channels, and knows no token: nothing of theirs is carried out, and nothing good is
lost. (A78)
"""

import threading
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from orth.channels.interface import Channels
from orth.channels.opening import open_channels
from orth.clock import SystemClock
from orth.events import Events
from orth.executor.context import JobContext
from orth.executor.facts import EntriesRefused, ExecutionStarted
from orth.executor.handlers import Handlers
from orth.store.database import open_database
from orth.testing.stores import prepare_store
from orth.wire.entry_signatures import EntryRefused, signed_entry
from orth.wire.signatures import key_of
from tests.executor.bench import TOKEN
from tests.executor.queue_bench import APP, NAMES, Owner, QueueRig, dispatch, signed, sooner_or_later

LINE = NAMES.dispatch(f"{APP}.default")
Open = Callable[[], Channels]


@pytest.fixture(params=["redis", "database"])
async def opened(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Open]:
    """Ways to the same channels, one for each who uses them."""
    async with AsyncExitStack() as stack:
        if request.param == "database":
            url, store_url = "database://", f"sqlite:///{tmp_path}/orth.db"
            prepare_store(store_url)
        else:
            url, store_url = request.getfixturevalue("redis_url"), "sqlite:////nowhere/orth.db"

        def connect() -> Channels:
            db = stack.enter_context(open_database(store_url, size=4))
            channels = open_channels(url, db, SystemClock(), Events())
            stack.push_async_callback(channels.close)
            return channels

        yield connect


@pytest.fixture
def app() -> Handlers:
    handlers = Handlers(APP)

    @handlers.job
    def hello() -> str:
        return "greeted"

    @handlers.job
    def sleeps(ctx: JobContext) -> None:
        pause = threading.Event()
        while True:
            ctx.checkpoint()
            pause.wait(0.01)

    return handlers


def refused(rig: QueueRig) -> Counter[str]:
    counts: Counter[str] = Counter()
    for fact in rig.ears.of(EntriesRefused):
        counts[fact.reason] += fact.count
    return counts


def hostile_entries() -> dict[EntryRefused, list[dict[str, Any]]]:
    """What somebody without the token can put into the queue: their own, and what they have seen elsewhere."""
    good = signed(dispatch(1, "hello"), LINE)
    tampered = good | {"trigger": good["trigger"] | {"executorParams": "--all"}}
    elsewhere = signed(dispatch(3, "hello"), NAMES.dispatch("other-app.default"))
    old = signed_entry(dispatch(5, "hello"), LINE, [key_of(TOKEN)], until=SystemClock().now() - 1)
    return {
        EntryRefused.UNSIGNED: [dispatch(6, "hello"), dispatch(7, "hello") | {"signature": "guessed"}],
        EntryRefused.UNKNOWN_KEY: [signed(dispatch(8, "hello"), LINE, "guessed")],
        EntryRefused.WRONG: [tampered, elsewhere],
        EntryRefused.STALE: [old],
    }


async def test_a_hostile_entry_is_not_carried_out_and_is_dead(app: Handlers, tmp_path: Path, opened: Open) -> None:
    hostile = hostile_entries()
    entries = [entry for some in hostile.values() for entry in some]
    async with Owner(opened()) as owner, QueueRig(app, tmp_path / "one", opened()) as rig:
        await owner.channels.send(LINE, entries)
        await owner.send(dispatch(9, "hello", job_id=9))
        await sooner_or_later(lambda: 9 in owner.results())
        await sooner_or_later(lambda: refused(rig) == {why: len(some) for why, some in hostile.items()})
        assert [one.log_id for one in rig.ears.of(ExecutionStarted)] == [9]
        dead = await owner.channels.dead_letters(LINE, 100)
        assert sorted(map(str, dead)) == sorted(map(str, entries))
        assert (await owner.channels.waiting(LINE), await owner.channels.consumers(LINE)) == (0, {})
        counted = rig.runtime.metrics_text().decode()
        assert 'orth_executor_refused_entries_total{reason="unsigned"} 2' in counted


async def test_a_hostile_cancel_ends_nothing(app: Handlers, tmp_path: Path, opened: Open) -> None:
    async with Owner(opened()) as owner, QueueRig(app, tmp_path / "one", opened()) as rig:
        await owner.send(dispatch(1, "sleeps"))
        await sooner_or_later(lambda: "Running" in owner.statuses(1))
        told = {"jobId": 1, "executionId": 1, "historyId": 1}
        for message in (told, signed(told, NAMES.cancel, "guessed"), signed(told, LINE)):
            await owner.channels.announce(NAMES.cancel, message)
        await sooner_or_later(lambda: refused(rig).total() == 3)
        assert owner.statuses(1)[-1] == "Running"
        await owner.cancel(1)
        await sooner_or_later(lambda: owner.statuses(1)[-1] == "Cancelled")


async def test_while_the_token_is_changed_executors_with_either_take_everything(
    app: Handlers, tmp_path: Path, opened: Open
) -> None:
    keys, until = [key_of("the next one"), key_of(TOKEN)], SystemClock().now() + 60_000
    async with (
        Owner(opened()) as owner,
        QueueRig(app, tmp_path / "old", opened(), queue_concurrency=1) as old,
        QueueRig(app, tmp_path / "new", opened(), queue_concurrency=1, access_token="the next one") as new,
    ):
        for number in range(1, 41):
            owner.jobs[number] = number
            entry = dispatch(number, "hello", job_id=number)
            await owner.channels.send(LINE, [signed_entry(entry, LINE, keys, until=until)])
        await sooner_or_later(lambda: len(owner.results()) == 40)
        assert old.ears.of(EntriesRefused) == new.ears.of(EntriesRefused) == []
        assert min(len(one.ears.of(ExecutionStarted)) for one in (old, new)) > 0
        assert await owner.channels.dead_letters(LINE, 100) == []
