"""What is told about a job that fails, as tables of cases."""

import json
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.domain.alarms import (
    AlarmKind,
    AlarmPolicy,
    AlarmState,
    AlarmStatus,
    Sign,
    SignKind,
    Silence,
    Standing,
    Timing,
    decide,
    is_silenced,
    mail_addresses,
    outcome_of,
    pause_before,
)
from orth.errors import Invalid

TIMING = Timing(quiet=5_000, gather=60_000, repeat=3_600_000)
NOW = 1_000_000_000
LATER = NOW + 100_000
TOLD = Standing(1, 7, NOW - 10, NOW - 5, 3)


def failure(execution_id: int = 1, at: int = NOW) -> Sign:
    return Sign(execution_id, 1, SignKind.FAILURE, at)


def success(execution_id: int = 9, at: int = NOW) -> Sign:
    return Sign(execution_id, 1, SignKind.RESOLVED, at)


@pytest.mark.parametrize(
    ("signs", "now", "look_again"),
    [
        ([failure()], NOW, NOW + 5_000),
        ([failure()], NOW + 4_999, NOW + 5_000),
        ([failure()], NOW + 5_000, None),
        ([failure(), failure(2, NOW + 4_000)], NOW + 6_000, NOW + 9_000),
        ([failure(n, NOW + n * 600) for n in range(100)], NOW + 59_400, NOW + 60_000),
        ([failure(n, NOW + n * 600) for n in range(100)], NOW + 60_000, None),
        ([failure(), success(9, NOW + 1)], NOW + 2, NOW + 5_000),
    ],
    ids=["at once", "too early", "quiet", "quiet begins anew", "gathering", "gathered enough", "recovered meanwhile"],
)
def test_failures_are_gathered(signs: list[Sign], now: int, look_again: int | None) -> None:
    verdict = decide(None, signs, AlarmPolicy(), TIMING, silenced=False, now=now)
    assert verdict.look_again == look_again
    assert bool(verdict.tell) == (look_again is None)


def test_a_hundred_failures_in_a_minute_are_one_message_that_says_a_hundred() -> None:
    signs = [failure(n + 1, NOW + n * 600) for n in range(100)]
    verdict = decide(None, signs, AlarmPolicy(), TIMING, silenced=False, now=NOW + 60_000)
    assert [(one.kind, one.execution_id, one.failures) for one in verdict.tell] == [(AlarmKind.FIRST, 1, 100)]
    assert verdict.standing == Standing(1, 1, NOW, NOW + 60_000, 100)


@pytest.mark.parametrize(
    ("standing", "signs", "policy", "silenced", "told", "stands"),
    [
        (None, [failure()], AlarmPolicy(), False, [("first", 1, 1)], True),
        (None, [failure(), success()], AlarmPolicy(), False, [("first", 1, 1), ("resolved", 9, 1)], False),
        (None, [success()], AlarmPolicy(), False, [], False),
        (TOLD, [failure(8)], AlarmPolicy(), False, [], True),
        (TOLD, [failure(8)], AlarmPolicy(repeat=60), False, [("repeat", 8, 4)], True),
        (TOLD, [failure(8), failure(9)], AlarmPolicy(repeat=60), False, [("repeat", 9, 5)], True),
        (TOLD, [failure(8)], AlarmPolicy(repeat=0), False, [], True),
        (TOLD, [success()], AlarmPolicy(), False, [("resolved", 9, 3)], False),
        (TOLD, [failure(8), success()], AlarmPolicy(repeat=60), False, [("resolved", 9, 4)], False),
        (TOLD, [success(), failure(10)], AlarmPolicy(), False, [], True),
        (TOLD, [success()], AlarmPolicy(resolved=False), False, [], False),
        (None, [failure()], AlarmPolicy(), True, [], True),
        (None, [failure(), success()], AlarmPolicy(), True, [], False),
        (TOLD, [success()], AlarmPolicy(), True, [("resolved", 9, 3)], False),
        (TOLD, [failure(8), success()], AlarmPolicy(repeat=60), True, [("resolved", 9, 4)], False),
        (TOLD, [failure(8)], AlarmPolicy(repeat=60), True, [], True),
        (Standing(1, 7, NOW - 10, 0, 3), [failure(8)], AlarmPolicy(), False, [("first", 7, 4)], True),
        (Standing(1, 7, NOW - 10, 0, 3), [success()], AlarmPolicy(), False, [], False),
    ],
    ids=[
        "first",
        "failed and recovered at once",
        "a success of a job that stands well",
        "fails on: nothing new",
        "fails on: repeat",
        "repeat names the last",
        "repeat switched off",
        "resolved",
        "failed once more, then resolved",
        "recovered and failed again: still fails",
        "nobody wants to know that it is over",
        "silence counts",
        "silence, over before it was told",
        "resolved in silence",
        "failed once more and resolved in silence",
        "repeat in silence",
        "first after a silence",
        "resolved though nobody was told",
    ],
)
def test_what_is_told(
    standing: Standing | None,
    signs: list[Sign],
    policy: AlarmPolicy,
    silenced: bool,
    told: list[tuple[str, int, int]],
    stands: bool,
) -> None:
    verdict = decide(standing, signs, policy, TIMING, silenced=silenced, now=LATER)
    assert [(one.kind.value, one.execution_id, one.failures) for one in verdict.tell] == told
    assert (verdict.standing is not None) == stands
    assert verdict.look_again is None


def test_a_silence_begins_at_once_and_does_not_wait_for_quiet() -> None:
    verdict = decide(None, [failure()], AlarmPolicy(), TIMING, silenced=True, now=NOW)
    assert verdict.standing == Standing(1, 1, NOW, 0, 1)


def test_a_job_begins_to_fail_anew_in_another_group() -> None:
    """Those who look after it there have heard of nothing; that it is well is told to who heard that it failed."""
    elsewhere = replace(TOLD, job_group=2)
    verdict = decide(elsewhere, [failure()], AlarmPolicy(), TIMING, silenced=False, now=LATER)
    assert [(one.kind, one.execution_id, one.failures) for one in verdict.tell] == [(AlarmKind.FIRST, 1, 1)]
    assert verdict.standing == Standing(1, 1, NOW, LATER, 1)
    verdict = decide(elsewhere, [success()], AlarmPolicy(), TIMING, silenced=False, now=LATER)
    assert ([one.kind for one in verdict.tell], verdict.standing) == ([AlarmKind.RESOLVED], None)


ENDS = st.lists(st.tuples(st.booleans(), st.integers(0, 7_200_000), st.booleans()), max_size=30)


@given(ENDS)
def test_messages_alternate_and_count_every_failure(ends: list[tuple[bool, int, bool]]) -> None:
    """Whatever happens, what begins is told as first, and no failure is left out of the count."""
    standing: Standing | None = None
    now, told, since_first = NOW, list[tuple[AlarmKind, int]](), 0
    for number, (failed, pause, silenced) in enumerate(ends):
        now += pause + TIMING.gather
        kind = SignKind.FAILURE if failed else SignKind.RESOLVED
        sign = Sign(number, 1, kind, now - TIMING.gather)
        verdict = decide(standing, [sign], AlarmPolicy(repeat=1), TIMING, silenced=silenced, now=now)
        since_first = since_first + 1 if failed else since_first
        assert verdict.standing is None or verdict.standing.failures == since_first
        told += [(one.kind, one.failures) for one in verdict.tell]
        assert all(one.failures == since_first for one in verdict.tell)
        standing = verdict.standing
        if standing is None:
            since_first = 0
    kinds = [kind for kind, _ in told]
    for before, after in pairwise([AlarmKind.RESOLVED, *kinds]):
        assert before is not AlarmKind.RESOLVED or after is AlarmKind.FIRST


@pytest.mark.parametrize(
    ("silence", "covered"),
    [
        (Silence(None, None, 0, 100, "", ""), True),
        (Silence(1, None, 0, 100, "", ""), True),
        (Silence(2, None, 0, 100, "", ""), False),
        (Silence(None, 5, 0, 100, "", ""), True),
        (Silence(None, 6, 0, 100, "", ""), False),
        (Silence(1, 6, 0, 100, "", ""), False),
        (Silence(None, None, 51, 100, "", ""), False),
        (Silence(None, None, 50, 51, "", ""), True),
        (Silence(None, None, 0, 50, "", ""), False),
    ],
)
def test_whom_a_silence_covers(silence: Silence, covered: bool) -> None:
    assert is_silenced([silence], 1, 5, 50) is covered


@pytest.mark.parametrize(
    "given_policy",
    [
        [],
        {"every": True},
        {"each": 1},
        {"resolved": "yes"},
        {"repeat": -1},
        {"repeat": True},
        {"repeat": 1.5},
        {"channels": "ops"},
        {"channels": [""]},
        {"channels": ["a\nb"]},
        {"channels": ["x"] * 11},
    ],
)
def test_a_policy_that_means_nothing_is_refused(given_policy: object) -> None:
    with pytest.raises(Invalid):
        AlarmPolicy.parse(given_policy)


def test_a_policy_is_stored_as_it_was_said() -> None:
    said = {"each": True, "repeat": 0, "resolved": False, "channels": ["ops", "ops"]}
    policy = AlarmPolicy.parse(said)
    assert policy == AlarmPolicy(each=True, repeat=0, resolved=False, channels=("ops",))
    assert AlarmPolicy.read(json.dumps(policy.to_dict())) == policy
    assert AlarmPolicy().to_dict() == {}


@pytest.mark.parametrize("stored", [None, "", "no json", "[]", '{"each": 3}', "[" * 100_000])
def test_a_policy_that_cannot_be_read_is_the_default(stored: str | None) -> None:
    assert AlarmPolicy.read(stored) == AlarmPolicy()


def test_recipients_are_plain_addresses() -> None:
    assert mail_addresses(" a@b.example, c+d@e.example ,a@b.example,") == ("a@b.example", "c+d@e.example")
    for bad in (
        "nobody",
        "a@b\r\nBcc: x@y",
        "<a@b>",
        "a b@c",
        "a@b;c@d",
        '"a"@b',
        "a@",
        "@b",
        "a@b>",
        "ü@b",
        "=?q?a?=@b",
    ):
        with pytest.raises(Invalid):
            mail_addresses(bad)


def test_pauses_grow_to_their_limit() -> None:
    assert [pause_before(n, 10, 100) for n in range(1, 7)] == [10, 20, 40, 80, 100, 100]
    assert pause_before(10_000, 10, 100) == 100


@pytest.mark.parametrize(
    ("states", "status"),
    [
        (["told", "told"], AlarmStatus.TOLD),
        (["told", "failed"], AlarmStatus.NOT_TOLD),
        (["told", "waiting"], None),
        (["sending", "failed"], None),
    ],
)
def test_the_status_of_executions(states: list[str], status: AlarmStatus | None) -> None:
    assert outcome_of({str(n): AlarmState(state) for n, state in enumerate(states)}) is status
