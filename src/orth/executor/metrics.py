"""What monitoring reads: ``GET /metrics`` in the text format of Prometheus.

Counters are kept by listening to the same facts as the process log; gauges are looked up when asked for. Labels have a
closed set of values: a refusal is counted under a short word, never under its sentence, which names ids. The format is
simple enough to be written here, which spares the job author's environment a package.
"""

import threading
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from orth.domain.executions import SUCCESS, TIMED_OUT
from orth.events import Event
from orth.executor.facts import EntriesRefused, ExecutionFinished, LogUnwritable, TriggerRefused
from orth.executor.turned_away import REASONS
from orth.lifecycle.metrics import Family, LifecycleMetrics
from orth.wire.entry_signatures import EntryRefused
from orth.wire.messages import Verdict

CONTENT_TYPE = b"text/plain; version=0.0.4; charset=utf-8"

_UNCOUNTED = 1000

OUTCOMES = ("success", "failure", "timeout")
REFUSALS = {
    "incarnation": "another incarnation",
    "stopping": "is stopping",
    "time": "beyond the year",
    "disk": "cannot be made durable",
    "outbox": "wait for a coordinator",
    "queue": "queue full",
    "busy": "block strategy",
    "handler": "no handler",
    "source": "cannot be used",
    "allowed": "not allowed",
    "threads": "no thread can be started",
}
"""The word a refusal is counted under, by what its sentence says; any other is ``other``."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is looked up at the moment of asking."""

    running: int
    queued: int
    threads: int
    abandoned: int
    outbox_results: int
    outbox_bytes: int
    outbox_oldest: float
    fsyncs: int
    verdicts: Mapping[Verdict, int]
    not_taken: int
    log_bytes: int
    registered: bool
    turned_away: Mapping[str, int]


class Metrics:
    """Counts what is told; ``listen`` to events with it."""

    def __init__(self, version: str, incarnation: str) -> None:
        self._info = {"version": version, "incarnation": incarnation}
        self._lock = threading.Lock()
        self._outcomes: Counter[str] = Counter()
        self._refusals: Counter[str] = Counter()
        self._seconds = 0.0
        self._refused_entries: Counter[str] = Counter()
        self._unwritable_logs = 0
        self._finished: deque[ExecutionFinished] = deque()
        """Not yet counted. All job threads come here: appending takes no lock that they would have to queue for."""
        self._lifecycle = LifecycleMetrics()

    def __call__(self, event: Event) -> None:
        if isinstance(event, ExecutionFinished):
            self._finished.append(event)
            if len(self._finished) > _UNCOUNTED:
                self._count_finished()
        elif isinstance(event, TriggerRefused):
            with self._lock:
                self._refusals[refusal_word(event.reason)] += 1
        elif isinstance(event, EntriesRefused):
            with self._lock:
                self._refused_entries[event.reason] += event.count
        elif isinstance(event, LogUnwritable):
            with self._lock:
                self._unwritable_logs += 1
        else:
            self._lifecycle(event)

    def _count_finished(self) -> None:
        with self._lock, suppress(IndexError):  # when all are counted
            while True:
                event = self._finished.popleft()
                self._outcomes[_outcome(event.code)] += 1
                self._seconds += event.took

    def text(self, now: Standing) -> bytes:
        """Everything, as Prometheus reads it."""
        lifecycle = (_written(one.name, one.kind, one.meaning, _samples(one)) for one in self._lifecycle.families())
        return "".join([*self._counted(now), *_looked_up(now), *lifecycle]).encode()

    def _counted(self, now: Standing) -> Iterator[str]:
        self._count_finished()
        with self._lock:
            outcomes, refusals = self._outcomes.copy(), self._refusals.copy()
            seconds, unwritable = self._seconds, self._unwritable_logs
            entries = self._refused_entries.copy()
        yield _family("info", "gauge", "Which process this is.", [(self._info, 1)])
        yield _family(
            "executions_total", "counter", "Executions that have ended, by outcome.", _by("outcome", OUTCOMES, outcomes)
        )
        yield _family("execution_seconds_total", "counter", "Time they took, together.", [({}, seconds)])
        words = (*REFUSALS, "other")
        yield _family("refusals_total", "counter", "Triggers refused, by reason.", _by("reason", words, refusals))
        yield _family(
            "turned_away_total",
            "counter",
            "Requests without a good credential, by reason.",
            _by("reason", REASONS, now.turned_away),
        )
        yield _family(
            "refused_entries_total",
            "counter",
            "Entries of queues and cancels that no coordinator has signed, by reason.",
            _by("reason", EntryRefused, entries),
        )
        told = {verdict.value: count for verdict, count in now.verdicts.items()}
        verdicts = _by("verdict", [verdict.value for verdict in Verdict], told)
        yield _family("callbacks_total", "counter", "Answers to reported results, by verdict.", verdicts)
        refused = "Times a coordinator refused a result that came by itself."
        yield _family("results_not_taken_total", "counter", refused, [({}, now.not_taken)])
        yield _family("journal_fsyncs_total", "counter", "Times the disk was made to keep results.", [({}, now.fsyncs)])
        yield _family("log_bytes_total", "counter", "Bytes written to logs of executions.", [({}, now.log_bytes)])
        yield _family("unwritable_logs_total", "counter", "Logs of which text was lost.", [({}, unwritable)])


def _looked_up(now: Standing) -> Iterator[str]:
    gauges = [
        ("running", "Executions inside their handler.", now.running),
        ("queued", "Executions waiting for their turn.", now.queued),
        ("job_threads", "Jobs that have a thread.", now.threads),
        ("abandoned", "Handlers past their limit that could not be ended.", now.abandoned),
        ("outbox_results", "Results no coordinator has answered for.", now.outbox_results),
        ("outbox_bytes", "Their size.", now.outbox_bytes),
        ("outbox_oldest_seconds", "How long the oldest of them has been waiting.", now.outbox_oldest),
        ("registered", "Whether a coordinator took the last heartbeat.", int(now.registered)),
    ]
    return (_family(name, "gauge", meaning, [({}, value)]) for name, meaning, value in gauges)


def refusal_word(reason: str) -> str:
    return next((word for word, said in REFUSALS.items() if said in reason), "other")


def _outcome(code: int) -> str:
    return {SUCCESS: "success", TIMED_OUT: "timeout"}.get(code, "failure")


Sample = tuple[Mapping[str, str], float]


def _by(label: str, values: Iterable[str], counts: Mapping[str, int]) -> list[Sample]:
    """A sample for every value, also those not seen yet: a rate over a series that appears late misses its start."""
    return [({label: value}, counts.get(value, 0)) for value in values]


def _samples(family: Family) -> list[Sample]:
    return [({family.label: word} if family.label else {}, value) for word, value in family.values.items()]


def _family(name: str, kind: str, meaning: str, samples: Iterable[Sample]) -> str:
    return _written(f"orth_executor_{name}", kind, meaning, samples)


def _written(full: str, kind: str, meaning: str, samples: Iterable[Sample]) -> str:
    lines = [f"# HELP {full} {meaning}", f"# TYPE {full} {kind}"]
    lines += [f"{full}{_labels(labels)} {value:.15g}" for labels, value in samples]
    return "\n".join(lines) + "\n"


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
