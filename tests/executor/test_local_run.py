"""One execution without a coordinator. What reports hold is tested with the testing kit, which stands on this."""

import re
import threading

import pytest

from orth import Executor, JobContext
from orth.errors import Invalid
from orth.executor.handlers import handler_of
from orth.executor.local_run import LocalTrigger, run_locally
from orth.executor.run_logs import LATEST_INSTANT

app = Executor("local-app")


@app.job
def who(ctx: JobContext) -> str:
    print("from who")
    return f"{ctx.executor} {ctx.job_id} {ctx.log_id} {ctx.shard_index}/{ctx.shard_total}"


@app.job(isolation="process")
def elsewhere(ctx: JobContext, count: int) -> str:
    for _ in ctx.track(range(count)):
        print("from elsewhere")
    return ctx.executor


def test_a_handler_sees_the_executor_it_was_registered_with() -> None:
    assert run_locally(handler_of(who), LocalTrigger(shard=(1, 4))).message == "local-app 1 1 1/4"


def test_an_isolated_handler_runs_in_its_process() -> None:
    report = run_locally(handler_of(elsewhere), LocalTrigger(text='{"count": 3}'))
    assert (report.code, report.message) == (200, "local-app"), report
    assert report.log_text.count("from elsewhere") == 3
    assert report.progress is not None
    assert report.progress.done == 3


def test_the_log_is_shown_while_it_grows() -> None:
    seen = threading.Event()
    pieces: list[str] = []

    def slow() -> None:
        print("the first line")
        assert seen.wait(10), "it was not shown before the end"
        print("the second line")

    def echo(text: str) -> None:
        pieces.append(text)
        if "the first line" in "".join(pieces):
            seen.set()

    report = run_locally(handler_of(slow), LocalTrigger(), echo=echo)
    assert report.ok, report.message
    assert "".join(pieces) == report.log_text
    assert all(piece.endswith("\n") for piece in pieces if piece), "in whole lines"


def test_prints_stay_where_their_executor_leaves_them(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = Executor("quiet-app", capture_stdout=False)

    @quiet.job
    def talk() -> None:
        print("to the terminal")

    assert "to the terminal" not in run_locally(handler_of(talk), LocalTrigger()).log_text
    assert capsys.readouterr().out == "to the terminal\n"


@pytest.mark.parametrize(
    ("trigger", "complaint"),
    [
        (LocalTrigger(text="x" * 70_000), "the parameter has 70000 characters, and 65535 at most fit."),
        (LocalTrigger(text="a\0b"), "the parameter: has a NUL character."),
        (LocalTrigger(shard=(0, 10**11)), "the number of shards: Input should be less than or equal to 2147483647."),
        (LocalTrigger(timeout=10**11), "the time limit: Input should be less than or equal to 2147483647."),
        (LocalTrigger(schedule_time=-5), "the time it is due: Input should be greater than or equal to 0."),
        (LocalTrigger(attempt=0), "attempt: Input should be greater than or equal to 1."),
    ],
)
def test_what_no_coordinator_could_send_is_refused_in_words(trigger: LocalTrigger, complaint: str) -> None:
    with pytest.raises(Invalid, match=re.escape(f"No coordinator could send this: {complaint}")):
        run_locally(handler_of(who), trigger)


def test_what_an_executor_would_refuse_is_refused() -> None:
    with pytest.raises(Invalid, match="beyond the year 9999"):
        run_locally(handler_of(who), LocalTrigger(schedule_time=LATEST_INSTANT + 1))
    with pytest.raises(Invalid, match="no shard 2 of 2"):
        run_locally(handler_of(who), LocalTrigger(shard=(2, 2)))
