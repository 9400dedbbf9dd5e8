"""A moment of ours on an executor's own clock: never early whatever the network and the clocks do, and seldom late."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.coordinator.ticks import Measurement, Ticks

HERE = "http://executor:9999"
DRIFT = 0.0005
"""By how much a system slews a clock at most, in seconds per second."""


class Wakes:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self) -> None:
        self.count += 1


def ticks(*found: Measurement) -> Ticks:
    made = Ticks(Wakes())
    for one in found:
        made.measured(HERE, one)
    return made


seconds = st.floats(0, 100_000)
short = st.floats(0, 0.4)


@given(
    theirs=seconds, asked=seconds, there=short, back=short, pause=st.floats(0, 60), ahead=st.floats(0, 10),
    slew=st.floats(-DRIFT, DRIFT), our_slew=st.floats(-DRIFT, DRIFT),
)  # fmt: skip
def test_a_start_is_never_early(
    theirs: float, asked: float, there: float, back: float, pause: float, ahead: float, slew: float, our_slew: float
) -> None:
    """In true time the question leaves at 0 and is read at ``there``; both clocks go at a rate of their own."""

    def ours(true: float) -> float:
        return asked + true * (1 + our_slew)

    def tick(true: float) -> float:
        return theirs + true * (1 + slew)

    heard = there + back
    told = math.floor(tick(there) * 1000) / 1000
    middle = (ours(0) + ours(heard)) / 2
    error = (ours(heard) - ours(0)) / 2 + 0.001
    known = ticks(Measurement("one", told - middle, error, ours(heard)))
    now = ours(heard + pause)
    shown = known.tick_at(HERE, "one", now + ahead, now)
    if shown is None:
        assert error + 0.001 * pause > 0.49
        return
    starts = (shown / 1000 - theirs) / (1 + slew)
    assert ours(starts) >= now + ahead - 1e-6
    assert ours(starts) <= now + ahead + 2 * (error + 0.001 * (pause + ahead)) + 0.003


def test_the_surest_measurement_is_used_and_an_old_one_is_worth_less() -> None:
    known = ticks(Measurement("one", 100.0, 0.002, 10.0), Measurement("one", 100.05, 0.05, 11.0))
    assert known.tick_at(HERE, "one", 12.0, 12.0) == math.ceil((12.0 + 100.0 + 0.002 + 0.002) * 1000)
    known.measured(HERE, Measurement("one", 100.05, 0.05, 60.0))
    assert known.tick_at(HERE, "one", 60.0, 60.0) == math.ceil((60.0 + 100.05 + 0.05) * 1000)


def test_another_process_has_another_clock() -> None:
    known = ticks(Measurement("one", 100.0, 0.001, 10.0))
    assert known.tick_at(HERE, "two", 12.0, 11.0) is None
    assert known.tick_at(HERE, None, 12.0, 11.0) is None
    known.measured(HERE, Measurement("two", -5.0, 0.2, 11.0))
    assert known.tick_at(HERE, "one", 12.0, 11.0) is None
    assert known.tick_at(HERE, "two", 12.0, 11.0) == pytest.approx(1000 * (12 - 5 + 0.2 + 0.001), abs=1)


def test_a_bound_that_is_too_wide_is_no_help() -> None:
    assert ticks(Measurement("one", 0.0, 0.6, 1.0)).tick_at(HERE, "one", 2.0, 1.0) is None
    assert ticks(Measurement("one", 0.0, 0.1, 1.0)).tick_at(HERE, "one", 2.0, 1.0) is not None
    assert ticks(Measurement("one", 0.0, 0.1, 1.0)).tick_at(HERE, "one", 1002.0, 1001.0) is None


def test_whoever_is_sent_to_is_measured_every_few_seconds() -> None:
    wakes = Wakes()
    known = Ticks(wakes)
    assert known.tick_at(HERE + "/", "one", 1.0, 0.0) is None
    assert known.wants == {HERE}
    known.wants.clear()
    known.tick_at(HERE, "one", 5.0, 4.9)
    assert (known.wants, wakes.count) == (set(), 1)
    known.tick_at(HERE, "one", 5.1, 5.0)
    assert (known.wants, wakes.count) == ({HERE}, 2)
    known.forget(HERE)
    assert known.wants == set()
