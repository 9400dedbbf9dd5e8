"""When an execution from a queue that has ended here has ended at its executor, too."""

import pytest

from orth.coordinator.queue_evidence import Patience, has_ended, is_named
from orth.coordinator.workers import Workers
from orth.store.possibly_running import UnconfirmedEnd
from orth.testing import ManualClock
from orth.wire.channel_messages import WorkerBeat
from orth.wire.messages import LeftBehind

PATIENCE = Patience(missing=30.0, lost=90.0, offer=3600.0)
ONE = UnconfirmedEnd(7, 1, 1, 0, "queue://a", "process", "tests.q")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


def heard(clock: ManualClock, **fields: object) -> Workers:
    """An executor that beats once."""
    workers = Workers(clock, dead_after=30.0)
    workers.hears()
    workers.heard(beat(**fields))
    return workers


def beat(**fields: object) -> WorkerBeat:
    given = {"worker_id": "a", "incarnation": "process", "app_name": "tests", "status": "Ready", **fields}
    return WorkerBeat.model_validate(given)


def test_who_is_named_is_believed(clock: ManualClock) -> None:
    assert is_named(ONE, heard(clock), {7})
    assert is_named(ONE, heard(clock, left_behind=(LeftBehind(log_id=7, since=0),)), ())
    assert not is_named(ONE, heard(clock, left_behind=(LeftBehind(log_id=8, since=0),)), {8})


def test_a_process_that_beats_without_it_confirms_the_end(clock: ManualClock) -> None:
    workers, since = heard(clock), clock.monotonic()
    clock.move(2)
    assert not has_ended(ONE, since, workers, PATIENCE, clock.monotonic())
    workers.heard(beat())
    assert has_ended(ONE, since, workers, PATIENCE, clock.monotonic())


def test_a_process_that_named_it_and_fell_silent_keeps_it_as_long_as_one_that_is_lost(clock: ManualClock) -> None:
    workers = heard(clock)
    clock.move(1_000)
    workers.heard(beat(left_behind=(LeftBehind(log_id=7, since=0),)))
    since = clock.monotonic()
    clock.move(119)
    assert not has_ended(ONE, since, workers, PATIENCE, clock.monotonic())
    clock.move(1)
    assert has_ended(ONE, since, workers, PATIENCE, clock.monotonic())
