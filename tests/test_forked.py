import os
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest

from orth.forked import let_go_in_child
from tests.forks import ended_by, forked


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    ends = os.pipe()
    os.set_blocking(ends[0], False)
    yield ends
    for end in ends:
        os.close(end)


def heard(pipe: tuple[int, int]) -> bytes:
    with suppress(BlockingIOError):
        return os.read(pipe[0], 100)
    return b""


def test_a_child_lets_go_and_the_parent_keeps(pipe: tuple[int, int]) -> None:
    undo = let_go_in_child(lambda: os.write(pipe[1], str(os.getpid()).encode()))
    try:
        assert heard(pipe) == b""
        with forked() as child:
            assert heard(pipe) == str(child).encode()
    finally:
        undo()


def test_what_was_taken_back_is_not_called(pipe: tuple[int, int]) -> None:
    undo = let_go_in_child(lambda: os.write(pipe[1], b"called"))
    undo()
    undo()
    with forked():
        assert heard(pipe) == b""


def test_a_child_of_the_child_has_nothing_left_to_let_go_of(pipe: tuple[int, int]) -> None:
    def fork_again() -> None:
        with forked():
            pass

    undo = let_go_in_child(lambda: os.write(pipe[1], b"once"))
    try:
        with forked(fork_again):
            assert heard(pipe) == b"once"
    finally:
        undo()


def test_one_that_is_gone_already_does_not_keep_the_others(pipe: tuple[int, int]) -> None:
    gone, _other = socket.socketpair()
    gone.close()
    undo = [let_go_in_child(lambda: os.close(gone.detach())), let_go_in_child(lambda: os.write(pipe[1], b"next"))]
    try:
        with forked():
            assert heard(pipe) == b"next"
    finally:
        for one in undo:
            one()


def test_a_signal_waits_until_the_child_has_let_go(pipe: tuple[int, int]) -> None:
    def signalled_early() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)

    before = signal.signal(signal.SIGTERM, lambda *_: os.write(pipe[1], b"the parent's handler"))
    undo = let_go_in_child(signalled_early)
    try:
        child = os.fork()
        if child == 0:
            os._exit(99)
        assert ended_by(child) == -signal.SIGTERM
        assert heard(pipe) == b""
    finally:
        undo()
        signal.signal(signal.SIGTERM, before)


def test_the_signal_mask_is_as_it_was_on_both_sides(pipe: tuple[int, int]) -> None:
    def tell_mask() -> None:
        os.write(pipe[1], repr(signal.pthread_sigmask(signal.SIG_BLOCK, ())).encode())

    undo = let_go_in_child(lambda: None)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with forked(tell_mask):
            inside = signal.pthread_sigmask(signal.SIG_BLOCK, ())
            assert heard(pipe) == repr(inside).encode()
            assert inside == before | {signal.SIGINT}
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        undo()
