"""Ends stand aside while a crowd starts, never for long, and go on one after the other."""

import threading
import time

from orth.executor.starts_first import LONGEST, StartsFirst


def waiting(starts: StartsFirst, went_on: list[int], number: int) -> threading.Thread:
    def stand() -> None:
        starts.stand_aside()
        went_on.append(number)

    thread = threading.Thread(target=stand)
    thread.start()
    return thread


def settled(condition: object) -> None:
    deadline = time.monotonic() + 5
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_without_a_crowd_nobody_waits() -> None:
    starts = StartsFirst()
    for one in ("a", "b", "c"):
        starts.let_go(one)
    began = time.monotonic()
    starts.stand_aside()
    assert time.monotonic() - began < LONGEST / 2


def test_ends_wait_for_the_last_start_and_go_on_one_by_one() -> None:
    starts, went_on = StartsFirst(), list[int]()
    crowd = [object() for _ in range(8)]
    for one in crowd:
        starts.let_go(one)
    threads = [waiting(starts, went_on, number) for number in range(3)]
    settled(lambda: len(starts._aside) == 3)
    for one in crowd[:4]:
        starts.passed(one)
    assert went_on == [], "four are still to start"
    starts.passed(crowd[4])
    settled(lambda: len(went_on) == 1)
    assert len(starts._aside) == 2, "the next goes on when this one has ended"
    starts.passed("the first that ended")
    settled(lambda: len(went_on) == 2)
    starts.passed("the second")
    for thread in threads:
        thread.join(5)
    assert len(went_on) == 3


def test_what_is_due_and_not_let_go_counts() -> None:
    starts, went_on = StartsFirst(), list[int]()
    starts.more_due(True)
    thread = waiting(starts, went_on, 1)
    settled(lambda: len(starts._aside) == 1)
    starts.more_due(False)
    thread.join(LONGEST / 2)
    assert went_on == [1]


def test_starts_without_end_hold_nobody_up_for_long() -> None:
    starts = StartsFirst()
    starts.more_due(True)
    began = time.monotonic()
    starts.stand_aside()
    assert LONGEST <= time.monotonic() - began < LONGEST + 2
    assert not starts._aside, "whoever gave up waiting is not let go later in somebody's place"
