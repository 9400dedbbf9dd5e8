"""What monitoring reads about a coordinator: ``GET /metrics`` in the text format of Prometheus.

Counters are kept by listening to the same facts as the process log; gauges are looked up when asked for. Every label
has a closed set of values, all of which are served from the start: no job, no execution and no address is among them,
and a rate over a series that appears late would miss its start.

Nearly everything comes from the memory of this process, so that it is served while the database is away. The little
that only the database knows is asked with a bound on the wait, one question at a time however many ask for metrics.
"""

import asyncio
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from orth.cluster.election import Election
from orth.cluster.facts import NodeDied, TermBegan, TermEndedHere
from orth.cluster.fellows import Fellows
from orth.coordinator.callbacks import MISMATCHED
from orth.coordinator.cluster_metrics import (
    CLUSTER_TALLIES,
    ClusterSources,
    cluster_families,
    cluster_increments,
)
from orth.coordinator.facts import (
    CircuitOpened,
    DispatchesAnswered,
    ExecutionFinished,
    ExecutionRerouted,
    ExecutionsOpened,
    ExecutorJoined,
    ExecutorLeft,
    ExecutorRestarted,
    FiresMissed,
    JobQuarantined,
    JobsPlanned,
    RefusalCause,
    RegistrationRefused,
    StrayResults,
)
from orth.coordinator.letters import Outcome
from orth.coordinator.metric_forms import Tally, gauge, gauge_by
from orth.coordinator.posting import Posting
from orth.coordinator.reach import Reach
from orth.coordinator.registry import Registrations
from orth.coordinator.roster import Roster
from orth.coordinator.services.facts import (
    BeatFailure,
    Drop,
    ListenerDropped,
    ServiceBeatFailed,
    ServiceFailed,
    ServiceRegistered,
)
from orth.coordinator.services.feed import Feed
from orth.coordinator.services.registrar import Registrar
from orth.domain.executions import Status
from orth.domain.jobs import TriggerCause
from orth.domain.nodes import Liveness, Reachability, liveness
from orth.domain.services import STATUSES, Failing, ServiceKind
from orth.errors import StoreUnavailable
from orth.events import Event, LoopFailed
from orth.lifecycle.metrics import Family, LifecycleMetrics
from orth.settings import Settings
from orth.store.database import Connection, Database
from orth.store.groups import count_empty_groups
from orth.store.nodes import NodeState
from orth.store.services import count_services
from orth.version import __version__
from orth.wire.messages import Verdict

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
STORE_PATIENCE = 1.0
"""Seconds to wait for the database: monitoring gives up on a slow page, and then knows nothing at all."""

_CANCELLED = "cancelled"
"""How executions are counted that were taken back before they began."""

LATENESS = "orth_fire_lateness_seconds"
LATENESS_BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


TALLIES = {
    "orth_terms_begun_total": Tally("Terms this coordinator began to lead."),
    "orth_terms_ended_total": Tally("Terms it no longer leads."),
    "orth_coordinator_deaths_total": Tally("Coordinators that fell silent, as this one saw it."),
    "orth_loop_failures_total": Tally("Turns of loops that met an expected failure and are tried again."),
    "orth_registry_refusals_total": Tally("Beats and good-byes refused, by cause.", "cause", tuple(RefusalCause)),
    "orth_registry_joins_total": Tally("Executors that came."),
    "orth_registry_departures_total": Tally("Executors that left, by cause.", "cause", ("goodbye", "silence")),
    "orth_registry_restarts_total": Tally("Executors found to be another process at a known address."),
    "orth_executions_opened_total": Tally("Executions opened, by cause.", "cause", tuple(TriggerCause)),
    "orth_executions_ended_total": Tally(
        "Executions ended, by status.", "status", (*(status for status in Status if status.terminal), _CANCELLED)
    ),
    "orth_results_stray_total": Tally(
        "Results that were not applied, by verdict.",
        "verdict",
        (Verdict.UNKNOWN, Verdict.DUPLICATE, Verdict.MALFORMED, MISMATCHED),
    ),
    "orth_jobs_quarantined_total": Tally("Jobs stopped because they cannot be planned."),
    "orth_misfires_total": Tally("Missed fires, by what was decided.", "decision", ("run", "coalesced", "skipped")),
    "orth_dispatch_answers_total": Tally(
        "Sent executions, by what is known afterwards.", "outcome", tuple(outcome.name.lower() for outcome in Outcome)
    ),
    "orth_dispatch_rerouted_total": Tally("Executions sent to another address than the first."),
    "orth_dispatch_circuits_opened_total": Tally("Times an executor was left alone after failures in a row."),
    "orth_services_registered_total": Tally("Registrations taken that were news, by kind.", "kind", tuple(ServiceKind)),
    "orth_services_failed_total": Tally("Services found to have failed, by cause.", "cause", tuple(Failing)),
    "orth_services_beats_failed_total": Tally("Beats of services not taken, by cause.", "cause", tuple(BeatFailure)),
    "orth_live_dropped_total": Tally("Listeners that were let go, by cause.", "cause", tuple(Drop)),
    **CLUSTER_TALLIES,
}

_STATES = {Liveness.ALIVE: "alive", Liveness.MISSED_30: "overdue", Liveness.MISSED_60: "overdue"}
_LONGER = "silent"
"""For ``dead_after`` or more: to be removed at the next look."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The parts of a coordinator that are looked at."""

    settings: Settings
    db: Database
    election: Election
    roster: Roster
    reach: Reach
    registrations: Registrations
    posting: Posting
    fellows: Fellows
    registrar: Registrar
    feed: Feed
    cluster: ClusterSources


class Metrics(Collector):
    """Counts what is told; ``listen`` to events with it."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, str]] = Counter()
        self._late = [0] * (len(LATENESS_BOUNDS) + 1)
        self._late_seconds = 0.0
        self._store = _StoreCounts(sources.db)
        self._lifecycle = LifecycleMetrics()
        self._found: _Counted | None = None
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def __call__(self, event: Event) -> None:
        self._lifecycle(event)
        with self._lock:
            for name, value, count in _increments(event):
                self._counts[name, value] += count
            if isinstance(event, JobsPlanned):
                for seconds in event.lateness:
                    self._late[bisect_left(LATENESS_BOUNDS, seconds)] += 1
                    self._late_seconds += seconds

    async def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        self._found = await self._store.counts()
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Metric]:
        """Nothing: asked when the collector is registered, before there is anything to look at."""
        return ()

    def collect(self) -> Iterator[Metric]:
        yield from self._looked_up()
        yield from self._looked_up_in_registry()
        yield from self._looked_up_of_services()
        yield from cluster_families(self._sources.cluster)
        yield CounterMetricFamily(
            "orth_registry_beats_total", "Beats taken and stored.", self._sources.registrations.beats
        )
        yield from self._counted()
        yield from map(_as_metric, self._lifecycle.families())

    def _looked_up(self) -> Iterator[Metric]:
        sources, term = self._sources, self._sources.election.term
        standing = sources.posting.standing()
        yield gauge_by("orth_build_info", "Which program this is.", "version", {__version__: 1})
        yield gauge("orth_store_up", "Whether the database answered within a second.", int(self._found is not None))
        yield gauge("orth_leader", "Whether this coordinator leads.", int(term is not None))
        yield gauge("orth_epoch", "Number of the term it leads; 0 while it does not.", term.epoch if term else 0)
        yield gauge_by(
            "orth_coordinators", "Coordinators, as this one sees them.", "state", _fellow_counts(sources.fellows)
        )
        yield gauge("orth_dispatch_in_flight", "Requests to executors on their way.", sources.posting.in_flight)
        held = sum(standing.held.values())
        yield gauge("orth_dispatch_held", "Executions addressed and not yet answered for.", held)
        yield gauge("orth_dispatch_circuits_open", "Executors that are left alone for a while.", len(standing.open))

    def _looked_up_in_registry(self) -> Iterator[Metric]:
        sources = self._sources
        states = _liveness_counts(sources.roster, sources.settings)
        yield gauge_by(
            "orth_registry_executors", "Executors in the registry, by what their beats say.", "state", states
        )
        empty = GaugeMetricFamily("orth_registry_groups_without_executors", "Groups that nobody can work for.")
        if self._found is not None:
            empty.add_metric([], self._found.empty_groups)
        yield empty
        sights = sources.reach.counts()
        reached = {state.value: sights[state] for state in Reachability if state is not Reachability.UNTRIED}
        yield gauge_by("orth_reach", "Addresses of executors, by what this coordinator finds there.", "state", reached)

    def _looked_up_of_services(self) -> Iterator[Metric]:
        known = GaugeMetricFamily(
            "orth_services", "Registered services, by kind and status.", labels=["kind", "status"]
        )
        if self._found is not None:
            for kind, statuses in STATUSES.items():
                for status in statuses:
                    known.add_metric([kind, status.lower()], self._found.services.get((kind, status), 0))
        yield known
        beats = self._sources.registrar.beats
        yield CounterMetricFamily("orth_services_beats_total", "Beats of services taken and stored.", beats)
        yield gauge(
            "orth_live_listeners", "Listeners of services' events in this process.", self._sources.feed.listeners
        )

    def _counted(self) -> Iterator[Metric]:
        with self._lock:
            counts, late, seconds = self._counts.copy(), self._late.copy(), self._late_seconds
        for name, tally in TALLIES.items():
            family = CounterMetricFamily(name, tally.meaning, labels=[tally.label] if tally.label else [])
            for value in tally.values:
                family.add_metric([value] if tally.label else [], counts[name, value])
            yield family
        histogram = HistogramMetricFamily(LATENESS, "From the instant a fire was due to its stored execution.")
        edges = [*map(str, LATENESS_BOUNDS), "+Inf"]
        histogram.add_metric([], list(zip(edges, accumulate(late), strict=True)), seconds)
        yield histogram


def _increments(event: Event) -> Iterator[tuple[str, str, int]]:
    """What a fact adds to which counter."""
    match event:
        case ExecutionsOpened(cause=cause, count=count):
            yield "orth_executions_opened_total", cause, count
        case ExecutionFinished(status=status, cancelled=cancelled):
            yield "orth_executions_ended_total", _CANCELLED if cancelled else status, 1
        case DispatchesAnswered(outcome=outcome, count=count):
            yield "orth_dispatch_answers_total", outcome, count
        case RegistrationRefused(cause=cause):
            yield "orth_registry_refusals_total", cause, 1
        case ExecutorLeft(silent=silent):
            yield "orth_registry_departures_total", "silence" if silent else "goodbye", 1
        case FiresMissed(run=run, coalesced=coalesced, skipped=skipped):
            for decision, count in (("run", run), ("coalesced", coalesced), ("skipped", skipped)):
                yield "orth_misfires_total", decision, count
        case ServiceRegistered(kind=kind):
            yield "orth_services_registered_total", kind, 1
        case ServiceFailed(cause=why):
            yield "orth_services_failed_total", why, 1
        case ServiceBeatFailed(cause=failure):
            yield "orth_services_beats_failed_total", failure, 1
        case ListenerDropped(cause=drop):
            yield "orth_live_dropped_total", drop, 1
        case StrayResults(count=count, verdict=verdict):
            yield "orth_results_stray_total", verdict, count
        case _ if (name := _ONE_EACH.get(type(event))) is not None:
            yield name, "", 1
        case _:
            yield from cluster_increments(event)


_ONE_EACH: Mapping[type[Event], str] = {
    TermBegan: "orth_terms_begun_total",
    TermEndedHere: "orth_terms_ended_total",
    NodeDied: "orth_coordinator_deaths_total",
    LoopFailed: "orth_loop_failures_total",
    ExecutorJoined: "orth_registry_joins_total",
    ExecutorRestarted: "orth_registry_restarts_total",
    JobQuarantined: "orth_jobs_quarantined_total",
    ExecutionRerouted: "orth_dispatch_rerouted_total",
    CircuitOpened: "orth_dispatch_circuits_opened_total",
}


@dataclass(frozen=True, slots=True)
class _Counted:
    """What only the database knows."""

    empty_groups: int
    services: Mapping[tuple[str, str], int]


class _StoreCounts:
    """What the database counts, as far as it says so in time."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._asking: asyncio.Task[_Counted] | None = None

    async def counts(self) -> _Counted | None:
        """The numbers, or None: the database is away or slow. A question it still owes an answer is not asked twice."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._db.read(_count))
            self._asking.add_done_callback(_noticed)
        asking = self._asking
        await asyncio.wait({asking}, timeout=STORE_PATIENCE)
        try:
            return asking.result() if asking.done() else None
        except StoreUnavailable:
            return None


def _count(connection: Connection) -> _Counted:
    return _Counted(count_empty_groups(connection), count_services(connection))


def _noticed(task: "asyncio.Task[_Counted]") -> None:
    """Take note of its failure, also when nobody waits for it any more."""
    if not task.cancelled():
        task.exception()


def _liveness_counts(roster: Roster, settings: Settings) -> dict[str, int]:
    own = settings.registry
    beat, dead_after = (int(span.total_seconds() * 1000) for span in (own.heartbeat, own.dead_after))
    counts = dict.fromkeys((*_STATES.values(), _LONGER), 0)
    for age in roster.ages():
        counts[_STATES.get(liveness(int(age * 1000), beat, dead_after), _LONGER)] += 1
    return counts


def _fellow_counts(fellows: Fellows) -> dict[str, int]:
    counts = Counter(one.state for one in fellows.all())
    return {state.lower(): counts[state] for state in NodeState}


def _as_metric(family: Family) -> Metric:
    made = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    metric = made(family.name, family.meaning, labels=[family.label] if family.label else [])
    for word, value in family.values.items():
        metric.add_metric([word] if family.label else [], value)
    return metric
