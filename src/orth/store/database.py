"""Transactions in worker threads: the gateway between asyncio and the synchronous store.

``await db.tx(fn, …)`` runs ``fn(connection, …)`` in one transaction on a thread of a small bounded pool. If the
awaiting task is cancelled the transaction still ends by itself, either way; that is safe because a unit of work may
be repeated (see the package).

``db.urgent`` has the same for the few transactions others rely on to come in time, a lease's renewal above all. They
must not queue behind work, however long that takes: on a server they have connections and threads of their own; SQLite
has one writer, where they come next.

A server that hangs holds nobody up for long (``silence``): what is under way, and what is asked then, is answered with
``StoreUnavailable``.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from sqlalchemy import Connection, Engine, literal, select
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from orth.errors import StoreUnavailable
from orth.store import leases
from orth.store.database_reasons import database_sentence
from orth.store.engines import connect_once, is_sqlite, may_repeat, open_engine, read_url, refuses_writes
from orth.store.silence import PATIENCE, Silence
from orth.store.urgent_first import UrgentFirst

__all__ = ["Connection", "Database", "Transactions", "open_database", "ping"]

P = ParamSpec("P")
T = TypeVar("T")

_TRIES = 5
# The victim of a deadlock that came back at once would take again what the survivor has been waiting for.
_PAUSE_BEFORE_REPEAT = 0.02
# Connections for what is urgent, made when first used: one for the election, one for the beat. Neither waits for the
# other.
_URGENT = 2


@dataclass(frozen=True, slots=True)
class _Way:
    """Connections, and the threads that use them."""

    engine: Engine
    threads: ThreadPoolExecutor | UrgentFirst
    submit: Callable[[Callable[[], Any]], Future[Any]]
    silence: Silence | None = None

    async def run(self, unit: Callable[[Connection], T]) -> T:
        try:
            future = self.submit(partial(_in_transaction, self.engine, self.silence, unit))
        except RuntimeError as error:  # its threads have ended
            raise StoreUnavailable("The database is closed: this process is about to end.") from error
        result: T = await asyncio.wrap_future(future)
        return result

    def close(self) -> None:
        self.threads.shutdown()
        self.engine.dispose()


class _RolledBack(Exception):  # nothing is wrong: a dry run ends its transaction so
    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result


def _roll_back(connection: Connection, unit: Callable[[Connection], Any]) -> None:
    raise _RolledBack(unit(connection))


class Transactions:
    """What is done with a store: each call is one transaction."""

    def __init__(self, writing: _Way, reading: _Way) -> None:
        self._writing = writing
        self._reading = reading

    async def tx(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``fn(connection, …)`` in one transaction, again if the database asks for it, and give its result."""
        return await self._writing.run(partial(_last_arguments, fn, args, kwargs))

    async def dry_run(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``fn(connection, …)`` in one transaction as ``tx`` does, roll it back, and give its result."""
        try:
            await self.tx(_roll_back, partial(_last_arguments, fn, args, kwargs))
        except _RolledBack as ended:
            result: T = ended.result
            return result
        raise AssertionError("a dry run always ends in its exception")

    async def read(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like ``tx`` for functions that only look; on SQLite they do not wait for the writer."""
        return await self._reading.run(partial(_last_arguments, fn, args, kwargs))

    def close(self) -> None:
        self._writing.close()
        self._reading.close()


class Database(Transactions):
    """An open store. Ask ``open_database`` for one."""

    def __init__(self, url: str, *, size: int, patience: float) -> None:
        self.url = read_url(url)
        self.silence: Silence | None = None
        """What notices that the server says nothing; None where there is no server."""
        if is_sqlite(self.url):
            # One writer, as SQLite has it anyway: waiting in our queue is fair and cheap, waiting for its lock is
            # neither.
            engine, thread = open_engine(self.url, size=1, patience=patience), UrgentFirst("orth-store-write")
            reading = _way(open_engine(self.url, size=size, patience=patience, writer=False), size, "orth-store-read")
            super().__init__(_Way(engine, thread, thread.submit), reading)
            self.urgent = Transactions(_Way(engine, thread, thread.submit_urgent), reading)
        else:
            engine = open_engine(self.url, size=size, patience=patience)
            urgent = open_engine(self.url, size=_URGENT, patience=patience)
            self.silence = Silence(partial(connect_once, engine, round(PATIENCE)))
            shared = _way(engine, size, "orth-store", self.silence)
            own = _way(urgent, _URGENT, "orth-store-urgent", self.silence)
            super().__init__(shared, shared)
            self.urgent = Transactions(own, own)

    @property
    def engine(self) -> Engine:
        """For migrations and tests; the program itself goes through ``tx``."""
        return self._writing.engine

    async def leader_tx(
        self, term: leases.Term, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Like ``tx``, but nothing is written, and ``TermEnded`` raised, unless ``term`` is the newest at commit."""

        def fenced(connection: Connection) -> T:
            leases.hold_term(connection, term)
            return fn(connection, *args, **kwargs)

        return await self.tx(fenced)

    def close(self) -> None:
        self.urgent.close()
        super().close()
        if self.silence is not None:
            self.silence.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exc: object) -> None:
        self.close()


def ping(connection: Connection) -> None:
    """Show that the database answers."""
    connection.execute(select(literal(1)))


def open_database(url: str, *, size: int = 8, patience: float = 8.0) -> Database:
    """The store at ``url``; no connection is made yet. ``patience`` bounds every statement and idle transaction, in
    seconds.
    """
    return Database(url, size=size, patience=patience)


def _way(engine: Engine, size: int, name: str, silence: Silence | None = None) -> _Way:
    threads = ThreadPoolExecutor(size, name)
    if silence is not None:
        silence.watch(engine)
    return _Way(engine, threads, threads.submit, silence)


def _last_arguments(
    fn: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object], connection: Connection
) -> T:
    return fn(connection, *args, **kwargs)


def _in_transaction(engine: Engine, silence: Silence | None, unit: Callable[[Connection], T]) -> T:
    looked_at = nullcontext if silence is None else silence.looked_at
    for attempt in range(1, _TRIES + 1):
        try:
            with looked_at(), engine.begin() as connection:
                return unit(connection)
        except DBAPIError as error:
            if may_repeat(error) and attempt < _TRIES:
                time.sleep(_PAUSE_BEFORE_REPEAT * attempt)  # no Clock: the server's other clients need real time
                continue
            if refuses_writes(error):
                engine.dispose()  # who writes by now may be somebody else, under the same name
                raise StoreUnavailable("The database takes no writes: it is a standby, or set to read only.") from error
            if isinstance(error, OperationalError) or error.connection_invalidated:
                raise StoreUnavailable(
                    f"The database did not carry out the transaction: {database_sentence(error, engine.url)}"
                ) from error
            raise
        except PoolTimeout as error:
            raise StoreUnavailable("All database connections are busy.") from error
    raise AssertionError("the loop above returns or raises")
