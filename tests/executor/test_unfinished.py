import threading

from orth.executor.log_writing import LINE_LIMIT
from orth.executor.unfinished import Unfinished

OUT, ERR = object(), object()


def test_lines_come_out_when_they_end() -> None:
    kept = Unfinished()
    assert kept.add(OUT, "a") == []
    assert kept.add(OUT, "b\nc\nd") == ["ab", "c"]
    assert kept.add(OUT, "\n") == ["d"]
    assert kept.finish() == []


def test_each_stream_has_its_own_line_and_the_end_of_the_execution_ends_all() -> None:
    kept = Unfinished()
    kept.add(OUT, "to out")
    kept.add(ERR, "to err")
    assert kept.finish() == ["to out", "to err"]
    assert kept.finish() == []


def test_each_thread_has_its_own_line() -> None:
    kept = Unfinished()
    kept.add(OUT, "here")
    thread = threading.Thread(target=kept.add, args=(OUT, "there"))
    thread.start()
    thread.join()
    assert kept.finish_own() == ["here"]
    assert kept.finish() == ["there"]


def test_a_line_that_is_rewritten_keeps_its_last_state() -> None:
    kept = Unfinished()
    kept.add(OUT, "10 %\r")
    kept.add(OUT, "50 %")
    assert kept.add(OUT, "\r100 %\r\n") == ["100 %"]


def test_a_line_without_an_end_is_broken() -> None:
    kept = Unfinished()
    assert kept.add(OUT, "x" * LINE_LIMIT) == []
    assert kept.add(OUT, "y") == ["x" * LINE_LIMIT + "y"]


def test_what_is_printed_while_a_line_is_taken_apart_is_kept() -> None:
    kept = Unfinished()

    class Interrupted(str):
        def __radd__(self, before: str) -> str:
            kept.add(OUT, "by a destructor")
            return before + str(self)

    assert kept.add(OUT, Interrupted("line\nrest ")) == ["line"]
    assert kept.finish() == ["rest by a destructor"]
