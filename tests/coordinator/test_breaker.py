"""The circuit breaker of one executor: closed, open, half open, with growing pauses."""

from orth.coordinator.breaker import Breaker, Circuit


def opened() -> Breaker:
    breaker = Breaker(after=3, pause=5.0)
    assert [breaker.failed(10.0) for _ in range(3)] == [False, False, True]
    return breaker


def test_some_failures_in_a_row_open_it() -> None:
    breaker = opened()
    assert breaker.state(14.9) is Circuit.OPEN
    assert breaker.state(15.0) is Circuit.HALF_OPEN


def test_a_success_between_begins_the_count_again() -> None:
    breaker = Breaker(after=3, pause=5.0)
    for _ in range(5):
        assert not breaker.failed(0.0)
        assert not breaker.failed(0.0)
        assert not breaker.succeeded()
    assert breaker.state(0.0) is Circuit.CLOSED


def test_what_was_on_its_way_does_not_prolong_the_pause() -> None:
    breaker = opened()
    assert not breaker.failed(12.0)
    assert breaker.state(15.0) is Circuit.HALF_OPEN


def test_a_success_closes_it() -> None:
    breaker = opened()
    assert breaker.succeeded()
    assert breaker.state(10.0) is Circuit.CLOSED
    assert [breaker.failed(20.0) for _ in range(3)] == [False, False, True]
    assert breaker.state(24.9) is Circuit.OPEN
    assert breaker.state(25.0) is Circuit.HALF_OPEN


def test_failing_again_doubles_the_pause_up_to_a_limit() -> None:
    breaker, now, pauses = opened(), 15.0, []
    for _ in range(6):
        assert breaker.state(now) is Circuit.HALF_OPEN
        assert breaker.failed(now)
        assert breaker.open_until is not None
        pauses.append(breaker.open_until - now)
        now = breaker.open_until
    assert pauses == [10.0, 20.0, 40.0, 60.0, 60.0, 60.0]
