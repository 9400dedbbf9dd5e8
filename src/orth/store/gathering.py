"""Many small writes in one transaction, each answered after the commit.

Whatever comes while a transaction is under way waits for the next one, which takes all of it: with few writers each
has its own transaction at once, with many they share the cost of a commit. Nobody waits for a timer.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from orth.errors import StoreUnavailable, TooBusy
from orth.store.database import Connection, Database

T = TypeVar("T")
R = TypeVar("R")


class Gathering(Generic[T, R]):
    """Carries items to ``work``, which gives one result for each, in their order. For one event loop."""

    def __init__(
        self, db: Database, work: Callable[[Connection, Sequence[T]], list[R]], *, at_once: int = 500, waiting: int
    ) -> None:
        self._db = db
        self._work = work
        self._at_once = at_once
        self._limit = waiting
        self._waiting: deque[tuple[T, asyncio.Future[R]]] = deque()
        self._carrying: asyncio.Task[None] | None = None

    async def put(self, item: T) -> R:
        """Have ``item`` stored; its result, or what kept the transaction from being committed."""
        if len(self._waiting) >= self._limit:
            raise TooBusy.of("too_much_to_store")
        answer: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, answer))
        if self._carrying is None or self._carrying.done():
            self._carrying = asyncio.create_task(self._carry())
        return await answer

    async def _carry(self) -> None:
        while self._waiting:
            batch = [self._waiting.popleft() for _ in range(min(self._at_once, len(self._waiting)))]
            try:
                await self._store(batch)
            except StoreUnavailable as error:
                _refuse(batch, error)
            except Exception:  # one of them cannot be stored; the others must not suffer for it
                for one in batch:
                    await self._store_alone(one)

    async def _store(self, batch: Sequence[tuple[T, "asyncio.Future[R]"]]) -> None:
        results = await self._db.tx(self._work, [item for item, _answer in batch])
        for (_item, answer), result in zip(batch, results, strict=True):
            if not answer.done():  # whoever asked may have gone
                answer.set_result(result)

    async def _store_alone(self, one: tuple[T, "asyncio.Future[R]"]) -> None:
        try:
            await self._store([one])
        except Exception as error:  # a bug is the asker's to report
            _refuse([one], error)


def _refuse(batch: Sequence[tuple[T, "asyncio.Future[R]"]], error: Exception) -> None:
    for _item, answer in batch:
        if not answer.done():
            answer.set_exception(error)
