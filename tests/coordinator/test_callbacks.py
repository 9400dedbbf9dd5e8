"""How many results are stored at the same time."""

import asyncio
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from orth.coordinator.broadcasts import EVERYBODY
from orth.coordinator.callbacks import Callbacks
from orth.coordinator.proving import Proving
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Database, open_database
from orth.store.migrating import upgrade
from orth.testing import ManualClock
from orth.wire.messages import CallbackItem, CallbackVerdict, Verdict
from orth.wire.report_keys import ReportKeys


class Nobody(Loop):
    """A duty that is never called."""

    async def turn(self) -> float:
        raise AssertionError


class Turnstile:
    """A database whose transactions wait until they are let through."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self.waiting = 0
        self.most = 0
        self.open = asyncio.Event()

    async def tx(self, work: Callable[..., Any], *arguments: Any) -> Any:
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        await self.open.wait()
        self.waiting -= 1
        return await self._db.tx(work, *arguments)


@pytest.mark.parametrize("workers", [2, 5])
async def test_results_are_stored_by_so_many_workers_and_the_others_wait(tmp_path: Path, workers: int) -> None:
    url = f"sqlite:///{tmp_path / 'orth.db'}"
    upgrade(url)
    clock = ManualClock()
    with closing(open_database(url)) as db:
        turnstile = Turnstile(db)
        callbacks = Callbacks(
            cast(Database, turnstile),
            clock,
            Events(),
            wakes=(),
            batches=Nobody(clock, Events()),
            avoid=EVERYBODY,
            workers=workers,
            proving=Proving(ReportKeys("any"), clock.now()),
        )
        batches = [asyncio.create_task(callbacks.take([CallbackItem(log_id=n, handle_code=200)])) for n in range(12)]
        for _ in range(100):  # whoever can come through has by then
            await asyncio.sleep(0)
        assert turnstile.waiting == workers
        turnstile.open.set()
        answers = [answer for batch in await asyncio.gather(*batches) for answer in batch.verdicts]
    assert answers == [CallbackVerdict(log_id=n, verdict=Verdict.UNKNOWN) for n in range(12)]
    assert turnstile.most == workers
