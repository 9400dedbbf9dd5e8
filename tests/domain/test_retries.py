"""When a failure is tried again, and after which pause."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.domain.executions import Status
from orth.domain.retries import (
    CODES_LIMIT,
    GIVE_UP,
    LARGEST_CODE,
    LARGEST_MULTIPLIER,
    LONGEST_PAUSE,
    POLICY_LIMIT,
    RetryPolicy,
    chance_of,
    gives_up,
    pause_before,
    policy_of,
    read_policy,
    text_of,
    values_of,
)

POLICIES = st.builds(
    policy_of,
    st.fixed_dictionaries(
        {},
        optional={
            "delay": st.floats(0, LONGEST_PAUSE),
            "multiplier": st.floats(1, LARGEST_MULTIPLIER),
            "cap": st.floats(0, LONGEST_PAUSE),
            "jitter": st.floats(0, 1),
            "give_up": st.lists(st.sampled_from(GIVE_UP), max_size=3),
            "codes": st.lists(st.integers(1, LARGEST_CODE), max_size=CODES_LIMIT),
        },
    ),
)


def test_without_a_policy_it_is_tried_at_once_whatever_the_failure() -> None:
    assert [pause_before(None, attempt, 0.5) for attempt in (2, 3, 100)] == [0, 0, 0]
    assert not any(gives_up(None, status, 500) for status in Status)


def test_pauses_grow_up_to_the_cap() -> None:
    policy = RetryPolicy(delay=10, multiplier=2, cap=60)
    assert [pause_before(policy, attempt, 0) for attempt in range(2, 7)] == [10_000, 20_000, 40_000, 60_000, 60_000]
    assert pause_before(RetryPolicy(delay=0.25), 7, 1) == 250
    assert pause_before(RetryPolicy(delay=1, multiplier=10, cap=5), 10_000, 0) == 5_000


def test_chance_takes_part_of_a_pause_away() -> None:
    policy = RetryPolicy(delay=10, jitter=0.5)
    assert [pause_before(policy, 2, chance) for chance in (0, 0.5, 1)] == [10_000, 7_500, 5_000]


@given(POLICIES, st.integers(2, 200), st.floats(0, 1))
def test_a_pause_is_never_negative_or_longer_than_the_cap(policy: RetryPolicy, attempt: int, chance: float) -> None:
    assert 0 <= pause_before(policy, attempt, chance) <= policy.cap * 1000 + 1


@given(POLICIES)
def test_a_policy_is_stored_and_read(policy: RetryPolicy) -> None:
    text = text_of(policy)
    assert len(text) <= POLICY_LIMIT
    assert read_policy(text) == policy
    assert policy_of(values_of(policy)) == policy


def test_the_longest_policy_fits() -> None:
    longest = policy_of(
        {
            "delay": LONGEST_PAUSE - 0.001,
            "multiplier": 9.999,
            "cap": LONGEST_PAUSE - 0.001,
            "jitter": 0.999,
            "give_up": GIVE_UP,
            "codes": range(LARGEST_CODE - CODES_LIMIT, LARGEST_CODE),
        }
    )
    assert len(text_of(longest)) <= POLICY_LIMIT


def test_what_is_given_up_is_named_like_a_status() -> None:
    assert set(GIVE_UP) == {Status.FAILED, Status.TIMEOUT, Status.TRIGGER_FAILED}
    policy = RetryPolicy(give_up=("timeout",), codes=(404,))
    assert gives_up(policy, Status.TIMEOUT, 502)
    assert gives_up(policy, Status.FAILED, 404)
    assert not gives_up(policy, Status.FAILED, 500)
    assert not gives_up(policy, Status.TRIGGER_FAILED, 0)


def test_chance_is_the_same_whenever_it_is_asked_for_and_spread() -> None:
    drawn = [chance_of(number, 2) for number in range(1000)]
    assert drawn == [chance_of(number, 2) for number in range(1000)]
    assert 0 <= min(drawn) < 0.05
    assert 0.95 < max(drawn) < 1
    assert 0.45 < sum(drawn) / 1000 < 0.55
    assert chance_of(1, 2) != chance_of(1, 3)


@pytest.mark.parametrize(
    "values",
    [
        {"delay": -1},
        {"delay": LONGEST_PAUSE + 1},
        {"delay": "10s"},
        {"delay": True},
        {"delay": float("nan")},
        {"delay": float("inf")},
        {"multiplier": 0.5},
        {"multiplier": 11},
        {"cap": -1},
        {"jitter": 1.5},
        {"give_up": ["success"]},
        {"codes": [0]},
        {"codes": [2**31]},
        {"codes": ["500"]},
        {"codes": [True]},
        {"codes": list(range(1, CODES_LIMIT + 2))},
        {"attempts": 3},
    ],
    ids=str,
)
def test_what_is_no_policy_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the texts are for people
        policy_of(values)


@pytest.mark.parametrize("text", ["", "{", "[]", "7", "null", '"x"', '{"delay":{}}', '{"codes":7}', '{"give_up":[[]]}'])
def test_a_row_that_holds_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the texts are for people
        read_policy(text)
