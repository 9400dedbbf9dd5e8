import subprocess
import sys
import threading
from contextvars import copy_context
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth import helper
from orth.executor.context import Cancelled, JobContext, JobFailed, Outcome, current, entered, filled_in, left
from orth.executor.environment import variables_of
from orth.executor.progress import Progress
from orth.executor.run_logs import RunLogs
from tests.executor.bench import NOON, Ears, HandClock, make_context


@pytest.fixture
def context(tmp_path: Path, clock: HandClock, ears: Ears) -> JobContext:
    return make_context(RunLogs(tmp_path, clock, ears).open(7, NOON), clock=clock)


def test_there_is_a_context_inside_only(context: JobContext) -> None:
    assert current() is None
    with entered(context):
        assert current() is context
        assert copy_context().run(current) is context
        with left():
            assert current() is None
        assert current() is context
    assert current() is None


@given(st.lists(st.integers()), st.integers(1, 9))
def test_the_shares_of_all_shards_are_everything_once(items: list[int], total: int) -> None:
    shares = []
    for index in range(total):
        shard = JobContext.__new__(JobContext)
        shard.shard_index, shard.shard_total = index, total
        shares.append(shard.my_share(items))
    assert sorted(item for share in shares for item in share) == sorted(items)
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize(
    ("pattern", "values", "text"),
    [
        ("rows {} of {}", (1, 2), "rows 1 of 2"),
        ("rows {} of {}", (1,), "rows 1 of {}"),
        ("done", (1, "x"), "done 1 x"),
        ("{'a': 1} {0}", (), "{'a': 1} {0}"),
        ("{}", ("{}",), "{}"),
    ],
)
def test_patterns_are_filled_in_and_never_fail(pattern: str, values: tuple[object, ...], text: str) -> None:
    assert filled_in(pattern, values) == text


class Unshowable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


UNSHOWN = "<a Unshowable that cannot be shown: its __str__ raised RuntimeError>"


@pytest.mark.parametrize(
    ("value", "text", "reported"),
    [
        (KeyError("gone"), "'gone'", "'gone'"),
        ({"rows": 3}, "{'rows': 3}", '{"rows":3}'),
        (None, "None", ""),
        (7, "7", "7"),
        (Unshowable(), UNSHOWN, UNSHOWN),
    ],
)
def test_whatever_is_given_as_a_message_becomes_text(
    context: JobContext, value: object, text: str, reported: str
) -> None:
    for decide in (context.ok, context.fail, context.timed_out):
        decide(value)
        assert context.decided is not None
        assert context.decided.message == reported
    failed = JobFailed(value)
    assert (failed.message, str(failed)) == (text, text)
    context.progress(1, 2, value)
    assert context.last_progress is not None
    assert context.last_progress.message == text
    context.log("pattern {}", value, value)
    assert context.run_log.path.read_text().endswith(f" pattern {text} {text}\n")


def test_a_line_of_log_need_not_be_text(context: JobContext) -> None:
    context.log(123)
    context.log({"{}": 1}, "filled")
    context.log(Unshowable())
    lines = [line.partition(" ")[2] for line in context.run_log.path.read_text().splitlines()]
    assert lines == ["123", "{'filled': 1}", "tests.executor.test_context.Unshowable: <exception str() failed>"]


def test_the_last_decision_counts(context: JobContext) -> None:
    assert context.decided is None
    context.ok("fine")
    context.fail("no")
    assert context.decided == Outcome(500, "no")
    context.timed_out("late")
    assert context.decided == Outcome(502, "late")


@pytest.mark.parametrize("code", [0, -1, 2**31])
def test_a_code_that_means_nothing_is_a_failure(context: JobContext, code: int) -> None:
    context.result(code, "odd")
    assert context.decided == Outcome(500, "odd")


def test_an_exception_is_logged_with_its_traceback(context: JobContext) -> None:
    try:
        raise ValueError("bad")
    except ValueError as error:
        context.log(error)
    text = Path(context.log_file).read_text()
    assert "Traceback" in text
    assert "ValueError: bad" in text


def test_the_helper_outside_a_job_has_defaults_and_does_nothing() -> None:
    numbers = (helper.get_job_id, helper.get_log_id, helper.get_log_date_time)
    assert [ask() for ask in (*numbers, helper.get_shard_index, helper.get_shard_total)] == [-1] * 5
    assert [helper.get_job_param(), helper.get_schedule_time(), helper.get_log_file_name()] == [None] * 3
    decided = (helper.handle_success, helper.handle_fail, helper.handle_timeout)
    assert [decide("x") for decide in decided] == [False] * 3
    assert (helper.handle_result(200), helper.log("x")) == (False, False)


def test_the_helper_inside_a_job_speaks_of_it(context: JobContext) -> None:
    with entered(context):
        assert (helper.get_job_id(), helper.get_log_id(), helper.get_log_date_time()) == (3, 7, NOON)
        assert (helper.get_job_param(), helper.get_log_file_name()) == ("raw", context.log_file)
        assert (helper.get_shard_index(), helper.get_shard_total(), helper.get_schedule_time()) == (1, 3, None)
        assert helper.log("rows {}", 5)
        assert helper.handle_result(501, "because")
        assert context.decided == Outcome(501, "because")
        assert helper.handle_timeout("t")
        assert context.decided == Outcome(502, "t")
        assert helper.handle_fail("f")
        assert context.decided == Outcome(500, "f")
        assert helper.handle_success("s")
        assert context.decided == Outcome(200, "s")
    assert "rows 5" in Path(context.log_file).read_text()


def test_the_helper_in_a_child_process_reads_the_environment_and_logs_to_standard_output(context: JobContext) -> None:
    code = """if True:
        from orth import helper
        print(helper.get_job_id(), helper.get_log_id(), helper.get_job_param(), helper.get_schedule_time())
        print(helper.get_shard_index(), helper.get_shard_total(), helper.get_log_date_time())
        print(helper.get_log_file_name())
        print(helper.log("rows {}", 5), helper.handle_fail("no"))
        try:
            1 / 0
        except ZeroDivisionError as error:
            helper.log(error)
    """
    child = subprocess.run(
        [sys.executable, "-c", code], env=variables_of(context), capture_output=True, text=True, check=True
    )
    lines = child.stdout.splitlines()
    assert lines[:5] == ["3 7 raw None", f"1 3 {NOON}", context.log_file, "rows 5", "True False"]
    assert lines[5].startswith("Traceback")
    assert lines[-1] == "ZeroDivisionError: division by zero"


def test_a_checkpoint_leaves_only_when_cancelled(context: JobContext) -> None:
    context.checkpoint()
    context.cancel()
    assert context.cancelled
    with pytest.raises(Cancelled):
        context.checkpoint()
    assert not issubclass(Cancelled, Exception), "except Exception must not keep a handler going"


def test_the_time_that_remains(context: JobContext, clock: HandClock) -> None:
    assert context.remaining() is None
    context.deadline = clock.monotonic() + 10
    clock.advance(4)
    assert context.remaining() == pytest.approx(6)
    clock.advance(7)
    assert context.remaining() == 0


def test_progress_goes_to_the_log_and_to_whoever_observes(context: JobContext, clock: HandClock) -> None:
    heard: list[tuple[JobContext, Progress]] = []
    context.on_progress = lambda *what: heard.append(what)
    assert context.last_progress is None
    context.finish_progress()
    context.progress(1, 4, "files")
    context.progress(2, 4, "files")
    assert context.last_progress == Progress(2, 4, "files")
    assert heard == [(context, Progress(1, 4, "files"))], "the second came too soon"
    context.finish_progress()
    assert [value.done for _, value in heard] == [1, 2]
    text = Path(context.log_file).read_text()
    assert text.count("progress ") == 2
    assert "progress 2/4 (50%) files" in text


def test_tracking_tells_progress_and_is_a_place_to_leave(context: JobContext, clock: HandClock) -> None:
    seen = []
    for item in context.track("abc", desc="letters"):
        seen.append(item)
        assert context.last_progress is not None
        assert (context.last_progress.done, context.last_progress.total) == (len(seen) - 1, 3)
    assert context.last_progress == Progress(3, 3, "letters")
    assert list(context.track(iter([]), total=0)) == []
    context.cancel()
    with pytest.raises(Cancelled):
        list(context.track([1]))


def test_the_length_of_what_cannot_be_counted_may_be_given(context: JobContext) -> None:
    assert list(context.track(iter("ab"), total=2)) == ["a", "b"]
    assert context.last_progress == Progress(2, 2, "")
    assert list(context.track(iter("ab"))) == ["a", "b"]
    assert context.last_progress is not None
    assert context.last_progress.total is None


def test_wrapped_work_is_part_of_the_execution_in_any_thread(context: JobContext) -> None:
    def work(a: int, *, b: int) -> tuple[JobContext | None, int]:
        """Work."""
        return current(), a + b

    wrapped = context.wrap(work)
    assert (wrapped.__name__, wrapped.__doc__) == ("work", "Work.")
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.extend([wrapped(1, b=2), current()]))
    thread.start()
    thread.join()
    assert found == [(context, 3), None]


def test_the_run_key_is_the_coordinators_and_the_token_that_of_the_attempt(context: JobContext) -> None:
    first = replace(context, run_key="orth-3-run-7", attempt=1)
    retry = replace(first, log_id=8, attempt=2)
    assert first.run_key == first.idempotency_key == retry.idempotency_key == "orth-3-run-7"
    assert retry.fencing_token > first.fencing_token


def test_without_a_word_of_the_coordinator_the_key_is_that_of_the_schedule_time(context: JobContext) -> None:
    due = datetime(2026, 1, 30, 2, tzinfo=UTC)
    first = replace(context, schedule_time=due, run_key="")
    retry = replace(first, log_id=8, run_key="")
    assert first.idempotency_key == retry.idempotency_key
    others = [
        replace(first, schedule_time=datetime(2026, 1, 30, 3, tzinfo=UTC), run_key=""),
        replace(first, job_id=4, run_key=""),
        replace(first, shard_index=2, run_key=""),
        replace(first, schedule_time=None, run_key=""),
        replace(first, schedule_time=None, log_id=8, run_key=""),
    ]
    assert len({first.idempotency_key, *(other.idempotency_key for other in others)}) == 6


def test_a_job_without_a_name_is_called_like_its_handler(context: JobContext) -> None:
    assert context.job_name == "hello"
    assert replace(context, job_name="every morning").job_name == "every morning"


@pytest.mark.parametrize("given", [("a", "b"), (1, "b"), ("1",)])
def test_progress_in_words_is_refused(tmp_path: Path, given: tuple[Any, ...]) -> None:
    context = make_context(RunLogs(tmp_path, HandClock(), Ears()).open(1, NOON), log_id=1)
    with pytest.raises(TypeError, match=r"ctx\.progress\(done, total=None, message=''\) takes numbers"):
        context.progress(*given)
    assert context.last_progress is None
