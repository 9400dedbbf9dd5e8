"""Where an execution may go while others of its job may be running."""

from collections import Counter

import pytest

from orth.domain.executions import Phase
from orth.domain.jobs import BlockStrategy, Job, Overlap
from orth.domain.overlap import (
    Anywhere,
    Busy,
    Discard,
    Later,
    Only,
    Running,
    by_key,
    is_guarded,
    may_be_released,
    room_of,
    where,
)

A, B = "http://a:9999", "http://b:9999"
SERIAL, DISCARD = BlockStrategy.SERIAL_EXECUTION, BlockStrategy.DISCARD_LATER
COVER, CONCURRENT = BlockStrategy.COVER_EARLY, BlockStrategy.CONCURRENT


def job(block: BlockStrategy = SERIAL, overlap: Overlap = Overlap.CLUSTER) -> Job:
    return Job(id=1, job_group=1, job_desc="a job", executor_block_strategy=block, overlap=overlap)


def busy(*addresses: str, choosing: bool = False, waiting: int | None = None) -> Busy:
    return Busy(Counter(addresses), choosing, waiting)


def test_only_strategies_that_prevent_overlaps_guard_against_them() -> None:
    guarded = {(block, overlap) for block in BlockStrategy for overlap in Overlap if is_guarded(job(block, overlap))}
    assert guarded == {(block, Overlap.CLUSTER) for block in (SERIAL, DISCARD, COVER)}


@pytest.mark.parametrize("block", [SERIAL, DISCARD, COVER])
def test_of_an_idle_job_anything_goes_anywhere(block: BlockStrategy) -> None:
    assert where(job(block), 9, None, (A, B), 1) == Anywhere()
    assert where(job(block), 9, Busy(), (A, B), 1) == Anywhere()


@pytest.mark.parametrize("block", [SERIAL, COVER])
def test_a_busy_job_goes_where_it_is_busy(block: BlockStrategy) -> None:
    assert where(job(block), 9, busy(A), (A, B), 2) == Only(A)
    assert where(job(block), 9, busy(A), ("http://A:9999/", B), 2) == Only("http://A:9999/")


@pytest.mark.parametrize("block", [SERIAL, COVER])
@pytest.mark.parametrize(
    "there",
    [busy(A, B), busy(""), busy(A, ""), busy("http://gone:9999"), busy(A, waiting=3)],
    ids=["two places", "in a queue", "queue and address", "not a candidate", "another waits longer"],
)
def test_it_waits_where_it_cannot_go(block: BlockStrategy, there: Busy) -> None:
    assert isinstance(where(job(block), 9, there, (A, B), 500), Later)


def test_discard_later_discards_whatever_may_be_running_wherever() -> None:
    for there in (busy(A), busy(A, B), busy(""), busy("http://gone:9999"), busy(A, waiting=3)):
        assert isinstance(where(job(DISCARD), 9, there, (A, B), 1), Discard)


def test_serial_sends_only_what_should_run_within_a_second() -> None:
    assert isinstance(where(job(), 9, busy(A, A), (A, B), 2), Later)
    assert where(job(), 9, busy(A, A), (A,), 2) == Only(A), "nothing is gained by waiting: there is no other executor"


def test_those_that_wait_go_in_their_order() -> None:
    assert where(job(), 3, busy(A, waiting=9), (A, B), 2) == Only(A)
    assert isinstance(where(job(), 9, Busy(waiting=3), (A, B), 2), Later)
    assert where(job(), 3, Busy(waiting=9), (A, B), 2) == Anywhere()


def test_nothing_follows_an_execution_whose_executor_is_being_chosen() -> None:
    assert isinstance(where(job(), 9, busy(A, choosing=True), (A, B), 2, asks=True), Later)
    assert where(job(), 9, busy(A), (A, B), 2, asks=True) == Only(A)
    assert where(job(), 9, busy(A, choosing=True), (A, B), 2) == Only(A)


@pytest.mark.parametrize(
    ("duration", "room"), [(None, 2), (2_500.0, 1), (1_000.0, 1), (400.0, 2), (10.0, 100), (0.0, 500)]
)
def test_room_is_what_runs_in_a_second(duration: float | None, room: int) -> None:
    assert room_of(job(), duration) == room
    assert room_of(job(COVER), duration) == 500


def test_what_waits_is_released_when_there_is_room() -> None:
    assert may_be_released(Busy(waiting=3), 2) == 2
    assert may_be_released(busy(A, waiting=3), 2) == 1
    assert may_be_released(busy(A, A, A, waiting=3), 2) == 0
    assert may_be_released(busy(A, B, waiting=3), 500) == 0
    assert may_be_released(busy("", waiting=3), 500) == 0


def test_shards_are_looked_at_each_by_itself() -> None:
    found = by_key(
        [
            Running((1, 0), A, Phase.RUNNING, 2, 4),
            Running((1, 0), A, Phase.DISPATCHING, 1, 7),
            Running((1, 0), None, Phase.OPENED, 5, 8),
            Running((1, 1), None, Phase.OFFERED, 1, 5),
            Running((1, 1), B, Phase.ENDED, 1, 2),
        ]
    )
    assert found == {(1, 0): busy(A, A, A, choosing=True, waiting=8), (1, 1): busy("", B)}
