"""Any sequence of verbs, compared step by step with a model that fits on a page."""

import tempfile
from collections.abc import Callable, Iterable
from typing import TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from orth.domain.executions import (
    FAILURE,
    MAY_BECOME,
    NOT_YET,
    OPEN_PHASES,
    SUCCESS,
    TIMED_OUT,
    UNSENT_PHASES,
    Phase,
    Status,
)
from orth.store.all_tables import metadata
from orth.store.dispatching import doubt_earlier_dispatches, record_accepted, record_unknown, take_due
from orth.store.engines import open_engine, read_url
from orth.store.execution_lists import list_executions
from orth.store.executions import Ending, end_executions
from orth.store.history_tables import terms
from orth.store.tables import executions, ownership
from tests.store.builders import NOW, assign, open_some

T = TypeVar("T")

REFUSED = (FAILURE, NOT_YET)
STATUS_OF_ENDING = {
    (SUCCESS, SUCCESS): Status.SUCCESS,
    (SUCCESS, FAILURE): Status.FAILED,
    (SUCCESS, TIMED_OUT): Status.TIMEOUT,
    (SUCCESS, NOT_YET): Status.FAILED,
    REFUSED: Status.TRIGGER_FAILED,
}


class Walk(RuleBasedStateMachine):
    """Real rows in SQLite beside ``phase``, ``epoch`` and ``end``, which say what they should be."""

    one = st.integers(1, 4)  # an id: SQLite counts from 1, and the four are opened at once
    some = st.lists(one, min_size=1, max_size=4)
    terms = st.integers(1, 3)

    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.engine = open_engine(read_url(f"sqlite:///{self.directory.name}/orth.db"), size=1, patience=5.0)
        pooled = self.engine.raw_connection()
        pooled.cursor().execute("PRAGMA synchronous=OFF")  # no power cut here, and waiting for the disk is slow
        pooled.close()
        metadata.create_all(self.engine, [executions, ownership, terms])
        self.phase: dict[int, Phase] = {}
        self.epoch: dict[int, int] = {}
        self.end: dict[int, Status] = {}
        self.last_seen: dict[int, Status] = {}

    def teardown(self) -> None:
        self.engine.dispose()
        self.directory.cleanup()

    def store(self, verb: Callable[..., T], *args: object, **more: object) -> T:
        with self.engine.begin() as connection:
            return verb(connection, *args, **more)

    def move(self, ids: Iterable[int], expected: tuple[Phase, ...], becomes: Phase) -> list[int]:
        """Change the model as a guarded update would; those it changed."""
        moved = [number for number in dict.fromkeys(ids) if self.phase[number] in expected]
        self.phase |= dict.fromkeys(moved, becomes)
        return moved

    @initialize(further=st.lists(st.sampled_from(["stay", "assign", "accept", "lose"]), min_size=4, max_size=4))
    def open(self, further: list[str]) -> None:
        """Begin with executions that have got differently far: chance alone seldom leads to the later phases."""
        self.phase = dict.fromkeys(self.store(open_some, 4), Phase.OPENED)
        assert sorted(self.phase) == [1, 2, 3, 4]
        for number, verb in enumerate(further, 1):
            if verb != "stay":
                self.assign([number], 1)
            if verb == "accept":
                self.accept([number])
            if verb == "lose":
                self.lose([number])

    @rule()
    def open_again(self) -> None:
        assert self.store(open_some, 4) == [1, 2, 3, 4]

    @rule(limit=st.integers(1, 4))
    def take(self, limit: int) -> None:
        waiting = sorted(number for number, phase in self.phase.items() if phase is Phase.OPENED)
        assert [one.id for one in self.store(take_due, NOW, limit)] == waiting[:limit]

    @rule(ids=some, term=terms)
    def assign(self, ids: list[int], term: int) -> None:
        self.store(assign, *ids, epoch=term)
        self.epoch |= dict.fromkeys(self.move(ids, (Phase.OPENED,), Phase.DISPATCHING), term)

    @rule(ids=some)
    def accept(self, ids: list[int]) -> None:
        self.store(record_accepted, ids, NOW)
        self.move(ids, (Phase.DISPATCHING, Phase.UNKNOWN), Phase.DISPATCHED)

    @rule(ids=some)
    def lose(self, ids: list[int]) -> None:
        self.store(record_unknown, [(number, "lost") for number in ids], NOW)
        self.move(ids, (Phase.DISPATCHING,), Phase.UNKNOWN)

    @rule(term=terms)
    def begin_a_term(self, term: int) -> None:
        earlier = [number for number, epoch in self.epoch.items() if epoch < term]
        doubted = self.move(earlier, (Phase.DISPATCHING,), Phase.UNKNOWN)
        assert sorted(self.store(doubt_earlier_dispatches, term, NOW)) == sorted(doubted)

    @rule(reports=st.lists(st.tuples(one, st.sampled_from(sorted(STATUS_OF_ENDING))), min_size=1, max_size=2))
    def report(self, reports: list[tuple[int, tuple[int, int]]]) -> None:
        self.finish(reports)

    @rule(ids=st.lists(one, min_size=1, max_size=2))
    def refuse(self, ids: list[int]) -> None:
        self.finish([(number, REFUSED) for number in ids])

    def finish(self, reports: list[tuple[int, tuple[int, int]]]) -> None:
        endings = [Ending(execution_id=number, trigger_code=t, handle_code=h) for number, (t, h) in reports]
        won = self.store(end_executions, endings, NOW)
        becomes = {number: STATUS_OF_ENDING[pair] for number, pair in reversed(reports)}  # the first counts
        admitted = [number for number, end in becomes.items() if end in MAY_BECOME[self.status(number)]]
        ended = self.move(admitted, OPEN_PHASES, Phase.ENDED)
        self.end |= {number: becomes[number] for number in ended}
        assert {one.id: one.status for one in won} == {number: self.end[number] for number in ended}

    @invariant()
    def rows_are_as_the_model_says(self) -> None:
        rows = self.store(list_executions, limit=100)
        assert {row.id: row.phase for row in rows} == self.phase
        for row in rows:
            assert row.status is self.status(row.id)
            before = self.last_seen.get(row.id, row.status)
            assert row.status is before or row.status in MAY_BECOME[before]
            self.last_seen[row.id] = row.status

    def status(self, number: int) -> Status:
        unsent = self.phase[number] in UNSENT_PHASES
        return self.end.get(number, Status.INIT if unsent else Status.PENDING)


TestWalk = Walk.TestCase
TestWalk.settings = settings(max_examples=60, stateful_step_count=20, deadline=None)
