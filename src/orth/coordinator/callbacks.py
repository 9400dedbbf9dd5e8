"""[9] Results arrive: a batch is applied in one transaction and answered, item by item, after the commit.

Unknown ids, duplicates and late reports are answers, not errors: whoever sent them may stop sending. A malformed item
does not spoil its batch.

A result of an execution that had ended otherwise is written down, the first one, and changes nothing else: what
followed from the end has happened. So is any result of one that had been given up without knowing how it ended.

A result that does not come from where the execution was sent (``proving``) changes nothing. While the execution is open
its sender is asked to keep it: it may be an honest one in trouble.
"""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field

from orth import failpoints
from orth.clock import Clock
from orth.coordinator.broadcasts import Avoid
from orth.coordinator.facts import EndsConfirmed, StrayResults
from orth.coordinator.finishing import Finished, finish, may_lead_on, tell
from orth.coordinator.proving import Proving, Sender, Unproved
from orth.domain import reasons
from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Connection, Database
from orth.store.executions import Ending, Sent, sent_among
from orth.store.late_results import record_late
from orth.store.notes import Note, add_notes, last_noted
from orth.store.possibly_running import confirm_ends
from orth.wire.dialects import Malformed
from orth.wire.messages import CallbackItem, CallbackVerdict, Verdict

_GIVEN_UP = (reasons.RESULT_LOST, reasons.NEVER_RESOLVED)
"""Ends that nobody reported: the executor may still do so."""
MISMATCHED = "mismatched"
"""How results of an open execution are counted that are not proved to be its own."""
_NOBODY = ""
"""Who writes these notes: any node may take a result."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of each result, in order, and of which executions one did not count because it was not proved."""

    verdicts: list[CallbackVerdict]
    unproved: Mapping[int, Unproved]


@dataclass(frozen=True, slots=True)
class _Applied:
    """What a transaction found and did. ``refused`` are places in what it was given."""

    finished: list[Finished] = field(default_factory=list)
    sent: Mapping[int, Sent] = field(default_factory=dict)
    freed: Collection[int] = ()
    """Jobs of executions that had ended here and are known to have ended at their executor now."""
    refused: Mapping[int, Unproved] = field(default_factory=dict)


class Callbacks:
    """Takes results from executors."""

    def __init__(
        self,
        db: Database,
        clock: Clock,
        events: Events,
        *,
        wakes: Sequence[Loop],
        batches: Loop,
        avoid: Avoid,
        workers: int,
        proving: Proving,
    ) -> None:
        self._proving = proving
        self.beat_sources = proving.beat_sources
        self._db = db
        self._clock = clock
        self._events = events
        self._wakes = wakes
        self._batches = batches
        self._avoid = avoid
        self._turns = asyncio.Semaphore(workers)
        """A storm of results leaves connections for everything else."""

    async def take(self, items: Sequence[CallbackItem | Malformed], sender: Sender = Sender()) -> Judged:  # noqa: B008  # frozen
        """Apply results; what became of each, in order. Nothing was applied if this raises."""
        if failpoints.armed:
            failpoints.hit("callbacks.received")
        results = [item for item in items if not isinstance(item, Malformed)]
        async with self._turns:
            applied = await self._db.tx(self._apply, results, sender, self._clock.now())
        finished = applied.finished
        if failpoints.armed:
            failpoints.hit("callbacks.committed")
        tell(self._events, finished)
        if applied.freed:
            self._events.emit(EndsConfirmed(tuple(applied.freed)))
        if any(map(may_lead_on, finished)):
            for loop in self._wakes:  # a retry or a child may wait for dispatch, a delay may have begun
                loop.wake()
        if any(one.execution.batch_id is not None for one in finished):
            self._batches.wake()  # there is room for the next one
        unproved = {results[place].log_id: why for place, why in applied.refused.items()}
        kept = {id(results[place]) for place in applied.refused if not applied.sent[results[place].log_id].ended}
        judged = _judged(items, {one.execution.id for one in finished}, applied.sent.keys(), kept)
        self._tell_strays(verdict for _, verdict in judged)
        verdicts = [CallbackVerdict(log_id=one, verdict=verdict) for one, verdict in judged if one is not None]
        return Judged(verdicts, unproved)

    def _apply(self, connection: Connection, items: Sequence[CallbackItem], sender: Sender, now: int) -> _Applied:
        # Nobody can report on what was never sent: such a result is a stray, and the execution goes on.
        sent = sent_among(connection, (item.log_id for item in items))
        judge = self._proving.unproved_result
        refused = {
            place: why
            for place, item in enumerate(items)
            if item.log_id in sent and (why := judge(item, sent[item.log_id], sender, now)) is not None
        }
        _note_refused(connection, {items[place].log_id: why for place, why in refused.items()}, sent, now)
        good = [item for place, item in enumerate(items) if place not in refused and item.log_id in sent]
        finished = _end(connection, good, now, self._avoid)
        ended_now = {one.execution.id for one in finished}
        left = {item.log_id for item in good if item.log_id not in ended_now and not item.still_inside}
        return _Applied(finished, sent, confirm_ends(connection, left) if left else (), refused)

    def _tell_strays(self, verdicts: Iterable[Verdict]) -> None:
        named = (MISMATCHED if one is Verdict.RETRY else one.value for one in verdicts if one is not Verdict.STORED)
        strays = Counter(named)
        for verdict, count in sorted(strays.items()):
            self._events.emit(StrayResults(count, verdict))


def _end(connection: Connection, items: Sequence[CallbackItem], now: int, avoid: Avoid) -> list[Finished]:
    """End what these results are of; a result that comes late is written down."""
    endings = [
        Ending(
            execution_id=item.log_id,
            trigger_code=SUCCESS,  # whoever reports had it, whether or not its answer to the dispatch was stored
            handle_code=item.handle_code,
            handle_msg=item.handle_msg or "",
            start_time=item.start_time,
            duration_ms=item.duration_ms,
            reported_reason=None if item.handle_code == SUCCESS else _reason(item),
            confirmed=not item.still_inside,
        )
        for item in items
    ]
    finished = finish(connection, endings, now, avoid)
    ended_now = {one.execution.id for one in finished}
    late: dict[int, CallbackItem] = {}
    for item in items:
        if item.log_id in ended_now:
            ended_now.remove(item.log_id)  # this one ended it; another one about it comes late
        else:
            late.setdefault(item.log_id, item)
    if late:
        _note_late(connection, late, now)
    return finished


def _reason(item: CallbackItem) -> str | None:
    """Why an execution failed, where its executor says more than a message."""
    if item.reason is not None:
        return item.reason.value
    if item.final:
        return reasons.GIVEN_UP
    return reasons.TIMED_OUT if item.handle_code == TIMED_OUT else None


def _note_late(connection: Connection, late: Mapping[int, CallbackItem], now: int) -> None:
    """Write down what was reported about executions that had ended otherwise; the first late word about each."""
    codes = {one: item.handle_code if item.handle_code > 0 else FAILURE for one, item in late.items()}
    recorded = sorted(record_late(connection, codes, _GIVEN_UP))
    notes = [Note(one, reasons.LATE_RESULT, _late_text(late[one])) for one in recorded]
    add_notes(connection, notes, _NOBODY, now)


def _note_refused(connection: Connection, refused: Mapping[int, Unproved], sent: Mapping[int, Sent], now: int) -> None:
    """Write down once that a result of an open execution was refused. Its executor may not be able to report at all.

    Nothing is written about an execution with a report key: the sender of such a result has only guessed a number.
    """
    shown = [one for one in refused if not (sent[one].keyed or sent[one].ended)]
    if shown:
        known = last_noted(connection, shown, reasons.RESULT_REFUSED)
        new = [one for one in shown if one not in known]
        notes = [Note(one, reasons.RESULT_REFUSED, f"A result was refused: {refused[one]}.") for one in new]
        add_notes(connection, notes, _NOBODY, now)


def _late_text(item: CallbackItem) -> str:
    said = f": {item.handle_msg}" if item.handle_msg else ""
    return f"Its executor reported {item.handle_code} after it had ended; not applied{said}"


def _judged(
    items: Sequence[CallbackItem | Malformed], won: Set[int], known: Set[int], kept: Set[int]
) -> list[tuple[int | None, Verdict]]:
    """What became of each; also of one that does not even say which execution it is about. ``kept`` are results, by
    ``id()``, that their senders are to keep.
    """
    verdicts: list[tuple[int | None, Verdict]] = []
    seen: set[int] = set()
    for item in items:
        if isinstance(item, Malformed):
            verdict = Verdict.MALFORMED
        elif id(item) in kept:
            verdicts.append((item.log_id, Verdict.RETRY))
            continue
        elif item.log_id not in known:
            verdict = Verdict.UNKNOWN
        elif item.log_id in won and item.log_id not in seen:
            verdict = Verdict.STORED
        else:
            verdict = Verdict.DUPLICATE
        if item.log_id is not None:
            seen.add(item.log_id)
        verdicts.append((item.log_id, verdict))
    return verdicts
