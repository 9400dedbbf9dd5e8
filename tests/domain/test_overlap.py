"""Where an execution may go while others of its job may be running."""

import pytest

from orth.domain.executions import Phase
from orth.domain.jobs import BlockStrategy, Job, Overlap
from orth.domain.overlap import (
    WHOLE,
    Anywhere,
    Busy,
    BusyJobs,
    Candidate,
    Discard,
    Key,
    Later,
    Only,
    Position,
    Running,
    is_guarded,
    may_be_released,
    room_of,
    where,
)
from orth.domain.reasons import BUSY_ELSEWHERE, CIRCUIT_OPEN

A, B = "http://a:9999", "http://b:9999"
SERIAL, DISCARD = BlockStrategy.SERIAL_EXECUTION, BlockStrategy.DISCARD_LATER
COVER, CONCURRENT = BlockStrategy.COVER_EARLY, BlockStrategy.CONCURRENT
NOW = 1_000_000


def job(block: BlockStrategy = SERIAL, overlap: Overlap = Overlap.CLUSTER) -> Job:
    return Job(id=1, job_group=1, job_desc="a job", executor_block_strategy=block, overlap=overlap)


def busy(*addresses: str, choosing: bool = False, waiting: Position | None = None, ahead: tuple[int, ...] = ()) -> Busy:
    """``ahead``: for so many ms from now something is held at A."""
    found = Busy(waiting=waiting)
    for address in addresses:
        found.occupy(address, choosing=choosing)
    for span in ahead:
        found.occupy(A, NOW + span, choosing=choosing)
    return found


def due(
    span: int = 0, *addresses: str, number: int = 9, asks: bool = False, duration: float | None = None
) -> Candidate:
    """An execution that is due so many ms from now."""
    return Candidate((NOW + span, number), NOW, addresses or (A, B), asks, duration)


def running(key: Key, address: str | None, phase: Phase, count: int, number: int, **fields: int | str) -> Running:
    given = {"reason_code": None, "not_until": 0, **fields}
    return Running(key=key, address=address, phase=phase, count=count, first=(NOW, number), **given)  # type: ignore[arg-type]  # of two kinds


def test_only_strategies_that_prevent_overlaps_guard_against_them() -> None:
    guarded = {(block, overlap) for block in BlockStrategy for overlap in Overlap if is_guarded(job(block, overlap))}
    assert guarded == {(block, Overlap.CLUSTER) for block in (SERIAL, DISCARD, COVER)}


@pytest.mark.parametrize("block", [SERIAL, DISCARD, COVER])
def test_of_an_idle_job_anything_goes_anywhere(block: BlockStrategy) -> None:
    assert where(job(block), due(), Busy()) == Anywhere()


@pytest.mark.parametrize("block", [SERIAL, COVER])
def test_a_busy_job_goes_where_it_is_busy(block: BlockStrategy) -> None:
    assert where(job(block), due(), busy(A)) == Only(A)
    assert where(job(block), due(0, "http://A:9999/", B), busy(A)) == Only("http://A:9999/")


EARLIER = (NOW - 1, 10)


@pytest.mark.parametrize("block", [SERIAL, COVER])
@pytest.mark.parametrize(
    "there",
    [busy(A, B), busy(""), busy(A, ""), busy("http://gone:9999"), busy(A, waiting=EARLIER)],
    ids=["two places", "in a queue", "queue and address", "not a candidate", "another waits longer"],
)
def test_it_waits_where_it_cannot_go(block: BlockStrategy, there: Busy) -> None:
    assert isinstance(where(job(block), due(duration=1), there), Later)


def test_discard_later_discards_whatever_may_be_running_wherever() -> None:
    for there in (busy(A), busy(A, B), busy(""), busy("http://gone:9999"), busy(A, waiting=EARLIER)):
        assert isinstance(where(job(DISCARD), due(), there), Discard)


def test_serial_sends_only_what_should_run_within_a_second() -> None:
    assert isinstance(where(job(), due(), busy(A, A)), Later)
    assert where(job(), due(duration=300), busy(A, A)) == Only(A)
    assert isinstance(where(job(), due(duration=400), busy(A, A)), Later)
    assert where(job(), due(0, A), busy(A, A)) == Only(A), "nothing is gained by waiting: there is no other executor"


def test_those_that_wait_go_in_the_order_in_which_they_are_due() -> None:
    assert where(job(), due(), busy(A, waiting=(NOW + 1, 3))) == Only(A)
    assert where(job(), due(), busy(A, waiting=(NOW, 10))) == Only(A)
    for earlier in (EARLIER, (NOW, 3)):
        assert isinstance(where(job(), due(), Busy(waiting=earlier)), Later)
        assert isinstance(where(job(), due(5_000), Busy(waiting=earlier)), Later), "nor is it sent ahead"
        blocked = Busy()
        blocked.block(earlier)
        assert isinstance(where(job(), due(), blocked), Later)
    assert where(job(), due(), Busy(waiting=(NOW, 10))) == Anywhere()


def test_nothing_follows_an_execution_whose_executor_is_being_chosen() -> None:
    assert isinstance(where(job(), due(asks=True), busy(A, choosing=True)), Later)
    assert where(job(), due(asks=True), busy(A)) == Only(A)
    assert where(job(), due(), busy(A, choosing=True)) == Only(A)


@pytest.mark.parametrize("block", [SERIAL, COVER, DISCARD])
def test_a_fire_sent_ahead_binds_the_job_to_its_executor_and_makes_nothing_wait(block: BlockStrategy) -> None:
    held = busy(ahead=(2_000, 3_000, 4_000))
    assert where(job(block), due(duration=6_000), held) == Only(A)
    assert where(job(block), due(1_000, duration=6_000), held) == Only(A)
    assert isinstance(where(job(block), due(0, B), held), Later), "it might run beside one that comes due there"


def test_a_fire_is_discarded_only_for_what_is_due_before_it() -> None:
    assert isinstance(where(job(DISCARD), due(2_000), busy(ahead=(2_000,))), Discard)
    assert where(job(DISCARD), due(1_999), busy(ahead=(2_000,))) == Only(A)


@pytest.mark.parametrize(
    ("span", "duration", "sent"),
    [
        (3_500, 1_200, True),  # the job should be idle again by then
        (4_600, 1_200, True),
        (2_300, 1_200, False),  # it would wait for the one that is held until 2 s
        (2_300, 450, True),  # both have run within a second
        (2_300, None, True),  # nobody knows how long they take, and none waits
    ],
)
def test_a_fire_is_sent_ahead_where_it_should_begin_in_time(span: int, duration: float | None, sent: bool) -> None:
    """One runs at A, and another one is held there for two seconds."""
    decided = where(job(), due(span, duration=duration), busy(A, ahead=(2_000,)))
    assert isinstance(decided, Only if sent else Later)


def test_nothing_more_is_sent_ahead_where_one_waits_and_nobody_knows_for_how_long() -> None:
    there = busy(A, ahead=(2_000,))
    there.occupy(A)
    assert isinstance(where(job(), due(2_300), there), Later)
    assert where(job(), due(2_300, duration=100), there) == Only(A)


def test_a_fire_that_was_not_sent_ahead_counts_for_those_after_it() -> None:
    there = busy(A)
    there.unsent += [NOW + 1_000]
    assert isinstance(where(job(), due(5_000, duration=3_000), there), Later)
    assert where(job(), due(8_000, duration=3_000), there) == Only(A)


@pytest.mark.parametrize(
    ("duration", "room"), [(None, 2), (2_500.0, 1), (1_000.0, 1), (400.0, 2), (10.0, 100), (0.0, 500)]
)
def test_room_is_what_runs_in_a_second(duration: float | None, room: int) -> None:
    assert room_of(job(), duration) == room
    assert room_of(job(COVER), duration) == 500


def test_what_waits_is_released_when_there_is_room() -> None:
    assert may_be_released(Busy(), 2) == 2
    assert may_be_released(busy(A), 2) == 1
    assert may_be_released(busy(A, A, A), 2) == 0
    assert may_be_released(busy(A, ahead=(1, 2, 3)), 2) == 1
    assert may_be_released(busy(B, ahead=(1,)), 2) == 0
    assert may_be_released(busy(A, B), 500) == 0
    assert may_be_released(busy(""), 500) == 0


def test_shards_are_looked_at_each_by_itself() -> None:
    found = BusyJobs(
        [
            running((1, 0), A, Phase.RUNNING, 2, 4),
            running((1, 0), A, Phase.DISPATCHING, 1, 7),
            running((1, 0), A, Phase.DISPATCHED, 2, 7, not_until=NOW + 5),
            running((1, 0), None, Phase.OPENED, 5, 8, reason_code=BUSY_ELSEWHERE),
            running((1, 0), None, Phase.OPENED, 2, 9, not_until=NOW + 9),
            running((1, 0), None, Phase.OPENED, 1, 1, reason_code=CIRCUIT_OPEN, not_until=NOW + 1),
            running((1, 1), None, Phase.OFFERED, 1, 5),
            running((1, 1), B, Phase.ENDED, 1, 2),
        ]
    )
    expected = busy(A, A, A, choosing=True, waiting=(NOW, 8), ahead=(5, 5))
    expected.unsent = [NOW + 9, NOW + 9, NOW + 1]
    assert found.seen_by((1, 0)) == expected
    assert found.seen_by((1, 1)) == busy("", B)
    assert found.seen_by((1, 2)) == found.seen_by((2, 0)) == Busy()
    assert found.waiting() == [(1, 0)]


def test_what_is_no_shard_overlaps_with_every_shard() -> None:
    found = BusyJobs(
        [
            running((1, 0), A, Phase.RUNNING, 1, 4),
            running((1, 2), B, Phase.RUNNING, 1, 5),
            running((1, 2), None, Phase.OPENED, 1, 6, reason_code=BUSY_ELSEWHERE),
            running((2, WHOLE), A, Phase.RUNNING, 1, 7),
        ]
    )
    assert found.seen_by((1, WHOLE)).everywhere == {A, B}
    assert found.seen_by((2, 1)).everywhere == {A}
    assert isinstance(where(job(), due(1), found.seen_by((1, WHOLE))), Later)


def test_what_has_waited_goes_before_what_waits_of_its_own_key_only() -> None:
    found = BusyJobs(
        [
            running((1, 0), None, Phase.OPENED, 3, 1, reason_code=BUSY_ELSEWHERE),
            running((1, WHOLE), None, Phase.OPENED, 3, 2, reason_code=BUSY_ELSEWHERE),
        ]
    )
    assert where(job(), due(number=3), found.seen_by((1, 0), released=True)) == Anywhere(), "it is as old as the other"
    assert isinstance(where(job(), due(1), found.seen_by((1, 0), released=True)), Later)
    assert isinstance(where(job(), due(number=3), found.seen_by((1, 0))), Later)
