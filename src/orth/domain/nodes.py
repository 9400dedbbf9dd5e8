"""Coordinators and executors as others see them.

A process is known by its *incarnation*, a random id made at its start: host name and address may be reused by a
successor, and a restart on the same address is not a continuation.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import zip_longest

LABELS_LIMIT = 32
"""Labels of one executor."""
LABEL_KEY = r"[A-Za-z0-9](?:[A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?"
LABEL_VALUE = r"[A-Za-z0-9._/:+-]{0,63}"


class Liveness(StrEnum):
    """What the age of the last beat says."""

    ALIVE = "alive"
    MISSED_30 = "missed_30"  # one beat missed
    MISSED_60 = "missed_60"  # two
    MISSED_90 = "missed_90"  # three: to be removed at the next look
    REMOVED = "removed"  # out of the registry


class Reachability(StrEnum):
    """What one coordinator finds when it calls an address. Beats say that a process lives, not that we reach it."""

    UNTRIED = "untried"  # never called, and no reason to doubt
    REACHABLE = "reachable"
    SUSPECT = "suspect"  # one call failed; not yet confirmed
    UNREACHABLE = "unreachable"  # a probe has confirmed it


class Unavailability(StrEnum):
    """Why an executor takes no new executions, whatever their job. Another executor may take them."""

    LEAVING = "leaving"  # it was told to stop, and finishes what it has
    CANNOT_RECORD = "cannot_record"  # its disk does not keep results
    FULL = "full"  # it has as many executions and results as it has room for
    NO_THREADS = "no_threads"  # its system gives it no more threads


@dataclass(frozen=True, slots=True)
class Vitals:
    """What an executor says of itself with its beats, besides that it is there."""

    running: int = 0
    queued: int = 0
    threads: int = 0
    abandoned: int = 0
    """Handlers past their time limit that could not be ended."""
    unacknowledged: int = 0
    """Results that no coordinator has answered for: its backlog."""
    slots: int | None = None
    """How many it takes at once; None: as many as jobs ask for."""
    python: str = ""
    """Of its interpreter; empty: it does not say."""
    left_behind: tuple[tuple[int, int], ...] = ()
    """Executions whose handlers could not be ended and still work there, each with the instant since when."""


@dataclass(frozen=True, slots=True)
class StillWorking:
    """Where the handler of an execution that has ended still works, because nobody could end it."""

    address: str
    since: int


@dataclass(frozen=True, slots=True)
class ExecutorEntry:
    """One executor process as the registry knows it."""

    app_name: str
    address: str
    last_beat: int
    incarnation: str | None  # None: a foreign executor, which does not say
    extensions: frozenset[str] = frozenset()
    """What this executor announced beyond the base protocol; nothing else may be sent to it."""
    version: str | None = None
    since: int = 0
    """When this incarnation was first heard of."""
    load: int | None = None
    """What runs and waits there, as it said with its last beat."""
    labels: Mapping[str, str] = field(default_factory=dict)
    clock_offset: int | None = None
    """Milliseconds its clock is ahead of the coordinator's that took its last beat."""
    unreadable: str = ""
    """What of its labels cannot be read. It has none then, and no job that asks for labels may be sent to it."""
    queues: tuple[str, ...] = ()
    """What it takes from, as that is called on the wire. Who does takes; nothing is sent to it."""
    key_id: str | None = None
    """The name of the key it registered with: it accepts that one."""
    drained_since: int | None = None
    """Since when nothing new is sent to it because somebody said so."""
    work_key: str | None = field(default=None, repr=False)
    """What it is asked for work with, sealed; None: it has told nothing of the kind."""
    vitals: Vitals | None = None
    """What its last beat said of it; None: nothing."""
    unavailable: str | None = None
    """Why it takes no new executions, as its last beat said: an ``Unavailability``, or the code of a newer version."""

    @property
    def is_leaving(self) -> bool:
        return self.unavailable == Unavailability.LEAVING

    @property
    def known_labels(self) -> Mapping[str, str] | None:
        """Its labels; None when nobody can say which it has."""
        return None if self.unreadable else self.labels


def liveness(age: int, beat: int, dead_after: int) -> Liveness:
    """What a beat ``age`` ms old means when one is expected every ``beat`` ms and an executor is removed after
    ``dead_after`` ms.
    """
    if age >= dead_after:
        return Liveness.MISSED_90
    if age >= 2 * beat:
        return Liveness.MISSED_60
    if age > beat + beat // 10:  # a tenth of slack: a beat in flight is not a missed beat
        return Liveness.MISSED_30
    return Liveness.ALIVE


def normal_address(address: str) -> str:
    """An executor address in the one spelling used for comparing: scheme and host in small letters, no trailing slash.
    The path stays as it is: there a capital letter is another letter.
    """
    address = address.strip().rstrip("/")
    if address.islower():  # nearly all, and thousands of them are compared
        return address
    scheme, separator, rest = address.partition("://")
    if not separator:
        return address
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}://{host.lower()}{slash}{path}"


_DEFAULT_PORTS = {"http": "80", "https": "443"}


def host_and_port(address: str) -> str:
    """The ``host:port`` that an address connects to. Addresses that differ only in their path have the same."""
    scheme, _separator, rest = normal_address(address).partition("://")
    authority = rest.partition("/")[0]
    _host, colon, port = authority.rpartition(":")
    return authority if colon and port.isdigit() else f"{authority}:{_DEFAULT_PORTS.get(scheme, '')}"


@lru_cache(maxsize=64)
def shares(addresses: tuple[str, ...]) -> tuple[tuple[str, ...], ...]:
    """``addresses`` by their host and port, in their order: each of these has one share of the work. Paths cost
    nothing, so whoever may register addresses must not get a share for each path.

    An address without a path stands for its host and port alone: nobody takes a part of its share by adding paths.
    """
    by_place: dict[str, list[str]] = {}
    for address in dict.fromkeys(addresses):
        by_place.setdefault(host_and_port(address), []).append(address)
    return tuple(_without_paths(some) for some in by_place.values())


def _without_paths(addresses: Sequence[str]) -> tuple[str, ...]:
    bare = tuple(one for one in addresses if "/" not in one.partition("://")[2].rstrip("/"))
    return bare[:1] or tuple(addresses)


def in_turns(addresses: tuple[str, ...]) -> tuple[str, ...]:
    """``addresses`` with the first of each host and port before the second of any."""
    return tuple(one for some in zip_longest(*shares(addresses)) for one in some if one is not None)


def known_addresses(listed: Iterable[str], entries: Iterable[ExecutorEntry]) -> frozenset[str]:
    """What belongs to a group, in the one spelling: the addresses ``listed`` in it, and those of who has registered."""
    return frozenset(map(normal_address, listed)) | {normal_address(entry.address) for entry in entries}


def taking_work(addresses: Sequence[str], entries: Iterable[ExecutorEntry]) -> tuple[str, ...]:
    """Those of ``addresses`` whose executors take new executions, as far as their beats say, in their order. If there
    are none, all of them. If several executors have an address, one of them is enough.
    """
    said: dict[str, bool] = {}
    for entry in entries:
        key = normal_address(entry.address)
        said[key] = entry.unavailable is None or said.get(key, False)
    if all(said.values()):
        return tuple(addresses)
    return tuple(address for address in addresses if said.get(normal_address(address), True)) or tuple(addresses)


def undrained(addresses: Sequence[str], entries: Iterable[ExecutorEntry]) -> tuple[str, ...]:
    """Those of ``addresses`` that may get something new, in their order."""
    drained = {normal_address(entry.address) for entry in entries if entry.drained_since is not None}
    if not drained:
        return tuple(addresses)
    return tuple(address for address in addresses if normal_address(address) not in drained)
