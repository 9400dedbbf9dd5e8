"""Transactions in worker threads: the gateway between asyncio and the synchronous store.

``await db.tx(fn, …)`` runs ``fn(connection, …)`` in one transaction on a thread of a small bounded pool. If the
awaiting task is cancelled the transaction still ends by itself, either way; that is safe because a unit of work may
be repeated (see the package).
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Concatenate, ParamSpec, Self, TypeVar

from sqlalchemy import Connection, Engine, literal, select
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from orth.errors import StoreUnavailable
from orth.store import leases
from orth.store.engines import is_sqlite, may_repeat, open_engine, read_url

__all__ = ["Connection", "Database", "open_database", "ping"]

P = ParamSpec("P")
T = TypeVar("T")

_TRIES = 5
# The victim of a deadlock that came back at once would take again what the survivor has been waiting for.
_PAUSE_BEFORE_REPEAT = 0.02


class Database:
    """An open store. Ask ``open_database`` for one."""

    def __init__(self, url: str, *, size: int, patience: float) -> None:
        self.url = read_url(url)
        if is_sqlite(self.url):
            # One writer, as SQLite has it anyway: waiting in our queue is fair and cheap, waiting for its lock is
            # neither.
            self._writer = open_engine(self.url, size=1, patience=patience)
            self._reader = open_engine(self.url, size=size, patience=patience, writer=False)
            self._write_threads = ThreadPoolExecutor(1, "orth-store-write")
            self._read_threads = ThreadPoolExecutor(size, "orth-store-read")
        else:
            self._writer = self._reader = open_engine(self.url, size=size, patience=patience)
            self._write_threads = self._read_threads = ThreadPoolExecutor(size, "orth-store")

    @property
    def engine(self) -> Engine:
        """For migrations and tests; the program itself goes through ``tx``."""
        return self._writer

    async def tx(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run ``fn(connection, …)`` in one transaction, again if the database asks for it, and give its result."""
        work = partial(_in_transaction, self._writer, partial(_last_arguments, fn, args, kwargs))
        return await asyncio.get_running_loop().run_in_executor(self._write_threads, work)

    async def read(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Like ``tx`` for functions that only look; on SQLite they do not wait for the writer."""
        work = partial(_in_transaction, self._reader, partial(_last_arguments, fn, args, kwargs))
        return await asyncio.get_running_loop().run_in_executor(self._read_threads, work)

    async def leader_tx(
        self, epoch: int, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Like ``tx``, but ``TermEnded`` is raised and nothing written unless ``epoch`` is still the newest term at
        commit.
        """

        def fenced(connection: Connection) -> T:
            leases.hold_epoch(connection, epoch)
            return fn(connection, *args, **kwargs)

        return await self.tx(fenced)

    def close(self) -> None:
        self._write_threads.shutdown()
        self._read_threads.shutdown()
        self._writer.dispose()
        self._reader.dispose()

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


def _last_arguments(
    fn: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object], connection: Connection
) -> T:
    return fn(connection, *args, **kwargs)


def _in_transaction(engine: Engine, unit: Callable[[Connection], T]) -> T:
    for attempt in range(1, _TRIES + 1):
        try:
            with engine.begin() as connection:
                return unit(connection)
        except DBAPIError as error:
            if may_repeat(error) and attempt < _TRIES:
                time.sleep(_PAUSE_BEFORE_REPEAT * attempt)  # no Clock: the server's other clients need real time
                continue
            if isinstance(error, OperationalError) or error.connection_invalidated:
                raise StoreUnavailable(f"The database did not carry out the transaction: {_cause(error)}") from error
            raise
        except PoolTimeout as error:
            raise StoreUnavailable("All database connections are busy.") from error
    raise AssertionError("the loop above returns or raises")


def _cause(error: SQLAlchemyError) -> str:
    """The driver's own first line; never the statement or its values."""
    cause = getattr(error, "orig", None) or error
    lines = str(cause).strip().splitlines()
    return lines[0] if lines else type(cause).__name__
