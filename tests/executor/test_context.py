from contextvars import copy_context
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth import helper
from orth.executor.context import JobContext, Outcome, current, entered, filled_in
from orth.executor.run_logs import RunLogs
from tests.executor.bench import NOON, Ears, HandClock


@pytest.fixture
def context(tmp_path: Path, clock: HandClock, ears: Ears) -> JobContext:
    return JobContext(
        job_id=3,
        log_id=7,
        log_time=NOON,
        handler="hello",
        param="raw",
        schedule_time=None,
        trigger_time=datetime.fromtimestamp(NOON / 1000, UTC),
        shard_index=1,
        shard_total=3,
        run_log=RunLogs(tmp_path, clock, ears).open(7, NOON),
    )


def test_there_is_a_context_inside_only(context: JobContext) -> None:
    assert current() is None
    with entered(context):
        assert current() is context
        assert copy_context().run(current) is context
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
