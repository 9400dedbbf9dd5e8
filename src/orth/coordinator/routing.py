"""Which address an execution goes to: pure. Chance and the shared counter are arguments."""

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orth.domain.jobs import RouteStrategy

_VIRTUAL_NODES = 100


@dataclass(frozen=True, slots=True)
class Question:
    """What a strategy may look at. ``number`` counts this job's routed executions, cluster-wide."""

    job_id: int
    addresses: Sequence[str]
    number: int
    pick: Callable[[int], int]  # pick(n): any of 0..n-1


def route(strategy: RouteStrategy, question: Question) -> str | None:
    """The address to send to, or None when there is none."""
    if not question.addresses:
        return None
    return _STRATEGIES[strategy](question)


def available(strategy: RouteStrategy) -> bool:
    """Whether ``route`` knows this strategy."""
    return strategy in _STRATEGIES


def _consistent_hash(question: Question) -> str:
    ring = sorted(
        (ring_hash(f"SHARD-{address}-NODE-{i}"), address)
        for address in question.addresses
        for i in range(_VIRTUAL_NODES)
    )
    position = bisect_left(ring, (ring_hash(str(question.job_id)), ""))
    return ring[position % len(ring)][1]


def ring_hash(key: str) -> int:
    """The first four bytes of the MD5, little endian: what every implementation of this ring uses."""
    return int.from_bytes(hashlib.md5(key.encode(), usedforsecurity=False).digest()[:4], "little")


_STRATEGIES: Mapping[RouteStrategy, Callable[[Question], str]] = {
    RouteStrategy.FIRST: lambda q: q.addresses[0],
    RouteStrategy.LAST: lambda q: q.addresses[-1],
    RouteStrategy.ROUND: lambda q: q.addresses[q.number % len(q.addresses)],
    RouteStrategy.RANDOM: lambda q: q.addresses[q.pick(len(q.addresses))],
    RouteStrategy.CONSISTENT_HASH: _consistent_hash,
}
