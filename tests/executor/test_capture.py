import io
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orth.executor.capture import PrintCapture, capturing
from orth.executor.handlers import Handlers
from tests.executor.conftest import MakeRig

log = logging.getLogger("somebody")


def test_print_and_logging_go_to_the_log_of_their_execution(app: Handlers, rig: MakeRig) -> None:
    @app.job
    def talk(word: str) -> None:
        print(f"printed {word}")
        print(f"to stderr {word}", file=sys.stderr)
        log.warning("logged %s", word)
        print("no line break", end="")

    ran = rig()
    ran.result(1, "talk", executor_params="one")
    ran.result(2, "talk", executor_params="two", job_id=2)
    for log_id, word, other in [(1, "one", "two"), (2, "two", "one")]:
        text = ran.text(log_id)
        assert f" printed {word}\n" in text
        assert f" to stderr {word}\n" in text
        assert f" WARNING somebody: logged {word}\n" in text
        assert " no line break\n" in text
        assert other not in text


def test_an_exception_logged_brings_its_traceback(app: Handlers, rig: MakeRig) -> None:
    @app.job
    def caught() -> None:
        try:
            raise KeyError("gone")
        except KeyError:
            log.exception("it was not there")

    ran = rig()
    assert ran.result(1, "caught").handle_code == 200
    assert "ERROR somebody: it was not there\n" in ran.text(1)
    assert "KeyError: 'gone'\n" in ran.text(1)


def test_async_tasks_and_parallel_jobs_keep_their_lines_apart(app: Handlers, rig: MakeRig) -> None:
    import asyncio
    import threading

    both = threading.Barrier(2)

    @app.job
    async def chatter(word: str) -> None:
        async def say(number: int) -> None:
            print(f"{word}-{number}")

        both.wait(10)
        await asyncio.gather(*(say(number) for number in range(50)))
        both.wait(10)

    ran = rig()
    assert ran.run(1, "chatter", executor_params="left", job_id=1).ok
    assert ran.run(2, "chatter", executor_params="right", job_id=2).ok
    assert ran.runtime.join_idle(10)
    assert ran.text(1).count(" left-") == 50
    assert ran.text(2).count(" right-") == 50
    assert "right" not in ran.text(1)


def test_a_progress_bar_keeps_its_last_state(app: Handlers, rig: MakeRig) -> None:
    @app.job
    def bar() -> None:
        for percent in (10, 50, 100):
            print(f"\r{percent} %", end="")
        print()

    ran = rig()
    ran.result(1, "bar")
    assert " 100 %\n" in ran.text(1)
    assert "50 %" not in ran.text(1)


def test_outside_a_job_nothing_changes(capsys: pytest.CaptureFixture[str], app: Handlers, rig: MakeRig) -> None:
    ran = rig()
    print("to the terminal")
    assert capsys.readouterr().out == "to the terminal\n"
    ran.runtime.close()
    assert not list(Path(ran.runtime.logs.directory).rglob("*.log"))


def test_levels_and_handlers_of_others_are_left_alone_and_the_capture_comes_off_again() -> None:
    root = logging.getLogger()
    before = (root.level, list(root.handlers), log.level, log.propagate, sys.stdout, sys.stderr)
    with capturing(), capturing():
        assert len(root.handlers) == len(before[1]) + 1
        assert isinstance(sys.stdout, PrintCapture)
        assert (log.level, log.propagate, log.handlers) == (before[2], before[3], [])
    assert (root.level, list(root.handlers), log.level, log.propagate, sys.stdout, sys.stderr) == before


def test_a_stream_put_in_the_place_meanwhile_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", sys.stdout)  # put back after the test
    with capturing():
        theirs = io.StringIO()
        sys.stdout = theirs
    assert sys.stdout is theirs


def test_the_stand_in_answers_like_the_stream_behind_it() -> None:
    behind = io.TextIOWrapper(io.BytesIO(), encoding="latin-1", errors="replace")
    stand_in = PrintCapture(behind)
    assert (stand_in.encoding, stand_in.errors, stand_in.buffer) == ("latin-1", "replace", behind.buffer)
    assert (stand_in.writable(), stand_in.isatty()) == (True, False)
    stand_in.write("through")
    stand_in.flush()
    assert behind.buffer.getvalue() == b"through"


def test_streams_are_wrapped_only_while_somebody_wants_it(app: Handlers, rig: MakeRig) -> None:
    streams = (sys.stdout, sys.stderr)
    with capturing(prints=False):
        assert (sys.stdout, sys.stderr) == streams
        with capturing():
            assert isinstance(sys.stdout, PrintCapture)
        assert (sys.stdout, sys.stderr) == streams


def test_prints_are_left_alone_on_request(app: Handlers, rig: MakeRig, capsys: pytest.CaptureFixture[str]) -> None:
    app.capture_stdout = False

    @app.job
    def talk() -> None:
        print("to the terminal")
        log.warning("to the log")

    ran = rig()
    ran.result(1, "talk")
    assert capsys.readouterr().out == "to the terminal\n"
    assert "to the terminal" not in ran.text(1)
    assert "WARNING somebody: to the log\n" in ran.text(1)


# --- the host's last resort -------------------------------------------------------------------------------------------


@contextmanager
def root_handlers(*handlers: logging.Handler) -> Iterator[None]:
    """A program that has set up these and no others, pytest's own included."""
    root = logging.getLogger()
    before, root.handlers = root.handlers, list(handlers)
    try:
        yield
    finally:
        root.handlers = before


def test_a_program_without_handlers_keeps_the_last_resort(capsys: pytest.CaptureFixture[str]) -> None:
    with root_handlers(), capturing():
        log.info("too quiet")
        log.warning("look here")
    assert capsys.readouterr().err == "look here\n"


def test_inside_a_job_records_go_to_its_log_alone_and_ours_to_the_last_resort(
    app: Handlers, rig: MakeRig, capsys: pytest.CaptureFixture[str]
) -> None:
    @app.job
    def talk() -> None:
        log.warning("of the job")
        logging.getLogger("orth").warning("of the executor")

    with root_handlers():
        ran = rig()
        ran.result(1, "talk")
        ran.runtime.close()
    assert capsys.readouterr().err == "of the executor\n"
    assert "of the job" in ran.text(1)
    assert "of the executor" not in ran.text(1)


def test_where_the_program_has_a_handler_there_is_no_last_resort(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    at_root, below = io.StringIO(), io.StringIO()
    with root_handlers(logging.StreamHandler(at_root)), capturing():
        log.warning("once")
    monkeypatch.setattr(log, "handlers", [logging.StreamHandler(below)])
    with root_handlers(), capturing():
        log.warning("again")
    assert (at_root.getvalue(), below.getvalue(), capsys.readouterr().err) == ("once\n", "again\n", "")


def test_a_program_that_has_removed_the_last_resort_has_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging, "lastResort", None)
    with root_handlers(), capturing():
        log.warning("unheard")
    assert capsys.readouterr().err == ""
