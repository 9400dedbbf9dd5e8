"""The parts of a coordinator, made from what it is given.

``Presence`` knows the executors, ``Work`` plans and sends, ``Care`` looks after what has gone astray, and ``Records``
keeps what remains. Each is made once, in this order, by ``node``; ``loops`` are what turns in it.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from orth.channels.interface import Channels
from orth.channels.names import Names
from orth.clock import Clock
from orth.cluster.alone import AliveLocks
from orth.cluster.election import Election, Node
from orth.cluster.lease_hint import LeaseHint
from orth.cluster.membership import Admit
from orth.coordinator import tuning
from orth.coordinator.alarming.loop import AlarmLoop
from orth.coordinator.alarming.senders import Senders
from orth.coordinator.archiving import ArchiveFolder, Archiving
from orth.coordinator.batches import Batches
from orth.coordinator.beginnings import Beginnings
from orth.coordinator.callbacks import Callbacks
from orth.coordinator.contests import Contests
from orth.coordinator.dispatch import Dispatch
from orth.coordinator.due import DueJobs
from orth.coordinator.executor_keys import ExecutorKeys
from orth.coordinator.gone import GoneExecutors
from orth.coordinator.killing import Killing
from orth.coordinator.logs.archives import Archives
from orth.coordinator.logs.boxes import LogBoxes
from orth.coordinator.logs.copies import Plan
from orth.coordinator.logs.following import LiveLogs
from orth.coordinator.logs.reading import LogReading
from orth.coordinator.lost import LostExecutions
from orth.coordinator.offering import Offering
from orth.coordinator.outgoing import Outgoing
from orth.coordinator.probing import Probing
from orth.coordinator.progress import ProgressReading
from orth.coordinator.proving import Proving
from orth.coordinator.purging import Purging
from orth.coordinator.reach import Reach
from orth.coordinator.registry import Named, Registrations, RegistryMonitor
from orth.coordinator.roster import Roster
from orth.coordinator.sealing import Sealing
from orth.coordinator.statistics import DailyReports, Folding
from orth.coordinator.time_limits import TimeLimits
from orth.coordinator.unconfirmed import UnconfirmedEnds
from orth.coordinator.unknowns import Unknowns
from orth.coordinator.unreadable import UnreadableRows
from orth.coordinator.withdrawing import Recalls
from orth.coordinator.work_keys import WorkKeys
from orth.events import Events
from orth.loop import Loop
from orth.settings import Settings
from orth.store.database import Database
from orth.store.leases import Lease
from orth.store.life_locks import LifeLock
from orth.wire.executor_link import ExecutorLink
from orth.wire.health_calls import HealthLink
from orth.wire.key_calls import KeyLink
from orth.wire.report_keys import ReportKeys

_OFFERED = 20_000
"""Executions that wait in one place, at most: what is lost with a queue has to be offered again."""


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
    log_link: ExecutorLink | None = None
    """And a third one: logs are long, and who follows one keeps a connection."""
    watch_limit: int = 0
    """Executors that may be watched by open connections; none where the network is not a real one."""
    channels: Channels | None = None
    """How coordinators tell each other, and queue executors; without them the database alone has to do."""
    names: Names = field(default_factory=Names)
    url: str = ""
    """Where others reach this node."""
    life: LifeLock | None = None
    """What shows the others that this process lives, where the database has a server."""
    lease_hint: LeaseHint | None = None
    """What is asked about the lease beside the database."""
    health_link: HealthLink | None = None
    """How services are asked for their health; without it they are not."""
    key_link: KeyLink | None = None
    """How an address is asked which process is there; without it no answer ever comes."""
    sealing: Sealing = field(default_factory=Sealing.fresh)
    """What seals secrets for the database. The default serves a node whose database nobody else uses, nor later."""

    admit: Admit = lambda _connection, _now: None
    """Whether this node may be one of the coordinators that run (``orth.cluster.membership``)."""
    outgoing: Outgoing | None = None
    """How executors are called, and which tokens they have; without it, as the settings say."""

    @property
    def keys(self) -> ExecutorKeys:
        assert self.outgoing is not None, "a coordinator has it"
        return self.outgoing.keys

    def with_outgoing(self) -> Self:
        if self.outgoing is not None:
            return self
        made = Outgoing.of(
            self.settings, self.db, self.clock, self.sealing, node_id=self.node.id, token=self.access_token
        )
        return replace(self, outgoing=made)

    @property
    def report_keys(self) -> ReportKeys:
        return ReportKeys(self.signing_secret)

    @property
    def quick_link(self) -> ExecutorLink:
        return self.probe_link or self.link

    def is_dead(self, lease: Lease) -> bool:
        """Whether the holder of a lease is known to be gone."""
        return self.locks is not None and self.locks.is_dead(lease.node_id)


class Presence:
    """Which executors there are, and which of them can be reached."""

    def __init__(self, given: Surroundings, named: Named) -> None:
        db, clock, events = given.db, given.clock, given.events
        self.reach = Reach(clock, events)
        dead_after = given.settings.registry.dead_after.total_seconds()
        self.roster = Roster(clock, dead_after=dead_after)
        self.probing = Probing(
            db,
            given.node.id,
            given.quick_link,
            clock,
            events,
            reach=self.reach,
            roster=self.roster,
            watching=tuning.watching(given.settings, given.access_token, given.watch_limit),
            security=None if given.outgoing is None else given.outgoing.lines,
        )
        if given.outgoing is not None:
            given.outgoing.keys.follow(self.roster)
        self.registrations = Registrations(
            db,
            clock,
            events,
            roster=self.roster,
            reach=self.reach,
            clock_offset=self.probing.clock_offset,
            named=named,
            work_keys=WorkKeys(given.sealing),
            contests=Contests(given.keys, given.key_link, clock, dead_after=dead_after),
            per_app=given.settings.registry.executors_per_app,
        )

    @property
    def loops(self) -> Sequence[Loop]:
        return (self.probing,)


class Work:
    """Who leads, and the way of an execution: planned, sent, and its result taken."""

    def __init__(self, given: Surroundings, presence: Presence) -> None:
        own, db, clock, events = given.settings.coordinator, given.db, given.clock, given.events
        avoid = presence.reach.avoid
        self.offering = Offering(
            given.channels,
            given.names,
            given.node,
            clock,
            events,
            still_leads=self._leads,
            keys=given.keys.signing_keys,
            report_keys=given.report_keys,
            bound=own.offer_bound.total_seconds(),
            limit=min(_OFFERED, given.settings.channels.queue_limit // 2),
        )
        self.election = Election(
            db,
            given.node,
            clock,
            events,
            lease=given.settings.cluster.lease,
            renew=given.settings.cluster.lease_renew,
            surely_dead=given.is_dead,
            hint=given.lease_hint,
            chance=given.chance,
        )
        self.dispatch = Dispatch(
            db,
            self.election,
            given.link,
            presence.reach,
            clock,
            events,
            node_id=given.node.id,
            token=given.access_token,
            batch=own.dispatch_batch,
            limits=tuning.limits(given.settings),
            longest_wait=own.unknown_bound,
            sealing=given.sealing,
            report_keys=given.report_keys,
            secrets_without_tls=given.settings.security.secrets_without_tls,
            chance=given.chance,
            offering=self.offering,
            offer_bound=own.offer_bound,
            settle=own.settle,
            plan_ahead=own.plan_ahead,
        )
        self.due = DueJobs(
            db,
            self.election,
            clock,
            events,
            bounds=tuning.bounds(given.settings),
            batch=own.plan_batch,
            dispatch=self.dispatch,
            avoid=avoid,
            fires_a_minute=given.settings.security.fires_per_minute_per_group,
        )
        self.recalls = Recalls(
            db,
            self.election,
            given.quick_link,
            clock,
            events,
            token=given.access_token,
            ahead=own.plan_ahead,
        )
        self.batches = Batches(db, self.election, clock, events, dispatch=self.dispatch, avoid=avoid)
        self.proving = Proving(given.report_keys, clock.now())
        self.beginnings = Beginnings(db, clock, self.proving)
        self.callbacks = Callbacks(
            db,
            clock,
            events,
            wakes=self.wakes,
            batches=self.batches,
            avoid=avoid,
            workers=own.callback_workers,
            proving=self.proving,
        )

    def _leads(self, epoch: int) -> bool:
        term = self.election.term
        return term is not None and term.epoch == epoch

    @property
    def wakes(self) -> tuple[Loop, ...]:
        """Whom the end of an execution may concern."""
        return (self.dispatch, self.due)

    @property
    def loops(self) -> Sequence[Loop]:
        return (self.election, self.due, self.dispatch, self.recalls, self.batches)


class Care:
    """What looks after executions nobody is sure about, and executors that are gone."""

    def __init__(self, given: Surroundings, presence: Presence, work: Work) -> None:
        own, registry, token = given.settings.coordinator, given.settings.registry, given.access_token
        db, clock, events = given.db, given.clock, given.events
        asking = (db, work.election, given.link, presence.reach, clock, events)
        self.unknowns = Unknowns(
            *asking,
            node_id=given.node.id,
            token=token,
            sealing=given.sealing,
            report_keys=given.report_keys,
            bound=own.unknown_bound,
            lost_after=own.lost_after,
        )
        self.lost = LostExecutions(
            *asking, token=token, every=own.lost_scan, lost_after=own.lost_after, wakes=work.wakes
        )
        presence.roster.restarts.append(self.lost.restarted)
        self.unconfirmed = UnconfirmedEnds(
            *asking, token=token, answer=own.dispatch_timeout, idle=own.lost_scan, lost_after=own.lost_after
        )
        self.gone = GoneExecutors(
            db,
            work.election,
            given.quick_link,
            presence.reach,
            clock,
            events,
            node_id=given.node.id,
            token=token,
            ahead=own.plan_ahead,
            dispatch=work.dispatch,
        )
        killing = Killing(db, given.link, clock, events, token=token, offering=work.offering)
        self.time_limits = TimeLimits(
            db, work.election, killing, clock, events, grace=own.timeout_grace, wakes=work.wakes
        )
        self.monitor = RegistryMonitor(
            db,
            work.election,
            clock,
            events,
            every=registry.monitor,
            beat=registry.heartbeat,
            dead_after=registry.dead_after,
            store_failed=lambda: presence.registrations.failed_at,
        )

    @property
    def loops(self) -> Sequence[Loop]:
        return (self.unknowns, self.lost, self.unconfirmed, self.monitor, self.time_limits, self.gone)


class Records:
    """What remains: logs, counts, alarms; and what removes it when it is old."""

    def __init__(self, given: Surroundings, presence: Presence, work: Work) -> None:
        settings, db, clock, events = given.settings, given.db, given.clock, given.events
        logs, election = settings.logs, work.election
        archives = self.archives = Archives(db, Path(settings.coordinator.data_dir) / "archive")
        self.boxes = None if given.channels is None else LogBoxes(db, given.channels, given.names, work.proving)
        self.logs = LogReading(
            db,
            given.log_link or given.link,
            presence.roster,
            archives,
            clock,
            token=given.access_token,
            boxes=self.boxes,
        )
        self.progress = ProgressReading(self.logs, given.channels, given.names)
        self.live_logs = LiveLogs(
            self.logs,
            clock,
            poll=logs.follow_poll,
            longest_poll=logs.follow_poll_longest,
            streams=logs.streams,
            per_user=logs.streams_per_user,
        )
        self.senders = Senders(settings.alarms, clock.now, given.sealing, deny=settings.security.outbound_deny)
        self.alarm_rules = tuning.alarm_rules(settings, given.node.id, mail=self.senders.server is not None)
        self.alarms = AlarmLoop(
            db,
            election,
            clock,
            events,
            senders=self.senders,
            rules=self.alarm_rules,
            persistence=tuning.persistence(settings),
        )
        self.archive_folder = ArchiveFolder(archives, clock, events, retention=logs.retention)
        plan = self.plan = Plan(logs.archive, logs.archive_limit, logs.retention)
        self.archiving = Archiving(db, election, self.logs, archives, clock, events, plan=plan)
        self.loops: Sequence[Loop] = (
            self.alarms,
            self.archiving,
            self.archive_folder,
            Folding(db, election, clock, events),
            DailyReports(db, election, clock, events),
            Purging(db, election, clock, events, retention=tuning.retention(settings), node_id=given.node.id),
            UnreadableRows(db, election, clock, events),
        )
