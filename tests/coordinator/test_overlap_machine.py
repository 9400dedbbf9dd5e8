"""However triggers, claims, lost answers, kills, results and changes of the leader interleave: what may be running of a
job is on one executor, and in the end nothing waits.

The acts are the coordinator's own functions on real databases. The machine plays the executors: it knows which
executions are at one, or on their way there.
"""

import asyncio
import os
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from sqlalchemy import Connection

from orth.cluster.election import Node
from orth.coordinator.broadcasts import EVERYBODY
from orth.coordinator.choosing import Choice
from orth.coordinator.claiming import Outlook, release
from orth.coordinator.defining import trigger_job
from orth.coordinator.finishing import finish
from orth.coordinator.killing import close
from orth.coordinator.letters import Answer, Letter, Outcome
from orth.coordinator.node import Coordinator
from orth.coordinator.rooms import Surroundings
from orth.coordinator.settling import Office, Settled, claim, settle
from orth.coordinator.triggering import Request
from orth.domain import reasons
from orth.domain.executions import FAILURE, SUCCESS, TIMED_OUT, Phase
from orth.domain.jobs import AddressType, BlockStrategy, Group, Job, RouteStrategy, TriggerCause
from orth.errors import Conflict, NotFound
from orth.events import Events
from orth.settings import Settings
from orth.store.all_tables import metadata
from orth.store.database import Database, open_database
from orth.store.dispatching import record_accepted, take_ahead, take_due
from orth.store.engines import is_sqlite
from orth.store.executions import Ending
from orth.store.groups import create_group
from orth.store.jobs import create_job
from orth.store.leases import Term
from orth.store.possibly_running import confirm_ends, jobs_waiting, list_unconfirmed
from orth.store.registry import Beat, record_beats
from orth.testing import ManualClock
from orth.testing.stores import prepare_store
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.messages import CallbackItem, Extension
from tests.coordinator.ending_site import begin_term, read_rows

LONG = os.environ.get("ORTH_TEST_FAULTS") == "long"
EXAMPLES, STEPS = (300, 60) if LONG else (25, 25)
EXECUTORS = ("http://10.0.0.1:9999", "http://10.0.0.2:9999", "http://10.0.0.3:9999")
EXTENSIONS = frozenset({Extension.RESEND, Extension.KILL_EXECUTION, Extension.NOT_BEFORE})
JOBS = (
    (BlockStrategy.SERIAL_EXECUTION, RouteStrategy.ROUND),
    (BlockStrategy.SERIAL_EXECUTION, RouteStrategy.FAILOVER),
    (BlockStrategy.COVER_EARLY, RouteStrategy.LEAST_LOADED),
    (BlockStrategy.DISCARD_LATER, RouteStrategy.ROUND),
    (BlockStrategy.SERIAL_EXECUTION, RouteStrategy.BUSYOVER),
)
PICK = st.integers(0, 9)
OUTCOME = st.sampled_from([Outcome.TAKEN, Outcome.TAKEN, Outcome.UNKNOWN, Outcome.NOT_SENT])


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
        self.going: dict[int, str] = {}
        """On its way to an executor, or lost on it."""
        self.inside: dict[int, str] = {}
        """At an executor: it waits there, runs, or is being ended."""

    def teardown(self) -> None:
        try:
            self.end_everything()
        finally:
            self.runner.close()

    def end_everything(self) -> None:
        """Whatever has happened, nothing waits for ever."""
        rounds = 0
        while any(row.phase != Phase.ENDED for row in self.rows().values()):
            assert (rounds := rounds + 1) <= 60, "some executions never go"
            self.claim(9)
            for _ in range(len(self.letters)):
                self.answer(0, Outcome.TAKEN, 0)
            for one in self.in_phase(Phase.UNKNOWN):
                self.resolve(one, taken=True)
            while self.inside:
                self.result(0, SUCCESS, left=True)
            self.confirm()
            self.what_may_run_of_a_job_is_on_one_executor()
        self.going.clear()
        self.confirm()
        assert self.alone(list_unconfirmed, 10, queued=False) == []

    # --- what the coordinator does

    @rule(job=st.integers(0, len(JOBS) - 1))
    def trigger(self, job: int) -> None:
        self.alone(trigger_job, self.jobs[job], Request(TriggerCause.API, f"{next(self.numbers)}"), self.clock.now())

    @rule(job=PICK, times=st.integers(1, 3), to=PICK, outcomes=st.lists(OUTCOME, max_size=5))
    def trigger_and_send(self, job: int, times: int, to: int, outcomes: list[Outcome]) -> None:
        """Most of what can happen happens to what was sent."""
        for _ in range(times):
            self.trigger(self.job_of(job))
        self.claim(9)
        for outcome in outcomes:
            self.answer(0, outcome, to)

    @staticmethod
    def job_of(pick: int) -> int:
        """The first job, or one of the others: what happens to one job rarely matters to another."""
        return 0 if pick < 4 else 1 if pick < 7 else pick % len(JOBS)

    @rule(limit=st.integers(1, 9))
    def claim(self, limit: int) -> None:
        self.clock.move(1)
        settled = self.leading(_claim, self.office(), limit, self.clock.now())
        self.send(settled.letters)

    @rule(
        pick=PICK, outcome=st.sampled_from([Outcome.TAKEN, Outcome.TAKEN, Outcome.UNKNOWN, Outcome.NOT_SENT]), to=PICK
    )
    def answer(self, pick: int, outcome: Outcome, to: int) -> None:
        """An executor is chosen, if the strategy asks; then it answers, or does not, or is not reached."""
        if not self.letters:
            return
        one = sorted(self.letters)[pick % len(self.letters)]
        letter = self.letters.pop(one)
        if letter.asks:
            peers = (letter.peer, *letter.others)
            chosen = replace(letter, peer=peers[to % len(peers)], asks=False, others=())
            if chosen.peer == letter.peer:
                self.send([chosen])
            else:
                self.send(self.leading(settle, (), [Choice(chosen)], self.office(), self.clock.now()).letters)
            return
        if outcome is Outcome.NOT_SENT or (outcome is Outcome.UNKNOWN and to % 2):
            pass  # it did not arrive, and may yet where nobody knows that
        else:
            self.arrive(one)
        if outcome is Outcome.NOT_SENT:
            self.going.pop(one, None)
        code = {Outcome.UNKNOWN: reasons.UNKNOWN_ANSWER, Outcome.NOT_SENT: reasons.NOT_SENT}.get(outcome, "")
        if letter.epoch != self.term.epoch and outcome is not Outcome.TAKEN:
            return
        answers = [Answer(letter, outcome, "so it said", code)]
        self.send(self.leading(settle, answers, (), self.office(), self.clock.now()).letters)

    @rule(picks=st.lists(PICK, min_size=2, max_size=4))
    def several_are_not_sent(self, picks: list[int]) -> None:
        found = [one for one, letter in sorted(self.letters.items()) if not letter.asks]
        chosen = sorted({found[pick % len(found)] for pick in picks}) if found else []
        letters = [self.letters.pop(one) for one in chosen]
        letters = [one for one in letters if one.epoch == self.term.epoch]
        for letter in letters:
            self.going.pop(letter.execution.id, None)
        answers = [Answer(one, Outcome.NOT_SENT, "refused", reasons.NOT_SENT) for one in letters]
        self.send(self.leading(settle, answers, (), self.office(), self.clock.now()).letters)

    @rule(pick=PICK, taken=st.booleans())
    def resolve_doubt(self, pick: int, taken: bool) -> None:
        found = self.in_phase(Phase.UNKNOWN)
        if found:
            self.resolve(found[pick % len(found)], taken=taken)

    def resolve(self, one: int, *, taken: bool) -> None:
        """The executor is asked again: it takes what it does not have, or was replaced by one that never had it."""
        if taken or one in self.inside:
            self.arrive(one)
            self.leading(record_accepted, [one], self.clock.now())
            return
        self.going.pop(one, None)
        ending = Ending(execution_id=one, trigger_code=FAILURE, reason_code=reasons.EXECUTOR_RESTARTED)
        self.leading(finish, [ending], self.clock.now())

    @rule(pick=PICK)
    def kill(self, pick: int) -> None:
        rows = self.rows()
        found = [one for one, row in rows.items() if row.phase != Phase.ENDED]
        try:
            if found:
                self.alone(close, found[pick % len(found)], "somebody", self.clock.now())
        except (Conflict, NotFound):
            return

    @rule(pick=PICK)
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

    @rule()
    def another_leader(self) -> None:
        """The earlier one was frozen: what it had on its way may still arrive."""
        self.letters = {}
        self.term = self.alone(begin_term, self.clock.now())

    @rule()
    def confirm(self) -> None:
        """Executors are asked what they have: those of ended executions that are neither there nor on their way."""
        rows = self.alone(list_unconfirmed, 100, queued=False)
        self.alone(confirm_ends, [one.id for one in rows if one.id not in self.inside and one.id not in self.going])

    # --- what executors do

    @rule(pick=PICK, code=st.sampled_from([SUCCESS, SUCCESS, FAILURE, TIMED_OUT]), left=st.booleans())
    def result(self, pick: int, code: int, left: bool) -> None:
        """An execution ends; its handler has ``left``, or works on."""
        if not self.inside:
            return
        one = sorted(self.inside)[pick % len(self.inside)]
        if left:
            del self.inside[one]
        triggered = self.rows()[one].trigger_time
        inside = None if left else True
        item = CallbackItem(log_id=one, log_date_time=triggered, handle_code=code, still_inside=inside)
        self.runner.run(self.coordinator.work.callbacks.take([item]))

    @rule(pick=PICK)
    def late_arrival(self, pick: int) -> None:
        """What was sent arrives, whatever the coordinator thinks of it by then."""
        found = sorted(one for one in self.going if one not in self.letters)
        if found:
            self.arrive(found[pick % len(found)])

    @rule(pick=PICK)
    def handler_returns(self, pick: int) -> None:
        """A handler that could not be ended returns at last: nobody is told."""
        ended = [one for one in sorted(self.inside) if self.rows()[one].phase == Phase.ENDED]
        if ended:
            del self.inside[ended[pick % len(ended)]]

    def arrive(self, one: int) -> None:
        address = self.going.pop(one, None) or self.rows()[one].executor_address
        assert address is not None
        self.inside.setdefault(one, address)

    def send(self, letters: Sequence[Letter]) -> None:
        for letter in letters:
            self.letters[letter.execution.id] = letter
            if not letter.asks:
                self.going[letter.execution.id] = letter.peer.address

    # --- what holds

    @invariant()
    def what_may_run_of_a_job_is_on_one_executor(self) -> None:
        rows, places = self.rows(), defaultdict[int, set[str]](set)
        for one, address in (*self.inside.items(), *self.going.items()):
            places[rows[one].job_id].add(address)
        assert all(len(found) <= 1 for found in places.values()), f"{dict(places)}"

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


def _claim(connection: Connection, office: Office, limit: int, now: int) -> Settled:
    release(connection, frozenset(jobs_waiting(connection)), now)
    due = take_due(connection, now, limit)
    return claim(connection, [*due, *take_ahead(connection, now, 0, limit - len(due))], office, now)


def _set_up(connection: Connection, now: int) -> tuple[list[int], Term]:
    for table in metadata.sorted_tables:
        connection.execute(table.delete())
    group = create_group(connection, Group(0, "ours", "ours", AddressType.AUTO, ()), now)
    record_beats(connection, [Beat("ours", one, f"process at {one}", EXTENSIONS) for one in EXECUTORS], now)
    plain = Job(id=0, job_group=group, job_desc="job", executor_handler="note", executor_fail_retry_count=1)
    jobs = [replace(plain, executor_block_strategy=block, executor_route_strategy=route) for block, route in JOBS]
    return [create_job(connection, job, now) for job in jobs], begin_term(connection, now)


@pytest.mark.timeout(3600 if LONG else 240)
def test_what_may_run_of_a_job_is_on_one_executor_and_nothing_waits_for_ever(store_url: str) -> None:
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
                deadline=None,
                suppress_health_check=[HealthCheck.too_slow],
            ),
        )
