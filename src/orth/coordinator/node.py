"""Builds a coordinator once and runs it: the only file with wiring."""

import asyncio
import logging
import secrets
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from fastapi import FastAPI

from orth.channels.counting import CountedChannels
from orth.channels.names import Names
from orth.clock import Clock, SystemClock
from orth.cluster.alone import AliveLocks
from orth.cluster.election import Node
from orth.cluster.lease_hint import LeaseHint
from orth.collecting import set_start_aside
from orth.coordinator.cluster_metrics import ClusterSources
from orth.coordinator.company import Company
from orth.coordinator.enrolling import Enrolling
from orth.coordinator.executor_access import ExecutorAccess
from orth.coordinator.facts import CoordinatorReady, CoordinatorStopped
from orth.coordinator.first_start import (
    access_token,
    ensure_admin,
    first_link,
    prepare_folder,
    signing_secret,
    tell_first_sign_in,
)
from orth.coordinator.http.app import build_app
from orth.coordinator.http.body_budget import BodyBudget
from orth.coordinator.http.callback_reading import CallbackReading
from orth.coordinator.http.executor_rates import ExecutorRates
from orth.coordinator.http.executor_turns import OF_ONE_TOKEN, ExecutorTurns
from orth.coordinator.http.rates import Buckets
from orth.coordinator.http.tools import Tools
from orth.coordinator.logs.read_places import ReadPlaces
from orth.coordinator.logs.searching import Searches
from orth.coordinator.metrics import Metrics, Sources
from orth.coordinator.opening_channels import opened_channels
from orth.coordinator.outgoing import Outgoing
from orth.coordinator.queues import Queues
from orth.coordinator.refusals import HeldBack, LeftOut, Refusals
from orth.coordinator.resealing import seal_the_open
from orth.coordinator.rooms import Care, Presence, Records, Surroundings, Work
from orth.coordinator.sealing import agree, sealing_of
from orth.coordinator.service_room import ServiceRoom
from orth.coordinator.signing import Signing
from orth.coordinator.signing_in.links import link_url
from orth.coordinator.token_agreement import TokenAgreement
from orth.domain.services import ServiceKind
from orth.errors import OrthError
from orth.events import Events, to_log
from orth.heap import HeapTrimmer
from orth.lifecycle.attendance import Attendance
from orth.lifecycle.client import Registration
from orth.lifecycle.facts import RegistryApiStarted
from orth.lifecycle.reloading import Reloading
from orth.loop import Loop, run_loops
from orth.serving import (
    LastResort,
    Server,
    asked_to_stop,
    bound,
    event_loop,
    reload_on_hangup,
    stand_aside_on_signal,
    tls_of,
)
from orth.settings import Address, Settings
from orth.store.database import Database, open_database
from orth.store.engines import is_sqlite
from orth.store.life_locks import LifeLock
from orth.store.migrating import check_schema, upgrade
from orth.wire.coordinator_keys import coordinator_key
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.health_calls import HealthCalls
from orth.wire.signatures import Verifier
from orth.wire.watch_lines import affordable

log = logging.getLogger("orth.coordinator")

_KEEP_ALIVE = 75
_SPARE_CONNECTIONS = 64
_LOG_PATIENCE = 15.0
"""Seconds in which an executor of another make begins to answer for a log: it reads its file to the end before."""
_WHO_IS_THERE = 1.5
"""Seconds in which a process has to say that it has its work key: less than an executor waits for the answer to its
beat."""
_LAST_ANSWERS = 0.25
"""Seconds for the answers of executors to come in before the lead is given up: the next one is to plan within a second.
"""
_LAST_TURN = 1.0
_PARTING = 3.0
"""Seconds after its hard bound in which a node still tries to say good-bye, the first of them for the drain itself."""
_FAREWELL = 20.0
"""Seconds after its hard bound within which a node is gone: the last requests are answered, and what the store has in
hand ends."""


class Coordinator:
    """One node: its parts, its HTTP application, and the order in which it stops."""

    def __init__(self, given: Surroundings) -> None:
        channels = None if given.channels is None else CountedChannels(given.channels)
        given = self.given = replace(given, channels=channels).with_outgoing()
        presence = self.presence = Presence(given, self._named)
        work = self.work = Work(given, presence)
        self.care = Care(given, presence, work)
        self.records = Records(given, presence, work)
        self.company = Company(given, work)
        self.refusals = Refusals(given.db, given.clock)
        self.queues = Queues(given, work, self.records, self.company.owning, self.refusals)
        self.services = ServiceRoom(given, work)
        self._telling: tuple[Loop, ...] = (
            LeftOut(self.refusals, given.clock, given.events, node_id=given.node.id),
            HeldBack(self.refusals, given.clock, given.events),
        )
        self.metrics = Metrics(
            Sources(
                given.settings,
                given.db,
                work.election,
                presence.roster,
                presence.reach,
                presence.registrations,
                work.dispatch.posting,
                self.company.membership.fellows,
                self.services.registrar,
                self.services.feed,
                ClusterSources(self.company.owning.holdings, channels, self.queues.seen),
            )
        )
        given.events.listen(self.metrics)

    @property
    def loops(self) -> tuple[Loop, ...]:
        """What turns: all of it in a coordinator, else what the roles of this process need."""
        if self.coordinates:
            rooms = (self.work, self.care, self.presence, self.records, self.company, self.queues, self.services)
            return (*(loop for room in rooms for loop in room.loops), *self._telling)
        shown = (*self.presence.loops, self.company.onlooker) if self.is_console else ()
        return (*self.services.loops, *shown, *self._telling)

    @property
    def coordinates(self) -> bool:
        """Whether this process plans and leads; if not, it only serves what others have stored."""
        return "coordinator" in self.given.settings.coordinator.roles

    @property
    def is_console(self) -> bool:
        return "console" in self.given.settings.coordinator.roles

    def app(self) -> FastAPI:
        """The HTTP side of this node."""
        given = self.given
        security = given.settings.security
        signing = Signing(given.signing_secret, given.clock, access=security.access_token_ttl)
        return build_app(
            Tools(
                node_id=given.node.id,
                db=given.db,
                clock=given.clock,
                events=given.events,
                settings=given.settings,
                election=self.work.election,
                membership=self.company.membership,
                door=self.queues.door,
                offering=self.work.offering,
                callbacks=self.work.callbacks,
                beginnings=self.work.beginnings,
                registrations=self.presence.registrations,
                metrics=self.metrics,
                roster=self.presence.roster,
                reach=self.presence.reach,
                link=given.link,
                logs=self.records.logs,
                progress=self.records.progress,
                live_logs=self.records.live_logs,
                searches=Searches(self.records.logs, given.clock),
                signing=signing,
                access_token=given.access_token,
                planning=(self.work.due, self.work.recalls),
                dispatching=(self.work.dispatch,),
                batches=self.work.batches,
                senders=self.records.senders,
                registrar=self.services.registrar,
                feed=self.services.feed,
                places=self.services.places,
                sealing=given.sealing,
                enrolling=Enrolling(given.db, given.clock, given.sealing, given.events, self.records.alarm_rules),
                access=ExecutorAccess(
                    given.keys,
                    Verifier(given.node.incarnation, given.clock),
                    shared_is_good=security.global_executor_token,
                    must_sign=security.require_signatures,
                    coordinators=coordinator_key(given.signing_secret),
                ),
                refusals=self.refusals,
                callers=(callers := Buckets(security.rate, security.rate_burst, given.clock)),
                bodies=BodyBudget(given.clock),
                log_places=ReadPlaces(),
                executor_rates=(
                    executor_rates := ExecutorRates(
                        callers,
                        self.presence.roster,
                        given.clock,
                        rate=security.rate,
                        heartbeat=given.settings.registry.heartbeat.total_seconds(),
                    )
                ),
                callback_reading=CallbackReading(executor_rates),
                result_turns=ExecutorTurns(max(OF_ONE_TOKEN, given.settings.coordinator.callback_workers)),
                channel_turns=ExecutorTurns(),
                strangers=Buckets(security.stranger_rate, security.stranger_burst, given.clock),
            )
        )

    def stop_loops(self) -> None:
        for loop in self.loops:
            loop.stop()

    async def resign(self) -> None:
        """Give up the lead as soon as nothing more is planned or sent. Not all loops have ended by then, and answers
        may be on their way: whatever still wants to write as leader is refused, and the next one asks. With no next one
        there, nobody is kept waiting by waiting for the answers.
        """
        others = self.company.owning.station.peers.others()
        own = self.given.settings.coordinator
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_ANSWERS):
                await asyncio.gather(self.work.due.at_rest(), self.work.dispatch.at_rest())
        await self.work.dispatch.drain(_LAST_ANSWERS if others else own.dispatch_timeout.total_seconds())
        await self.work.election.resign()

    async def leave(self) -> None:
        """After the loops have ended: give up the lead if that has not been done, and say good-bye."""
        self.records.live_logs.stop()
        await self.presence.probing.close()
        await self.refusals.tell_held_back(everything=True)
        if not self.coordinates:
            return
        await self.resign()
        await self.work.dispatch.all_answered()
        await self.records.alarms.close()
        await self.queues.leave()
        await self.company.leave()

    def _named(self, app_name: str, incarnation: str, ids: Sequence[int]) -> None:
        self.care.unknowns.named(app_name, incarnation, ids)
        self.care.lost.named(app_name, incarnation, ids)


def serve(settings: Settings) -> int:
    """Run a coordinator until it is told to stop; the exit code."""
    folder = Path(settings.coordinator.data_dir)
    prepare_folder(folder)
    with bound(settings.coordinator.listen) as listening, LastResort() as last_resort, event_loop() as runner:
        return runner.run(_serve(settings, access_token(settings, folder), listening, last_resort))


async def _serve(settings: Settings, token: str, listening: socket.socket, last_resort: LastResort) -> int:
    clock, events, url = SystemClock(), Events(to_log), settings.store_url
    with open_database(url, size=settings.store.pool_size, patience=_patience(settings.cluster.lease)) as db:
        if is_sqlite(db.url):
            upgrade(url)
        else:
            check_schema(url)
        node = Node(settings.coordinator.node_id or _node_id(listening), secrets.token_hex(8))
        coordinates = "coordinator" in settings.coordinator.roles
        locks = _locks(db, node) if coordinates else None
        agreement = await TokenAgreement.of(settings, node.id, token)
        await db.read(agreement.check, clock.now())
        sealing = sealing_of(settings, Path(settings.coordinator.data_dir))
        await agree(db, sealing, clock.now())
        await seal_the_open(db, sealing)
        password = await ensure_admin(db, settings, clock.now())
        if password is not None:
            secret = await first_link(db, clock.now())
            told = link_url(settings.console.base_url or _url(settings, listening), secret)
            tell_first_sign_in(password, told, Path(settings.coordinator.data_dir), sys.stderr)
        outgoing = Outgoing.of(settings, db, clock, sealing, node_id=node.id, token=token)
        async with (
            _calls(settings, outgoing) as link,
            outgoing.calls(timeout=settings.registry.probe_timeout.total_seconds()) as probe_link,
            _log_calls(settings, outgoing) as log_link,
            _health_calls(settings, outgoing) as health_link,
            outgoing.key_calls(timeout=_WHO_IS_THERE) as key_link,
            opened_channels(settings, db, clock, events, locks) as channels,
            _lease_hint(settings, node, clock, events) as hint,
        ):
            secret = await signing_secret(db, sealing, clock.now())
            given = Surroundings(settings, node, db, link, clock, events, token, secret, locks)
            watch_limit = affordable(settings.registry.watch_limit)
            given = replace(given, probe_link=probe_link, log_link=log_link, watch_limit=watch_limit)
            given = replace(
                given, lease_hint=hint, health_link=health_link, key_link=key_link, sealing=sealing, outgoing=outgoing
            )
            given = replace(given, channels=channels, names=Names(settings.channels.prefix), admit=agreement.settle)
            life = LifeLock(db, node.incarnation) if coordinates and not is_sqlite(db.url) else None
            coordinator = Coordinator(replace(given, url=_url(settings, listening), life=life))
            if coordinates:
                await coordinator.company.membership.join()
            here = f"{settings.security.scheme}://{Address(*listening.getsockname()[:2])}"
            events.emit(CoordinatorReady(node.id, here, db.url.render_as_string()))
            if "registry" in settings.coordinator.roles:
                events.emit(RegistryApiStarted(coordinator.given.url))
            if coordinates:
                await _run(coordinator, listening, _attendance(coordinator.given, listening), last_resort)
            else:
                await _run_beside(coordinator, listening, last_resort)
        events.emit(CoordinatorStopped(node.id))
        if locks is not None:
            locks.release()
    if coordinator.company.membership.refusal is not None:
        raise coordinator.company.membership.refusal
    return 0


def _server(coordinator: Coordinator) -> Server:
    return Server(
        coordinator.app(),
        keep_alive=_KEEP_ALIVE,
        connections=coordinator.given.settings.coordinator.connections,
        events=coordinator.given.events,
        tls=tls_of(coordinator.given.settings),
    )


async def _run_beside(coordinator: Coordinator, listening: socket.socket, last_resort: LastResort) -> None:
    """Serve beside the coordinators until a signal: there is nothing to hand over."""
    given = coordinator.given
    server = _server(coordinator)
    stopping = asked_to_stop()
    reloading = Reloading(given.settings, lambda _changed: None, given.clock, given.events)
    reload_on_hangup(reloading.ask, stopping)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listening]), name="http")
        trimmer = HeapTrimmer(given.clock, given.events)
        group.create_task(run_loops(*coordinator.loops, reloading, trimmer), name="loops")
        await stopping.wait()
        last_resort.end_within(_FAREWELL)
        reloading.stop()
        trimmer.stop()
        coordinator.stop_loops()
        await coordinator.leave()
        server.should_exit = True


async def _run(
    coordinator: Coordinator, listening: socket.socket, attendance: Attendance, last_resort: LastResort
) -> None:
    """Serve and turn until a signal; then stop planning, let the last answers in, and leave."""
    server = _server(coordinator)
    set_start_aside()
    stopping = asked_to_stop(coordinator.company.stop_asked)
    reload_on_hangup(attendance.watch_settings().ask, stopping)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listening]), name="http")
        trimmer = HeapTrimmer(coordinator.given.clock, coordinator.given.events)
        loops = group.create_task(run_loops(*coordinator.loops, trimmer), name="loops")
        group.create_task(run_loops(*attendance.loops), name="registration")
        stand_aside_on_signal(
            lambda: group.create_task(_said(coordinator, coordinator.work.election.stand_aside()), name="stand aside")
        )
        await stopping.wait()
        hard = coordinator.given.settings.cluster.handoff_hard_timeout.total_seconds()
        until = coordinator.given.clock.monotonic() + hard
        last_resort.end_within(hard + _FAREWELL)
        attendance.say_stopping()
        await _said(coordinator, coordinator.company.drain(), until + _LAST_TURN)
        coordinator.stop_loops()
        trimmer.stop()
        await _said(coordinator, coordinator.resign(), until + _PARTING)
        await _ended(loops, coordinator, until)
        await _said(coordinator, coordinator.leave(), until + _PARTING)
        await attendance.leave()
        server.should_exit = True
    attendance.close()


async def _ended(loops: asyncio.Task[None], coordinator: Coordinator, until: float) -> None:
    """Wait for the turns in hand, and no longer than one may stay."""
    clock = coordinator.given.clock
    await asyncio.wait([loops], timeout=max(_LAST_TURN, until + _PARTING - clock.monotonic()))
    if not loops.done():
        log.warning("%s does not wait any longer for what it is doing", coordinator.given.node.id)
        loops.cancel()
        await asyncio.wait([loops], timeout=_LAST_TURN)


def _attendance(given: Surroundings, listening: socket.socket) -> Attendance:
    """How this node is known to the registry: the one that is set, else its own."""
    serves = "registry" in given.settings.coordinator.roles
    port = listening.getsockname()[1]
    listen = given.settings.coordinator.listen
    here = f"http://{Address('127.0.0.1' if listen.is_every_interface else listen.host, port)}"
    if given.settings.security.scheme == "https":
        here = given.url  # a certificate is for names
    return Attendance(
        given.settings,
        Registration(ServiceKind.ORCHESTRATOR, given.url, given.node.incarnation, given.node.id),
        given.access_token,
        given.clock,
        given.events,
        own_registry=(here,) if serves else (),
        own_key=coordinator_key(given.signing_secret),
    )


async def _said(coordinator: Coordinator, farewell: Awaitable[None], until: float | None = None) -> None:
    """Nothing rests on a good-bye: what could not be said, or not in time, others find out by themselves."""
    left = None if until is None else max(0.0, until - coordinator.given.clock.monotonic())
    try:
        async with asyncio.timeout(left):
            await farewell
    except OrthError as error:  # the database is away: others will wait for the lease to run out
        log.warning("%s could not say good-bye: %s", coordinator.given.node.id, error)
    except TimeoutError:
        log.warning("%s could not say good-bye in time", coordinator.given.node.id)


def _calls(settings: Settings, outgoing: Outgoing) -> ExecutorCalls:
    """The way to the executors, with a few connections more than triggers may use: somebody may read a log."""
    own = settings.coordinator
    return outgoing.calls(
        timeout=own.dispatch_timeout.total_seconds(),
        connections=own.dispatch_in_flight + _SPARE_CONNECTIONS,
        per_executor=own.dispatch_per_executor + _SPARE_CONNECTIONS,
    )


def _log_calls(settings: Settings, outgoing: Outgoing) -> ExecutorCalls:
    """The way to the logs: a connection for each log that is followed, and some for those that are read."""
    connections = settings.logs.streams + _SPARE_CONNECTIONS
    timeout = settings.coordinator.dispatch_timeout.total_seconds()
    return outgoing.calls(
        timeout=timeout,
        connections=connections,
        per_executor=connections,
        log_patience=max(timeout, _LOG_PATIENCE),
    )


def _health_calls(settings: Settings, outgoing: Outgoing) -> HealthCalls:
    own = settings.registry
    return outgoing.health_calls(timeout=own.probe_timeout.total_seconds(), connections=own.health_rate)


@asynccontextmanager
async def _lease_hint(settings: Settings, node: Node, clock: Clock, events: Events) -> AsyncIterator[LeaseHint | None]:
    own = settings.cluster
    if own.lease_provider == "database":
        yield None
        return
    from orth.cluster.redis_lease import RedisLease  # needs the extra redis, which channels.url has asked for by now

    lease, renew = own.lease.total_seconds(), own.lease_renew.total_seconds()
    key = f"{settings.channels.prefix}:coordinator:leader"
    hint = RedisLease(settings.channels_url, node, clock, events, lease=lease, renew=renew, key=key)
    try:
        yield hint
    finally:
        await hint.close()


def _url(settings: Settings, listening: socket.socket) -> str:
    """Where others reach this node: as set, or by the name of this machine when it listens on all its addresses."""
    if settings.coordinator.url is not None:
        return settings.coordinator.url
    host, port = listening.getsockname()[:2]
    if settings.coordinator.listen.is_every_interface:
        host = socket.gethostname()
    return f"{settings.security.scheme}://{Address(host, port)}"


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
