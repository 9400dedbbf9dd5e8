"""[3] Which address an execution goes to: pure. What was used before, how busy each is, and chance are arguments.

The list is what may be chosen from: the group's addresses, or those given with the trigger, without any that this
coordinator cannot reach, that lack the job's labels (``eligible``) or that are drained. Its order is the group's,
sorted. FAILOVER and BUSYOVER ask the addresses in that order before they settle; here they name the first one, and
``choosing`` asks.

Addresses that registered themselves and differ only in their path have one share of the work together
(``orth.domain.nodes.shares``): first a share is chosen, then an address of it, by the same strategy. A list that an
administrator wrote is used as it is.

SHARDING_BROADCAST has been turned into one execution for each address when it was opened, so its list has one entry.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from orth.coordinator.hash_ring import Rings, ring_hash
from orth.domain.jobs import RouteStrategy
from orth.domain.nodes import normal_address, shares
from orth.domain.selectors import Selector

_RINGS = Rings()

ASKING = frozenset({RouteStrategy.FAILOVER, RouteStrategy.BUSYOVER})
"""Strategies that ask before they send."""
COUNTING = frozenset({RouteStrategy.ROUND})
"""Strategies that need the number of the execution among those of its job."""
LOOKING_BACK = frozenset({RouteStrategy.LEAST_FREQUENTLY_USED, RouteStrategy.LEAST_RECENTLY_USED})
"""Strategies that need to know what was used before."""


@dataclass(frozen=True, slots=True)
class Use:
    """How often a job's executions went to an address, and the number of the last that did."""

    uses: int
    last: int


@dataclass(frozen=True, slots=True, order=True)
class Load:
    """What there is to do at an address. It is compared by what the cluster knows, then by what was announced."""

    known: int = 0
    """Executions of this cluster that are there or on their way, and handlers that could not be ended."""
    announced: int = 0
    """What the executor said with its last beat. That is old, so it decides only where ``known`` does not."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a strategy may look at. ``number`` counts this job's routed executions, cluster-wide."""

    job_id: int
    addresses: Sequence[str]
    number: int
    pick: Callable[[int], int]  # pick(n): any of 0..n-1
    memory: Mapping[str, Use] = field(default_factory=dict)
    load: Mapping[str, Load] = field(default_factory=dict)
    shared: bool = False
    """Whether addresses of one host and port have one share together."""


def route(strategy: RouteStrategy, question: Question) -> str | None:
    """The address to send to, or None when there is none."""
    if not question.addresses:
        return None
    choose = _STRATEGIES[strategy]
    if not question.shared:
        return choose(question)
    of = {some[0]: some for some in shares(tuple(question.addresses))}
    if len(of) == len(question.addresses):
        return choose(question)
    inside = of[choose(_between(question, of))]
    return choose(replace(question, addresses=inside, number=question.number // len(of)))


def _between(question: Question, of: Mapping[str, Sequence[str]]) -> Question:
    """Which share to choose: each under its first address, with what is known of all its addresses."""
    memory = {
        first: Use(sum(use.uses for use in used), max(use.last for use in used))
        for first, some in of.items()
        if (used := [question.memory[one] for one in some if one in question.memory])
    }
    load = {
        first: Load(sum(one.known for one in loads), sum(one.announced for one in loads))
        for first, some in of.items()
        if (loads := [question.load[one] for one in some if one in question.load])
    }
    return replace(question, addresses=tuple(of), memory=memory, load=load)


def eligible(
    addresses: Sequence[str], selector: Selector, labels: Mapping[str, Mapping[str, str] | None]
) -> tuple[str, ...]:
    """Those whose labels satisfy the selector, in their order. An address nobody announced has no labels; one whose
    labels cannot be read (None) satisfies only the empty selector.
    """
    if not selector.conditions:
        return tuple(addresses)
    found = ((address, labels.get(normal_address(address), {})) for address in addresses)
    return tuple(address for address, its in found if its is not None and selector.admits(its))


def _consistent_hash(question: Question) -> str:
    return _RINGS.ring(tuple(question.addresses)).owner(ring_hash(str(question.job_id)))


def _least_frequently_used(question: Question) -> str:
    """The fewest uses; of equals the one not used for longest. A newcomer begins where the least used one stands,
    because it would otherwise get everything until it had caught up.
    """
    known = [question.memory[address].uses for address in question.addresses if address in question.memory]
    newcomer = Use(min(known, default=0), -1)

    def rank(address: str) -> tuple[int, int]:
        use = question.memory.get(address, newcomer)
        return use.uses, use.last

    return min(question.addresses, key=rank)


def _least_recently_used(question: Question) -> str:
    """The one whose last use is longest ago; first those never used."""
    never = Use(0, -1)
    return min(question.addresses, key=lambda address: question.memory.get(address, never).last)


def _least_loaded(question: Question) -> str:
    """The one with the least to do; one of which nothing is known counts as idle."""
    return min(question.addresses, key=lambda address: question.load.get(address, Load()))


def _first(question: Question) -> str:
    return question.addresses[0]


_STRATEGIES: Mapping[RouteStrategy, Callable[[Question], str]] = {
    RouteStrategy.FIRST: _first,
    RouteStrategy.LAST: lambda q: q.addresses[-1],
    RouteStrategy.ROUND: lambda q: q.addresses[q.number % len(q.addresses)],
    RouteStrategy.RANDOM: lambda q: q.addresses[q.pick(len(q.addresses))],
    RouteStrategy.CONSISTENT_HASH: _consistent_hash,
    RouteStrategy.LEAST_FREQUENTLY_USED: _least_frequently_used,
    RouteStrategy.LEAST_RECENTLY_USED: _least_recently_used,
    RouteStrategy.LEAST_LOADED: _least_loaded,
    RouteStrategy.FAILOVER: _first,
    RouteStrategy.BUSYOVER: _first,
    RouteStrategy.SHARDING_BROADCAST: _first,
}
