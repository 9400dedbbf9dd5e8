"""The pauses between attempts, and the state machine of the breaker."""

from hypothesis import given
from hypothesis import strategies as st

from orth.lifecycle.breaker import Breaker, Circuit
from orth.lifecycle.ladder import Ladder
from orth.lifecycle.settings import LifecycleSettings
from orth.settings import Settings


def test_the_default_attempts_come_at_0_5_10_20_40_and_then_every_120_seconds() -> None:
    ladder = LifecycleSettings.of(Settings(), ()).ladder
    assert ladder.attempts == 5
    assert [ladder.pause_before(attempt) for attempt in range(1, 9)] == [0, 5, 10, 20, 40, 120, 120, 120]
    assert ladder.shortest == 5
    assert LifecycleSettings() == LifecycleSettings.of(Settings(), ())


def test_a_ladder_without_pauses_still_keeps_its_distance() -> None:
    assert Ladder((0.0, 0.0), 7.0).shortest == 7


def test_the_circuit_opens_after_a_row_of_failures_probes_once_and_closes() -> None:
    breaker = Breaker(after=3, cooldown=60.0)
    assert [breaker.failed(now) for now in (1, 2, 3)] == [False, False, True]
    assert not breaker.passes(62.9)
    assert breaker.passes_at(10) == 63
    assert breaker.passes(63)
    assert breaker.begin(63)
    assert not breaker.passes(64), "one probes, the others wait for it"
    assert breaker.failed(64), "it opens again"
    assert not breaker.passes(123)
    assert breaker.begin(124)
    assert breaker.succeeded()
    assert breaker.passes(124), "it is closed"
    assert not breaker.failed(125), "the row begins anew"


def test_a_probe_that_is_given_up_leaves_the_probing_to_the_next_call() -> None:
    breaker = Breaker(after=1, cooldown=60.0)
    breaker.failed(0)
    breaker.begin(60)
    breaker.may_try(61)
    assert breaker.passes(61)
    assert breaker.begin(61)


@given(st.lists(st.tuples(st.sampled_from(["ok", "fail", "drop"]), st.floats(0, 100))), st.integers(1, 5))
def test_no_call_passes_within_a_cooldown_and_never_two_probes_at_once(
    steps: list[tuple[str, float]], after: int
) -> None:
    breaker, now, in_a_row = Breaker(after, 30.0), 0.0, 0
    for outcome, seconds in steps:
        now += seconds
        if not breaker.passes(now):
            assert breaker.state is Circuit.OPEN
            assert breaker.passes_at(now) > now
            continue
        probing = breaker.begin(now)
        assert not (probing and breaker.passes(now))
        if outcome == "ok":
            breaker.succeeded()
            in_a_row = 0
        elif outcome == "fail":
            in_a_row += 1
            opened = breaker.failed(now)
            assert opened == (in_a_row >= after)
        else:
            breaker.may_try(now)
        assert (breaker.state is Circuit.CLOSED) == (in_a_row < after)
