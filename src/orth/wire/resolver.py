"""Resolves the host names of peers, so that a name that hangs delays no other name.

``getaddrinfo`` blocks its thread until the name servers of a name answer, and nothing can end that thread. Event loops
call it in a small pool that all names share (four threads in uvloop), and uvloop needs the same pool to connect to an
IP address. Peers choose names. So no name of a peer gets to that pool:

* **IP addresses and localhost** need no lookup.
* **Every other name** is looked up in a daemon thread of this module. A name has one lookup at a time, for all callers.
* **The threads are limited.** Names that answered quickly the last time have threads of their own. The names of one
  domain get a small part of either kind of thread, and a free thread goes to the domain that has fewest.
* **Each caller waits for a limited time.** A lookup that is older has hung: callers fail at once until the lookup ends.
* **A slow name pauses.** The pause before the next lookup grows with the time that the last one took and with the
  number of slow lookups in a row.
* **Answers are kept.** An answer serves for some seconds without a lookup, and for an hour while the name hangs.

The resolver knows nothing about permitted networks. ``orth.wire.outbound`` checks every answer each time it is used.
"""

import asyncio
import math
import socket
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from ipaddress import IPv4Address, ip_address
from typing import NamedTuple

from orth.clock import Clock, SystemClock

_SLOW_STEPS = 5
_LOCALHOST_NAMES = ("localhost.localdomain", "ip6-localhost")
_ABSENT = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))
"""Failures which say that a name has no address. Every other one may be temporary."""


class HostAddress(NamedTuple):
    """An IP address of a host, with its address family."""

    family: int
    ip: str


Lookup = Callable[[str], Sequence[HostAddress]]
"""Looks a name up, and may block for any time."""


class NameUnanswered(socket.gaierror):
    """A name for which no name server has answered in time."""

    def __init__(self, detail: str) -> None:
        super().__init__(socket.EAI_AGAIN, detail)
        self.detail = detail


@dataclass(frozen=True, slots=True)
class ResolverLimits:
    """Threads, and seconds."""

    threads_for_new_names: int = 48
    """For names whose last lookup was slow or failed, and for those without one."""
    threads_for_known_names: int = 16
    """For names whose last lookup answered quickly."""
    threads_per_domain: int = 6
    """Of either kind."""
    deadline: float = 2.0
    """How long a caller waits for a name that has no answer yet."""
    refresh_deadline: float = 0.5
    """How long a caller waits before it gets an older answer."""
    fresh: float = 10.0
    """How long an answer serves without another lookup."""
    failed: float = 1.0
    """How long a failure does."""
    stale: float = 3_600.0
    """How long an answer serves while the name hangs."""
    slow: float = 0.5
    """A lookup that takes longer is slow."""
    longest_pause: float = 300.0
    names: int = 10_000
    """Names whose answers or failures are kept."""


@dataclass(frozen=True, slots=True)
class NameRecord:
    """What the lookups of a name have given."""

    addresses: tuple[HostAddress, ...] = ()
    answered_at: float = -math.inf
    failure: tuple[int, str] | None = None
    """Of the last lookup."""
    next_lookup: float = -math.inf
    slow_in_a_row: int = 0

    @property
    def answers_quickly(self) -> bool:
        return bool(self.addresses) and self.failure is None and self.slow_in_a_row == 0

    def addresses_at(self, now: float, limits: ResolverLimits) -> tuple[HostAddress, ...]:
        """The addresses that may be used now: fresh ones, or older ones of a name that hangs."""
        return self.addresses if now - self.answered_at < limits.stale else ()


@dataclass(slots=True)
class NameLookup:
    """A lookup that waits for a thread or runs in one."""

    name: str
    is_new: bool
    began: float | None = None
    waiters: set["asyncio.Future[None]"] = field(default_factory=set)

    @property
    def share(self) -> tuple[bool, str]:
        """The names that share a limit of threads with this one."""
        return self.is_new, domain_of(self.name)


class Resolver:
    """Looks names up for any number of event loops. Safe to share between threads."""

    def __init__(
        self, lookup: Lookup | None = None, clock: Clock | None = None, limits: ResolverLimits | None = None
    ) -> None:
        self._lookup = lookup or look_up
        self._clock = clock or SystemClock()
        self._limits = limits or ResolverLimits()
        self._lock = threading.Lock()
        self._records: OrderedDict[str, NameRecord] = OrderedDict()
        self._running: dict[str, NameLookup] = {}
        self._queued: dict[str, NameLookup] = {}
        """Each has a caller that waits, and leaves with its last caller."""

    async def resolve(self, host: str) -> tuple[HostAddress, ...]:
        """The addresses of ``host``. ``socket.gaierror`` if there is none, ``NameUnanswered`` if its lookup hangs."""
        fixed = addresses_without_lookup(host)
        if fixed:
            return fixed
        name = host.lower()
        waiter, seconds = self._ask(name)
        if seconds > 0:
            try:
                await asyncio.wait({waiter}, timeout=seconds)
            finally:
                self._leave(name, waiter)
        return self._answer(name)

    def _ask(self, name: str) -> tuple["asyncio.Future[None]", float]:
        """What to wait for, and how long at most; not at all if the answer is here or the name hangs."""
        waiter = asyncio.get_running_loop().create_future()
        with self._lock:
            now = self._clock.monotonic()
            record = self._records.get(name, NameRecord())
            if now < record.next_lookup:
                return waiter, 0.0
            lookup = self._running.get(name) or self._queued.get(name) or self._begin(name, record, now)
            if lookup is None:
                return waiter, 0.0
            has_older = bool(record.addresses_at(now, self._limits))
            seconds = self._limits.refresh_deadline if has_older else self._limits.deadline
            if lookup.began is not None:
                seconds -= now - lookup.began
            if seconds > 0:
                lookup.waiters.add(waiter)
            return waiter, seconds

    def _begin(self, name: str, record: NameRecord, now: float) -> NameLookup | None:
        """A new lookup, in a new thread if that is permitted; None if the system gives no thread."""
        lookup = NameLookup(name, is_new=not record.answers_quickly)
        if not may_begin(lookup, threads_in_use(self._running.values()), self._limits):
            self._queued[name] = lookup
            return lookup
        lookup.began = now
        self._running[name] = lookup
        try:
            threading.Thread(target=self._work, args=(lookup,), name="orth-resolver", daemon=True).start()
        except RuntimeError:  # the system gives no thread
            del self._running[name]
            return None
        return lookup

    def _leave(self, name: str, waiter: "asyncio.Future[None]") -> None:
        with self._lock:
            if (lookup := self._running.get(name) or self._queued.get(name)) is not None:
                lookup.waiters.discard(waiter)
            if name in self._queued and not self._queued[name].waiters:
                del self._queued[name]
                self._serve_older(name)

    def _serve_older(self, name: str) -> None:
        """No thread was free for another lookup: callers need not wait for one again at once."""
        now = self._clock.monotonic()
        if (record := self._records.get(name)) is not None and record.addresses_at(now, self._limits):
            self._records[name] = replace(record, next_lookup=now + self._limits.fresh)

    def _answer(self, name: str) -> tuple[HostAddress, ...]:
        with self._lock:
            now = self._clock.monotonic()
            record = self._records.get(name)
            hangs = name in self._running
            if record is not None:
                self._records.move_to_end(name)
                if addresses := record.addresses_at(now, self._limits):
                    return addresses
        if hangs:
            raise NameUnanswered("its name servers do not answer in time")
        if record is None or record.failure is None or now >= record.next_lookup:
            raise NameUnanswered("no thread was free to look it up")
        raise socket.gaierror(*record.failure)

    # --- in the threads

    def _work(self, first: NameLookup) -> None:
        lookup: NameLookup | None = first
        while lookup is not None:
            lookup = self._end(lookup, *self._result(lookup.name))

    def _result(self, name: str) -> tuple[tuple[HostAddress, ...], tuple[int, str] | None]:
        try:
            found = tuple(self._lookup(name))
        except OSError as error:
            return (), (error.errno or socket.EAI_FAIL, error.strerror or str(error))
        except Exception as error:  # whatever it is, the lookup must end
            is_no_name = isinstance(error, ValueError)  # such as ``UnicodeError``
            return (), (socket.EAI_NONAME if is_no_name else socket.EAI_FAIL, str(error))
        return (found, None) if found else ((), (socket.EAI_NONAME, "it has no address"))

    def _end(
        self, lookup: NameLookup, addresses: tuple[HostAddress, ...], failure: tuple[int, str] | None
    ) -> NameLookup | None:
        """Keep what was found and wake the callers. The next lookup of this thread."""
        with self._lock:
            now = self._clock.monotonic()
            took = now - (lookup.began or now)
            before = self._records.get(lookup.name, NameRecord())
            self._keep(lookup.name, record_after(before, addresses, failure, took, now, self._limits))
            del self._running[lookup.name]
            following = next_lookup(self._queued.values(), threads_in_use(self._running.values()), self._limits)
            if following is not None:
                del self._queued[following.name]
                following.began = now
                self._running[following.name] = following
            waiters = list(lookup.waiters)
        for waiter in waiters:
            _wake(waiter)
        return following

    def _keep(self, name: str, record: NameRecord) -> None:
        self._records[name] = record
        self._records.move_to_end(name)
        if len(self._records) > self._limits.names:
            unanswered = (one for one, record in self._records.items() if not record.addresses)
            del self._records[next(unanswered, next(iter(self._records)))]


def _wake(waiter: "asyncio.Future[None]") -> None:
    def settle() -> None:
        if not waiter.done():
            waiter.set_result(None)

    try:
        waiter.get_loop().call_soon_threadsafe(settle)
    except RuntimeError:  # the event loop has been closed
        return


# --- decisions --------------------------------------------------------------------------------------------------------


def is_localhost(host: str) -> bool:
    """Whether the name means this machine everywhere."""
    name = host.lower().rstrip(".")
    return name.rpartition(".")[2] == "localhost" or name in _LOCALHOST_NAMES


def addresses_without_lookup(host: str) -> tuple[HostAddress, ...]:
    """The addresses of an IP address and of localhost; none of another name."""
    if is_localhost(host):
        return localhost_addresses()
    try:
        ip = ip_address(host.strip("[]"))
    except ValueError:
        return ()
    return (HostAddress(socket.AF_INET if isinstance(ip, IPv4Address) else socket.AF_INET6, str(ip)),)


def domain_of(name: str) -> str:
    """The last two labels of a name. A peer can invent names in a domain, but not domains."""
    return ".".join(name.rstrip(".").rsplit(".", 2)[-2:])


ThreadsInUse = Counter[tuple[bool, str]]
"""Threads that look names up, by the share of their name."""


def threads_in_use(running: Iterable[NameLookup]) -> ThreadsInUse:
    return Counter(one.share for one in running)


def may_begin(lookup: NameLookup, used: ThreadsInUse, limits: ResolverLimits) -> bool:
    """Whether a thread may be used for this lookup."""
    limit = limits.threads_for_new_names if lookup.is_new else limits.threads_for_known_names
    of_its_kind = sum(count for (is_new, _domain), count in used.items() if is_new == lookup.is_new)
    return of_its_kind < limit and used[lookup.share] < limits.threads_per_domain


def next_lookup(queued: Iterable[NameLookup], used: ThreadsInUse, limits: ResolverLimits) -> NameLookup | None:
    """The lookup that gets a free thread: the oldest of the domain that has fewest."""
    ready = [one for one in queued if may_begin(one, used, limits)]
    return min(ready, key=lambda one: used[one.share], default=None)


def record_after(
    before: NameRecord,
    addresses: tuple[HostAddress, ...],
    failure: tuple[int, str] | None,
    took: float,
    now: float,
    limits: ResolverLimits,
) -> NameRecord:
    """What is known of a name after a lookup. A failure leaves the older answer unless the name has no address."""
    slow = before.slow_in_a_row + 1 if took > limits.slow else 0
    pause = pause_after(took, slow, limits.failed if failure else limits.fresh, limits)
    if failure is None:
        return NameRecord(addresses, now, None, now + pause, slow)
    kept = NameRecord() if failure[0] in _ABSENT else before
    return NameRecord(kept.addresses, kept.answered_at, failure, now + pause, slow)


def pause_after(took: float, slow_in_a_row: int, shortest: float, limits: ResolverLimits) -> float:
    """Seconds from the end of a lookup to the next one of the name: a name has a small share of a thread's time."""
    return max(shortest, min(limits.longest_pause, took * (1 << min(slow_in_a_row, _SLOW_STEPS))))


# --- the system -------------------------------------------------------------------------------------------------------


@cache
def localhost_addresses() -> tuple[HostAddress, ...]:
    """The loopback addresses of this machine, which may have no IPv6."""
    found = (HostAddress(socket.AF_INET, "127.0.0.1"),)
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return found
    return (*found, HostAddress(socket.AF_INET6, "::1"))


def look_up(name: str) -> list[HostAddress]:
    """The addresses of a name as this system resolves it, in its order."""
    found = socket.getaddrinfo(name, None, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(HostAddress(family, str(to[0])) for family, _, _, _, to in found))


_SYSTEM = Resolver()


def system_resolver() -> Resolver:
    """The resolver of this process. It is one, so that all calls share its limits."""
    return _SYSTEM
