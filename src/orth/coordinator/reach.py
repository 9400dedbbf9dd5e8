"""Which executors answer, as this coordinator finds it: an opinion, held in memory, about addresses.

A beat says that an executor lives; it does not say that we reach it. So whoever calls one tells here how it went, and
routing asks here before it chooses. One failed call is enough to be avoided: another executor is as good, and being
wrong costs one probe. A probe (``probing``) confirms or clears the suspicion at once.

* ``refused``: nobody is there, and that is certain. * ``silent``: no answer in time; it may be slow, or cut off.
* ``unfit``: something answers a probe, and not with the yes of an executor: it says no, or is none.
* ``answered``: it said yes to a probe. * ``spoke``: it said something to another call, so it is not silent.
* ``took``: it took a trigger. Then it is an executor, whatever it says to a probe: some know no probes. As long as it
  says the same to them, that is no reason to avoid it.
* ``declined``: it did not take a trigger.

Those who know no probes answer them with a page, as anything does that is no executor. Of an address that has never
said yes to a probe that is no reason to avoid it, until it has declined a trigger; then it is for a minute.

Were nobody left, everybody is worth trying: a coordinator that is cut off itself must not conclude that the world has
ended. Nothing here decides about an execution; it only decides whom *not* to choose.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from orth.clock import Clock
from orth.coordinator.facts import ExecutorReachable, ExecutorSuspected, ExecutorUnreachable
from orth.coordinator.ticks import Ticks
from orth.domain.nodes import Reachability, normal_address
from orth.errors import OrthError
from orth.events import Event, Events
from orth.loop import Loop
from orth.wire.executor_link import NotAnExecutor, NotSent

_AVOIDED = (Reachability.SUSPECT, Reachability.UNREACHABLE)
_REASON_LIMIT = 255
_BLAMED_FOR = 60_000
"""Milliseconds after a declined trigger for which a page in answer to a probe counts."""


@dataclass(frozen=True, slots=True)
class Sight:
    """What was found at an address."""

    state: Reachability
    since: int
    checked_at: int
    reason: str = ""
    refused: bool = False
    """Nobody was there: a beat, which may have been sent before, does not clear that. Only an answer does."""
    unfit: bool = False
    """Something was there that did not say yes to a probe. Only a yes clears that."""


class Reach:
    """What this coordinator knows about addresses. For one event loop; no call waits."""

    def __init__(self, clock: Clock, events: Events) -> None:
        self._clock = clock
        self._events = events
        self._sights: dict[str, Sight] = {}
        self._avoided: set[str] = set()
        self._says: dict[str, str] = {}
        """What those say to a probe, instead of yes, that take triggers all the same."""
        self._said_yes: set[str] = set()
        """Those who have said yes to a probe, and so know what it is."""
        self._blamed_until: dict[str, int] = {}
        self.unsaved: dict[str, Sight | None] = {}
        """Doubts that are not stored yet; None where a stored one is over."""
        self.questions: set[str] = set()
        """Addresses that should be probed now: newly doubted ones, and unreachable ones that were heard."""
        self.wakes: list[Loop] = []
        """Loops to wake when there is something to probe."""
        self.ticks = Ticks(self._wake)

    def avoid(self, addresses: Sequence[str]) -> tuple[str, ...]:
        """Those worth sending to, in their order; all of them when none would be left."""
        if not self._avoided:
            return tuple(addresses)
        good = tuple(address for address in addresses if address.rstrip("/") not in self._avoided)
        return good or tuple(addresses)

    def state(self, address: str) -> Reachability:
        sight = self._sights.get(normal_address(address))
        return sight.state if sight else Reachability.UNTRIED

    def sight(self, address: str) -> Sight | None:
        return self._sights.get(normal_address(address))

    def refused(self, address: str, reason: str, *, probed: bool = False) -> None:
        """A call was refused: the executor is not there. ``probed`` when the call was made to find that out."""
        self._doubt(address, reason, refused=True, probed=probed)

    def silent(self, address: str, reason: str, *, probed: bool = False) -> None:
        """A call was not answered in time."""
        self._doubt(address, reason, probed=probed)

    def unfit(self, address: str, reason: str, *, probed: bool = False) -> None:
        """Something answered that is no executor, or one that says that it is not available."""
        self._doubt(address, reason, unfit=True, probed=probed)

    def failed(self, address: str, error: OrthError, *, probed: bool = False, excusable: bool = False) -> None:
        """A call raised ``error``: silence, unless it surely found nobody, or something else. Who is there may know no
        probes: then a page is ``excusable``.
        """
        if excusable and isinstance(error, NotAnExecutor) and self._is_excused(normal_address(address)):
            self._works(address)
            return
        nobody = isinstance(error, NotSent) and not isinstance(error.__cause__, TimeoutError)
        self._doubt(address, error.message, refused=nobody, unfit=isinstance(error, NotAnExecutor), probed=probed)

    def took(self, address: str) -> None:
        """It took a trigger."""
        sight = self.sight(address)
        if sight is not None and sight.state in _AVOIDED and sight.unfit:
            self._says[normal_address(address)] = sight.reason
            self._said_yes.discard(normal_address(address))
        self._blamed_until.pop(normal_address(address), None)
        self._works(address)

    def declined(self, address: str) -> None:
        """It answered a trigger, and did not take it."""
        self._blamed_until[normal_address(address)] = self._clock.now() + _BLAMED_FOR
        self.spoke(address)

    def spoke(self, address: str) -> None:
        """It answered a call that was no probe, with yes or no. Where a probe found it unfit, only the next one tells
        more, and is made at once.
        """
        sight = self.sight(address)
        if sight is not None and sight.state in _AVOIDED and sight.unfit:
            self._ask_about(normal_address(address))
        else:
            self._works(address)

    def answered(self, address: str) -> None:
        """It said yes to a probe."""
        self._said_yes.add(normal_address(address))
        self._works(address)

    def _works(self, address: str) -> None:
        address, now = normal_address(address), self._clock.now()
        was = self._sights.get(address)
        if was is not None and was.state is Reachability.REACHABLE:
            self._sights[address] = replace(was, checked_at=now)
            return
        self._set(address, Sight(Reachability.REACHABLE, now, now))
        if was is not None and was.state in _AVOIDED:
            self._events.emit(ExecutorReachable(address))

    def heard(self, address: str, *, alone: bool = True) -> None:
        """A beat came from there; ``alone``, of the only app that has a process there.

        That clears a mere suspicion of silence. Where a probe found nothing, or nobody, only a probe clears it, and is
        made at once: an executor that can reach us is not always one that we can reach. So it is where several apps
        say that they have the address: who has the token of one must not speak for the executors of another.
        """
        sight = self.sight(address)
        if sight is None or sight.state not in _AVOIDED:
            return
        if alone and sight.state is Reachability.SUSPECT and not (sight.refused or sight.unfit):
            self._works(address)
        else:
            self._ask_about(normal_address(address))

    def suspects(self) -> tuple[str, ...]:
        """Addresses that are avoided, and so worth a probe."""
        return tuple(self._avoided)

    def doubt_again(self) -> None:
        """Let every doubt be stored anew: it still holds."""
        for address in self._avoided:
            self._sights[address] = self.unsaved[address] = replace(self._sights[address])

    def known(self) -> tuple[str, ...]:
        """Every address there is an opinion about."""
        return tuple(self._sights)

    def counts(self) -> Counter[Reachability]:
        """How many addresses there are in each state."""
        return Counter(sight.state for sight in self._sights.values())

    def forget(self, address: str) -> None:
        """It is nobody's address any more."""
        address = normal_address(address)
        self._sights.pop(address, None)
        self._says.pop(address, None)
        self._said_yes.discard(address)
        self._blamed_until.pop(address, None)
        if address in self._avoided:
            self._avoided.discard(address)
            self.unsaved[address] = None

    def _doubt(
        self, address: str, reason: str, *, refused: bool = False, unfit: bool = False, probed: bool = False
    ) -> None:
        address, now = normal_address(address), self._clock.now()
        reason = reason[:_REASON_LIMIT]
        if unfit and self._says.get(address) == reason:
            self._works(address)
            return
        if refused:
            self._says.pop(address, None)  # the process that took triggers has ended
        was = self._sights.get(address)
        known = was is not None and was.state in _AVOIDED
        state = Reachability.UNREACHABLE if known and probed else Reachability.SUSPECT
        if was is not None and (was.state is state or was.state is Reachability.UNREACHABLE):
            self._sights[address] = replace(was, checked_at=now, reason=reason, refused=refused, unfit=unfit)
            return
        self._set(address, Sight(state, now, now, reason, refused, unfit))
        fact: Event = ExecutorSuspected(address, reason)
        if state is Reachability.UNREACHABLE:
            fact = ExecutorUnreachable(address, reason)
        self._events.emit(fact)
        if not probed:
            self._ask_about(address)

    def _is_excused(self, address: str) -> bool:
        return address not in self._said_yes and self._clock.now() >= self._blamed_until.get(address, 0)

    def _set(self, address: str, sight: Sight) -> None:
        self._sights[address] = sight
        if sight.state in _AVOIDED:
            self._avoided.add(address)
            self.unsaved[address] = sight
        elif address in self._avoided:
            self._avoided.discard(address)
            self.unsaved[address] = None

    def _ask_about(self, address: str) -> None:
        self.questions.add(address)
        self._wake()

    def _wake(self) -> None:
        for loop in self.wakes:
            loop.wake()
