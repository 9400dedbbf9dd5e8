import threading

import pytest

from orth.events import Events
from orth.executor.time_limits import TimeLimits
from orth.executor.turnstile import PATIENCE, WIDTH, Turnstile
from orth.testing import ManualClock


class Job:
    """Takes every place it is offered while it has something to start."""

    def __init__(self, name: str, work: int = 1) -> None:
        self.name, self.work = name, work
        self.places: list[int] = []

    def let_in(self, place: int) -> bool:
        if len(self.places) >= self.work:
            return False
        self.places.append(place)
        return True


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0)


@pytest.fixture
def limits(clock: ManualClock) -> TimeLimits:
    return TimeLimits(clock, Events())


@pytest.fixture
def turnstile(clock: ManualClock, limits: TimeLimits) -> Turnstile:
    return Turnstile(clock, limits)


def test_few_are_let_in_and_the_others_in_the_order_of_asking(turnstile: Turnstile) -> None:
    jobs = [Job(str(number)) for number in range(WIDTH + 3)]
    for job in jobs:
        turnstile.ask(job)
    inside = [job for job in jobs if job.places]
    assert inside == jobs[:WIDTH]
    assert turnstile.crowded
    for number, job in enumerate(jobs[WIDTH:]):
        turnstile.leave(jobs[number].places[0])
        assert job.places
        assert not any(later.places for later in jobs[WIDTH + number + 1 :])
    assert not turnstile.crowded


def test_one_that_has_nothing_to_start_any_more_is_passed_over(turnstile: Turnstile) -> None:
    first = [Job(str(number)) for number in range(WIDTH)]
    over, next_one = Job("over", work=0), Job("next")
    for job in (*first, over, next_one):
        turnstile.ask(job)
    turnstile.leave(first[0].places[0])
    assert (over.places, len(next_one.places)) == ([], 1)


def test_a_place_that_nobody_wanted_is_free_again(turnstile: Turnstile) -> None:
    for _ in range(2 * WIDTH):
        turnstile.ask(Job("nothing to do", work=0))
    after = Job("after")
    turnstile.ask(after)
    assert after.places


async def test_who_does_not_get_to_its_handler_loses_its_place(
    turnstile: Turnstile, limits: TimeLimits, clock: ManualClock
) -> None:
    stuck = [Job(str(number)) for number in range(WIDTH)]
    others = [Job(str(number)) for number in range(2 * WIDTH)]
    for job in (*stuck, *others):
        turnstile.ask(job)
    await limits.turn()
    assert not any(job.places for job in others)
    for half in (others[:WIDTH], others[WIDTH:]):
        clock.move(PATIENCE)
        await limits.turn()
        assert all(job.places for job in half)
    clock.move(PATIENCE)
    await limits.turn()
    assert len(limits) == 0, "nobody waits, so nobody watches"
    turnstile.leave(stuck[0].places[0])  # it gets there after all, and has no place to hand on
    late = [Job(str(number)) for number in range(2)]
    for job in late:
        turnstile.ask(job)
    assert not any(job.places for job in late)


def test_everybody_gets_through_however_many_threads_ask_and_leave(turnstile: Turnstile) -> None:
    jobs = [Job(str(number)) for number in range(2000)]
    through: set[str] = set()
    lock = threading.Lock()

    def work(mine: list[Job]) -> None:
        for job in mine:
            turnstile.ask(job)
            with lock:
                ready = [one for one in jobs if one.places and one.name not in through][:WIDTH]
                through.update(one.name for one in ready)
            for one in ready:
                turnstile.leave(one.places[0])

    threads = [threading.Thread(target=work, args=(jobs[at::4],)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while left := [one for one in jobs if one.places and one.name not in through]:
        through.update(one.name for one in left)
        for one in left:
            turnstile.leave(one.places[0])
    assert len(through) == len(jobs)
