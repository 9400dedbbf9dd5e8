"""The line of one process to its registry: calls beside the event loop, behind circuit breakers.

Being registered and asking who is there have a breaker each: questions that fail must not use up the attempts to
register. The first is the one that is told and measured. It is never open for longer than the pause between two
attempts in the background, so it delays none of them. A registration that succeeds closes both.
"""

from collections.abc import Callable, Collection
from typing import TypeVar

from orth.clock import Clock
from orth.events import Events
from orth.lifecycle.aside import Aside
from orth.lifecycle.breaker import Breaker
from orth.lifecycle.client import RegistryApi, RegistryTrouble
from orth.lifecycle.facts import Cause, CircuitClosed, CircuitHalfOpened, CircuitOpened
from orth.lifecycle.settings import LifecycleSettings

T = TypeVar("T")


class RegistryLine:
    """What the loops of a process call through."""

    def __init__(self, api: RegistryApi, rules: LifecycleSettings, clock: Clock, events: Events) -> None:
        self.api = api
        self._clock = clock
        self._events = events
        self._aside = Aside()
        self._breaker = Breaker(rules.breaker_failures, _left_alone(rules))
        self._questions = Breaker(rules.breaker_failures, rules.breaker_cooldown)

    @property
    def passes(self) -> bool:
        """Whether a call would be made now."""
        return self._breaker.passes(self._clock.monotonic())

    @property
    def passes_at(self) -> float:
        """When the next call would be made, on the monotonic clock."""
        return self._breaker.passes_at(self._clock.monotonic())

    @property
    def may_ask(self) -> bool:
        """Whether a question would be asked now."""
        return self._questions.passes(self._clock.monotonic())

    async def call(
        self, work: Callable[[RegistryApi], T], *, answers: Collection[Cause] = (), may_open: bool = False
    ) -> T:
        """What ``work`` gives; ``RegistryTrouble`` when it fails, ``Abandoned`` when nobody waits any more. Of the
        ways to fail, ``answers`` are those of a registry that works. Only a call that ``may_open`` opens the circuit.
        """
        if self._breaker.begin(self._clock.monotonic()):
            self._events.emit(CircuitHalfOpened())
        try:
            result = await self._aside.call(lambda: work(self.api))
        except RegistryTrouble as trouble:
            if trouble.cause in answers:
                self._note_success()
            elif self._breaker.failed(self._clock.monotonic(), may_open=may_open):
                self._events.emit(CircuitOpened(self._breaker.failures, self._breaker.cooldown))
            raise
        except BaseException:  # given up, from here or from outside
            self._breaker.may_try(self._clock.monotonic())
            raise
        self._note_success()
        return result

    async def ask(self, work: Callable[[RegistryApi], T]) -> T:
        """As ``call``, for a question that nothing depends on; it fails on its own account."""
        self._questions.begin(self._clock.monotonic())
        try:
            result = await self._aside.call(lambda: work(self.api))
        except RegistryTrouble:
            self._questions.failed(self._clock.monotonic())
            raise
        except BaseException:  # given up, from here or from outside
            self._questions.may_try(self._clock.monotonic())
            raise
        self._questions.succeeded()
        return result

    def abandon(self) -> None:
        """Wait for no answer any more."""
        self._aside.abandon()

    def may_try(self) -> None:
        """There is reason to think that the registry is back."""
        self._breaker.may_try(self._clock.monotonic())

    def use(self, rules: LifecycleSettings) -> None:
        """Go by other settings. A registry at another address begins with a closed circuit."""
        if rules.registry != self.api.addresses:
            self.abandon()
            self.api.use(rules.registry)
            self._note_success()
        self.api.timeout = rules.timeout
        self._breaker.after, self._breaker.cooldown = rules.breaker_failures, _left_alone(rules)
        self._questions.after, self._questions.cooldown = rules.breaker_failures, rules.breaker_cooldown

    def _note_success(self) -> None:
        self._questions.succeeded()
        if self._breaker.succeeded():
            self._events.emit(CircuitClosed())


def _left_alone(rules: LifecycleSettings) -> float:
    """How long no call is made once the circuit is open; the next attempt in the background is always made."""
    return min(rules.breaker_cooldown, rules.ladder.again)
