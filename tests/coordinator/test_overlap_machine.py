"""However triggers, planned fires, claims, lost answers, kills, results, edits of jobs and changes of the leader
interleave: executions of a job do not run at the same time, none begins late while its job is idle, those that wait go
in their order, and in the end nothing waits.

The acts are the coordinator's own functions on real databases. The machine plays the executors
(``overlap_executors``).
"""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import Phase as Stage
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from sqlalchemy import Connection, select, update

from orth.cluster.election import Node
from orth.coordinator.broadcasts import EVERYBODY
from orth.coordinator.choosing import Choice
from orth.coordinator.claiming import Outlook, take
from orth.coordinator.defining import trigger_job
from orth.coordinator.finishing import finish
from orth.coordinator.killing import close
from orth.coordinator.letters import Answer, Letter, Outcome
from orth.coordinator.node import Coordinator
from orth.coordinator.planning import PlannedRun
from orth.coordinator.rooms import Surroundings
from orth.coordinator.settling import Office, Settled, claim, settle
from orth.coordinator.triggering import Request, open_planned
from orth.domain import reasons
from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT, Execution, Phase
from orth.domain.jobs import AddressType, BlockStrategy, Group, Job, Overlap, RouteStrategy, TriggerCause
from orth.domain.overlap import WHOLE, Key, is_guarded
from orth.errors import Conflict, NotFound
from orth.events import Events
from orth.settings import Settings
from orth.store.all_tables import metadata
from orth.store.database import Database, open_database
from orth.store.dispatching import record_accepted
from orth.store.engines import is_sqlite
from orth.store.executions import Ending
from orth.store.groups import create_group
from orth.store.jobs import create_job, jobs_by_id
from orth.store.leases import Term
from orth.store.possibly_running import confirm_ends, jobs_waiting, list_unconfirmed
from orth.store.registry import Beat, record_beats
from orth.store.tables import jobs as job_rows
from orth.store.tables import unconfirmed_ends
from orth.testing import ManualClock
from orth.testing.stores import prepare_store
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.messages import CallbackItem, Extension
from tests.coordinator.ending_site import Rows, begin_term, read_rows
from tests.coordinator.overlap_executors import At, Executors, conflict

LONG = os.environ.get("ORTH_TEST_FAULTS") == "long"
EXAMPLES, STEPS = (300, 30) if LONG else (25, 12)
EXECUTORS = ("http://10.0.0.1:9999", "http://10.0.0.2:9999", "http://10.0.0.3:9999")
EXTENSIONS = frozenset({Extension.RESEND, Extension.KILL_EXECUTION, Extension.NOT_BEFORE})
JOBS = (
    (BlockStrategy.SERIAL_EXECUTION, RouteStrategy.ROUND),
    (BlockStrategy.SERIAL_EXECUTION, RouteStrategy.FAILOVER),
    (BlockStrategy.COVER_EARLY, RouteStrategy.LEAST_LOADED),
    (BlockStrategy.DISCARD_LATER, RouteStrategy.ROUND),
    (BlockStrategy.SERIAL_EXECUTION, RouteStrategy.BUSYOVER),
)
ASKING = (RouteStrategy.FAILOVER, RouteStrategy.BUSYOVER)
EDITS = st.sampled_from(
    [
        {"overlap": Overlap.EXECUTOR},
        {"overlap": Overlap.CLUSTER},
        {"executor_route_strategy": RouteStrategy.SHARDING_BROADCAST},
        {"executor_route_strategy": RouteStrategy.ROUND},
        {"executor_block_strategy": BlockStrategy.DISCARD_LATER},
        {"executor_block_strategy": BlockStrategy.SERIAL_EXECUTION},
    ]
)
PICK = st.integers(0, 9)
OUTCOME = st.sampled_from([Outcome.TAKEN, Outcome.TAKEN, Outcome.UNKNOWN, Outcome.NOT_SENT])
OUTCOMES = st.lists(OUTCOME, max_size=4)
SPAN = st.sampled_from([1, 300, 1_000, 2_500])
"""Milliseconds."""
EVERYTHING = 500
LIMIT = st.sampled_from([EVERYTHING, EVERYTHING, 1])
CODE = st.sampled_from([SUCCESS, SUCCESS, FAILURE, TIMED_OUT])
WANTED = st.tuples(st.sampled_from(["trigger", "plan_fires", "plan_fires", "pin"]), st.integers(0, 2), SPAN)
"""What to do, a number for it, and how far the fires are apart."""
SOMETHING = st.tuples(st.just("want"), PICK, st.lists(WANTED, min_size=1, max_size=2), LIMIT, OUTCOMES, PICK)
TIME = st.tuples(st.just("let_time_pass"), SPAN, LIMIT, PICK)
RESULT = st.tuples(st.just("result"), PICK, CODE, st.booleans())
ACT = st.one_of(
    SOMETHING,
    SOMETHING,
    TIME,
    TIME,
    RESULT,
    RESULT,  # of all acts these are the most frequent in life
    st.tuples(st.just("answer"), PICK, OUTCOME, PICK),
    st.tuples(st.just("edit"), PICK, EDITS, st.booleans()),
    st.tuples(st.just("several_are_not_sent"), st.lists(PICK, min_size=2, max_size=4)),
    st.tuples(
        st.sampled_from(
            [
                "resolve_doubt",
                "kill",
                "kill",
                "time_out",
                "another_leader",
                "confirm",
                "late_arrival",
                "handler_returns",
            ]
        ),
        PICK,
    ),
)


class Overlaps(RuleBasedStateMachine):
    """One group of three executors, five jobs, and the coordinator's functions."""

    def __init__(self, db: Database, coordinator: Coordinator, clock: ManualClock) -> None:
        super().__init__()
        self.db, self.coordinator, self.clock = db, coordinator, clock
        self.runner = asyncio.Runner()
        self.numbers = count(1)
        self.jobs, self.term = self.alone(_set_up, clock.now())
        self.letters: dict[int, Letter] = {}
        """Addressed and not answered, those that ask first included."""
        self.executors = Executors()
        self.sound = True

    def teardown(self) -> None:
        try:
            if self.sound:
                self.end_everything()
        finally:
            self.runner.close()

    def end_everything(self) -> None:
        """Whatever has happened, nothing waits for ever."""
        rounds, left = 0, -1
        while still := [row for row in self.rows().values() if row.phase != Phase.ENDED]:
            rounds, left = (rounds + 1, left) if len(still) == left else (0, len(still))
            assert rounds <= 10, f"these never go: {[_told(row) for row in still]}"
            self.clock.move(2)
            self.claim(EVERYTHING)
            while self.letters:
                self.answer(0, Outcome.TAKEN, 0)
            for one in self.in_phase(Phase.UNKNOWN):
                self.resolve(one, taken=True)
            for _ in range(len(self.executors.here(At.ON_ITS_WAY))):
                self.late_arrival(0)
            for _ in range(len(self.executors.here(At.RUNNING))):
                self.result(0, SUCCESS, left=True)
            for _ in range(len(self.executors.sent)):
                self.handler_returns(0)
            self.confirm()
        for one in list(self.executors.sent):  # what was killed there
            self.executors.leave(one, self.clock.now())
        self.confirm()
        assert self.alone(list_unconfirmed, 10, queued=False) == []

    # --- what people and schedules do

    @rule(acts=st.lists(ACT, min_size=2, max_size=4))
    def acts(self, acts: list[tuple[Any, ...]]) -> None:
        for name, *given in acts:
            getattr(self, name)(*given)

    def want(self, job: int, wanted: list[tuple[str, int, int]], limit: int, outcomes: list[Outcome], to: int) -> None:
        """A job is triggered or its next fires are planned, and that is sent."""
        for kind, number, span in wanted:
            getattr(self, kind)(self.jobs[self.job_of(job)], number, span)
        self.claim(limit)
        for outcome in outcomes:
            self.answer(to, outcome, to)

    def trigger(self, job_id: int, _number: int, _span: int, addresses: tuple[str, ...] = ()) -> None:
        request = Request(TriggerCause.API, f"{next(self.numbers)}", addresses=addresses)
        self.alone(trigger_job, job_id, request, self.clock.now())

    def pin(self, job_id: int, number: int, span: int) -> None:
        """It may go to one executor only."""
        self.trigger(job_id, number, span, (EXECUTORS[number],))

    def plan_fires(self, job_id: int, number: int, span: int) -> None:
        """Fires are opened before they are due."""
        due = [self.clock.now() + span * (1 + one) for one in range(1 + number)]
        self.alone(_plan, job_id, due, self.clock.now())

    def edit(self, job: int, change: dict[str, str], killed: bool) -> None:
        """Somebody edits a job and triggers it, whatever runs of it. Not how executors are asked: that is committed
        with the execution.
        """
        chosen = self.job_of(job)
        if killed:
            self.kill(0)
        if JOBS[chosen][1] not in ASKING or "executor_route_strategy" not in change:
            self.alone(_edit, self.jobs[chosen], change)
            self.want(job, [("trigger", 0, 0)], EVERYTHING, [Outcome.TAKEN] * 3, job)

    def let_time_pass(self, span: int, limit: int, pick: int) -> None:
        self.clock.move(span / 1000)
        self.executors.turn(self.clock.now())
        self.claim(limit)
        self.answer(pick, Outcome.TAKEN, pick)

    @staticmethod
    def job_of(pick: int) -> int:
        """The first job, or one of the others: what happens to one job rarely matters to another."""
        return 0 if pick < 5 else 1 if pick < 7 else pick % len(JOBS)

    # --- what the coordinator does

    def claim(self, limit: int) -> None:
        self.clock.move(0.001)
        self.executors.turn(self.clock.now())
        settled, seen = self.leading(_claim, self.office(), limit, self.clock.now())
        self.send(settled.letters, seen)
        if limit == EVERYTHING:
            self.nothing_is_late(seen)

    def answer(self, pick: int, outcome: Outcome, to: int) -> None:
        """An executor is chosen, if the strategy asks; then it answers, or does not, or is not reached."""
        if not self.letters:
            return
        one = sorted(self.letters)[pick % len(self.letters)]
        letter = self.letters.pop(one)
        if letter.asks:
            peers = (letter.peer, *letter.others)
            chosen = replace(letter, peer=peers[to % len(peers)], asks=False, others=())
            going: Sequence[Letter] = [chosen]
            if chosen.peer != letter.peer:
                going, _seen = self.settle((), [Choice(chosen)])
            for each in going:
                self.letters[one] = each
                self.go(each)
            return
        if outcome is Outcome.NOT_SENT or (outcome is Outcome.UNKNOWN and to % 2):
            pass  # it did not arrive, and may yet where nobody knows that
        else:
            self.executors.arrive(one, self.clock.now())
        if outcome is Outcome.NOT_SENT:
            self.executors.leave(one, self.clock.now())
        code = {Outcome.UNKNOWN: reasons.UNKNOWN_ANSWER, Outcome.NOT_SENT: reasons.NOT_SENT}.get(outcome, "")
        if letter.epoch != self.term.epoch and outcome is not Outcome.TAKEN:
            return
        self.send(*self.settle([Answer(letter, outcome, "so it said", code)], ()))

    def settle(self, answers: Sequence[Answer], choices: Sequence[Choice]) -> tuple[Sequence[Letter], "Seen"]:
        settled, seen = self.leading(_settle, answers, choices, self.office(), self.clock.now())
        return settled.letters, seen

    def several_are_not_sent(self, picks: list[int]) -> None:
        found = [one for one, letter in sorted(self.letters.items()) if not letter.asks]
        chosen = sorted({found[pick % len(found)] for pick in picks}) if found else []
        letters = [self.letters.pop(one) for one in chosen]
        letters = [one for one in letters if one.epoch == self.term.epoch]
        for letter in letters:
            self.executors.leave(letter.execution.id, self.clock.now())
        answers = [Answer(one, Outcome.NOT_SENT, "refused", reasons.NOT_SENT) for one in letters]
        self.send(*self.settle(answers, ()))

    def resolve_doubt(self, pick: int) -> None:
        found = self.in_phase(Phase.UNKNOWN)
        if found:
            self.resolve(found[pick % len(found)], taken=pick % 2 == 0)

    def resolve(self, one: int, *, taken: bool) -> None:
        """The executor is asked again: it takes what it does not have, or was replaced by one that never had it."""
        sent = self.executors.sent.get(one)
        if sent is None:  # a result of it came meanwhile, or it is still being asked where it may go
            self.leading(finish, [_never_had(one)], self.clock.now())
        elif taken or sent.at is not At.ON_ITS_WAY:
            self.executors.arrive(one, self.clock.now())
            self.leading(record_accepted, [one], self.clock.now())
        else:
            self.executors.leave(one, self.clock.now())
            self.leading(finish, [_never_had(one)], self.clock.now())

    def kill(self, pick: int) -> None:
        rows = self.rows()
        found = [one for one, row in rows.items() if row.phase != Phase.ENDED]
        try:
            if found:
                self.alone(close, found[pick % len(found)], "somebody", self.clock.now())
        except (Conflict, NotFound):
            return

    def time_out(self, pick: int) -> None:
        found = self.in_phase(Phase.DISPATCHED)
        if found:
            ending = Ending(
                execution_id=found[pick % len(found)],
                trigger_code=SUCCESS,
                handle_code=TIMED_OUT,
                reason_code=reasons.TIME_LIMIT,
                confirmed=False,
            )
            self.leading(finish, [ending], self.clock.now())

    def another_leader(self, _pick: int) -> None:
        """The earlier one was frozen: what it had on its way may still arrive."""
        self.letters = {}
        self.term = self.alone(begin_term, self.clock.now())

    def confirm(self, _pick: int = 0) -> None:
        """Executors are asked what they have: those of ended executions that are neither there nor on their way."""
        rows = self.alone(list_unconfirmed, 100, queued=False)
        self.alone(confirm_ends, [one.id for one in rows if one.id not in self.executors.sent])

    # --- what executors do

    def result(self, pick: int, code: int, left: bool) -> None:
        """An execution ends; its handler has ``left``, or works on."""
        running = self.executors.here(At.RUNNING)
        if not running:
            return
        one = running[pick % len(running)]
        if left:
            self.executors.leave(one.id, self.clock.now())
        item = CallbackItem(
            log_id=one.id,
            log_date_time=one.triggered,
            handle_code=code,
            start_time=one.began,
            still_inside=None if left else True,
        )
        self.runner.run(self.coordinator.work.callbacks.take([item]))

    def late_arrival(self, pick: int) -> None:
        """What was sent arrives, whatever the coordinator thinks of it by then."""
        found = [one for one in self.executors.here(At.ON_ITS_WAY) if one.id not in self.letters]
        if found:
            self.executors.arrive(found[pick % len(found)].id, self.clock.now())

    def handler_returns(self, pick: int) -> None:
        """A handler that could not be ended returns at last, or what was killed is removed: nobody is told."""
        rows, here = self.rows(), self.executors.here(At.HELD, At.QUEUED, At.RUNNING)
        ended = [one.id for one in here if rows[one.id].phase == Phase.ENDED]
        if ended:
            self.executors.leave(ended[pick % len(ended)], self.clock.now())

    def send(self, letters: Sequence[Letter], seen: "Seen") -> None:
        """Letters go on their way; those that ask first have yet to be told where."""
        self.sound = False
        for letter in letters:
            one = letter.execution
            self.letters[one.id] = letter
            self.keeps_the_order(seen, one)
            if not letter.asks:
                self.go(letter)
        self.sound = True

    def go(self, letter: Letter) -> None:
        """It is on its way, to begin when it is due and not later."""
        one, now = letter.execution, self.clock.now()
        due, held = max(now, _due(one)), max(now, one.not_before or 0)
        assert held <= due, f"{one.id} is held until {held}, and was due at {due}"
        guarded = is_guarded(letter.job)
        self.executors.send(one.id, _key(one), letter.peer.address, one.trigger_time, held, guarded=guarded)

    # --- what holds

    def keeps_the_order(self, seen: "Seen", sent: Execution) -> None:
        """Nothing passes what waits for its job and was due before it."""
        if not is_guarded(seen.jobs[sent.job_id]):
            return
        for row in seen.rows.values():
            waits = row.phase == Phase.OPENED and row.reason_code == reasons.BUSY_ELSEWHERE
            if waits and conflict(_key(row), _key(sent)):
                tied = _due(row) == _due(sent) and _key(row) != _key(sent)  # neither goes before the other
                before = not tied and (_due(row), row.id) < (_due(sent), sent.id)
                assert not before, f"{sent} is sent, while {_told(row)} waits and was due before it"

    def nothing_is_late(self, seen: "Seen") -> None:
        """What is due and was not sent has a reason to wait."""
        now, self.sound = self.clock.now(), False
        for row in seen.rows.values():
            if row.phase != Phase.OPENED or (row.not_before or 0) > now:
                continue
            key, job = _key(row), seen.jobs[row.job_id]
            assert is_guarded(job), f"{_told(row)} waits, and its job may overlap"
            others = [one for one in seen.rows.values() if one.id != row.id and conflict(_key(one), key)]
            at = [one for one in others if one.phase not in (Phase.OPENED, Phase.ENDED)]
            is_running = any((one.not_before or 0) <= now for one in at) or any(
                conflict(one, key) for one in seen.ended
            )
            places = {one.executor_address for one in at}
            cannot_go = bool(places) and (len(places) > 1 or not places <= {*(_addresses(row) or EXECUTORS)})
            asked = job.executor_route_strategy in ASKING and any(one.phase == Phase.DISPATCHING for one in at)
            waits = [one for one in others if one.phase == Phase.OPENED and (one.not_before or 0) <= now]
            behind = any((_due(one), one.id) <= (_due(row), row.id) for one in waits)
            assert is_running or cannot_go or asked or behind, f"{_told(row)} waits, and its job is idle"
        self.sound = True

    # --- looking and acting

    def rows(self) -> Any:
        return self.alone(read_rows)

    def in_phase(self, phase: Phase) -> list[int]:
        return [one for one, row in self.rows().items() if row.phase == phase]

    def alone(self, verb: Callable[..., Any], *args: Any, **named: Any) -> Any:
        return self.runner.run(self.db.tx(partial(verb, **named) if named else verb, *args))

    def leading(self, verb: Callable[..., Any], *args: Any) -> Any:
        return self.runner.run(self.db.leader_tx(self.term, verb, *args))

    def office(self) -> Office:
        return Office("node", self.term.epoch, 60_000, Outlook(EVERYBODY, lambda choices: 0))


@dataclass(frozen=True, slots=True)
class Seen:
    """The database at the end of a transaction."""

    rows: Rows
    jobs: Mapping[int, Job]
    ended: Sequence[Key]
    """Of ends that no executor has confirmed."""


def _seen(connection: Connection) -> Seen:
    rows = read_rows(connection)
    ended = connection.execute(select(unconfirmed_ends.c.job_id, unconfirmed_ends.c.shard_index))
    jobs = jobs_by_id(connection, {row.job_id for row in rows.values()})
    return Seen(rows, jobs, [(job_id, shard) for job_id, shard in ended])


def _key(one: Any) -> Key:
    """Of an execution or its row."""
    return one.job_id, one.shard_index if one.shard_total > 1 else WHOLE


def _due(one: Any) -> int:
    """When it is due, as the machine has opened it: whatever the coordinator wrote there since."""
    return max(int(one.trigger_time), int(one.schedule_time or 0))


def _told(row: Any) -> str:
    """An execution, for whoever reads what failed."""
    times = row.trigger_time, row.schedule_time, row.not_before
    return f"{row.id} {_key(row)} {row.trigger_key} {row.phase} {row.reason_code} {row.executor_address} {times}"


def _addresses(row: Any) -> tuple[str, ...]:
    return tuple((row.address_list or "").split(",")) if row.address_list else ()


def _never_had(one: int) -> Ending:
    return Ending(execution_id=one, trigger_code=FAILURE, reason_code=reasons.EXECUTOR_RESTARTED)


def _plan(connection: Connection, job_id: int, fires: Sequence[int], now: int) -> None:
    job = jobs_by_id(connection, {job_id})[job_id]
    open_planned(connection, [(job, PlannedRun(one, TriggerCause.CRON, one, one)) for one in fires], now)


def _edit(connection: Connection, job_id: int, change: dict[str, str]) -> None:
    connection.execute(update(job_rows).where(job_rows.c.id == job_id).values(**change))


def _claim(connection: Connection, office: Office, limit: int, now: int) -> tuple[Settled, Seen]:
    taken = take(connection, frozenset(jobs_waiting(connection)), 0, limit, now)
    return claim(connection, taken.executions, office, now), _seen(connection)


def _settle(
    connection: Connection, answers: Sequence[Answer], choices: Sequence[Choice], office: Office, now: int
) -> tuple[Settled, Seen]:
    return settle(connection, answers, choices, office, now), _seen(connection)


def _set_up(connection: Connection, now: int) -> tuple[list[int], Term]:
    for table in metadata.sorted_tables:
        connection.execute(table.delete())
    group = create_group(connection, Group(0, "ours", "ours", AddressType.AUTO, ()), now)
    record_beats(connection, [Beat("ours", one, f"process at {one}", EXTENSIONS) for one in EXECUTORS], now)
    plain = Job(id=0, job_group=group, job_desc="job", executor_handler="note", executor_fail_retry_count=1)
    jobs = [replace(plain, executor_block_strategy=block, executor_route_strategy=route) for block, route in JOBS]
    return [create_job(connection, job, now) for job in jobs], begin_term(connection, now)


@pytest.mark.timeout(3600 if LONG else 240)
def test_executions_of_a_job_do_not_overlap_and_none_is_late_while_its_job_is_idle(store_url: str) -> None:
    prepare_store(store_url)
    clock = ManualClock()
    with open_database(store_url, size=4) as db:
        if is_sqlite(db.url):
            pooled = db.engine.raw_connection()
            pooled.cursor().execute("PRAGMA synchronous=OFF")  # no power cut here, and waiting for the disk is slow
            pooled.close()
        given = Surroundings(
            Settings(), Node("node", "process"), db, ExecutorCalls(timeout=1), clock, Events(), "-", "-"
        )
        run_state_machine_as_test(
            cast(type[RuleBasedStateMachine], partial(Overlaps, db, Coordinator(given), clock)),
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=STEPS,
                phases=tuple(Stage) if LONG else (Stage.explicit, Stage.generate),  # to shrink takes minutes
                deadline=None,
                suppress_health_check=[HealthCheck.too_slow],
            ),
        )
