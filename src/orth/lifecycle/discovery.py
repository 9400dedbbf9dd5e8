"""Which coordinators there are, as the registry says, and which of them an executor turns to.

The executor asks regularly. Coordinators that run are used, new ones are learnt, those that are gone are dropped, and
the configured ones stay as a fallback. Each executor puts them in an order of its own, made from its identity and each
address (rendezvous hashing): executors spread evenly, and when a coordinator comes or goes only its share moves.
"""

from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Protocol
from urllib.parse import urlsplit

from orth.clock import Clock
from orth.domain.services import ServiceStatus
from orth.errors import Invalid
from orth.events import Events
from orth.lifecycle.aside import Abandoned
from orth.lifecycle.client import Orchestrator, RegistryApi, RegistryTrouble
from orth.lifecycle.facts import CoordinatorsDiscovered, DiscoveryFailed
from orth.lifecycle.line import RegistryLine
from orth.lifecycle.settings import LifecycleSettings
from orth.loop import Loop
from orth.settings import Address
from orth.wire.addresses import checked_address

LEARNT = 32
"""Coordinators that are kept in mind, at most."""
_RARELY = 300.0
"""Seconds to the next question of an executor that only wants to know to whom it belongs."""
_SOON = 5.0
"""Seconds to the next question while nobody runs: an executor may have started before its coordinators."""


class Link(Protocol):
    """The executor's way to its coordinators."""

    @property
    def address(self) -> str: ...

    def use(self, addresses: Sequence[str], *, begin: bool = False) -> None: ...


class Discovery(Loop):
    """Keeps ``link`` on the coordinators that run. ``changed`` is told when others are used."""

    def __init__(
        self,
        line: RegistryLine,
        link: Link,
        clock: Clock,
        events: Events,
        *,
        identity: str,
        rules: LifecycleSettings,
        configured: Sequence[str],
        changed: Callable[[], None],
    ) -> None:
        """``configured`` are the coordinators the link has already, to fall back on."""
        super().__init__(clock, events)
        self._line = line
        self._link = link
        self._identity = identity
        self._changed = changed
        self._configured = tuple(configured)
        self._learnt: tuple[str, ...] = ()
        self._rules = rules
        self._failing = False
        self.tell: Callable[[str], None] = lambda _id: None
        """Told the id of the orchestrator this executor talks to."""

    async def turn(self) -> float:
        if not self._line.api.addresses or not self._line.may_ask:
            return _SOON
        try:
            listed = await self._line.ask(RegistryApi.orchestrators)
        except Abandoned:
            return _SOON
        except RegistryTrouble as trouble:
            if self._rules.optional and trouble.is_no_registry:
                return max(_RARELY, self._rules.discover)
            if not self._failing:
                self._failing = True
                self.events.emit(DiscoveryFailed(str(trouble)))
            return self._rules.discover
        self._failing = False
        if self._rules.learns:
            self._learn(running(listed, self._line.api.addresses))
        mine = orchestrator_of(listed, self._link.address)
        if mine is None:
            return min(_SOON, self._rules.discover)
        self.tell(mine)
        return self._rules.discover if self._rules.learns else max(_RARELY, self._rules.discover)

    def orchestrator_id(self, api: RegistryApi) -> str | None:
        """The orchestrator this executor talks to; asks the registry, and waits for the answer."""
        return orchestrator_of(api.orchestrators(), self._link.address)

    def use(self, rules: LifecycleSettings, configured: Sequence[str]) -> None:
        """Go by other settings, with these coordinators as a fallback."""
        kept = self._learnt if rules.learns else ()
        changed = tuple(configured) != self._configured or kept != self._learnt
        self._rules, self._configured = rules, tuple(configured)
        if changed:
            self._pass_on(kept)
        self.wake()

    def _learn(self, addresses: Sequence[str]) -> None:
        ordered = tuple(preference(self._identity, addresses)[:LEARNT])
        if ordered != self._learnt:
            self._pass_on(ordered)

    def _pass_on(self, ordered: tuple[str, ...]) -> None:
        known = [*ordered, *(one for one in self._configured if one not in ordered)]
        if known:  # else: better those that were there a moment ago than nobody
            self._link.use(known, begin=ordered[:1] != self._learnt[:1])
            self.events.emit(CoordinatorsDiscovered(", ".join(known), len(ordered)))
            self._changed()
        self._learnt = ordered


def running(listed: Sequence[Orchestrator], registry: Sequence[str]) -> list[str]:
    """Addresses of those that run and can be meant for us: another machine's loopback is not."""
    local = any(_is_loopback(address) for address in registry)
    found = []
    for one in listed:
        try:
            address = checked_address(one.url)
        except Invalid:
            continue
        if one.status == ServiceStatus.RUNNING and (local or not _is_loopback(address)):
            found.append(address)
    return found


def preference(identity: str, addresses: Sequence[str]) -> list[str]:
    """The order in which the executor of that identity turns to them."""
    return sorted(set(addresses), key=lambda address: sha256(f"{identity} {address}".encode()).digest())


def orchestrator_of(listed: Sequence[Orchestrator], address: str) -> str | None:
    """The id of the orchestrator at ``address``; if it calls itself otherwise, that of one that runs."""
    here = [one for one in listed if one.url.rstrip("/") == address]
    up = [one for one in listed if one.status == ServiceStatus.RUNNING]
    about_to = [one for one in listed if one.status == ServiceStatus.STARTING]
    return next((one.id for one in (*here, *up, *about_to)), None)


def _is_loopback(address: str) -> bool:
    return Address(urlsplit(address).hostname or "", 0).is_loopback
