"""The fuzzing itself: what it must notice, it notices."""

import time
from random import Random

import pytest
from hypothesis import strategies as st

from tests.fuzz.mutations import edited, varied
from tests.fuzz.target import Tally, Target, TooSlowError, examine


def target(feed: object, bound: float = 0.05) -> Target:
    return Target("a reader", st.binary(), feed, (ValueError,), bound)  # type: ignore[arg-type]  # any function


def test_a_refusal_is_counted_and_anything_else_escapes() -> None:
    tally = Tally()
    examine(target(int), b"12", tally)
    examine(target(int), b"no number", tally)
    assert (tally.inputs, tally.refused) == (2, 1)
    with pytest.raises(TypeError):
        examine(target(lambda value: value + 1), b"", tally)


def test_an_input_that_takes_long_is_told_and_waiting_is_not_taking() -> None:
    def spin(_: object) -> None:
        end = time.thread_time() + 0.1
        while time.thread_time() < end:
            pass

    with pytest.raises(TooSlowError, match=r"a reader: 0\.1"):
        examine(target(spin), b"x", Tally())
    examine(target(lambda _: time.sleep(0.06)), b"x", Tally())


def test_what_is_slow_once_is_no_finding() -> None:
    calls: list[int] = []

    def cold(_: object) -> None:
        calls.append(1)
        end = time.thread_time() + (0.1 if len(calls) == 1 else 0.0)
        while time.thread_time() < end:
            pass

    tally = Tally()
    examine(target(cold), b"x", tally)
    assert tally.slowest < 0.05


@pytest.mark.parametrize(
    ("edit", "result"),
    [
        (("cut", 2, b""), b"ab"),
        (("drop", 1, b"xx"), b"ad"),
        (("put", 4, b"!"), b"abcd!"),
        (("put", 5, b"!"), b"!abcd"),
        (("twice", 0, b""), b"abcdabcdabcd"),
        (("flip", 0, b""), bytes([ord("a") ^ 1]) + b"bcd"),
        (("flip", 4, b""), b"abcd"),
    ],
)
def test_edits(edit: tuple[str, int, bytes], result: bytes) -> None:
    assert edited(b"abcd", [edit]) == result


def test_variations_keep_the_form_and_change_something() -> None:
    chance = Random(7)
    given = ("text", [b"bytes", {"key": "value"}], 5)
    found = [varied(given, chance) for _ in range(50)]
    assert all(type(one) is tuple and one[2] == 5 and set(one[1][1]) == {"key"} for one in found)
    assert sum(one != given for one in found) > 20
