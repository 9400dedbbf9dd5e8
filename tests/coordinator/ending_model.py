"""What must be true of executions and of what follows from their ends, in plain Python.

The model is told of each step which ends the coordinator claims to have stored, and sees the rows before and after. It
knows no transaction and no order: of acts that ran at the same time any may have been first, but each end happened once
and has the consequences of that end, once.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orth.domain import reasons
from orth.domain.executions import (
    CANCELLED_STATUS,
    OUTCOMES,
    SUCCESS,
    TIMED_OUT,
    Execution,
    ListedStatus,
    Phase,
    Status,
    is_cancelled,
    status_of,
)
from orth.domain.reasons import CANCELLED
from orth.wire.messages import CallbackItem, Verdict

Key = tuple[int, str, int]
"""Job, trigger key and shard: what is opened once."""
Row = Any

AS_WANTED = {reasons.KILLED, reasons.DISCARDED, reasons.JOB_STOPPED}
BY_COORDINATOR = {reasons.KILLED, reasons.DISCARDED, reasons.RESULT_LOST, reasons.TIME_LIMIT}
GIVEN_UP = {reasons.RESULT_LOST, reasons.NEVER_RESOLVED}


@dataclass(frozen=True)
class Kind:
    """A job, as far as ends depend on it."""

    job_id: int
    retries: int = 0
    child: int | None = None
    child_per_shard: bool = False
    delay: int = 0
    """Milliseconds after an end, for a FIX_DELAY."""
    each_alarms: bool = False


@dataclass
class Run:
    """One execution: what it had when it was opened, and its end once it has one."""

    id: int
    kind: Kind
    key: Key
    left: int
    broadcast: int | None
    of_fire: bool
    end: tuple[Any, ...] | None = None
    status: Status | None = None
    reason: str | None = None
    late_code: int | None = None


@dataclass
class Broadcast:
    """How many shards have ended for good, and how."""

    total: int
    succeeded: int = 0
    failed: int = 0


@dataclass
class Told:
    """What one act says it did. ``claims`` are ends it stored, beside the verdicts; ``must_end`` cannot be open."""

    claims: Sequence[Execution] = ()
    must_end: frozenset[int] = frozenset()
    verdicts: Sequence[tuple[CallbackItem, Verdict]] = ()
    opened: frozenset[Key] = frozenset()
    plans: bool = False
    recalls: bool = False

    @property
    def stored(self) -> list[int]:
        """Whose results were acknowledged as stored."""
        return [item.log_id for item, verdict in self.verdicts if verdict is Verdict.STORED]


def end_of(row: Row) -> tuple[Any, ...]:
    """All of an end that must never change."""
    return (row.phase, row.trigger_code, row.handle_code, row.handle_msg, row.handle_time, row.reason_code, row.outcome)


class Model:
    """Every execution so far, and what must be written because of their ends."""

    def __init__(self, kinds: Iterable[Kind]) -> None:
        self.kinds = {kind.job_id: kind for kind in kinds}
        self.runs: dict[int, Run] = {}
        self.expected: dict[Key, tuple[int, int | None, bool]] = {}
        """Opened because of an end and not seen yet: retries left, broadcast, and whether a fire led to it."""
        self.due: dict[Key, int | None] = {}
        """Of these, when an attempt may start that follows one sent ahead of its fire."""
        self.broadcasts: dict[int, Broadcast] = {}
        self.dead_letters: set[int] = set()
        self.failure_signs: set[int] = set()
        self.children_left: Counter[int] = Counter()
        """Failed broadcasts, by job."""
        self.delays: dict[int, int] = {}
        """FIX_DELAY jobs whose delay runs, and when it is over."""
        self.ended: Counter[ListedStatus] = Counter()

    def observe(self, before: Mapping[int, Row], after: Mapping[int, Row], told: Sequence[Told], now: int) -> None:
        """Check one step, and learn from it."""
        ends = Counter(one for act in told for one in (*act.stored, *(claim.id for claim in act.claims)))
        assert max(ends.values(), default=1) == 1, f"ended more than once: {ends}"
        self._check_gone(before.keys() - after.keys(), before, told)
        for one in before.keys() & after.keys():
            self._follow(self.runs[one], before[one], after[one], told, now)
        for one in sorted(after.keys() - before.keys()):
            self._welcome(after[one], told)
            if after[one].phase == Phase.ENDED:
                self._check_recalled(after[one], told)
                self._end(self.runs[one], after[one], now)
        assert not self.expected, f"not opened: {self.expected}"
        for act in told:
            self._check_verdicts(act, before, after, alone=len(told) == 1)
        self._check_late(before, after, told)

    def _check_gone(self, gone: Iterable[int], before: Mapping[int, Row], told: Sequence[Told]) -> None:
        for one in gone:
            assert any(act.recalls for act in told), f"execution {one} is gone"
            assert before[one].phase == Phase.OPENED, f"execution {one} was sent and is forgotten"
            run = self.runs.pop(one)
            assert run.key[1].startswith("fire:")
            if run.broadcast is not None:
                self.broadcasts.pop(run.broadcast, None)

    def _follow(self, run: Run, old: Row, row: Row, told: Sequence[Told], now: int) -> None:
        claims = [claim for act in told for claim in act.claims if claim.id == run.id]
        reported = any(run.id in act.stored for act in told)
        if run.end is not None:
            assert end_of(row) == run.end, f"the end of execution {run.id} has changed"
            assert not claims, f"execution {run.id} was ended again"
            assert not reported, f"a second result of execution {run.id} was acknowledged as stored"
        elif row.phase == Phase.ENDED:
            if not claims and not reported:
                assert old.phase == Phase.OPENED, f"nobody says that they ended execution {run.id}"
                self._check_recalled(row, told)
            for claim in claims:
                said = (claim.trigger_code, claim.handle_code, claim.handle_msg, claim.reason_code)
                assert said == (row.trigger_code, row.handle_code, row.handle_msg, row.reason_code)
            self._end(run, row, now)
        else:
            assert not claims, f"the end of execution {run.id} was not stored"
            assert not reported, f"the result of execution {run.id} was acknowledged and not stored"
            assert not any(run.id in act.must_end for act in told), f"execution {run.id} should have ended"

    def _check_recalled(self, row: Row, told: Sequence[Told]) -> None:
        """A recall ends what waits of a fire that was sent in part, without a word."""
        assert row.reason_code == reasons.JOB_STOPPED
        assert any(act.recalls for act in told)

    def _end(self, run: Run, row: Row, now: int) -> None:
        status = status_of(row.trigger_code, row.handle_code)
        assert status.terminal
        run.end, run.status, run.reason = end_of(row), status, row.reason_code
        listed: ListedStatus = CANCELLED_STATUS if is_cancelled(row.reason_code, row.start_time) else status
        assert row.outcome == OUTCOMES[listed]
        self.ended[listed] += 1
        failed = status is not Status.SUCCESS
        if failed and row.recalled is not None and now < row.not_before and run.reason != reasons.KILLED:
            assert run.reason == row.recalled, "what was recalled in time has not run, and is not tried again"
        final = not failed or run.left == 0 or run.reason in AS_WANTED | {reasons.NEVER_RESOLVED}
        if not final:
            key = (run.kind.job_id, f"retry:{run.id}", run.key[2])
            self.expected[key] = (run.left - 1, run.broadcast, run.of_fire)
            self.due[key] = row.not_before if row.not_before is not None and row.not_before > now else None
        if failed and run.reason not in AS_WANTED:
            if final:
                self.dead_letters.add(run.id)
            if final or run.kind.each_alarms:
                self.failure_signs.add(run.id)
        if final:
            self._end_for_good(run, now)

    def _end_for_good(self, run: Run, now: int) -> None:
        kind, whole = run.kind, run.broadcast is None
        parent = f"parent:{run.id}" if run.status is Status.SUCCESS else None
        if run.broadcast is not None:
            shards = self.broadcasts[run.broadcast]
            shards.succeeded += run.status is Status.SUCCESS
            shards.failed += run.status is not Status.SUCCESS
            whole = shards.succeeded + shards.failed == shards.total
            if whole:
                del self.broadcasts[run.broadcast]
            if not kind.child_per_shard:
                parent = f"parent:broadcast:{run.broadcast}" if whole and not shards.failed else None
                self.children_left[kind.job_id] += whole and bool(shards.failed)
        if kind.child is not None and parent is not None:
            self.expected[kind.child, parent, 0] = (self.kinds[kind.child].retries, None, False)
        if kind.delay and run.of_fire and whole:
            assert kind.job_id not in self.delays, "a delay has begun twice"
            self.delays[kind.job_id] = now + kind.delay

    def _welcome(self, row: Row, told: Sequence[Told]) -> None:
        key = (row.job_id, row.trigger_key, row.shard_index)
        kind = self.kinds[row.job_id]
        if key in self.expected:
            left, broadcast, of_fire = self.expected.pop(key)
            assert row.not_before == self.due.pop(key, None), "another attempt is not earlier than its fire"
        else:
            planned = row.trigger_key.startswith("fire:") and any(act.plans or act.recalls for act in told)
            assert planned or any(key in act.opened for act in told), f"nobody asked for {key}"
            left, broadcast, of_fire = kind.retries, row.broadcast_id, planned
            if kind.delay and planned:
                self.delays.pop(row.job_id, None)
        assert (row.executor_fail_retry_count, row.broadcast_id) == (left, broadcast)
        if broadcast is not None:
            self.broadcasts.setdefault(broadcast, Broadcast(row.shard_total))
        self.runs[row.id] = Run(row.id, kind, key, left, broadcast, of_fire)

    def _check_verdicts(self, act: Told, before: Mapping[int, Row], after: Mapping[int, Row], *, alone: bool) -> None:
        for item, verdict in act.verdicts:
            if verdict is Verdict.STORED:
                self._check_stored(item, after[item.log_id])
            elif item.log_id not in before:
                assert verdict is Verdict.UNKNOWN
            elif before[item.log_id].phase == Phase.OPENED:  # nobody can have it, unless it was sent meanwhile
                assert verdict is Verdict.UNKNOWN or (not alone and verdict is Verdict.DUPLICATE)
            else:
                assert verdict is Verdict.DUPLICATE

    def _check_stored(self, item: CallbackItem, row: Row) -> None:
        cancelled = is_cancelled(row.reason_code, row.start_time)
        assert (row.handle_code, row.handle_msg) == (
            item.handle_code,
            CANCELLED[row.reason_code] if cancelled else item.handle_msg,
        )
        assert row.reason_code not in BY_COORDINATOR
        if row.recalled is not None and row.handle_code != SUCCESS:
            assert row.reason_code == row.recalled

    def _check_late(self, before: Mapping[int, Row], after: Mapping[int, Row], told: Sequence[Told]) -> None:
        for one, row in after.items():
            run = self.runs[one]
            offered = [item.handle_code for act in told for item in _late_words(act, one)]
            if run.late_code is not None:
                assert row.late_code == run.late_code, "the first late result counts"
            elif row.late_code is not None:
                assert row.late_code in offered
                assert _differs(row.late_code, run)
                run.late_code = row.late_code
            elif one in before and before[one].phase == Phase.ENDED and len(told) == 1 and offered:
                assert not _differs(offered[0], run), f"the late result of execution {one} is lost"


def _late_words(act: Told, one: int) -> list[CallbackItem]:
    return [item for item, verdict in act.verdicts if item.log_id == one and verdict is Verdict.DUPLICATE]


def _differs(code: int, run: Run) -> bool:
    said = {SUCCESS: Status.SUCCESS, TIMED_OUT: Status.TIMEOUT}.get(code, Status.FAILED)
    return said is not run.status or run.reason in GIVEN_UP
