"""The Registry API's part of a process: which services there are, and who is told of it."""

from collections.abc import Sequence

from orth.connections import affordable
from orth.coordinator.rooms import Surroundings, Work
from orth.coordinator.services.bell import Bell, BellEar
from orth.coordinator.services.duty import Duty
from orth.coordinator.services.feed import Feed
from orth.coordinator.services.health import Health, Rounds
from orth.coordinator.services.places import Places
from orth.coordinator.services.registrar import Registrar
from orth.coordinator.services.silence import Patience, Silence
from orth.loop import Loop


class ServiceRoom:
    """Made in every process; each of them answers for all services."""

    def __init__(self, given: Surroundings, work: Work) -> None:
        own, db, clock, events = given.settings.registry, given.db, given.clock, given.events
        feed = self.feed = Feed(db, clock, events, kept=own.socket_queue)
        self.places = Places(affordable(own.socket_clients), own.socket_clients_each)
        bell = self.bell = Bell(feed, given.channels, given.names, clock, events)
        self.registrar = Registrar(db, clock, events, limit=own.services_limit, changed=bell.ring)
        duty = Duty(db, work.election, clock, lease=given.settings.cluster.lease)
        patience = Patience(own.heartbeat, own.forget_after)
        self.silence = Silence(
            db,
            duty,
            clock,
            events,
            every=own.monitor,
            patience=patience,
            events_kept=own.events_kept,
            store_failed=lambda: self.registrar.failed_at,
            changed=bell.ring,
        )
        loops: list[Loop] = [feed, bell, self.silence]
        if given.channels is not None:
            loops.append(BellEar(feed, given.channels, given.names, clock, events))
        if given.health_link is not None and own.health:
            rounds = Rounds(own.health_every, own.health_failures, own.health_rate, patience.fails_after)
            asking = Duty(db, work.election, clock, lease=given.settings.cluster.lease)
            loops.append(Health(db, asking, given.health_link, clock, events, rounds=rounds, changed=bell.ring))
        self.loops: Sequence[Loop] = loops
