import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, NoReturn

import pytest
from pydantic import AfterValidator

from orth.domain.executions import EXECUTOR_MESSAGE_LIMIT
from orth.executor.context import JobContext, JobFailed, Outcome
from orth.executor.facts import ExecutionFinished, ExecutionStarted
from orth.executor.handlers import Handlers
from orth.executor.proposals import Retry
from orth.executor.run_logs import RunLogs
from orth.executor.running import Accepted, Tools, carry_out
from orth.executor.time_limits import TimeLimits
from orth.wire.messages import CallbackItem, RunRequest
from tests.executor.bench import NOON, Ears, HandClock, request
from tests.executor.conftest import MakeRig


class Shop:
    """Carries executions out right here, on a clock that stands still."""

    def __init__(self, app: Handlers, directory: Path, clock: HandClock, ears: Ears) -> None:
        self.app = app
        self.tools = Tools(clock, ears, RunLogs(directory, clock, ears), TimeLimits(clock, ears), "this-process")

    def carry_out(self, asked: RunRequest) -> CallbackItem:
        handler = self.app.get(asked.executor_handler)
        assert handler is not None
        return carry_out(Accepted(asked, handler), handler.performer(), self.tools)

    def text(self, log_id: int) -> str:
        self.tools.logs.write_ended()
        return self.tools.logs.path_of(log_id, NOON).read_text()


@pytest.fixture
def shop(app: Handlers, tmp_path: Path, clock: HandClock, ears: Ears) -> Shop:
    return Shop(app, tmp_path, clock, ears)


def test_a_return_value_becomes_the_message(app: Handlers, shop: Shop) -> None:
    app.job("number")(lambda: 42)
    app.job("nothing")(lambda: None)
    ended = shop.carry_out(request(1, "number"))
    assert (ended.log_id, ended.log_date_time, ended.handle_code, ended.handle_msg) == (1, NOON, 200, "42")
    assert (ended.start_time, ended.incarnation) == (NOON, "this-process")
    assert shop.carry_out(request(2, "nothing")).handle_msg == ""


def test_how_long_the_handler_ran_is_measured_on_the_monotonic_clock(
    app: Handlers, shop: Shop, clock: HandClock
) -> None:
    """The clock of the machine may be set meanwhile, and the result may be delivered at any time after."""

    @app.job
    def slow() -> None:
        clock.advance(2.5)
        clock.set_back(60)

    app.job("quick")(lambda: None)
    assert shop.carry_out(request(1, "slow")).duration_ms == 2_500
    assert "200 after 2.500 s" in shop.text(1)
    assert shop.carry_out(request(2, "quick")).duration_ms == 0


def test_the_handler_sees_its_execution(app: Handlers, shop: Shop) -> None:
    seen: list[JobContext] = []

    @app.job
    def look(ctx: JobContext, size: int, name: str = "n") -> None:
        seen.append(ctx)

    shop.carry_out(
        request(
            7,
            "look",
            job_id=3,
            executor_params='{"size": 5}',
            schedule_time=NOON - 1000,
            broadcast_index=1,
            broadcast_total=4,
        )
    )
    [ctx] = seen
    assert (ctx.job_id, ctx.log_id, ctx.log_time, ctx.handler) == (3, 7, NOON, "look")
    assert (ctx.param, dict(ctx.params), ctx.attempt) == ('{"size": 5}', {"size": 5}, None)
    assert ctx.schedule_time == datetime.fromtimestamp(NOON / 1000 - 1, UTC)
    assert ctx.trigger_time == datetime.fromtimestamp(NOON / 1000, UTC)
    assert (ctx.shard_index, ctx.shard_total, ctx.cancelled) == (1, 4, False)
    assert Path(ctx.log_file) == shop.tools.logs.path_of(7, NOON)


def test_no_line_of_a_handler_looks_like_the_executor_s(app: Handlers, shop: Shop) -> None:
    forged = "--- execution ends: 200 after 0.001 s, all fine"

    @app.job("forge")
    def forge(ctx: JobContext) -> None:
        print(forged)
        print(f"a line\n{forged}\r{forged}")
        ctx.log(forged)
        raise ValueError(f"a reason\n{forged}")

    shop.carry_out(request(1, "forge", executor_params=f"text\n{forged}"))
    lines = [line.partition(" ")[2] for line in shop.text(1).splitlines()]
    assert [line for line in lines if line.startswith("--- execution")] == [lines[0], lines[-1]]
    assert lines[0].endswith("begins: forge, parameter: text")
    assert lines[-1].startswith("--- execution ends: 500")
    assert lines.count(f" {forged}") >= 3, "the text is there, indented by a space"


def test_the_log_tells_beginning_and_end(app: Handlers, shop: Shop, ears: Ears) -> None:
    app.job("hello")(lambda: "greeted")
    shop.carry_out(request(1, "hello", executor_params="text"))
    first, last = shop.text(1).splitlines()
    assert first.endswith("--- execution 1 of job 1 begins: hello, parameter: text")
    assert last.endswith("--- execution ends: 200 after 0.000 s, greeted")
    assert [event.handler for event in ears.of(ExecutionStarted)] == ["hello"]
    assert shop.tools.contexts == {}


def test_a_failed_job_gives_its_message_and_no_traceback(app: Handlers, shop: Shop) -> None:
    @app.job
    def refuse() -> None:
        raise JobFailed("no data for XY")

    ended = shop.carry_out(request(1, "refuse"))
    assert (ended.handle_code, ended.handle_msg) == (500, "no data for XY")
    assert "Traceback" not in shop.text(1)


class OutOfStock(JobFailed):
    def __init__(self, article: str, wanted: int = 1) -> None:
        self.article, self.wanted = article, wanted


class Closed(JobFailed):
    def __init__(self) -> None:
        pass


@pytest.mark.parametrize(("failure", "message"), [(OutOfStock("A7", wanted=3), "A7"), (Closed(), "Closed")])
def test_a_failure_of_ones_own_that_forgets_super_has_a_message(
    app: Handlers, shop: Shop, failure: JobFailed, message: str
) -> None:
    @app.job
    def refuse() -> None:
        raise failure

    ended = shop.carry_out(request(1, "refuse"))
    assert (ended.handle_code, ended.handle_msg, ended.final) == (500, message, None)


@pytest.mark.parametrize("code", [200.0, True, "200", None])
def test_a_code_that_is_no_whole_number_is_the_authors_mistake(app: Handlers, shop: Shop, code: Any) -> None:
    @app.job
    def decide(ctx: JobContext) -> None:
        ctx.result(code, "done")

    ended = shop.carry_out(request(1, "decide"))
    assert ended.handle_code == 500
    assert ended.handle_msg.startswith(
        f"TypeError: ctx.result takes a whole number as code, such as 200 or 500, and was given {code!r}."
    )


def test_a_code_may_have_a_name(app: Handlers, shop: Shop) -> None:
    app.job("decide")(lambda ctx: ctx.result(HTTPStatus.OK, "done"))
    assert shop.carry_out(request(1, "decide")).handle_code == 200


def test_a_failure_that_would_come_again_is_final(app: Handlers, shop: Shop) -> None:
    @app.job(retry=Retry(give_up_on=(LookupError,)))
    def look(kind: str) -> None:
        raise {"key": KeyError, "value": ValueError}[kind]("x")

    @app.job
    def refuse(final: bool) -> None:
        raise JobFailed("no", final=final)

    @app.job
    def decide(ctx: JobContext) -> None:
        ctx.result(500, "never", final=True)

    found = [
        shop.carry_out(request(1, "look", executor_params="key")).final,
        shop.carry_out(request(2, "look", executor_params="value")).final,
        shop.carry_out(request(3, "refuse", executor_params='{"final": true}')).final,
        shop.carry_out(request(4, "refuse", executor_params='{"final": false}')).final,
        shop.carry_out(request(5, "decide")).final,
    ]
    assert found == [True, None, True, None, True]


def test_messages_that_are_not_text_end_an_execution_as_text_does(app: Handlers, shop: Shop) -> None:
    @app.job
    def refuse() -> None:
        raise JobFailed({"missing": ["a", "b"]})

    @app.job
    def decide(ctx: JobContext) -> None:
        ctx.fail(OSError("no room"))

    assert shop.carry_out(request(1, "refuse")).handle_msg == "{'missing': ['a', 'b']}"
    ended = shop.carry_out(request(2, "decide"))
    assert (ended.handle_code, ended.handle_msg) == (500, "no room")
    assert shop.text(2).endswith(" s, no room\n")


def test_an_exception_is_a_failure_with_its_last_line_first(app: Handlers, shop: Shop) -> None:
    @app.job
    def broken() -> None:
        raise ValueError("bad luck")

    @app.job
    async def broken_too() -> None:
        await asyncio.sleep(0)
        raise ValueError("bad luck")

    for log_id, name in enumerate(["broken", "broken_too"], start=1):
        ended = shop.carry_out(request(log_id, name))
        assert ended.handle_code == 500
        lines = ended.handle_msg.splitlines()
        assert lines[:2] == ["ValueError: bad luck", "Traceback (most recent call last):"]
        assert "test_running.py" in lines[2], "the traceback begins in the handler, not in our machinery"
        assert 'raise ValueError("bad luck")' in shop.text(log_id)


@pytest.mark.parametrize(
    ("leave", "code", "first_line"),
    [
        (lambda: sys.exit(3), 500, "SystemExit: 3"),
        (lambda: sys.exit("reason"), 500, "SystemExit: reason"),
        (lambda: sys.exit(0), 200, ""),
        (lambda: sys.exit(), 200, ""),
    ],
)
def test_leaving_by_exit_is_an_end_like_any_other(
    app: Handlers, shop: Shop, leave: Callable[[], NoReturn], code: int, first_line: str
) -> None:
    app.job("leave")(leave)
    ended = shop.carry_out(request(1, "leave"))
    assert (ended.handle_code, ended.handle_msg.partition("\n")[0]) == (code, first_line)


EXITED_EARLY = "It exited before execute was called."


@pytest.mark.parametrize("code", [None, 0])
@pytest.mark.parametrize("kind", ["plain", "async", "making"])
def test_leaving_by_exit_before_execute_is_no_success(app: Handlers, shop: Shop, kind: str, code: int | None) -> None:
    class Plain:
        def init(self) -> None:
            sys.exit(code)

        def execute(self) -> None: ...

    class Async:
        async def init(self) -> None:
            sys.exit(code)

        async def execute(self) -> None: ...

    class Making:
        def __init__(self) -> None:
            sys.exit(code)

        def execute(self) -> None: ...

    app.job("leave")({"plain": Plain, "async": Async, "making": Making}[kind])
    ended = shop.carry_out(request(1, "leave"))
    assert (ended.handle_code, ended.handle_msg.partition("\n")[0]) == (500, EXITED_EARLY)
    assert "sys.exit(code)" in shop.text(1)


def test_a_validator_that_exits_is_no_success(app: Handlers, shop: Shop) -> None:
    @app.job("leave")
    def leave(rows: Annotated[int, AfterValidator(lambda _value: sys.exit())]) -> None: ...

    ended = shop.carry_out(request(1, "leave", executor_params='{"rows": 1}'))
    assert (ended.handle_code, ended.handle_msg.partition("\n")[0]) == (500, EXITED_EARLY)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, MemoryError])
def test_nothing_a_handler_raises_gets_past_its_execution(app: Handlers, shop: Shop, kind: type[BaseException]) -> None:
    @app.job
    def throw() -> None:
        raise kind

    assert shop.carry_out(request(1, "throw")).handle_code == 500


def test_a_value_that_cannot_be_text_is_a_failure(app: Handlers, shop: Shop) -> None:
    class Odd:
        def __str__(self) -> str:
            raise RuntimeError("no words")

    app.job("odd")(lambda: Odd())
    assert shop.carry_out(request(1, "odd")).handle_msg.startswith("RuntimeError: no words")


def test_unfit_parameters_fail_before_the_handler_is_called(app: Handlers, shop: Shop) -> None:
    called: list[int] = []

    @app.job
    def strict(count: int, name: str) -> None:
        called.append(count)

    ended = shop.carry_out(request(1, "strict", executor_params='{"count": "many"}'))
    assert ended.handle_code == 500
    assert "count: Input should be a valid integer" in ended.handle_msg
    assert "name: Field required" in ended.handle_msg
    assert called == []


def test_what_the_handler_decided_beats_what_it_returns_but_not_what_it_raises(app: Handlers, shop: Shop) -> None:
    @app.job
    def decide(ctx: JobContext, how: str) -> str:
        ctx.fail("decided")
        if how == "raise":
            raise ValueError("raised")
        return "returned"

    returned = shop.carry_out(request(1, "decide", executor_params="return"))
    assert (returned.handle_code, returned.handle_msg) == (500, "decided")
    raised = shop.carry_out(request(2, "decide", executor_params="raise"))
    assert raised.handle_msg.startswith("ValueError: raised")


def test_a_long_message_keeps_head_and_tail(app: Handlers, shop: Shop) -> None:
    app.job("talkative")(lambda: "head" + "x" * 200_000 + "tail")
    message = shop.carry_out(request(1, "talkative")).handle_msg
    assert len(message) == EXECUTOR_MESSAGE_LIMIT
    assert message.startswith("head")
    assert message.endswith("tail")
    assert "left out" in message


def test_what_is_cut_from_a_message_is_in_the_log(app: Handlers, shop: Shop) -> None:
    whole = "\n".join(f"line {number}" for number in range(5000))
    app.job("talkative")(lambda: whole)
    shop.carry_out(request(1, "talkative"))
    written = [line.partition(" ")[2] for line in shop.text(1).splitlines()[1:-1]]
    assert "\n".join(written) == whole


def test_text_no_database_would_take_is_repaired(app: Handlers, shop: Shop) -> None:
    app.job("odd")(lambda: "a\0b\ud800c")
    assert shop.carry_out(request(1, "odd")).handle_msg == "a\ufffdb\ufffdc"


def test_what_ends_it_from_outside_is_its_result_whatever_the_handler_says(app: Handlers, shop: Shop) -> None:
    app.job("hello")(lambda: "greeted")
    handler = app.get("hello")
    assert handler is not None
    accepted = Accepted(request(1, "hello"), handler, ending=Outcome(502, "too long"))
    ended = carry_out(accepted, handler.performer(), shop.tools)
    assert (ended.handle_code, ended.handle_msg) == (502, "too long")
    assert shop.text(1).splitlines()[-1].endswith("--- execution ends: 502 after 0.000 s, too long")


def test_a_barred_handler_is_not_called(app: Handlers, shop: Shop) -> None:
    called: list[int] = []
    app.job("hello")(lambda: called.append(1))
    handler = app.get("hello")
    assert handler is not None
    accepted = Accepted(request(1, "hello"), handler, ending=Outcome(500, "killed"))
    assert accepted.stay.bar()
    assert carry_out(accepted, handler.performer(), shop.tools).handle_msg == "killed"
    assert called == []


def test_leaving_at_a_checkpoint_needs_no_traceback(app: Handlers, shop: Shop) -> None:
    @app.job
    def leave(ctx: JobContext) -> None:
        ctx.cancel()
        ctx.checkpoint()

    ended = shop.carry_out(request(1, "leave"))
    assert (ended.handle_code, ended.handle_msg) == (500, "Cancelled.")
    assert "Traceback" not in shop.text(1)


def test_the_end_is_told_when_the_result_is_safe(app: Handlers, rig: MakeRig) -> None:
    app.job("hello")(lambda: "x")
    ran = rig()
    ran.result(5, "hello", job_id=9)
    [told] = ran.ears.of(ExecutionFinished)
    assert (told.log_id, told.job_id, told.code) == (5, 9, 200)


def test_a_forked_child_writes_to_the_same_log_and_waits_for_nobody(app: Handlers, shop: Shop) -> None:
    held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with shop.tools.logs._home.folder._lock, shop.tools.logs.growth._lock:
            held.set()
            let_go.wait(20)

    @app.job
    def fork(ctx: JobContext) -> int:
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            ctx.log("the child")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        ctx.log("the parent")
        return os.waitstatus_to_exitcode(status)

    @app.job
    def first(ctx: JobContext) -> None:
        ctx.log("makes the folder known")

    shop.carry_out(request(1, "first"))
    holder = threading.Thread(target=hold)

    @app.job
    def fork_beside(ctx: JobContext) -> int:
        ctx.log("begun")  # so that the file is open; what the child needs besides, the holder has
        holder.start()
        assert held.wait(10)
        child = os.fork()
        if child == 0:
            signal.alarm(10)
            ctx.log("the child")
            os._exit(0)
        _, status = os.waitpid(child, 0)
        let_go.set()
        return os.waitstatus_to_exitcode(status)

    assert shop.carry_out(request(2, "fork")).handle_msg == "0"
    lines = [line.partition(" ")[2] for line in shop.text(2).splitlines()]
    assert [line.partition(" of job")[0] for line in lines[:-1]] == ["--- execution 2", "the child", "the parent"]
    assert shop.carry_out(request(3, "fork_beside")).handle_msg == "0", "an alarm has ended a child that hung"
    holder.join(10)
