import asyncio
import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from multiprocessing.process import BaseProcess
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


SAY = 'echo "$ORTH_JOB_ID $ORTH_JOB_LOG_ID $ORTH_JOB_PARAM" > "$0"'
SHELL = ["sh", "-c", SAY]


@pytest.mark.parametrize(
    "start",
    [
        lambda file: os.system(f"set -- {file}; {SAY.replace('$0', '$1')}"),
        lambda file: os.spawnvp(os.P_WAIT, "sh", [*SHELL, file]),
        lambda file: os.waitpid(os.posix_spawn("/bin/sh", [*SHELL, file], os.environ), 0)[1],
        lambda file: os.waitpid(os.posix_spawnp("sh", [*SHELL, file], os.environ), 0)[1],
        lambda file: subprocess.run([*SHELL, file], env=os.environ, check=True).returncode,
        lambda file: subprocess.run([*SHELL, file], env={**os.environ, "MORE": "1"}, check=True).returncode,
        lambda file: subprocess.run([*SHELL, file], env=os.environ | {"MORE": "1"}, check=True).returncode,
        lambda file: os.waitpid(os.posix_spawn("/bin/sh", [*SHELL, file], os.environ.copy()), 0)[1],
        lambda file: fork_and_exec([*SHELL, file]),
    ],
    ids=["system", "spawnvp", "posix_spawn", "posix_spawnp", "Popen", "more", "or", "copy", "fork and exec"],
)
def test_a_child_started_in_another_way_knows_the_execution_too(
    app: Handlers, rig: MakeRig, tmp_path: Path, start: Callable[[str], int]
) -> None:
    written = tmp_path / "written"

    @app.job
    def spawn(text: str) -> str:
        return str(start(str(written)))

    assert rig().result(5, "spawn", executor_params="p").handle_msg == "0"
    assert written.read_text() == "1 5 p\n"
    assert "ORTH_JOB_ID" not in os.environ


def fork_and_exec(argv: list[str]) -> int:
    child = os.fork()
    if child == 0:
        os.execvp(argv[0], argv)
    return os.waitpid(child, 0)[1]


def test_an_environment_that_was_passed_is_left_alone(app: Handlers, rig: MakeRig, tmp_path: Path) -> None:
    written = tmp_path / "written"

    @app.job
    def spawn() -> None:
        os.waitpid(os.posix_spawn("/bin/sh", [*SHELL, str(written)], {"PATH": os.environ["PATH"]}), 0)

    assert rig().result(5, "spawn").handle_code == 200
    assert written.read_text() == "  \n"


@pytest.mark.parametrize(("command", "status"), [("exit 3", 3 << 8), ("kill -9 $$", 9), ("true", 0)])
def test_the_status_of_a_command_is_that_of_os_system(app: Handlers, rig: MakeRig, command: str, status: int) -> None:
    app.job("system")(lambda: str(os.system(command)))
    assert os.system(command) == status
    assert rig().result(5, "system").handle_msg == str(status)


def variables() -> list[str | None]:
    return [os.environ.get(name) for name in ("ORTH_JOB_ID", "ORTH_JOB_LOG_ID", "ORTH_JOB_PARAM")]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_processes_of_a_pool_know_the_execution(app: Handlers, rig: MakeRig, method: str) -> None:
    @app.job
    def pooled(text: str) -> str:
        with multiprocessing.get_context(method).Pool(1) as pool:
            return str(pool.apply(variables))

    ran = rig()
    assert ran.run(5, "pooled", executor_params="it's").ok
    assert ran.runtime.join_idle(60)
    assert ran.waiting()[5].handle_msg == str(["1", "5", "it's"])


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
    def as_it_is() -> list[object]:
        patched = (threading.Thread.start, ThreadPoolExecutor.submit, subprocess.Popen.__init__, BaseProcess.start)
        return [*patched, os.system, os.posix_spawn, os.posix_spawnp]

    before = as_it_is()
    with capturing(), capturing(prints=False):
        assert not any(now is then for now, then in zip(as_it_is(), before, strict=True))
        found: list[object] = []
        theirs.set("outside")
        in_thread(threading.Thread(target=lambda: found.append(theirs.get())))
        assert found == ["unset"], "a thread outside a job begins with an empty context, as ever"
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(theirs.get).result() == "unset"
        run = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
        assert run.stdout == "-1 -1 None\n"
    assert as_it_is() == before


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
