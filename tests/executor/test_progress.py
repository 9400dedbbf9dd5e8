import itertools
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.executor.progress import Progress, ProgressKeeper, as_number
from tests.executor.bench import HandClock


def keeper(clock: HandClock) -> tuple[ProgressKeeper, list[Progress]]:
    told: list[Progress] = []
    return ProgressKeeper(clock, told.append), told


def test_it_is_told_twice_a_second_and_the_last_value_is_not_lost() -> None:
    clock = HandClock()
    progress, told = keeper(clock)
    for done in range(101):  # ten seconds, ten values a second
        progress.report(done, 100, "rows")
        clock.advance(0.1)
    assert 20 <= len(told) <= 21
    assert progress.newest is not None
    assert progress.newest.done == 100
    clock.advance(-0.1)
    progress.report(101, 100, "rows")
    progress.finish()
    assert told[-1].done == 101
    count = len(told)
    progress.finish()
    assert len(told) == count, "it is told once"


def test_the_time_left_follows_from_the_pace() -> None:
    clock = HandClock()
    progress, told = keeper(clock)
    progress.report(0, 100, "")
    assert told[-1].eta is None, "nothing is known yet"
    clock.advance(10)
    progress.report(25, 100, "")
    assert told[-1].eta == pytest.approx(30)
    clock.advance(5)
    progress.report(0, 10, "the second file")
    clock.advance(5)
    progress.report(5, 10, "the second file")
    assert told[-1].eta == pytest.approx(5), "a count that went back begins anew"
    progress.report(7, None, "")
    assert progress.newest is not None
    assert progress.newest.eta is None


@pytest.mark.parametrize(
    ("value", "fraction", "text"),
    [
        (Progress(2, 8, "rows"), 0.25, "2/8 (25%) rows"),
        (Progress(2, None, "rows"), None, "2 rows"),
        (Progress(0, 0), 1.0, "0/0 (100%)"),
        (Progress(9, 8), 1.0, "9/8 (100%)"),
        (Progress(-1, 8), 0.0, "-1/8 (0%)"),
        (Progress(0.5, 2, "", 7.2), 0.25, "0.5/2 (25%), 7 s left"),
    ],
)
def test_a_value_in_words(value: Progress, fraction: float | None, text: str) -> None:
    assert value.fraction == fraction
    assert str(value) == text


@given(st.lists(st.tuples(st.integers(0, 100), st.floats(0, 2)), min_size=1, max_size=50))
def test_values_are_told_in_order_apart_and_to_the_end(reports: list[tuple[int, float]]) -> None:
    clock = HandClock()
    times: list[float] = []
    told: list[float] = []

    def tell(value: Progress) -> None:
        times.append(clock.monotonic())
        told.append(value.done)

    progress = ProgressKeeper(clock, tell)
    for done, pause in reports:
        progress.report(done, 100, "")
        clock.advance(pause)
    apart = [later - earlier for earlier, later in itertools.pairwise(times)]
    progress.finish()
    assert all(pause >= 0.5 - 1e-9 for pause in apart)
    assert told[-1] == reports[-1][0]


@pytest.mark.parametrize("value", ["a", "3", b"3", None, [], object()])
def test_what_is_no_number_is_refused_with_what_is_expected(value: object) -> None:
    with pytest.raises(TypeError, match=r"ctx\.progress\(done, total=None, message=''\) takes numbers .* but done is "):
        as_number(value, "done")


def test_numbers_of_every_kind_are_taken() -> None:
    assert [as_number(value, "done") for value in (3, 0.5, Decimal("2.5"), Fraction(1, 4))] == [3, 0.5, 2.5, 0.25]


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (Progress(2, 8, "rows", 1.5), {"done": 2, "total": 8, "message": "rows", "eta": 1.5}),
        (Progress(2), {"done": 2, "total": None, "message": "", "eta": None}),
        (Progress(2, math.inf, "rows", math.nan), {"done": 2, "total": None, "message": "rows", "eta": None}),
        (Progress(math.nan, 8), None),
    ],
)
def test_coordinators_are_told_what_can_be_written(value: Progress, told: dict[str, object] | None) -> None:
    said = value.told()
    assert told == (None if said is None else said.model_dump())


def test_a_long_message_is_cut_for_coordinators() -> None:
    said = Progress(1, message="x" * 5_000).told()
    assert said is not None
    assert len(said.message) == 1_000
