import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from orth.errors import Unavailable
from orth.threads import StandingThreads, is_shortage


@contextmanager
def no_more_threads() -> Iterator[None]:
    """No system has room for the stacks that are asked for meanwhile."""
    usual = threading.stack_size(1 << 46)
    try:
        yield
    finally:
        threading.stack_size(usual)


def test_what_the_system_says_is_known() -> None:
    with no_more_threads(), pytest.raises(RuntimeError) as refused:
        threading.Thread(target=print).start()
    assert is_shortage(refused.value)
    assert not is_shortage(RuntimeError("cannot schedule new futures after shutdown"))


def test_without_another_thread_work_waits_for_the_one_that_is_there() -> None:
    go = threading.Event()
    with StandingThreads(3, "test") as pool:
        with no_more_threads():
            first = pool.submit(go.wait, 10)
            others = [pool.submit(int, str(number)) for number in range(5)]
        assert not first.done()
        go.set()
        assert [other.result(10) for other in others] == [0, 1, 2, 3, 4]


def test_with_threads_to_be_had_several_work_at_once() -> None:
    together = threading.Barrier(3)
    with StandingThreads(3, "test") as pool:
        works = [pool.submit(together.wait, 10) for _ in range(3)]
        assert sorted(work.result(10) for work in works) == [0, 1, 2]


def test_what_the_work_raises_is_passed_on() -> None:
    with StandingThreads(1, "test") as pool, pytest.raises(ValueError, match="invalid literal"):
        pool.submit(int, "x").result(10)


def test_work_that_was_cancelled_is_not_done() -> None:
    go, done = threading.Event(), threading.Event()
    with StandingThreads(1, "test") as pool:
        pool.submit(go.wait, 10)
        assert pool.submit(done.set).cancel()
        go.set()
    assert not done.is_set()


def test_a_closed_pool_takes_nothing() -> None:
    pool = StandingThreads(1, "test")
    pool.shutdown()
    with pytest.raises(RuntimeError, match="shutdown"):
        pool.submit(int)


def test_without_a_first_thread_there_is_no_pool() -> None:
    with no_more_threads(), pytest.raises(Unavailable, match="No thread can be started"):
        StandingThreads(1, "test")
