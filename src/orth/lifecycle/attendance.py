"""A process's dealings with its registry as one thing: presence, discovery and changed settings, ended together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from orth.clock import Clock
from orth.events import Events
from orth.lifecycle.client import Registration, RegistryApi
from orth.lifecycle.discovery import Discovery, Link
from orth.lifecycle.line import RegistryLine
from orth.lifecycle.presence import Presence
from orth.lifecycle.reloading import Reloading
from orth.lifecycle.settings import LifecycleSettings, chosen_coordinators
from orth.loop import Loop
from orth.settings import Settings
from orth.wire.peer_tls import peer_tls
from orth.wire.signatures import Key, Signer


@dataclass(frozen=True, slots=True)
class AgentSide:
    """What an executor adds: its way to the coordinators, whether it works, and who wants to know when they change."""

    link: Link
    busy: Callable[[], bool]
    changed: Callable[[], None]


class Attendance:
    """Of a coordinator; with ``agent``, of an executor."""

    def __init__(
        self,
        settings: Settings,
        me: Registration,
        token: str,
        clock: Clock,
        events: Events,
        *,
        own_registry: Sequence[str] = (),
        own_key: Key | None = None,
        agent: AgentSide | None = None,
        signer: Signer | None = None,
    ) -> None:
        """``own_registry`` is where a coordinator registers when no registry is set: with itself. ``own_key`` is what
        it proves there that it is one. Without a ``signer`` the token is never shown.
        """
        self._own_registry = None if agent else tuple(own_registry)
        rules = self._rules(settings)
        signer = signer or Signer(me.incarnation, clock)
        tls = peer_tls(settings.security)
        self._api = RegistryApi(
            rules.registry, token, timeout=rules.timeout, clock=clock, signer=signer, tls=tls, own_key=own_key
        )
        line = RegistryLine(self._api, rules, clock, events)
        self.discovery = None
        if agent is None:
            self.presence = Presence(line, me, rules, clock, events)
        else:
            self.discovery = Discovery(
                line,
                agent.link,
                clock,
                events,
                identity=me.incarnation,
                rules=rules,
                configured=chosen_coordinators(settings),
                changed=agent.changed,
            )
            belongs_to = self.discovery.orchestrator_id
            self.presence = Presence(line, me, rules, clock, events, busy=agent.busy, belongs_to=belongs_to)
            self.discovery.tell = self.presence.belongs_elsewhere
        self._reloading = Reloading(settings, self._take, clock, events)
        self.loops: list[Loop] = [self.presence, *([self.discovery] if self.discovery else [])]

    def watch_settings(self) -> Reloading:
        """From now on changes of the settings file are taken over: for a process of its own, not for a guest."""
        self.loops.append(self._reloading)
        return self._reloading

    def say_stopping(self) -> None:
        """The process begins to stop."""
        self.presence.say_stopping()

    async def leave(self) -> None:
        """Say goodbye, within two seconds, and end the loops."""
        for loop in self.loops:
            loop.stop()
        await self.presence.leave()

    def close(self) -> None:
        self._api.close()

    def _take(self, settings: Settings) -> None:
        rules = self._rules(settings)
        if self.discovery is not None:
            self.discovery.use(rules, chosen_coordinators(settings))
        self.presence.use(rules)

    def _rules(self, settings: Settings) -> LifecycleSettings:
        otherwise = chosen_coordinators(settings) if self._own_registry is None else self._own_registry
        return LifecycleSettings.of(settings, otherwise, optional=self._own_registry is None)
