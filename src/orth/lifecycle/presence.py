"""Being known to the registry: register, beat, say how things stand, leave.

One loop that does one thing at a time, whatever is due: an attempt to register, a status to tell, a beat. Nothing that
happens here stops or delays the work of the process: without a registry it runs on, unregistered, and the attempts go
on in the background. Leaving is best effort and takes two seconds at most.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from orth.clock import Clock
from orth.domain.services import ServiceKind, ServiceStatus
from orth.events import Events
from orth.lifecycle import facts
from orth.lifecycle.aside import Abandoned
from orth.lifecycle.client import Registration, RegistryApi, RegistryTrouble
from orth.lifecycle.facts import Cause
from orth.lifecycle.line import RegistryLine
from orth.lifecycle.settings import LifecycleSettings
from orth.loop import Loop

HEARTBEAT_FAILURES = 3
"""In a row, after which a process registers again."""
STATUS_EVERY = 1.0
"""Seconds between two status calls, at least; as often an executor looks whether it works."""
GOODBYE = 2.0
"""Seconds that leaving may take."""
_LAST_CALL = 0.9
_NOTHING_TO_DO = 3600.0
_FIRST_NOTE = "no internet connection or DNS failure"

BelongsTo = Callable[[RegistryApi], str | None]
"""Asks the registry which orchestrator an agent belongs to."""


class Presence(Loop):
    """One process in the registry. ``busy`` tells whether an executor works; a coordinator has none."""

    def __init__(
        self,
        line: RegistryLine,
        me: Registration,
        rules: LifecycleSettings,
        clock: Clock,
        events: Events,
        *,
        busy: Callable[[], bool] | None = None,
        belongs_to: BelongsTo | None = None,
    ) -> None:
        super().__init__(clock, events)
        self._line = line
        self._me = me
        self._rules = rules
        self._busy = busy
        self._belongs_to = belongs_to
        self._title = me.kind.title()
        self._speaking = asyncio.Lock()
        self._closing = self._left = self._told_missing = self._not_offered = False
        self._settled = self._next_attempt = clock.monotonic() + rules.settle
        self._next_beat = self._settled + rules.heartbeat
        self._next_status = self._settled
        self._last_attempt = self._settled - rules.ladder.shortest
        self._attempt = self._failed_beats = 0
        self._status_held = False
        self._said: ServiceStatus | None = None
        self.id: str | None = None
        """Under which the registry knows this process; None while it does not, as far as we know."""

    @property
    def orchestrator_id(self) -> str | None:
        """The orchestrator this agent has registered with."""
        return self._me.orchestrator_id

    async def turn(self) -> float:
        if self._left or not self._configured():
            return _NOTHING_TO_DO
        if self.clock.monotonic() < self._settled:
            return self._settled - self.clock.monotonic()
        async with self._speaking:
            with suppress(Abandoned):
                await self._do_what_is_due()
        return max(0.0, self._next_due() - self.clock.monotonic())

    def belongs_elsewhere(self, orchestrator_id: str) -> None:
        """The agent talks to another orchestrator now: say so, by registering again."""
        if self.id is not None and orchestrator_id != self._me.orchestrator_id:
            self._start_over()
            self.wake()

    def heard_from(self) -> None:
        """Somebody who may be the registry has answered something else: if it does not know us, do not wait."""
        if self.id is None and self._attempt > self._rules.ladder.attempts:
            self._line.may_try()
            self._next_attempt = self.clock.monotonic()
            self.wake()

    def use(self, rules: LifecycleSettings) -> None:
        """Go by other settings; a registry at another address is told at once that we are here."""
        moved = rules.registry != self._rules.registry
        self._rules = rules
        self._line.use(rules)
        if moved:
            self._told_missing = self._not_offered = False
            self._start_over()
            self._next_attempt = self.clock.monotonic()
        self.wake()

    def say_stopping(self) -> None:
        """The process begins to stop. Returns at once; beats go on until ``leave``."""
        self.events.emit(facts.ShuttingDown(self._title))
        self._closing = True
        self.wake()

    async def leave(self) -> None:
        """Say goodbye, and nothing after it."""
        self._left = True
        self.stop()
        try:
            async with asyncio.timeout(GOODBYE), self._speaking:
                with suppress(Abandoned):
                    await self._say_goodbye()
        except TimeoutError:
            self.events.emit(facts.NotUnregistered(f"no answer within {GOODBYE:g} s"))
        finally:
            self._line.abandon()

    # --- what is due

    def _configured(self) -> bool:
        if self._rules.registry and self._me.url:
            return True
        if not self._told_missing:
            self._told_missing = True
            missing = (
                facts.AddressNotConfigured(Cause.CONFIGURATION, "this process has no address of its own")
                if self._rules.registry
                else facts.RegistryNotConfigured(Cause.CONFIGURATION, self._rules.missing)
            )
            self.events.emit(missing)
            self.events.emit(facts.RegistrationFailed(self._rules.ladder.attempts))
            self.events.emit(facts.RunningUnregistered(self._me.kind, self._rules.ladder.attempts))
        return False

    async def _do_what_is_due(self) -> None:
        now = self.clock.monotonic()
        if self.id is None and now >= self._next_beat:
            self._next_beat = now + self._rules.heartbeat
            self.events.emit(facts.HeartbeatSkipped())
        call = self._due_call(now)
        if call is not None and self._line.passes:
            await call()

    def _due_call(self, now: float) -> Callable[[], Awaitable[None]] | None:
        if self.id is None:
            return self._register if now >= self._next_attempt else None
        if now >= self._next_beat:
            return self._beat
        if now >= self._next_status and not self._status_held and self._said is not self._wanted():
            return self._tell_status
        return None

    def _next_due(self) -> float:
        passes_at = self._line.passes_at
        if self.id is None:
            return min(max(self._next_attempt, passes_at), self._next_beat)
        return max(min(self._next_beat, self._next_look()), passes_at)

    def _next_look(self) -> float:
        """When a status may have to be told."""
        if self._status_held:
            return self._next_beat
        if self._said is not self._wanted():
            return self._next_status
        return self._next_beat if self._busy is None else self.clock.monotonic() + STATUS_EVERY

    def _wanted(self) -> ServiceStatus:
        if self._closing:
            return ServiceStatus.STOPPING
        if self._busy is None:
            return ServiceStatus.RUNNING
        return ServiceStatus.BUSY if self._busy() else ServiceStatus.IDLE

    # --- registering

    def _start_over(self) -> None:
        """From the first attempt on: at once, unless the last one was a moment ago."""
        if self.id is not None:
            self.events.emit(facts.RegistrationDropped(self._me.kind, self.id))
        self.id = self._said = None
        self._attempt = self._failed_beats = 0
        earliest = max(self.clock.monotonic(), self._last_attempt + self._rules.ladder.shortest)
        self._next_attempt = earliest + self._rules.ladder.pause_before(1)

    async def _register(self) -> None:
        ladder = self._rules.ladder
        self._attempt += 1
        self._last_attempt = self.clock.monotonic()
        in_ladder = self._attempt <= ladder.attempts
        attempted = facts.RegistrationAttempted(self._attempt, ladder.attempts)
        self.events.emit(attempted if in_ladder else facts.RegistrationTriedAgain(self._attempt))
        try:
            introduced = await self._line.call(self._introduce, may_open=self._attempt >= ladder.attempts)
        except RegistryTrouble as trouble:
            self._plan_next(trouble)
            return
        if isinstance(introduced, RegistryTrouble):
            self._note_not_offered(introduced)
            return
        self._me, self.id = introduced
        self._note_registered(self.id)

    def _introduce(self, api: RegistryApi) -> tuple[Registration, str] | RegistryTrouble:
        """Who we are now, and our id; trouble that is as good as an answer is returned."""
        try:
            me = self._me if self._belongs_to is None else replace(self._me, orchestrator_id=self._belongs_to(api))
            return me, api.register(me)
        except RegistryTrouble as trouble:
            if self._rules.optional and trouble.is_no_registry:
                return trouble
            raise

    def _note_not_offered(self, trouble: RegistryTrouble) -> None:
        if not self._not_offered:
            self.events.emit(facts.RegistryNotOffered(str(trouble)))
        self._not_offered = True
        self._attempt = max(self._attempt, self._rules.ladder.attempts)
        self._next_attempt = self.clock.monotonic() + self._rules.ladder.again

    def _note_registered(self, given: str) -> None:
        now = self.clock.monotonic()
        if self._me.kind is ServiceKind.AGENT:
            self.events.emit(facts.AgentRegistered(given, self._me.orchestrator_id or "(none yet)"))
        else:
            self.events.emit(facts.OrchestratorRegistered(given))
        self.events.emit(facts.RegistrationSucceeded(self._attempt))
        self._attempt = self._failed_beats = 0
        self._not_offered = False
        self._said, self._status_held = None, False
        self._next_status, self._next_beat = now, now + self._rules.heartbeat

    def _plan_next(self, trouble: RegistryTrouble) -> None:
        ladder, now, attempt = self._rules.ladder, self.clock.monotonic(), self._attempt
        self._next_attempt = max(now + ladder.pause_before(attempt + 1), self._line.passes_at)
        pause = self._next_attempt - now
        if attempt > ladder.attempts:
            if self._not_offered:
                return
            self.events.emit(facts.BackgroundAttemptFailed(trouble.cause, str(trouble), pause))
            return
        self.events.emit(_told(trouble, attempt, ladder.attempts))
        if attempt < ladder.attempts:
            self.events.emit(facts.RetryPlanned(attempt, pause))
        else:
            self.events.emit(facts.RegistrationFailed(attempt))
            self.events.emit(facts.RunningUnregistered(self._me.kind, attempt))

    # --- being registered

    async def _beat(self) -> None:
        kind, own = self._me.kind, self._own_id()
        self._next_beat = self.clock.monotonic() + self._rules.heartbeat
        try:
            await self._line.call(lambda api: api.beat(kind, own), answers=(Cause.NOT_FOUND,))
        except RegistryTrouble as trouble:
            self._note_missed_beat(trouble)
        else:
            self._failed_beats, self._status_held = 0, False
            self.events.emit(facts.HeartbeatSent(kind, own))

    def _note_missed_beat(self, trouble: RegistryTrouble) -> None:
        if trouble.cause is Cause.NOT_FOUND:
            self._note_forgotten()
            return
        self._failed_beats += 1
        self.events.emit(facts.HeartbeatFailed(trouble.cause, self._failed_beats, HEARTBEAT_FAILURES, str(trouble)))
        if self._failed_beats >= HEARTBEAT_FAILURES:
            self.events.emit(facts.HeartbeatsLost())
            self._start_over()

    def _note_forgotten(self) -> None:
        self.events.emit(facts.ForgottenByRegistry(self._me.kind, self._own_id()))
        self._start_over()

    async def _tell_status(self, *, within: float | None = None) -> None:
        kind, own, wanted = self._me.kind, self._own_id(), self._wanted()
        self._next_status = self.clock.monotonic() + STATUS_EVERY
        try:
            await self._line.call(
                lambda api: api.set_status(kind, own, wanted, timeout=within), answers=(Cause.NOT_FOUND,)
            )
        except RegistryTrouble as trouble:
            if trouble.cause is Cause.NOT_FOUND:
                self._note_forgotten()
                return
            self._status_held = True  # a beat that arrives says that it is worth another try
            self.events.emit(facts.StatusNotUpdated(self._title, wanted, str(trouble)))
        else:
            self._said = wanted
            self.events.emit(facts.StatusUpdated(self._title, wanted))

    def _own_id(self) -> str:
        assert self.id is not None
        return self.id

    # --- leaving

    async def _say_goodbye(self) -> None:
        self._closing = True
        if self.id is not None and self._said is not ServiceStatus.STOPPING and not self._status_held:
            await self._tell_status(within=_LAST_CALL)
        if self.id is None:
            return
        kind, own = self._me.kind, self.id
        try:
            await self._line.call(lambda api: api.unregister(kind, own, timeout=_LAST_CALL))
        except RegistryTrouble as trouble:
            if trouble.cause is not Cause.NOT_FOUND:  # which is as good
                self.events.emit(facts.NotUnregistered(str(trouble)))
                return
        self.id = None
        self.events.emit(facts.Unregistered(self._title))


def _told(trouble: RegistryTrouble, attempt: int, attempts: int) -> facts.AttemptFailed:
    """A failed attempt in the sentence of its kind."""
    reason = str(trouble)
    match trouble.cause:
        case Cause.NETWORK:
            note = _FIRST_NOTE if attempt == 1 else f"retry {attempt}/{attempts}"
            return facts.RegistrationNetworkError(trouble.cause, reason, note)
        case Cause.TIMEOUT:
            return facts.RegistrationTimedOut(trouble.cause, reason)
        case Cause.NOT_FOUND:
            return facts.RegistrationNotFound(trouble.cause, reason)
        case Cause.UNAVAILABLE:
            return facts.RegistrationUnavailable(trouble.cause, reason)
        case Cause.MALFORMED:
            return facts.RegistrationMalformed(trouble.cause, reason)
        case _:
            return facts.RegistrationRefused(trouble.cause, reason)
