import gc
import io
import logging
import logging.config
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orth.errors import Invalid
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
    def as_it_is() -> list[object]:
        root = logging.getLogger()
        return [root.level, list(root.handlers), log.level, log.propagate, list(log.handlers)]

    loggers, others = as_it_is(), (logging.Logger.callHandlers, sys.stdout, sys.stderr)
    with capturing(), capturing():
        assert logging.Logger.callHandlers is not others[0]
        assert isinstance(sys.stdout, PrintCapture)
        assert as_it_is() == loggers
    assert as_it_is() == loggers
    assert (logging.Logger.callHandlers, sys.stdout, sys.stderr) == others


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
    stand_in.reconfigure(line_buffering=True)
    assert (behind.line_buffering, stand_in.line_buffering, stand_in.newlines) == (True, True, behind.newlines)
    assert not hasattr(stand_in, "no_such_thing")


def test_a_program_without_streams_prints_into_logs_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, app: Handlers, rig: MakeRig
) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)

    @app.job("speak")
    def speak() -> None:
        print("printed")
        print("complained", file=sys.stderr)
        logging.getLogger("lib").warning("careful")

    ran = rig()
    print("outside")
    logging.getLogger("lib").warning("outside")
    assert ran.result(1, "speak").handle_code == 200
    assert all(text in ran.text(1) for text in ("printed", "complained", "careful"))
    assert "outside" not in ran.text(1)
    with capturing():
        assert isinstance(sys.stdout, PrintCapture)
        assert (sys.stdout.encoding, sys.stdout.isatty()) == ("utf-8", False)
    ran.runtime.close()


def test_a_stream_that_was_missing_is_missing_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with capturing():
        print("nowhere")
    assert sys.stdout is None


def test_a_destructor_may_print_and_log_at_any_step_of_a_print(app: Handlers, rig: MakeRig) -> None:
    class Connection:
        def __init__(self) -> None:
            self.me = self  # the garbage collector ends it, at whichever step it comes

        def __del__(self) -> None:
            print("closed")
            log.warning("closed")

    @app.job
    def leaking() -> None:
        for number in range(1000):
            Connection()
            gc.set_threshold(1 + number % 50)
            print("step", number)
            log.warning("%s", number)

    @app.job
    def other() -> None:
        print("hello")

    before = gc.get_threshold()
    try:
        ran = rig(kill_grace=0.1)
        assert ran.run(1, "leaking").ok
        assert ran.runtime.join_idle(20)
    finally:
        gc.set_threshold(*before)
        gc.collect()
    assert ran.waiting()[1].handle_code == 200
    assert ran.text(1).count("step") == 1000
    ran.result(2, "other", job_id=2)
    assert " hello\n" in ran.text(2)


def test_threads_of_an_execution_do_not_mix_their_lines(app: Handlers, rig: MakeRig) -> None:
    both = threading.Barrier(2)

    def spell(word: str) -> None:
        for letter in word:
            both.wait(10)
            print(letter, end="")

    @app.job
    def spelling() -> None:
        threads = [threading.Thread(target=spell, args=(word,)) for word in ("left", "else")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    ran = rig()
    ran.result(1, "spelling")
    assert " left\n" in ran.text(1)
    assert " else\n" in ran.text(1)


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
    level, before, root.handlers = root.level, root.handlers, list(handlers)
    try:
        yield
    finally:
        root.handlers = before
        root.setLevel(level)


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


def test_a_program_that_has_removed_the_last_resort_hears_what_logging_says_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging, "lastResort", None)
    monkeypatch.setattr(logging.Logger.manager, "emittedNoHandlerWarning", False)
    with root_handlers(), capturing():
        log.warning("unheard")
        log.warning("unheard")
    assert capsys.readouterr().err == 'No handlers could be found for logger "somebody"\n'


# --- the host's own set-up --------------------------------------------------------------------------------------------


def test_a_program_may_set_up_its_logging_afterwards(
    app: Handlers, rig: MakeRig, capsys: pytest.CaptureFixture[str]
) -> None:
    app.job("talk")(lambda: log.info("of the job"))
    with root_handlers():
        ran = rig()
        logging.basicConfig(level=logging.INFO, format="PROGRAM %(name)s %(message)s")
        log.info("of the program")
        ran.result(1, "talk")
        ran.runtime.close()
    told = capsys.readouterr().err
    assert "PROGRAM somebody of the program\n" in told
    assert "PROGRAM somebody of the job\n" in told
    assert ran.text(1).count("of the job") == 1, "what the program's handler writes is not the job's"
    assert " INFO somebody: of the job\n" in ran.text(1)


def test_no_set_up_of_logging_ends_the_capture(app: Handlers, rig: MakeRig) -> None:
    setups = {
        "basic": lambda: logging.basicConfig(force=True),
        "dict": lambda: logging.config.dictConfig({"version": 1, "disable_existing_loggers": False}),
        "none": lambda: logging.getLogger().handlers.clear(),
    }

    @app.job
    def configure(how: str) -> None:
        setups[how]()

    app.job("talk")(lambda: log.warning("still here"))
    with root_handlers():
        ran = rig()
        for log_id, how in enumerate(setups, start=1):
            assert ran.result(log_id, "configure", executor_params=how).handle_code == 200
            ran.result(100 + log_id, "talk", job_id=2)
            assert " WARNING somebody: still here\n" in ran.text(100 + log_id), how
        ran.runtime.close()


def test_records_that_do_not_reach_the_root_are_left_to_their_loggers(
    app: Handlers, rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = io.StringIO()
    monkeypatch.setattr(log, "propagate", False)
    monkeypatch.setattr(log, "handlers", [logging.StreamHandler(written)])
    app.job("talk")(lambda: log.warning("kept apart"))
    ran = rig()
    ran.result(1, "talk")
    assert written.getvalue() == "kept apart\n"
    assert "kept apart" not in ran.text(1)


def test_a_record_that_cannot_be_written_says_so_in_the_log(app: Handlers, rig: MakeRig) -> None:
    app.job("talk")(lambda: log.warning("%d rows", "many"))
    with root_handlers():
        ran = rig()
        assert ran.result(1, "talk").handle_code == 200
        ran.runtime.close()
    assert "--- Logging error ---" in ran.text(1)
    assert "Message: '%d rows'" in ran.text(1)


def test_steps_of_others_before_the_handlers_stay_and_no_record_is_taken_twice(
    app: Handlers, rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As tracers put them there, before an executor starts, while it runs, or between two starts."""
    seen: list[str] = []
    app.job("talk")(lambda: log.warning("once"))
    monkeypatch.setattr(logging.Logger, "callHandlers", logging.Logger.callHandlers)  # put back after the test

    def add_step(name: str) -> None:
        beyond = logging.Logger.callHandlers

        def step(logger: logging.Logger, record: logging.LogRecord) -> None:
            if logger is log:
                seen.append(name)
            beyond(logger, record)

        logging.Logger.callHandlers = step  # type: ignore[method-assign, assignment]

    add_step("before")
    with capturing():
        add_step("meanwhile")
    log.warning("nobody captures")
    ran = rig()
    ran.result(1, "talk")
    assert ran.text(1).count("once") == 1
    assert seen == ["meanwhile", "before"] * 2


class Noting(logging.Handler):
    """A handler of the program's."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.heard.append(record.getMessage())


@pytest.fixture
def program() -> Iterator[Noting]:
    """What the program's own handler hears; the root logger stands at WARNING, as ever."""
    handler, before = Noting(), logging.root.level
    logging.root.setLevel(logging.WARNING)
    logging.root.addHandler(handler)
    try:
        yield handler
    finally:
        logging.root.removeHandler(handler)
        logging.root.setLevel(before)


def _talk() -> None:
    for level in (logging.DEBUG, logging.INFO, logging.WARNING):
        log.log(level, "at %s", logging.getLevelName(level))


def test_a_job_has_a_capture_level_of_its_own(app: Handlers, rig: MakeRig, program: Noting) -> None:
    app.job("chatty", log_level="info")(_talk)
    app.job("usual")(_talk)
    app.job("quiet", log_level=logging.ERROR)(_talk)
    ran = rig()
    for log_id, name in enumerate(("chatty", "usual", "quiet"), 1):
        ran.result(log_id, name, job_id=log_id)
    told = {
        log_id: [word for word in ("DEBUG", "INFO", "WARNING") if f"at {word}" in ran.text(log_id)]
        for log_id in (1, 2, 3)
    }
    assert told == {1: ["INFO", "WARNING"], 2: ["WARNING"], 3: []}
    assert program.heard == ["at WARNING"] * 3, "others hear what they always heard"
    log.info("outside")
    assert program.heard == ["at WARNING"] * 3
    assert logging.root.level == logging.WARNING
    assert log.level == logging.NOTSET


def test_one_run_has_a_capture_level_of_its_own_and_no_other(app: Handlers, rig: MakeRig, program: Noting) -> None:
    both = threading.Barrier(2, timeout=20)

    def talk_beside() -> None:
        both.wait()
        _talk()
        both.wait()

    app.job("usual", block="CONCURRENT", concurrency=2)(talk_beside)
    app.job("chatty", log_level="INFO")(_talk)
    ran = rig()
    for log_id, level in ((1, "DEBUG"), (2, None)):
        ran.run(log_id, "usual", executor_block_strategy="CONCURRENT", executor_concurrency=2, log_level=level)
    assert ran.runtime.join_idle(10)
    for log_id, level in ((3, "DEBUG"), (4, "ERROR"), (5, None)):
        ran.result(log_id, "chatty", job_id=2, log_level=level)
    told = {
        log_id: [word for word in ("DEBUG", "INFO", "WARNING") if f"at {word}" in ran.text(log_id)]
        for log_id in (1, 2, 3, 4, 5)
    }
    everything = ["DEBUG", "INFO", "WARNING"]
    assert told == {1: everything, 2: ["WARNING"], 3: everything, 4: [], 5: ["INFO", "WARNING"]}
    assert program.heard == ["at WARNING"] * 5, "others hear what they always heard"
    assert (logging.root.level, log.level) == (logging.WARNING, logging.NOTSET)


def test_levels_that_somebody_gave_to_a_logger_hold(app: Handlers, rig: MakeRig, program: Noting) -> None:
    noisy, silenced = logging.getLogger("somebody.noisy.library"), logging.getLogger("somebody.disabled")
    logging.getLogger("somebody.noisy").setLevel(logging.WARNING)
    silenced.disabled = True

    @app.job(log_level="DEBUG")
    def talk() -> None:
        noisy.info("of a library")
        silenced.warning("of nobody")
        log.debug("of the job")
        logging.disable(logging.DEBUG)
        log.debug("too late")

    ran = rig()
    try:
        ran.result(1, "talk")
    finally:
        logging.disable(logging.NOTSET)
        silenced.disabled = False
        logging.getLogger("somebody.noisy").setLevel(logging.NOTSET)
    text = ran.text(1)
    assert "DEBUG somebody: of the job\n" in text
    assert not any(word in text for word in ("of a library", "of nobody", "too late"))
    assert program.heard == []


@pytest.mark.parametrize("level", ["LOUD", -1, True])
def test_what_is_no_level_is_refused(app: Handlers, level: str | int) -> None:
    with pytest.raises(Invalid, match="no log level"):
        app.job(log_level=level)


def test_what_was_there_before_is_there_afterwards() -> None:
    before = logging.Logger.isEnabledFor, logging.Logger.callHandlers
    with capturing():
        assert logging.Logger.isEnabledFor is not before[0]
    assert (logging.Logger.isEnabledFor, logging.Logger.callHandlers) == before
