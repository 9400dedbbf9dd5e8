"""What monitoring reads about queues, channels and owners.

Queues have names that people gave them, so their label is the only one without a closed set of values; it is bounded
instead. How much waits is what the leader saw when it last looked, and nothing where nobody leads.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, Metric

from orth.channels.counting import CountedChannels, Failure
from orth.cluster.holdings import Holdings
from orth.cluster.ownership_facts import ExecutionsAdopted, HandoffsSettled
from orth.coordinator.facts import ExecutionsOffered, ExecutionsTaken, OffersReclaimed, OffersRepeated
from orth.coordinator.metric_forms import Tally, gauge, gauge_by
from orth.coordinator.offering import InQueues
from orth.events import Event

NAMED_QUEUES = 50
"""Queues that have a series of their own."""
OTHER = "other"

CLUSTER_TALLIES = {
    "orth_queue_offered_total": Tally("Executions put into queues."),
    "orth_queue_taken_total": Tally("Executions that executors took from queues, as their owners read."),
    "orth_queue_redelivered_total": Tally("Offers made again, by cause.", "cause", ("reclaimed", "repeated")),
    "orth_handoffs_total": Tally("Executions handed over, by what came of it.", "case", ("a", "b", "c", "d")),
    "orth_executions_adopted_total": Tally("Executions taken over from others.", "from", ("handoff", "orphan")),
}


@dataclass(frozen=True, slots=True)
class ClusterSources:
    """The parts that are looked at."""

    holdings: Holdings
    channels: CountedChannels | None
    in_queues: Callable[[], InQueues]


def cluster_increments(event: Event) -> Iterator[tuple[str, str, int]]:
    """What a fact adds to which counter."""
    match event:
        case ExecutionsOffered(count=count):
            yield "orth_queue_offered_total", "", count
        case ExecutionsTaken(count=count):
            yield "orth_queue_taken_total", "", count
        case OffersReclaimed(count=count):
            yield "orth_queue_redelivered_total", "reclaimed", count
        case OffersRepeated(count=count):
            yield "orth_queue_redelivered_total", "repeated", count
        case HandoffsSettled(taken=taken, left=left, late=late, alone=alone):
            yield "orth_handoffs_total", "a", taken - late
            yield "orth_handoffs_total", "b", late
            yield "orth_handoffs_total", "d" if alone else "c", left
        case ExecutionsAdopted(count=count, orphans=orphans):
            yield "orth_executions_adopted_total", "handoff", count - orphans
            yield "orth_executions_adopted_total", "orphan", orphans


def cluster_families(sources: ClusterSources) -> Iterator[Metric]:
    """What is looked up."""
    seen, channels = sources.in_queues(), sources.channels
    yield gauge("orth_owned_executions", "Executions this coordinator looks after.", len(sources.holdings))
    by_queue = bounded(seen.dispatch)
    yield gauge_by("orth_queue_waiting", "Executions in queues that nobody has taken.", "queue", by_queue)
    waiting = {"dispatch": sum(seen.dispatch.values()), "assigned": seen.assigned, "handoff": seen.handoff}
    yield gauge_by("orth_channel_waiting", "Messages in queues that nobody has taken.", "channel", waiting)
    buried = 0 if channels is None else channels.buried
    yield CounterMetricFamily("orth_queue_dead_letters_total", "Messages that were given up.", buried)
    errors = CounterMetricFamily("orth_channel_errors_total", "Calls to the channels that failed.", labels=["kind"])
    for failure in Failure:
        errors.add_metric([failure], 0 if channels is None else channels.failures[failure])
    yield errors


def bounded(waiting: Mapping[str, int]) -> dict[str, float]:
    """The first ``NAMED_QUEUES`` by name, so that none comes and goes with its length; the rest together."""
    names = sorted(waiting)
    shown: dict[str, float] = {name: waiting[name] for name in names[:NAMED_QUEUES]}
    return {**shown, OTHER: sum(waiting[name] for name in names[NAMED_QUEUES:])}
