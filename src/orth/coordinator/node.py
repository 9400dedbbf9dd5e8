"""Builds a coordinator once and runs it: the only file with wiring."""

import asyncio
import logging
import random
import secrets
import socket
import sys
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from fastapi import FastAPI

from orth.clock import Clock, SystemClock
from orth.cluster.alone import AliveLocks
from orth.cluster.election import Election, Node
from orth.coordinator.batches import Batches
from orth.coordinator.callbacks import Callbacks
from orth.coordinator.dispatch import Dispatch
from orth.coordinator.due import DueJobs
from orth.coordinator.facts import CoordinatorReady, CoordinatorStopped
from orth.coordinator.first_start import (
    ADMIN,
    access_token,
    check_available,
    ensure_admin,
    prepare_folder,
    signing_secret,
)
from orth.coordinator.gone import GoneExecutors
from orth.coordinator.http.app import build_app
from orth.coordinator.http.tools import Tools
from orth.coordinator.lost import LostExecutions
from orth.coordinator.metrics import Metrics, Sources
from orth.coordinator.planning import Bounds
from orth.coordinator.posting import Limits
from orth.coordinator.probing import Probing, Watching
from orth.coordinator.reach import Reach
from orth.coordinator.registry import Registrations, RegistryMonitor
from orth.coordinator.roster import Roster
from orth.coordinator.signing import Signing
from orth.coordinator.unknowns import Unknowns
from orth.coordinator.withdrawing import Recalls
from orth.errors import OrthError
from orth.events import Events, to_log
from orth.loop import Loop, run_loops
from orth.serving import Server, asked_to_stop, bound, loop_factory
from orth.settings import Settings
from orth.store.database import Database, open_database
from orth.store.engines import is_sqlite
from orth.store.leases import Lease
from orth.store.migrating import check_schema, upgrade
from orth.wire.executor_calls import ExecutorCalls, ExecutorLink
from orth.wire.watch_lines import affordable

log = logging.getLogger("orth.coordinator")

_KEEP_ALIVE = 75
_SPARE_CONNECTIONS = 64


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a coordinator is given: everything it would otherwise have to reach for."""

    settings: Settings
    node: Node
    db: Database
    link: ExecutorLink
    clock: Clock
    events: Events
    access_token: str
    signing_secret: str
    locks: AliveLocks | None = None
    chance: random.Random = field(default_factory=random.Random)
    probe_link: ExecutorLink | None = None
    """Another way to the executors, with shorter patience, so that probes do not wait behind triggers."""
    watch_limit: int = 0
    """Executors that may be watched by open connections; none where the network is not a real one."""


class Coordinator:
    """One node: its loops, its HTTP application, and the order in which it stops."""

    def __init__(self, given: Surroundings) -> None:
        own, clock, events, db = given.settings.coordinator, given.clock, given.events, given.db
        self.given = given
        registry = given.settings.registry
        self.reach = Reach(clock, events)
        self.roster = Roster(clock, dead_after=registry.dead_after.total_seconds())
        self.probing = Probing(
            db,
            given.node.id,
            given.probe_link or given.link,
            clock,
            events,
            reach=self.reach,
            roster=self.roster,
            watching=_watching(given),
        )
        self.registrations = Registrations(
            db,
            clock,
            events,
            roster=self.roster,
            reach=self.reach,
            clock_offset=self.probing.clock_offset,
            named=lambda incarnation, ids: self.unknowns.named(incarnation, ids),
        )
        self.election = Election(
            db,
            given.node,
            clock,
            events,
            lease=given.settings.cluster.lease,
            renew=given.settings.cluster.lease_renew,
            surely_dead=self._surely_dead,
            chance=given.chance,
        )
        self.dispatch = Dispatch(
            db,
            self.election,
            given.link,
            self.reach,
            clock,
            events,
            node_id=given.node.id,
            token=given.access_token,
            batch=own.dispatch_batch,
            limits=_limits(given.settings),
            longest_wait=own.unknown_bound,
            chance=given.chance,
        )
        self.due = DueJobs(
            db,
            self.election,
            clock,
            events,
            bounds=_bounds(given.settings),
            batch=own.plan_batch,
            dispatch=self.dispatch,
            avoid=self.reach.avoid,
        )
        self.unknowns = Unknowns(
            db,
            self.election,
            given.link,
            self.reach,
            clock,
            events,
            node_id=given.node.id,
            token=given.access_token,
            bound=own.unknown_bound,
            lost_after=own.lost_after,
        )
        self.lost = LostExecutions(
            db,
            self.election,
            given.link,
            clock,
            events,
            token=given.access_token,
            every=own.lost_scan,
            lost_after=own.lost_after,
        )
        self.gone = GoneExecutors(
            db,
            self.election,
            given.probe_link or given.link,
            self.reach,
            clock,
            events,
            node_id=given.node.id,
            token=given.access_token,
            ahead=own.plan_ahead,
            dispatch=self.dispatch,
        )
        self.monitor = RegistryMonitor(
            db,
            self.election,
            clock,
            events,
            every=registry.monitor,
            beat=registry.heartbeat,
            dead_after=registry.dead_after,
            store_failed=lambda: self.registrations.failed_at,
        )
        self.recalls = Recalls(db, given.link, clock, events, token=given.access_token)
        self.batches = Batches(db, self.election, clock, events, dispatch=self.dispatch, avoid=self.reach.avoid)
        self.callbacks = Callbacks(
            db,
            clock,
            events,
            wakes=(self.dispatch, self.due),
            batches=self.batches,
            avoid=self.reach.avoid,
        )
        self.metrics = Metrics(
            Sources(
                given.settings,
                db,
                self.election,
                self.roster,
                self.reach,
                self.registrations,
                self.dispatch.posting,
            )
        )
        events.listen(self.metrics)

    @property
    def loops(self) -> tuple[Loop, ...]:
        leading = (self.due, self.dispatch, self.batches, self.unknowns, self.lost, self.monitor, self.probing)
        return (self.election, *leading, self.gone, self.recalls)

    def app(self) -> FastAPI:
        """The HTTP side of this node."""
        given = self.given
        security = given.settings.security
        signing = Signing(
            given.signing_secret, given.clock, access=security.access_token_ttl, refresh=security.refresh_token_ttl
        )
        return build_app(
            Tools(
                node_id=given.node.id,
                db=given.db,
                clock=given.clock,
                events=given.events,
                settings=given.settings,
                election=self.election,
                callbacks=self.callbacks,
                registrations=self.registrations,
                metrics=self.metrics,
                roster=self.roster,
                reach=self.reach,
                link=given.link,
                signing=signing,
                access_token=given.access_token,
                planning=(self.due, self.recalls),
                dispatching=(self.dispatch,),
                batches=self.batches,
            )
        )

    def stop_loops(self) -> None:
        for loop in self.loops:
            loop.stop()

    async def leave(self) -> None:
        """After the loops have ended: store the last answers and give up the lead, so that the next one starts at
        once.
        """
        await self.probing.close()
        await self.dispatch.drain()
        await self.election.resign()

    def _surely_dead(self, lease: Lease) -> bool:
        return self.given.locks is not None and self.given.locks.is_dead(lease.node_id)


def serve(settings: Settings) -> int:
    """Run a coordinator until it is told to stop; the exit code."""
    check_available(settings)
    folder = Path(settings.coordinator.data_dir)
    prepare_folder(folder)
    with bound(settings.coordinator.listen) as listening, asyncio.Runner(loop_factory=loop_factory()) as runner:
        return runner.run(_serve(settings, access_token(settings, folder), listening))


async def _serve(settings: Settings, token: str, listening: socket.socket) -> int:
    clock, events, url = SystemClock(), Events(to_log), settings.store_url
    with open_database(url, size=settings.store.pool_size, patience=_patience(settings.cluster.lease)) as db:
        if is_sqlite(db.url):
            upgrade(url)
        else:
            check_schema(url)
        node = Node(settings.coordinator.node_id or _node_id(listening), secrets.token_hex(8))
        locks = _locks(db, node)
        password = await ensure_admin(db, settings, clock.now())
        if password is not None:
            _print_once(password)
        async with (
            _calls(settings) as link,
            ExecutorCalls(timeout=settings.registry.probe_timeout.total_seconds()) as probe_link,
        ):
            secret = await signing_secret(db, clock.now())
            given = Surroundings(settings, node, db, link, clock, events, token, secret, locks)
            watch_limit = affordable(settings.registry.watch_limit)
            coordinator = Coordinator(replace(given, probe_link=probe_link, watch_limit=watch_limit))
            host, port = listening.getsockname()[:2]
            events.emit(CoordinatorReady(node.id, f"http://{host}:{port}", db.url.render_as_string()))
            await _run(coordinator, listening)
        events.emit(CoordinatorStopped(node.id))
        if locks is not None:
            locks.release()
    return 0


async def _run(coordinator: Coordinator, listening: socket.socket) -> None:
    """Serve and turn until a signal; then stop planning, let the last answers in, and leave."""
    server = Server(coordinator.app(), keep_alive=_KEEP_ALIVE)
    stopping = asked_to_stop()
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listening]), name="http")
        loops = group.create_task(run_loops(*coordinator.loops), name="loops")
        await stopping.wait()
        coordinator.stop_loops()
        await asyncio.wait([loops])
        try:
            await coordinator.leave()
        except OrthError as error:  # the database is away: others will wait for the lease to run out
            log.warning("%s could not say good-bye: %s", coordinator.given.node.id, error)
        server.should_exit = True


def _calls(settings: Settings) -> ExecutorCalls:
    """The way to the executors, with a few connections more than triggers may use: somebody may read a log."""
    own = settings.coordinator
    return ExecutorCalls(
        timeout=own.dispatch_timeout.total_seconds(),
        connections=own.dispatch_in_flight + _SPARE_CONNECTIONS,
        per_executor=own.dispatch_per_executor + _SPARE_CONNECTIONS,
    )


def _locks(db: Database, node: Node) -> AliveLocks | None:
    if not is_sqlite(db.url) or db.url.database is None:
        return None
    locks = AliveLocks(Path(db.url.database))
    locks.hold(node.id)
    return locks


def _node_id(listening: socket.socket) -> str:
    return f"{socket.gethostname()}-{listening.getsockname()[1]}"


def _patience(lease: timedelta) -> float:
    """A bound for statements and idle transactions below the lease: a frozen leader must not hold up its successor."""
    return min(8.0, lease.total_seconds() * 0.8)


def _watching(given: Surroundings) -> Watching:
    own = given.settings.registry
    return Watching(
        token=given.access_token,
        every=own.probe_every,
        rate=own.probe_rate,
        beat=own.heartbeat,
        timeout=own.probe_timeout,
        silence=own.watch_timeout,
        limit=given.watch_limit,
    )


def _limits(settings: Settings) -> Limits:
    own = settings.coordinator
    return Limits(
        in_flight=own.dispatch_in_flight,
        per_executor=own.dispatch_per_executor,
        breaker_after=own.breaker_failures,
        breaker_pause=own.breaker_pause.total_seconds(),
    )


def _bounds(settings: Settings) -> Bounds:
    own = settings.coordinator
    return Bounds(
        misfire_threshold=int(own.misfire_threshold.total_seconds() * 1000),
        catch_up_limit=own.catch_up_limit,
        catch_up_age=int(own.catch_up_age.total_seconds() * 1000),
        ahead=int(own.plan_ahead.total_seconds() * 1000),
    )


def _print_once(password: str) -> None:
    """The generated password goes to the terminal and nowhere else: not to the log, not to a file."""
    sys.stderr.write(f"\n  First start: sign in as {ADMIN} with the password {password}  (shown only now)\n\n")
    sys.stderr.flush()
