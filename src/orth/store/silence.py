"""A database server that says nothing.

One that is gone refuses connections, and everybody knows at once. One that hangs, or is behind a network that swallows
what is sent, keeps its connections and never answers: whoever asked waits for as long as that takes, and so does
everybody behind him in the queue for a connection. The bounds on statements are no help, for it is the server that
holds them.

So a thread looks at what is under way. When something has not got on for ``AFTER`` seconds, a new connection is tried:
a server that is well answers that, however long a statement takes. One that does not is silent. Then all connections
are cut, so that whoever waits is told that the store is unavailable, and what is asked is refused at once, until a
connection is answered again.
"""

import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from weakref import WeakSet

from sqlalchemy import Connection, Engine, event

from orth.clock import Clock, SystemClock
from orth.errors import StoreUnavailable

AFTER = 3.0
"""Seconds for which something may not get on before the server is asked whether it is there."""
PATIENCE = 3.0
"""Seconds within which a server answers a new connection."""
_LOOK = 1.0
_ALMOST = 0.9

Probe = Callable[[], None]


class Silence:
    """Notices that a server is silent, for the engines it watches."""

    def __init__(self, probe: Probe, clock: Clock | None = None) -> None:
        """``probe`` connects once and raises whatever comes of it, after ``PATIENCE`` seconds at the latest."""
        self.silent = False
        self._probe = probe
        self._clock = clock or SystemClock()
        self._under_way: dict[int, float] = {}
        """By thread: when it got on last."""
        self._answered = float("-inf")
        """When it last answered a new connection."""
        self._connections: WeakSet[Any] = WeakSet()
        self._busy, self._closed = threading.Event(), threading.Event()
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def watch(self, engine: Engine) -> None:
        """Know the connections of ``engine``, and when a statement begins."""

        @event.listens_for(engine, "do_connect")
        def opening(*_how: object) -> None:
            self._check()  # whoever's connection was cut would try another one

        @event.listens_for(engine, "connect")
        def opened(connection: Any, _record: object) -> None:
            self._connections.add(connection)

        @event.listens_for(engine, "before_cursor_execute")
        def got_on(_connection: Connection, *_statement: object) -> None:
            mine = threading.get_ident()
            if mine in self._under_way:
                self._under_way[mine] = self._clock.monotonic()

    @contextmanager
    def looked_at(self) -> Iterator[None]:
        """What this thread does here is looked at; ``StoreUnavailable`` at once while the server is silent."""
        self._check()
        mine = threading.get_ident()
        self._under_way[mine] = self._clock.monotonic()
        if not self._busy.is_set():
            self._busy.set()
            self._start()
        try:
            yield
        finally:
            self._under_way.pop(mine, None)

    def _check(self) -> None:
        if self.silent:
            raise StoreUnavailable("The database does not answer.")

    def close(self) -> None:
        self._closed.set()
        self._busy.set()

    def look(self) -> None:
        """Ask the server if something does not get on, or if it was silent before."""
        now = self._clock.monotonic()
        stuck = any(since <= now - AFTER for since in list(self._under_way.values()))
        if not self.silent and (not stuck or now - self._answered < AFTER):
            return
        if self._answers():
            self.silent = False
            self._answered = self._clock.monotonic()
            return
        self.silent = True  # first: who is told now must not come back at once
        for connection in list(self._connections):
            cut(connection)

    def _answers(self) -> bool:
        began = self._clock.monotonic()
        try:
            self._probe()
        except Exception:  # each driver has errors of its own
            # Whatever it says, it says something: that it is full, for instance. Only a silent one takes all the time.
            return self._clock.monotonic() - began < PATIENCE * _ALMOST
        return True

    def _start(self) -> None:
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="orth-store-watch", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        while not self._closed.wait(_LOOK):
            self.look()
            if not self._under_way and not self.silent:
                self._busy.clear()
                if not self._under_way:  # nobody came just now: there is nothing to look at
                    self._busy.wait()


def cut(connection: Any) -> None:
    """Let whoever reads from this connection of a driver find it closed. It stays its owner's to close."""
    with suppress(Exception):  # it may be closed already, or just be closing
        descriptor = connection.pgconn.socket if hasattr(connection, "pgconn") else connection._sock.fileno()
        with socket.socket(fileno=os.dup(descriptor)) as line:
            line.shutdown(socket.SHUT_RDWR)
