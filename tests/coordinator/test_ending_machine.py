"""However answers, results, kills, time limits and losses interleave: each execution ends once, and what follows from
the end follows once.

The acts are the coordinator's own functions on real databases, one at a time or several at once on connections of their
own. ``ending_model`` says what must be there afterwards. A transaction that the database ends because of a deadlock is
repeated by ``Database.tx``; one that never comes through fails the test.
"""

import asyncio
import os
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
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
from orth.coordinator.claiming import Outlook
from orth.coordinator.defining import start_job, stop_job, trigger_job
from orth.coordinator.finishing import Finished, finish
from orth.coordinator.killing import Closed, close
from orth.coordinator.letters import Answer, Letter, Outcome
from orth.coordinator.node import Coordinator
from orth.coordinator.rooms import Surroundings
from orth.coordinator.settling import Office, Settled, claim, settle
from orth.coordinator.triggering import Request
from orth.domain import reasons
from orth.domain.executions import (
    CANCELLED_STATUS,
    FAILURE,
    OPEN_PHASES,
    SUCCESS,
    TAKEN_PHASES,
    TIMED_OUT,
    Execution,
    Phase,
    Status,
)
from orth.domain.jobs import TriggerCause
from orth.errors import Conflict, NotFound
from orth.events import Events
from orth.settings import Settings
from orth.settings.sections import CoordinatorSection
from orth.store.database import Database, open_database
from orth.store.dispatching import record_accepted, take_ahead, take_due
from orth.store.engines import is_sqlite
from orth.store.executions import Ending
from orth.store.statistics import fold
from orth.testing import ManualClock
from orth.testing.stores import prepare_store
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.messages import CallbackItem
from tests.coordinator.ending_model import Kind, Model, Told
from tests.coordinator.ending_site import DELAY, Rows, begin_term, read_found, read_rows, set_up

LONG = os.environ.get("ORTH_TEST_FAULTS") == "long"
ROUNDS = 5
"""Enough for what is open, and for the children of that."""
EXAMPLES, STEPS = (300, 50) if LONG else (12, 25)

SENT = tuple(phase for phase in OPEN_PHASES if phase is not Phase.OPENED)
CODES = (SUCCESS, SUCCESS, FAILURE, TIMED_OUT, 404)
NOBODY = 10**9
"""An id that no execution has."""

Act = Callable[[], Awaitable[Told]]

PICK = st.integers(-3, 8)
PICKS = st.lists(PICK, min_size=1, max_size=4)
"""Which executions: counted from the first that is open, or back from the last that has ended."""
REPORT = st.tuples(st.just("report"), st.lists(st.tuples(PICK, st.sampled_from(CODES)), min_size=1, max_size=4))
ONE_ACT = st.one_of(
    st.tuples(st.just("trigger"), st.integers(0, 3), st.integers(0, 2)),
    st.tuples(st.just("plan")),
    st.tuples(st.just("claim"), st.integers(1, 5)),
    st.tuples(st.just("answer"), PICKS, st.sampled_from([Outcome.TAKEN, Outcome.REFUSED, Outcome.UNKNOWN])),
    st.tuples(st.just("resolve"), PICKS, st.sampled_from([None, reasons.SURELY_NOT_THERE, reasons.NEVER_RESOLVED])),
    REPORT,
    REPORT,  # the most frequent in life too
    st.tuples(st.just("kill"), PICK),
    st.tuples(st.just("time_out"), PICKS),
    st.tuples(st.just("lose"), PICKS),
    st.tuples(st.just("recall")),
)


class Endings(RuleBasedStateMachine):
    """One site: two groups, six jobs, and the coordinator's functions."""

    def __init__(self, db: Database, coordinator: Coordinator, clock: ManualClock) -> None:
        super().__init__()
        self.db, self.coordinator, self.clock = db, coordinator, clock
        self.runner = asyncio.Runner()
        self.numbers = count(1)
        self.sound = True
        self.letters: dict[int, Letter] = {}
        self.jobs, self.term = self.alone(set_up, clock.now())
        single, foreign, shards, each_shard, delayed, child = self.jobs
        self.model = Model(
            [
                Kind(single, retries=2, child=child),
                Kind(foreign, retries=1, child=child),
                Kind(shards, retries=1, child=child),
                Kind(each_shard, child=child, child_per_shard=True),
                Kind(delayed, retries=1, delay=DELAY * 1000),
                Kind(child, retries=1, each_alarms=True),
            ]
        )
        self.model.delays[delayed] = clock.now()
        self.step([("trigger", 0, 0), ("trigger", 1, 0)])
        self.step([("trigger", 3, 0), ("plan",)])
        self.step([("claim", 9)])

    def teardown(self) -> None:
        try:
            if self.sound:
                self.end_everything()
        finally:
            self.runner.close()

    def end_everything(self) -> None:
        """Whatever has happened, nothing is stuck."""
        rounds = 0
        while any(row.phase != Phase.ENDED for row in self.rows().values()):
            assert (rounds := rounds + 1) <= ROUNDS, "some executions cannot be ended"
            self.step([("claim", 1000)])
            self.step([("answer", list(range(len(self.letters))), Outcome.TAKEN)])
            self.all_report(SUCCESS)
        self.consequences_are_as_the_model_says()
        assert self.model.ended.total() == len(self.rows())

    def alone(self, verb: Callable[..., Any], *args: Any) -> Any:
        return self.runner.run(self.db.tx(verb, *args))

    @rule(act=ONE_ACT)
    def one_act(self, act: tuple[Any, ...]) -> None:
        self.step([act])

    @rule(acts=st.lists(ONE_ACT, min_size=2, max_size=4))
    def acts_at_once(self, acts: list[tuple[Any, ...]]) -> None:
        self.step(acts)

    @rule(limit=st.integers(1, 5), outcome=st.sampled_from([Outcome.TAKEN, Outcome.TAKEN, Outcome.UNKNOWN]))
    def send(self, limit: int, outcome: Outcome) -> None:
        """Most of what can happen happens to what was sent."""
        self.step([("claim", limit)])
        self.step([("answer", list(range(limit)), outcome)])

    @rule(code=st.sampled_from(CODES))
    def all_report(self, code: int) -> None:
        """A broadcast is over only when all of it is."""
        self.step([("report", [(pick, code) for pick in range(len(self.model.runs))])])

    @rule(codes=st.lists(st.sampled_from(CODES), min_size=2, max_size=4))
    def shards_report_at_once(self, codes: list[int]) -> None:
        rows = self.rows()
        shards = [one for one, row in rows.items() if row.broadcast_id is not None and row.phase in SENT]
        order = self.in_order(rows)
        self.step([("report", [(order.index(one), code)]) for one, code in zip(shards, codes, strict=False)])

    @rule()
    def another_leader(self) -> None:
        self.term = self.alone(begin_term, self.clock.now())

    @rule(limit=st.integers(1, 10))
    def fold_counts(self, limit: int) -> None:
        self.alone(fold, limit)

    def step(self, acts: Sequence[tuple[Any, ...]]) -> None:
        """Do these at the same time, and compare."""
        self.sound = False
        self.clock.move(1)
        before = self.rows()
        chosen = [getattr(self, f"_{name}")(before, *given) for name, *given in acts]
        told = self.runner.run(_together(chosen))
        self.model.observe(before, self.rows(), told, self.clock.now())
        self.sound = True

    def rows(self) -> Rows:
        rows: Rows = self.alone(read_rows)
        return rows

    def pick(self, rows: Rows, picks: Sequence[int], *phases: Phase) -> list[int]:
        """Executions in one of these phases, or in any."""
        found = [one for one in self.in_order(rows) if not phases or rows[one].phase in phases]
        return [found[pick % len(found)] for pick in picks] if found else []

    def in_order(self, rows: Rows) -> list[int]:
        """Those that are open first."""
        return sorted(rows, key=lambda one: (rows[one].phase == Phase.ENDED, one))

    # --- acts: what each is about is chosen before any of them begins ---

    def _trigger(self, rows: Rows, job: int, number: int) -> Act:
        job_id = self.jobs[job]

        async def act() -> Told:
            request = Request(TriggerCause.API, f"{number}")
            ids = await self.db.tx(trigger_job, job_id, request, self.clock.now())
            known = [one for one, row in rows.items() if (row.job_id, row.trigger_key) == (job_id, request.trigger_key)]
            assert known in ([], ids), "the same request is the same executions"
            return Told(opened=frozenset((job_id, request.trigger_key, index) for index in range(len(ids))))

        return act

    def _plan(self, rows: Rows) -> Act:
        async def act() -> Told:
            await self.coordinator.work.due.lead(self.term)
            return Told(plans=True)

        return act

    def _claim(self, rows: Rows, limit: int) -> Act:
        async def act() -> Told:
            settled: Settled = await self.leading(_claim, self.office(), limit, self.clock.now())
            self.letters |= {letter.execution.id: letter for letter in settled.letters}
            return Told(_claims(settled.finished))

        return act

    def _answer(self, rows: Rows, picks: list[int], outcome: Outcome) -> Act:
        waiting = sorted(self.letters)
        letters = [self.letters.pop(one) for one in {waiting[pick % len(waiting)] for pick in picks if waiting}]
        # Of an earlier term only a yes is still worth storing.
        letters = [one for one in letters if one.epoch == self.term.epoch or outcome is Outcome.TAKEN]
        codes = {Outcome.REFUSED: (reasons.REFUSED, reasons.DISCARDED), Outcome.UNKNOWN: (reasons.UNKNOWN_ANSWER,)}
        code = codes.get(outcome, ("",))[len(picks) % 2 - 1]
        answers = [Answer(letter, outcome, "so it said", code) for letter in letters]

        async def act() -> Told:
            settled: Settled = await self.leading(settle, answers, (), self.office(), self.clock.now())
            return Told(_claims(settled.finished))

        return act

    def _resolve(self, rows: Rows, picks: list[int], code: str | None) -> Act:
        ids = sorted(set(self.pick(rows, picks, Phase.UNKNOWN)))
        endings = [Ending(execution_id=one, trigger_code=FAILURE, trigger_msg="", reason_code=code) for one in ids]

        async def act() -> Told:
            if code is None:
                await self.leading(record_accepted, ids, self.clock.now())
                return Told()
            return Told(_claims(await self.leading(finish, endings, self.clock.now())))

        return act

    def _report(self, rows: Rows, results: list[tuple[int, int]]) -> Act:
        ids = [*self.pick(rows, [pick for pick, _code in results])] or [NOBODY]
        items = [
            CallbackItem(
                log_id=one,
                log_date_time=rows[one].trigger_time if one in rows else 0,
                handle_code=code,
                handle_msg=f"result {next(self.numbers)}",
            )
            for one, (_pick, code) in zip(ids, results, strict=False)
        ]
        sent = frozenset(one for one in ids if one in rows and rows[one].phase in SENT)

        async def act() -> Told:
            verdicts = (await self.coordinator.work.callbacks.take(items)).verdicts
            pairs = [(item, said.verdict) for item, said in zip(items, verdicts, strict=True)]
            return Told(must_end=sent, verdicts=pairs)

        return act

    def _kill(self, rows: Rows, pick: int) -> Act:
        ids = self.pick(rows, [pick]) or [NOBODY]

        async def act() -> Told:
            try:
                closed: Closed = await self.db.tx(close, ids[0], "somebody", self.clock.now())
            except (Conflict, NotFound):
                return Told(must_end=frozenset(ids))
            assert all(one.execution.reason_code == reasons.KILLED for one in closed.finished)
            return Told(_claims(closed.finished), frozenset(ids))

        return act

    def _time_out(self, rows: Rows, picks: list[int]) -> Act:
        return self.give_up(rows, picks, TIMED_OUT, reasons.TIME_LIMIT)

    def _lose(self, rows: Rows, picks: list[int]) -> Act:
        return self.give_up(rows, picks, FAILURE, reasons.RESULT_LOST)

    def give_up(self, rows: Rows, picks: list[int], code: int, reason: str) -> Act:
        """End what an executor has, or had when the leader looked."""
        ids = self.pick(rows, picks, *TAKEN_PHASES, Phase.ENDED)
        endings = [
            Ending(execution_id=one, trigger_code=SUCCESS, handle_code=code, handle_msg=reason, reason_code=reason)
            for one in ids
        ]

        async def act() -> Told:
            finished: list[Finished] = await self.leading(finish, endings, self.clock.now())
            assert {one.execution.reason_code for one in finished} <= {reason, reasons.JOB_STOPPED}
            return Told(_claims(finished), frozenset(ids))

        return act

    def _recall(self, rows: Rows) -> Act:
        """Stop the job that is planned ahead, and start it again."""

        async def act() -> Told:
            await self.db.tx(stop_job, self.jobs[2], self.clock.now())
            await self.db.tx(start_job, self.jobs[2], self.clock.now())
            return Told(recalls=True)

        return act

    def leading(self, verb: Callable[..., Any], *args: Any) -> Awaitable[Any]:
        return self.db.leader_tx(self.term, verb, *args)

    def office(self) -> Office:
        return Office("node", self.term.epoch, 60_000, Outlook(EVERYBODY, lambda choices: 0))

    # --- what is written because of ends, after every step ---

    @invariant()
    def consequences_are_as_the_model_says(self) -> None:
        model, found = self.model, self.alone(read_found, self.jobs[4])
        assert found.letters == Counter(model.dead_letters)
        assert found.failures == Counter(model.failure_signs)
        assert found.statistics == {one: number for one, number in model.ended.items() if one != CANCELLED_STATUS}
        assert found.broadcasts == model.broadcasts.keys()
        assert found.left == +model.children_left
        assert found.late == Counter(one for one, run in model.runs.items() if run.late_code is not None)
        assert found.delay == model.delays.get(self.jobs[4], 0)
        for one, times in found.recoveries.items():
            run = model.runs[one]
            assert (times, run.status) == (1, Status.SUCCESS)
            assert any(model.runs[failed].kind is run.kind for failed in model.failure_signs)


def _claims(finished: Sequence[Finished]) -> list[Execution]:
    return [one.execution for one in finished]


async def _together(acts: Sequence[Act]) -> list[Told]:
    return await asyncio.gather(*(act() for act in acts))


def _claim(connection: Connection, office: Office, limit: int, now: int) -> Settled:
    due = take_due(connection, now, limit)
    return claim(connection, [*due, *take_ahead(connection, now, 0, limit - len(due))], office, now)


@pytest.mark.timeout(3600 if LONG else 180)
def test_every_execution_ends_once_and_what_follows_follows_once(store_url: str) -> None:
    prepare_store(store_url)
    clock = ManualClock()
    with open_database(store_url, size=4) as db:
        if is_sqlite(db.url):
            pooled = db.engine.raw_connection()
            pooled.cursor().execute("PRAGMA synchronous=OFF")  # no power cut here, and waiting for the disk is slow
            pooled.close()
        own = Settings(coordinator=CoordinatorSection(plan_ahead=timedelta(seconds=8)))
        given = Surroundings(own, Node("node", "process"), db, ExecutorCalls(timeout=1), clock, Events(), "-", "-")
        run_state_machine_as_test(
            cast(type[RuleBasedStateMachine], partial(Endings, db, Coordinator(given), clock)),
            settings=settings(
                max_examples=EXAMPLES,
                stateful_step_count=STEPS,
                deadline=None,
                suppress_health_check=[HealthCheck.too_slow],
            ),
        )
