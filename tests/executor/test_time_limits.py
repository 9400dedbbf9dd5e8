import threading

from orth.executor.time_limits import TimeLimits
from tests.executor.bench import Ears, HandClock


async def test_what_is_due_expires_once_and_the_pause_reaches_the_next(clock: HandClock, ears: Ears) -> None:
    limits = TimeLimits(clock, ears)
    expired: list[str] = []
    with limits.watching(5, lambda: expired.append("five")), limits.watching(2, lambda: expired.append("two")):
        assert await limits.turn() == 2
        assert expired == []
        clock.advance(2)
        assert await limits.turn() == 3
        assert await limits.turn() == 3
        assert expired == ["two"]
    clock.advance(60)
    assert await limits.turn() > 60
    assert expired == ["two"]


async def test_a_new_limit_wakes_the_loop(clock: HandClock, ears: Ears) -> None:
    limits = TimeLimits(clock, ears)
    await limits.guarded_turn()
    assert limits.paused_until > clock.monotonic()
    thread = threading.Thread(target=lambda: limits.watching(1, lambda: None).__enter__())
    thread.start()
    thread.join()
    assert limits.paused_until == clock.monotonic()


async def test_what_was_called_off_does_not_expire_and_is_not_kept(clock: HandClock, ears: Ears) -> None:
    limits = TimeLimits(clock, ears)
    expired: list[int] = []
    kept = limits.after(10, lambda: expired.append(10))
    for _ in range(1000):
        limits.call_off(limits.after(3600, lambda: expired.append(3600)))
    assert len(limits) == 1
    assert len(limits._deadlines) < 100, "short executions with long limits must not pile up"
    limits.call_off(-1)
    clock.advance(4000)
    await limits.turn()
    limits.call_off(kept)
    assert expired == [10]


async def test_a_later_limit_does_not_wake_the_loop(clock: HandClock, ears: Ears) -> None:
    limits = TimeLimits(clock, ears)
    limits.after(5, lambda: None)
    await limits.guarded_turn()
    due = limits.paused_until
    limits.after(60, lambda: None)
    assert limits.paused_until == due
