import asyncio
import gc
import subprocess
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path

import pytest

from orth import helper
from orth.executor.capture import capturing
from orth.executor.context import JobContext, current
from orth.executor.handlers import Handlers
from tests.executor.conftest import MakeRig

theirs: ContextVar[str] = ContextVar("theirs", default="unset")
CHILD = "from orth import helper; print(helper.get_job_id(), helper.get_log_id(), helper.get_job_param())"


def in_thread(*threads: threading.Thread) -> None:
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_of_every_kind_are_part_of_the_execution(app: Handlers, rig: MakeRig) -> None:
    class Own(threading.Thread):
        def run(self) -> None:
            print("own class", helper.get_log_id())

    @app.job
    def start_some(ctx: JobContext) -> None:
        theirs.set("mine")

        def deep() -> None:
            in_thread(threading.Thread(target=lambda: print("nested", helper.get_log_id(), theirs.get())))

        timer = threading.Timer(0, lambda: print("timer", helper.get_log_id()))
        in_thread(threading.Thread(target=deep), Own(), timer)

    ran = rig()
    assert ran.result(5, "start_some").handle_code == 200
    text = ran.text(5)
    assert "nested 5 mine\n" in text
    assert "own class 5\n" in text
    assert "timer 5\n" in text


def test_work_of_a_shared_pool_belongs_to_whoever_submits_it(app: Handlers, rig: MakeRig) -> None:
    with ThreadPoolExecutor(1) as pool:

        @app.job
        def submit(ctx: JobContext) -> str:
            mapped = list(pool.map(lambda number: f"{number}:{helper.get_log_id()}", [1, 2]))
            return f"{pool.submit(helper.get_log_id).result()} {mapped}"

        ran = rig()
        assert ran.result(5, "submit").handle_msg == "5 ['1:5', '2:5']"
        assert ran.result(6, "submit", job_id=2).handle_msg == "6 ['1:6', '2:6']"
        assert pool.submit(current).result() is None, "the pool's thread was started inside a job, and is not in it"


def test_tasks_and_threads_of_an_async_handler_are_part_of_the_execution(app: Handlers, rig: MakeRig) -> None:
    @app.job
    async def spread() -> str:
        async def task() -> int:
            return helper.get_log_id()

        plain = asyncio.get_running_loop().run_in_executor(None, helper.get_log_id)
        found = await asyncio.gather(asyncio.create_task(task()), asyncio.to_thread(helper.get_log_id), plain)
        return str(found)

    assert rig().result(5, "spread").handle_msg == "[5, 5, 5]"


@pytest.mark.parametrize("whose", ["app", "job"])
def test_it_can_be_turned_off(tmp_path: Path, rig: MakeRig, app: Handlers, whose: str) -> None:
    app.inherit_threads = whose != "app"

    @app.job(inherit_threads=None if whose == "app" else False)
    def start_one(ctx: JobContext) -> str:
        found: list[int] = []
        in_thread(
            threading.Thread(target=lambda: found.append(helper.get_log_id())),
            threading.Thread(target=ctx.wrap(lambda: found.append(helper.get_log_id()))),
        )
        with ThreadPoolExecutor(1) as pool:
            found.append(pool.submit(helper.get_log_id).result())
        return str(sorted(found))

    assert rig().result(5, "start_one").handle_msg == "[-1, -1, 5]", "only what was wrapped"


def test_a_child_process_knows_the_execution(app: Handlers, rig: MakeRig) -> None:
    @app.job
    def spawn(text: str) -> str:
        run = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
        return run.stdout.strip()

    @app.job
    async def spawn_async(text: str) -> str:
        made = await asyncio.create_subprocess_exec(sys.executable, "-c", CHILD, stdout=subprocess.PIPE)
        out, _ = await made.communicate()
        return out.decode().strip()

    @app.job
    def spawn_clean(text: str) -> str:
        run = subprocess.run([sys.executable, "-c", CHILD], env={}, capture_output=True, text=True, check=True)
        return run.stdout.strip()

    ran = rig()
    assert ran.result(5, "spawn", executor_params="p 1").handle_msg == "1 5 p 1"
    assert ran.result(6, "spawn_async", executor_params="p 2").handle_msg == "1 6 p 2"
    assert ran.result(7, "spawn_clean").handle_msg == "-1 -1 None", "an environment that was passed is left alone"


def test_a_parameter_too_long_for_a_variable_keeps_no_process_from_starting(app: Handlers, rig: MakeRig) -> None:
    @app.job
    def spawn(text: str) -> str:
        run = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
        return run.stdout.strip()

    ran = rig()
    assert ran.result(5, "spawn", executor_params="\N{SNOWMAN}" * 60_000).handle_msg == "1 5"
    fits = ran.result(6, "spawn", executor_params="x" * 60_000).handle_msg
    assert fits.startswith("1 6 xxx")


def test_outside_a_job_nothing_changes_and_everything_is_put_back() -> None:
    before = (threading.Thread.start, ThreadPoolExecutor.submit, subprocess.Popen.__init__)
    with capturing(), capturing(prints=False):
        assert threading.Thread.start is not before[0]
        found: list[object] = []
        theirs.set("outside")
        in_thread(threading.Thread(target=lambda: found.append(theirs.get())))
        assert found == ["unset"], "a thread outside a job begins with an empty context, as ever"
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(theirs.get).result() == "unset"
        run = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
        assert run.stdout == "-1 -1 None\n"
    assert (threading.Thread.start, ThreadPoolExecutor.submit, subprocess.Popen.__init__) == before


def test_what_somebody_else_put_in_the_place_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading.Thread, "start", threading.Thread.start)  # put back after the test
    with capturing():
        ours = threading.Thread.start

        def traced(thread: threading.Thread) -> None:
            ours(thread)

        threading.Thread.start = traced  # type: ignore[method-assign]
    assert threading.Thread.start is traced
    found: list[object] = []
    in_thread(threading.Thread(target=lambda: found.append(current())))
    assert found == [None]


def test_a_thread_of_a_job_is_freed_when_it_has_ended(app: Handlers, rig: MakeRig) -> None:
    gone: list[weakref.ref[threading.Thread]] = []

    @app.job
    def start_one() -> None:
        thread = threading.Thread(target=lambda: None)
        gone.append(weakref.ref(thread))
        in_thread(thread)

    gc.disable()
    try:
        rig().result(5, "start_one")
        assert gone[0]() is None, "there is no cycle to wait for"
    finally:
        gc.enable()


def test_a_thread_that_cannot_start_is_left_as_it_was(app: Handlers, rig: MakeRig) -> None:
    @app.job
    def twice() -> str:
        thread = threading.Thread(target=lambda: None)
        in_thread(thread)
        with pytest.raises(RuntimeError, match="only be started once"):
            thread.start()
        return str("run" in vars(thread))

    assert rig().result(5, "twice").handle_msg == "False"


def test_a_thread_that_outlives_its_execution_is_outside_again(
    app: Handlers, rig: MakeRig, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = threading.Event()
    threads: list[threading.Thread] = []

    @app.job
    def leave_one() -> None:
        def late() -> None:
            ended.wait(10)
            print("after the end")

        threads.append(threading.Thread(target=late))
        threads[0].start()

    ran = rig()
    ran.result(5, "leave_one")
    ended.set()
    threads[0].join()
    assert "after the end" not in ran.text(5)
    assert capsys.readouterr().out == "after the end\n"
