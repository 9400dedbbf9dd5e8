import asyncio
import sys
import threading
from contextlib import suppress
from typing import Any

import pytest

from orth.executor.context import JobContext
from orth.executor.facts import DestroyFailed
from orth.executor.handlers import Handlers
from tests.executor.bench import HandClock, Rig, eventually, request
from tests.executor.conftest import MakeRig


def test_an_async_function_runs_in_the_job_thread_on_a_loop_of_its_own(app: Handlers, rig: MakeRig) -> None:
    seen: list[tuple[str, asyncio.AbstractEventLoop]] = []

    @app.job
    async def where() -> str:
        await asyncio.sleep(0)
        seen.append((threading.current_thread().name, asyncio.get_running_loop()))
        return "there"

    ran = rig()
    assert ran.result(1, "where").handle_msg == "there"
    assert ran.result(2, "where").handle_msg == "there"
    assert [name for name, _ in seen] == ["orth-job-1-where"] * 2
    assert seen[0][1] is not seen[1][1]


@pytest.mark.parametrize("limit", [0, 60])
def test_an_object_lives_from_the_first_execution_until_its_thread_ends(
    app: Handlers, rig: MakeRig, limit: int
) -> None:
    story: list[Any] = []

    @app.job("sync")
    class Sync:
        async def init(self, ctx: JobContext) -> None:
            self.loop = asyncio.get_running_loop()
            story.append(("init", ctx.log_id))

        async def execute(self, ctx: JobContext, batch: int = 5) -> int:
            assert asyncio.get_running_loop() is self.loop
            print(f"batch {batch}")
            story.append(("execute", ctx.log_id))
            return batch

        async def destroy(self) -> None:
            story.append(("destroy", asyncio.get_running_loop() is self.loop))

    ran = rig()
    assert ran.result(1, "sync", executor_timeout=limit).handle_msg == "5"
    assert ran.result(2, "sync", executor_params='{"batch": 7}', executor_timeout=limit).handle_msg == "7"
    assert " batch 7\n" in ran.text(2)
    ran.runtime.threads.drain(5)
    assert story == [("init", 1), ("execute", 1), ("execute", 2), ("destroy", True)]


def test_a_failing_init_fails_its_execution_and_is_tried_again(app: Handlers, rig: MakeRig) -> None:
    lives: list[int] = []

    @app.job("picky")
    class Picky:
        def init(self) -> None:
            lives.append(len(lives))
            if len(lives) == 1:
                raise ConnectionError("no pool yet")

        def execute(self) -> str:
            return "works"

    ran = rig()
    first = ran.result(1, "picky")
    assert (first.handle_code, first.handle_msg.splitlines()[0]) == (500, "ConnectionError: no pool yet")
    assert ran.result(2, "picky").handle_msg == "works"
    assert lives == [0, 1]


def test_an_async_object_outlives_an_exit(app: Handlers, rig: MakeRig) -> None:
    @app.job("leaving")
    class Leaving:
        async def execute(self, ctx: JobContext) -> str:
            if ctx.log_id == 1:
                sys.exit()
            return "still here"

    ran = rig()
    assert ran.result(1, "leaving").handle_code == 200
    assert ran.result(2, "leaving").handle_msg == "still here"


def test_a_failing_destroy_is_told(app: Handlers, rig: MakeRig) -> None:
    @app.job("clingy")
    class Clingy:
        def execute(self) -> None: ...

        def destroy(self) -> None:
            raise OSError("will not go")

    ran = rig()
    ran.result(1, "clingy")
    ran.runtime.threads.retire_idle(0)
    assert ran.ears.wait(DestroyFailed)[0].handler == "clingy"


def test_a_new_handler_for_the_job_replaces_the_object(app: Handlers, rig: MakeRig) -> None:
    destroyed = threading.Event()

    @app.job("old")
    class Old:
        def execute(self) -> str:
            return "old"

        def destroy(self) -> None:
            destroyed.set()

    app.job("new")(lambda: "new")
    ran = rig()
    assert ran.result(1, "old").handle_msg == "old"
    assert ran.result(2, "new").handle_msg == "new"
    eventually(destroyed.is_set)


async def test_an_object_that_ran_out_of_time_is_not_used_again(app: Handlers, rig: MakeRig, clock: HandClock) -> None:
    released = threading.Event()
    waiting = threading.Event()
    lives: list[Any] = []

    @app.job("stuck")
    class Stuck:
        def __init__(self) -> None:
            lives.append(self)

        def execute(self, patience: str) -> str:
            if patience == "none":
                waiting.set()
                released.wait(20)
            return f"life {lives.index(self)}"

    ran = rig(clock=clock, kill_grace=0.05, abandoned_hold=0.0)
    assert ran.run(1, "stuck", executor_params="none", executor_timeout=60).ok
    eventually(waiting.is_set)
    clock.advance(60)
    await ran.runtime.limits.turn()
    eventually(lambda: len(ran.runtime.tools.abandoned) == 1)
    await ran.runtime.limits.turn()
    assert ran.waiting()[1].handle_code == 502
    assert ran.result(2, "stuck", executor_params="some").handle_msg == "life 1"
    released.set()


@pytest.mark.parametrize("kind", ["function", "object"])
def test_a_coroutine_is_cancelled_where_it_waits_and_may_clean_up(app: Handlers, rig: MakeRig, kind: str) -> None:
    story: list[str] = []
    waiting = threading.Event()

    async def wait_for_ever() -> None:
        try:
            waiting.set()
            await asyncio.sleep(3600)
        finally:
            await asyncio.sleep(0.01)
            story.append("cleaned up")

    if kind == "function":
        app.job("wait")(wait_for_ever)
    else:
        app.job("wait")(type("Wait", (), {"execute": lambda self: wait_for_ever()}))
    ran = rig(kill_grace=5.0)
    ran.run(1, "wait")
    assert waiting.wait(10)
    ran.runtime.threads.kill(1)
    assert ran.runtime.join_idle(10)
    assert (story, ran.waiting()[1].handle_msg) == (["cleaned up"], "Ended: it was killed on request.")
    assert len(ran.runtime.tools.abandoned) == 0


def test_executions_at_the_same_time_share_one_object_and_its_loop(app: Handlers, rig: MakeRig) -> None:
    story: list[Any] = []
    together = threading.Barrier(3)

    @app.job("sync")
    class Sync:
        async def init(self) -> None:
            self.loop = asyncio.get_running_loop()
            story.append("init")

        async def execute(self, ctx: JobContext) -> str:
            assert asyncio.get_running_loop() is self.loop
            await asyncio.to_thread(together.wait, 10)
            print(f"this is {ctx.log_id}")
            return str(ctx.log_id)

        async def destroy(self) -> None:
            story.append("destroy")

    ran = rig()
    for log_id in (1, 2, 3):
        assert ran.run(log_id, "sync", executor_block_strategy="CONCURRENT", executor_concurrency=3).ok
    assert ran.runtime.join_idle(10)
    assert {log_id: item.handle_msg for log_id, item in ran.waiting().items()} == {1: "1", 2: "2", 3: "3"}
    assert all(f" this is {log_id}\n" in ran.text(log_id) for log_id in (1, 2, 3))
    ran.runtime.threads.drain(5)
    assert story == ["init", "destroy"]


def test_an_init_that_never_returned_does_not_block_the_next_life(app: Handlers, rig: MakeRig) -> None:
    begun, release = threading.Event(), threading.Event()
    lives: list[int] = []

    @app.job("slow")
    class Slow:
        def init(self) -> None:
            lives.append(1)
            if len(lives) == 1:
                begun.set()
                release.wait(20)

        def execute(self) -> str:
            return f"{len(lives)} lives"

    ran = rig(kill_grace=0.05)
    ran.run(1, "slow")
    assert begun.wait(10)
    ran.runtime.threads.kill(1)
    assert ran.runtime.join_idle(10)
    assert ran.result(2, "slow", executor_block_strategy="COVER_EARLY").handle_msg == "2 lives"
    release.set()
    eventually(lambda: len(ran.runtime.tools.abandoned) == 0)
    assert ran.result(3, "slow").handle_msg == "2 lives"


class Slow:
    """A handler whose ``init`` takes until it is let go, and its story."""

    def __init__(self, app: Handlers, *, deaf: bool = False) -> None:
        self.story: list[Any] = []
        self.go, self.inside, self.leave = threading.Event(), threading.Event(), threading.Event()
        slow = self

        @app.job("slow")
        class Handler:
            def init(self, ctx: JobContext) -> None:
                slow.story.append(("init", ctx.log_id))
                while ctx.log_id == 1 and not slow.go.is_set():
                    with suppress(BaseException):  # whatever is raised to end it
                        slow.go.wait(20)

            def execute(self, ctx: JobContext) -> None:
                slow.story.append(("execute", ctx.log_id))
                if deaf and ctx.log_id == 1:
                    slow.inside.set()
                    slow.leave.wait(20)

            def destroy(self) -> None:
                slow.story.append("destroy")


def run_together(ran: Rig, *log_ids: int, limit: int = 0) -> None:
    together = {"executor_block_strategy": "CONCURRENT", "executor_concurrency": 3}
    for log_id in log_ids:
        assert ran.run(log_id, "slow", executor_timeout=limit, **together).ok
        eventually(lambda: ran.runtime.threads.standing(request(log_id, "")) != "queued")  # noqa: B023  # called at once


def test_one_that_is_killed_while_another_begins_leaves_at_once_and_takes_nothing_with_it(
    app: Handlers, rig: MakeRig
) -> None:
    slow, ran = Slow(app), rig(kill_grace=10.0)
    run_together(ran, 1)
    eventually(lambda: slow.story == [("init", 1)])
    run_together(ran, 2, 3)
    ran.runtime.threads.kill(1, 2)
    eventually(lambda: 2 in ran.waiting(), 5)
    assert ran.waiting()[2].handle_msg == "Ended: it was killed on request."
    slow.go.set()
    assert ran.runtime.join_idle(10)
    assert {log_id: item.handle_code for log_id, item in ran.waiting().items()} == {1: 200, 2: 500, 3: 200}
    ran.runtime.threads.drain(5)
    assert sorted(map(str, slow.story)) == ["('execute', 1)", "('execute', 3)", "('init', 1)", "destroy"]


async def test_one_whose_time_runs_out_while_another_begins_does_not_begin_afterwards(
    app: Handlers, rig: MakeRig, clock: HandClock
) -> None:
    slow, ran = Slow(app), rig(clock=clock)
    run_together(ran, 1)
    eventually(lambda: slow.story == [("init", 1)])
    run_together(ran, 2, limit=60)
    clock.advance(60)
    await ran.runtime.limits.turn()
    eventually(lambda: 2 in ran.waiting())
    assert ran.waiting()[2].handle_code == 502
    eventually(lambda: 2 not in ran.runtime.tools.contexts)
    slow.go.set()
    assert ran.runtime.join_idle(10)
    ran.runtime.threads.drain(5)
    assert slow.story == [("init", 1), ("execute", 1), "destroy"]
    assert len(ran.runtime.tools.abandoned) == 0


def test_one_that_is_left_behind_in_init_executes_nothing_and_destroys_what_it_began(
    app: Handlers, rig: MakeRig
) -> None:
    slow, ran = Slow(app), rig(kill_grace=0.05)
    run_together(ran, 1)
    eventually(lambda: slow.story == [("init", 1)])
    run_together(ran, 2)
    ran.runtime.threads.kill(1, 1)
    eventually(lambda: {1, 2} == set(ran.waiting()))
    assert slow.story == [("init", 1), ("init", 2), ("execute", 2)], "the next does not wait for it"
    slow.go.set()
    eventually(lambda: len(ran.runtime.tools.abandoned) == 0)
    assert slow.story[3:] == ["destroy"], "its own"
    ran.runtime.threads.drain(5)
    assert slow.story[3:] == ["destroy", "destroy"]


def test_an_object_that_is_left_behind_with_its_user_is_destroyed_when_that_returns(
    app: Handlers, rig: MakeRig
) -> None:
    slow, ran = Slow(app, deaf=True), rig(kill_grace=0.05)
    slow.go.set()
    run_together(ran, 1)
    assert slow.inside.wait(10)
    ran.runtime.threads.kill(1, 1)
    eventually(lambda: 1 in ran.waiting())
    run_together(ran, 2)
    eventually(lambda: 2 in ran.waiting())
    assert slow.story == [("init", 1), ("execute", 1), ("init", 2), ("execute", 2)]
    slow.leave.set()
    eventually(lambda: len(ran.runtime.tools.abandoned) == 0)
    assert slow.story[4:] == ["destroy"]
