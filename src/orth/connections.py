"""How many connections a process holds, and which it gives up first.

Every connection costs a descriptor, and so does every log, script and database session. A caller need not show who it
is to connect, so without a bound anybody who reaches the port could leave nothing for the work. Here connections have
at most half of the descriptors, and callers that have not yet shown who they are (strangers) at most half of those for
each address. Beyond that the oldest stranger that is not being answered is closed, which costs an honest caller at most
a new connection; when there is none, the new one is refused.

A connection with a valid credential belongs to the owner of the credential. Such connections leave one place in
``_SPARE_SHARE`` to strangers: probes of load balancers, and callers whose connection is new.
Beyond that the owner with the most connections loses the connection that it has not used for longest, an idle one
first. So an owner that collects connections closes its own connections.

A request of a stranger that is still coming takes memory: together they have at most ``UNREAD_LIMIT``. Beyond that the
oldest such request is closed, for an honest one is complete within a moment. What callers have asked for and do not
read takes memory as well, whoever they are: together they have at most ``UNSENT_LIMIT``, and the one that has read
nothing for longest is closed.

An application says with ``known_caller`` that a request on a connection had a valid credential, and who owns it.
"""

import logging
import resource
from collections import defaultdict
from collections.abc import Iterable, MutableMapping
from dataclasses import dataclass
from typing import Any, Protocol

from orth.clock import Clock, SystemClock
from orth.events import Event, Events

SMALLEST_LIMIT = 16
SCOPE_KEY = "orth.known_caller"
UNREAD_LIMIT = 16 * 1024 * 1024
"""Bytes of requests of strangers that are still coming."""
UNSENT_LIMIT = 32 * 1024 * 1024
"""Bytes of answers that wait for their callers to read them."""
_SPARE_SHARE = 16
"""One place in so many is kept for callers that have not authenticated."""
_TOLD_EVERY = 10.0
"""Seconds between two events; a flood is one fact, not thousands."""


@dataclass(frozen=True, slots=True)
class ConnectionsClosed(Event):
    """There were more connections than this process may hold."""

    level = logging.WARNING
    sentence = "{count} connections were closed or refused: {cause}"
    count: int
    cause: str


class Connection(Protocol):
    def is_busy(self) -> bool:
        """Whether a request that has arrived on it is being answered."""
        ...

    def give_up(self, *, refused: bool) -> None:
        """Close it now; one that is ``refused`` has just come, and is told why."""
        ...

    def unsent(self) -> int:
        """Bytes that wait for the caller to read them."""
        ...

    def abort(self) -> None:
        """Close it now, and forget what was not sent."""
        ...


class Connections:
    """The connections of one server. Used by its event loop alone."""

    def __init__(self, limit: int, events: Events | None = None, clock: Clock | None = None) -> None:
        self.limit = affordable(limit)
        self._per_peer = max(1, self.limit // 2)
        self._most_known = self.limit - max(2, self.limit // _SPARE_SHARE)
        self._events = events or Events()
        self._clock = clock or SystemClock()
        self._known = _Known()
        self._strangers: dict[Connection, str] = {}
        """With their addresses, the oldest first."""
        self._by_peer: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
        self._unread: dict[Connection, int] = {}
        """Bytes of requests of strangers that are still coming, the oldest first."""
        self._unread_bytes = 0
        self._unsent: dict[Connection, None] = {}
        """Those whose callers do not read, the ones that have read nothing for longest first."""
        self._untold = 0
        self._told_at: float | None = None

    def __len__(self) -> int:
        return len(self._known) + len(self._strangers)

    def enter(self, connection: Connection, peer: str) -> None:
        self._strangers[connection] = peer
        of_peer = self._by_peer[peer]
        of_peer[connection] = None
        if len(of_peer) > self._per_peer:
            cause = f"{peer or 'one caller'} has more than {self._per_peer} that did not authenticate"
            self._give_one_up(of_peer, connection, cause)
        elif len(self) > self.limit:
            cause = f"there are more than {self.limit}, {len(self._strangers)} of them not authenticated"
            self._give_one_up(self._strangers, connection, cause)

    def know(self, connection: Connection, owner: str) -> None:
        """A request on it had a valid credential of ``owner``."""
        if connection in self._strangers:
            self.leave(connection)
        elif connection not in self._known:
            return
        self._known.use(connection, owner)
        if len(self._known) > self._most_known:
            given_up, loser = self._known.surplus()
            self.leave(given_up)
            given_up.give_up(refused=False)
            self._tell(f"there are more than {self._most_known} with a valid credential, most of them of {loser}")

    def hold(self, connection: Connection, size: int) -> None:
        """So many bytes have come of the request on it that is still coming; 0: there is none."""
        if connection not in self._strangers:
            return
        self._unread_bytes += size - self._unread.get(connection, 0)
        if size:
            self._unread[connection] = size
        else:
            self._unread.pop(connection, None)
        while self._unread_bytes > UNREAD_LIMIT:
            oldest = next(iter(self._unread))
            self.leave(oldest)
            oldest.give_up(refused=False)
            self._tell("requests of callers that did not authenticate took too much memory")

    def stalls(self, connection: Connection) -> None:
        """Its caller does not read what is sent."""
        self._unsent.pop(connection, None)
        self._unsent[connection] = None
        while sum(one.unsent() for one in self._unsent) > UNSENT_LIMIT:
            oldest = next(iter(self._unsent))
            self.leave(oldest)
            oldest.abort()
            self._tell("answers that their callers did not read took too much memory")

    def flows(self, connection: Connection) -> None:
        """Its caller has read what was sent."""
        self._unsent.pop(connection, None)

    def leave(self, connection: Connection) -> None:
        self._unsent.pop(connection, None)
        self._unread_bytes -= self._unread.pop(connection, 0)
        self._known.discard(connection)
        peer = self._strangers.pop(connection, None)
        if peer is not None:
            of_peer = self._by_peer[peer]
            del of_peer[connection]
            if not of_peer:
                del self._by_peer[peer]

    def _give_one_up(self, candidates: Iterable[Connection], newest: Connection, cause: str) -> None:
        given_up = next(connection for connection in candidates if connection is newest or not connection.is_busy())
        self.leave(given_up)
        given_up.give_up(refused=given_up is newest)
        self._tell(cause)

    def _tell(self, cause: str) -> None:
        self._untold += 1
        now = self._clock.monotonic()
        if self._told_at is None or now - self._told_at >= _TOLD_EVERY:
            count, self._untold, self._told_at = self._untold, 0, now
            self._events.emit(ConnectionsClosed(count, cause))


class _Known:
    """Connections of callers that have authenticated, by owner."""

    def __init__(self) -> None:
        self._owners: dict[Connection, str] = {}
        self._of_owner: defaultdict[str, dict[Connection, None]] = defaultdict(dict)
        """The connection that was not used for longest first."""
        self._with_count: defaultdict[int, dict[str, None]] = defaultdict(dict)
        """The owners that have so many connections."""

    def __len__(self) -> int:
        return len(self._owners)

    def __contains__(self, connection: Connection) -> bool:
        return connection in self._owners

    def use(self, connection: Connection, owner: str) -> None:
        if self._owners.get(connection) == owner:
            self._of_owner[owner][connection] = self._of_owner[owner].pop(connection)
            return
        self.discard(connection)
        self._owners[connection] = owner
        self._of_owner[owner][connection] = None
        self._count(owner, len(self._of_owner[owner]) - 1)

    def discard(self, connection: Connection) -> None:
        owner = self._owners.pop(connection, None)
        if owner is not None:
            del self._of_owner[owner][connection]
            self._count(owner, len(self._of_owner[owner]) + 1)

    def surplus(self) -> tuple[Connection, str]:
        """The connection to give up, and its owner: of the owner with the most that has an idle connection, the one
        that was not used for longest; if none is idle, that of the owner with the most.
        """
        counts = sorted(self._with_count, reverse=True)
        ranked = (owner for count in counts for owner in self._with_count[count])
        idle = ((one, owner) for owner in ranked for one in self._of_owner[owner] if not one.is_busy())
        if (found := next(idle, None)) is not None:
            return found
        owner = next(iter(self._with_count[counts[0]]))
        return next(iter(self._of_owner[owner])), owner

    def _count(self, owner: str, before: int) -> None:
        """Note how many connections an owner has that had ``before``."""
        self._with_count[before].pop(owner, None)
        if not self._with_count[before]:
            del self._with_count[before]
        if now := len(self._of_owner[owner]):
            self._with_count[now][owner] = None
        else:
            del self._of_owner[owner]


def affordable(limit: int) -> int:
    """``limit``, or what the descriptors of this process allow: half of them are for the work."""
    return max(SMALLEST_LIMIT, min(limit, _descriptors() // 2))


def affordable_backlog(limit: int) -> int:
    """Connections that may be taken from the queue in one go, before any of them can be refused."""
    return max(SMALLEST_LIMIT, min(limit, _descriptors() // 4))


def known_caller(scope: MutableMapping[str, Any], owner: str) -> None:
    """Say that the request of this ASGI scope had a valid credential of ``owner``."""
    say = scope.get(SCOPE_KEY)
    if say is not None:
        say(owner)


def _descriptors() -> int:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2**31 if soft == resource.RLIM_INFINITY else soft
