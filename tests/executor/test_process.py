"""Executors as real processes: a port, signals, a kill; the coordinator is a stand-in on another port."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import urllib3

from tests.executor.bench import NOON, TOKEN, eventually
from tests.executor.stand_in import StandIn

JOBS = """
import logging, time
from pathlib import Path
from orth import Executor, JobContext

app = Executor("process-app")
log = logging.getLogger("jobs")

@app.job
def hello(name: str = "world") -> str:
    log.info("hello %s", name)
    print("printed", name)
    return f"greeted {name}"

@app.job
def wait_for_file(ctx: JobContext, path: str) -> str:
    while not Path(path).exists() and not ctx.cancelled:
        time.sleep(0.01)
    return "found"

if __name__ == "__main__":
    app.main()
"""


DEAF = """
import asyncio, gc
from orth import Executor

app = Executor("process-app")

async def swallow() -> None:
    while True:
        try:
            await asyncio.sleep(0.05)
        except:
            pass

@app.job
async def deaf() -> None:
    await swallow()

@app.job
async def deaf_children() -> None:
    await asyncio.gather(swallow(), swallow())

@app.job
def collect() -> str:
    gc.collect()
    return "collected"

if __name__ == "__main__":
    app.main()
"""


FORKING = """
import asyncio, multiprocessing, os, threading, time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from orth import Executor

app = Executor("process-app")
fork = multiprocessing.get_context("fork")

def square(number: int) -> int:
    return number * number

@app.job
def pool() -> str:
    with fork.Pool(2) as workers:
        return str(workers.map(square, range(4)))

@app.job
def ended_early() -> str:
    for _ in range(50):
        child = fork.Process(target=time.sleep, args=(60,))
        child.start()
        child.terminate()
        child.join()
    return f"exit code {child.exitcode}"

@app.job
def leaves_a_child(path: str) -> None:
    child = fork.Process(target=time.sleep, args=(60,))
    child.start()
    Path(path).write_text(str(child.pid))
    child.join()

@app.job
def comes_back_twice(how: str) -> str:
    child = os.fork()
    if child == 0:
        print("the child", end="")
        if how == "raise":
            raise ValueError("only in the child")
        if how == "exit":
            raise SystemExit(3)
        return "the child"
    return f"the executor saw {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}"

@app.job
async def comes_back_twice_from_a_loop(how: str) -> str:
    said = comes_back_twice(how)
    if said != "the child":
        await asyncio.to_thread(time.sleep, 0.01)  # the loop can still be woken
    return said

@app.job
def comes_back_twice_from_a_pool(how: str) -> str:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(comes_back_twice, how).result()

@app.job
async def comes_back_twice_from_a_loop_s_pool(how: str) -> str:
    return await asyncio.to_thread(comes_back_twice, how)

@app.job
def comes_back_twice_from_a_thread(how: str) -> str:
    said = []
    thread = threading.Thread(target=lambda: said.append(comes_back_twice(how)))
    thread.start()
    thread.join()
    return said[0]

@app.job(inherit_threads=False)
def comes_back_twice_from_outside(how: str) -> str:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(comes_back_twice, how).result()

@app.job
class ForkingAtTheEnd:
    def execute(self) -> None:
        return

    def destroy(self) -> None:
        child = os.fork()
        if child == 0:
            raise ValueError("only in the child")
        Path("seen").write_text(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])))

@app.job
class ForkingAtTheEndOfALoop:
    async def execute(self) -> None:
        return

    async def destroy(self) -> None:
        ForkingAtTheEnd().destroy()

app.main()
"""


class ExecutorProcess:
    """``python jobs.py`` in a directory of its own."""

    def __init__(self, directory: Path, *arguments: str, **environ: str) -> None:
        self.directory = directory
        clean = {name: value for name, value in os.environ.items() if not name.startswith("ORTH_")}
        self.errors = directory / f"stderr-{time.monotonic_ns()}"
        self.process = subprocess.Popen(
            [sys.executable, *(arguments or ("jobs.py",))],
            cwd=directory,
            env=clean | environ,
            stderr=self.errors.open("wb"),
            stdout=subprocess.DEVNULL,
        )

    def ended(self, seconds: float = 20.0) -> int:
        return self.process.wait(seconds)

    def told(self) -> str:
        return self.errors.read_text()


Start = Callable[..., ExecutorProcess]


@pytest.fixture
def coordinator() -> Iterator[StandIn]:
    with StandIn(TOKEN) as stand_in:
        yield stand_in


@pytest.fixture
def start(tmp_path: Path, coordinator: StandIn) -> Iterator[Start]:
    (tmp_path / "jobs.py").write_text(JOBS)
    with ExitStack() as stack:

        def make(*arguments: str, **environ: str) -> ExecutorProcess:
            usual = {
                "ORTH_EXECUTOR__COORDINATORS": coordinator.url,
                "ORTH_EXECUTOR__LISTEN": "127.0.0.1:0",
                "ORTH_EXECUTOR__SHOW_TOKEN": "true",
                "ORTH_EXECUTOR__CALLBACK_RETRY": "200ms",
                "ORTH_SECURITY__ACCESS_TOKEN": TOKEN,
            }
            made = ExecutorProcess(tmp_path, *arguments, **(usual | environ))
            stack.callback(made.process.wait)
            stack.callback(made.process.kill)
            return made

        yield make


def post(port: int | None, path: str, body: dict[str, Any]) -> dict[str, Any]:
    response = urllib3.request(
        "POST",
        f"http://127.0.0.1:{port}{path}",
        body=json.dumps(body).encode(),
        headers={"ORTH-ACCESS-TOKEN": TOKEN},
        retries=False,
        timeout=10,
    )
    read: dict[str, Any] = response.json()
    return read


def run(port: int | None, log_id: int, handler: str, params: str = "", **more: object) -> dict[str, Any]:
    body = {"jobId": 1, "logId": log_id, "executorHandler": handler, "executorParams": params, "logDateTime": NOON}
    return post(port, "/run", {**body, **more})


def registered(coordinator: StandIn, count: int = 1) -> int:
    eventually(lambda: len(coordinator.of("/api/registry")) >= count, 20)
    port = coordinator.executor_port
    assert port is not None
    return port


def journalled(directory: Path) -> bytes:
    return b"".join(path.read_bytes() for path in (directory / ".orth/executor/outbox").glob("*.journal"))


def test_from_registration_to_delivery_and_a_clean_end(start: Start, coordinator: StandIn) -> None:
    executor = start()
    port = registered(coordinator)
    [registration] = coordinator.of("/api/registry")
    assert registration["registryKey"] == "process-app"
    assert [handler["name"] for handler in registration["orth"]["handlers"]] == ["hello", "wait_for_file"]
    assert run(port, 7, "hello", "you")["code"] == 200
    eventually(lambda: len(coordinator.results) == 1)
    [result] = coordinator.results
    assert (result["logId"], result["handleCode"], result["handleMsg"]) == (7, 200, "greeted you")
    assert result["incarnation"] == registration["orth"]["incarnation"]
    page = post(port, "/log", {"logId": 7, "logDateTim": NOON, "fromLineNum": 1})["data"]
    assert "INFO jobs: hello you" in page["logContent"]
    assert "printed you" in page["logContent"]
    assert page["isEnd"]
    executor.process.send_signal(signal.SIGTERM)
    assert executor.ended() == 0
    assert [body["registryValue"] for body in coordinator.of("/api/registryRemove")] == [f"http://127.0.0.1:{port}"]
    assert "Traceback" not in executor.told()


def test_the_command_line_starts_the_same_executor(start: Start, coordinator: StandIn) -> None:
    executor = start("-m", "orth", "executor", "jobs.py:app", "--app-name", "other-name")
    port = registered(coordinator)
    assert coordinator.of("/api/registry")[0]["registryKey"] == "other-name"
    assert run(port, 1, "hello")["code"] == 200
    eventually(lambda: len(coordinator.results) == 1)
    executor.process.send_signal(signal.SIGINT)
    assert executor.ended() == 0


CLOSED = """
import logging, os
from orth import Executor

app = Executor("process-app")

@app.job(isolation="process")
def isolated() -> str:
    print("printed")
    os.write(1, b"written\\n")
    return "isolated"

@app.job
def threaded() -> str:
    print("printed")
    logging.getLogger("lib").warning("careful")
    os.write(1, b"into nothing")
    os.write(2, b"into nothing")
    return "threaded"

if __name__ == "__main__":
    app.main()
"""


@pytest.mark.parametrize("how", ["jobs.py", "-m orth executor jobs.py"], ids=["program", "command"])
@pytest.mark.parametrize("closed", [(1,), (2,), (0, 1, 2)])
def test_closed_standard_descriptors_harm_nobody(
    start: Start, coordinator: StandIn, tmp_path: Path, closed: tuple[int, ...], how: str
) -> None:
    (tmp_path / "jobs.py").write_text(CLOSED)
    shut = "; ".join(f"os.close({descriptor})" for descriptor in closed)
    executor = start("-c", f"import os, sys; {shut}; os.execv(sys.executable, [sys.executable, *{how.split()!r}])")
    port = registered(coordinator)
    for log_id, handler in enumerate(("isolated", "threaded"), 1):
        assert run(port, log_id, handler, jobId=log_id)["code"] == 200
    eventually(lambda: len(coordinator.results) == 2)
    assert {result["handleMsg"]: result["handleCode"] for result in coordinator.results} == {
        "isolated": 200,
        "threaded": 200,
    }
    for log_id, texts in ((1, ("printed", "written")), (2, ("printed", "careful"))):
        page = post(port, "/log", {"logId": log_id, "logDateTim": NOON, "fromLineNum": 1})["data"]
        assert all(text in page["logContent"] for text in texts), page
    executor.process.send_signal(signal.SIGTERM)
    assert executor.ended() == 0


def test_killed_after_the_result_is_on_the_disk_its_successor_delivers_it(
    start: Start, coordinator: StandIn, tmp_path: Path
) -> None:
    coordinator.taking_results = False
    first = start()
    port = registered(coordinator)
    for log_id in range(1, 6):
        assert run(port, log_id, "hello", f"nr {log_id}")["code"] == 200
    eventually(lambda: journalled(tmp_path).count(b'"put"') == 5)
    first.process.kill()
    assert first.ended() == -signal.SIGKILL
    assert coordinator.results == []

    coordinator.taking_results = True
    second = start()
    eventually(lambda: len(coordinator.results) >= 5, 20)
    port = registered(coordinator, 2)  # results may have been faster than the second registration
    incarnations = [body["orth"]["incarnation"] for body in coordinator.of("/api/registry")]
    assert sorted(result["logId"] for result in coordinator.results) == [1, 2, 3, 4, 5]
    assert {result["handleMsg"] for result in coordinator.results} == {f"greeted nr {n}" for n in range(1, 6)}
    assert {result["incarnation"] for result in coordinator.results} == {incarnations[0]}, "they are its predecessor's"
    assert run(port, 6, "hello")["code"] == 200
    eventually(lambda: len(coordinator.results) == 6)
    second.process.send_signal(signal.SIGTERM)
    assert second.ended() == 0
    third = start()
    registered(coordinator, len(coordinator.of("/api/registry")) + 1)
    third.process.send_signal(signal.SIGTERM)
    assert third.ended() == 0
    assert len(coordinator.results) == 6, "what was delivered is not delivered again"


def test_a_repetition_for_the_killed_process_is_refused_by_its_successor(start: Start, coordinator: StandIn) -> None:
    first = start()
    port = registered(coordinator)
    incarnation = coordinator.of("/api/registry")[0]["orth"]["incarnation"]
    first.process.kill()
    first.ended()
    start(ORTH_EXECUTOR__LISTEN=f"127.0.0.1:{port}")
    registered(coordinator, 2)
    body = {"jobId": 1, "logId": 7, "executorHandler": "hello", "logDateTime": NOON, "resendTo": incarnation}
    reply = post(port, "/run", body)
    assert reply["code"] == 500
    assert "which never had it" in reply["msg"]


def test_a_running_execution_ends_before_the_process_does(start: Start, coordinator: StandIn, tmp_path: Path) -> None:
    executor = start()
    port = registered(coordinator)
    assert run(port, 1, "wait_for_file", str(tmp_path / "go"))["code"] == 200
    assert run(port, 2, "wait_for_file", str(tmp_path / "go"))["code"] == 200
    executor.process.send_signal(signal.SIGTERM)
    eventually(lambda: bool(coordinator.of("/api/registryRemove")))
    eventually(lambda: [result["logId"] for result in coordinator.results] == [2])
    assert run(port, 3, "hello")["msg"] == "Refused: this executor is stopping."
    (tmp_path / "go").touch()
    assert executor.ended() == 0
    assert [(result["logId"], result["handleCode"]) for result in coordinator.results] == [(2, 500), (1, 200)]
    assert [result.get("reason") for result in coordinator.results] == ["executor_stopped", None]


def test_a_removed_folder_loses_no_result(start: Start, coordinator: StandIn, tmp_path: Path) -> None:
    executor = start()
    port = registered(coordinator)
    shutil.rmtree(tmp_path / ".orth")
    assert run(port, 1, "hello")["code"] == 200
    eventually(lambda: [result["logId"] for result in coordinator.results] == [1])
    eventually(lambda: "the outbox is written again" in executor.told())
    assert "removed or replaced" in executor.told()
    coordinator.taking_results = False
    for log_id in (2, 3, 4):
        eventually(lambda log_id=log_id: run(port, log_id, "hello")["code"] == 200)  # type: ignore[misc]  # read at once
    eventually(lambda: journalled(tmp_path).count(b'"put"') >= 3)
    second = start()
    assert second.ended() == 1, "the lock keeps a second process out again"
    assert "Another executor uses the data folder" in second.told()
    executor.process.kill()
    executor.ended()
    coordinator.taking_results = True
    start()
    eventually(lambda: {result["logId"] for result in coordinator.results} == {1, 2, 3, 4})


def test_what_does_not_end_in_time_is_cut_short(start: Start, coordinator: StandIn, tmp_path: Path) -> None:
    executor = start(ORTH_EXECUTOR__DRAIN_TIMEOUT="200ms")
    port = registered(coordinator)
    run(port, 1, "wait_for_file", str(tmp_path / "never"))
    executor.process.send_signal(signal.SIGTERM)
    assert executor.ended() == 0
    [result] = coordinator.results
    assert result["handleCode"] == 500
    assert result["handleMsg"].startswith("Cut short")
    assert result["reason"] == "executor_stopped"


@pytest.mark.parametrize("handler", ["deaf", "deaf_children"])
def test_a_coroutine_that_swallows_its_end_costs_nobody_else_anything(
    start: Start, coordinator: StandIn, tmp_path: Path, handler: str
) -> None:
    """Collected, it would be closed in whichever thread that happens, and swallow that as well, for ever."""
    (tmp_path / "deaf.py").write_text(DEAF)
    executor = start("deaf.py", ORTH_EXECUTOR__KILL_GRACE="500ms", ORTH_EXECUTOR__DRAIN_TIMEOUT="2s")
    port = registered(coordinator)
    assert run(port, 1, handler, executorTimeout=1)["code"] == 200
    eventually(lambda: [result["handleCode"] for result in coordinator.results] == [502])
    page = {"logId": 1, "logDateTim": NOON, "fromLineNum": 1}
    eventually(lambda: "ends: 502" in post(port, "/log", page)["data"]["logContent"])  # its thread is out of it
    assert run(port, 2, "collect", jobId=2)["code"] == 200
    eventually(lambda: len(coordinator.results) == 2)
    assert coordinator.results[-1]["handleMsg"] == "collected"
    executor.process.send_signal(signal.SIGTERM)
    assert executor.ended(10) == 0


@pytest.mark.parametrize("first", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("then", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once_and_no_result_is_lost(
    start: Start, coordinator: StandIn, tmp_path: Path, first: signal.Signals, then: signal.Signals
) -> None:
    executor = start(ORTH_EXECUTOR__FINISH_QUEUE="true")
    port = registered(coordinator)
    for log_id in (1, 2):  # one that runs, and one that waits for it
        assert run(port, log_id, "wait_for_file", str(tmp_path / "never"))["code"] == 200
    eventually(lambda: "wait_for_file" in executor.told())
    executor.process.send_signal(first)
    eventually(lambda: bool(coordinator.of("/api/registryRemove")))
    assert coordinator.results == []
    begun = time.monotonic()
    executor.process.send_signal(then)
    assert executor.ended(5) == 1
    assert time.monotonic() - begun < 4
    assert coordinator.results == [], "there was no time to deliver"
    start()
    eventually(lambda: len(coordinator.results) == 2)
    told = "the executor was told twice to stop."
    messages = {result["logId"]: (result["handleCode"], result["handleMsg"]) for result in coordinator.results}
    assert messages == {1: (500, f"Cut short: {told}"), 2: (500, f"Not executed: {told}")}
    assert {result["reason"] for result in coordinator.results} == {"executor_stopped"}


def test_a_silent_coordinator_does_not_hold_up_triggers(start: Start, free_port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts in its backlog and never says a word
        silent_url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        start(
            ORTH_EXECUTOR__COORDINATORS=silent_url,
            ORTH_EXECUTOR__LISTEN=f"127.0.0.1:{free_port}",
            ORTH_EXECUTOR__TOKEN_UNTIL_REGISTERED="true",
        )

        def answers() -> bool:
            try:
                return bool(run(free_port, 1, "hello")["code"] == 200)
            except urllib3.exceptions.HTTPError:
                return False

        eventually(answers, 20)
        begun = time.monotonic()
        for log_id in range(2, 12):
            assert run(free_port, log_id, "hello")["code"] == 200
        assert time.monotonic() - begun < 15, "ten answers do not wait for the silent coordinator"


def test_nobody_gives_it_work_by_the_token_before_a_coordinator_knows_of_it(start: Start, free_port: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent_url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        start(ORTH_EXECUTOR__COORDINATORS=silent_url, ORTH_EXECUTOR__LISTEN=f"127.0.0.1:{free_port}")

        def lives() -> bool:
            try:
                return bool(post(free_port, "/beat", {})["code"] == 200)
            except urllib3.exceptions.HTTPError:
                return False

        eventually(lives, 20)
        assert "first beat" in run(free_port, 1, "hello")["msg"]
        assert "first beat" in post(free_port, "/kill", {"jobId": 1})["msg"]


@pytest.mark.parametrize(
    ("environ", "complaint"),
    [
        ({"ORTH_EXECUTOR__LISTEN": "127.0.0.1:{taken}"}, "orth: Port {taken} on 127.0.0.1 is taken."),
        ({"ORTH_EXECUTOR__DATA_DIR": "jobs.py/data"}, "orth: The data folder {here}/jobs.py/data cannot be written"),
        ({"ORTH_SECURITY__ACCESS_TOKEN": ""}, "orth: There is no access token"),
        (
            {"ORTH_EXECUTOR__LISTEN": "192.0.2.1:0", "ORTH_SECURITY__ACCESS_TOKEN": "long-enough-for-others"},
            "orth: Cannot listen on 192.0.2.1:0",
        ),
        ({"ORTH_EXECUTOR__LISTEN": "192.0.2.1:0", "ORTH_SECURITY__ACCESS_TOKEN": "short"}, "orth: executor.listen"),
        ({"ORTH_EXECUTOR__ADDRESS": "http://10.0.0.7:99999"}, "orth: "),
    ],
)
def test_what_keeps_it_from_starting_is_one_line(
    start: Start, tmp_path: Path, environ: dict[str, str], complaint: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        executor = start(**{name: value.format(taken=port) for name, value in environ.items()})
        assert executor.ended() in (1, 2)
    assert executor.told().startswith(complaint.format(taken=port, here=tmp_path))
    assert executor.told().count("\n") == 1


def test_a_second_executor_in_the_same_folder_is_refused(start: Start, coordinator: StandIn, tmp_path: Path) -> None:
    start()
    registered(coordinator)
    second = start()
    assert second.ended() == 1
    assert f"Another executor uses the data folder {tmp_path}/.orth/executor." in second.told()


@pytest.mark.parametrize(("handler", "message"), [("pool", "[0, 1, 4, 9]"), ("ended_early", "exit code -15")])
def test_a_signal_to_a_forked_child_is_not_a_signal_to_the_executor(
    start: Start, coordinator: StandIn, tmp_path: Path, handler: str, message: str
) -> None:
    (tmp_path / "forking.py").write_text(FORKING)
    executor = start("forking.py")
    port = registered(coordinator)
    for log_id in (1, 2, 3):
        assert run(port, log_id, handler)["code"] == 200
        eventually(lambda log_id=log_id: len(coordinator.results) == log_id, 20)
    assert {result["handleMsg"] for result in coordinator.results} == {message}
    assert coordinator.of("/api/registryRemove") == []
    executor.process.send_signal(signal.SIGTERM)
    assert executor.ended() == 0, "the first signal it has had"


@pytest.mark.parametrize("where", ["", "_from_a_loop", "_from_a_pool", "_from_a_loop_s_pool", "_from_a_thread"])
@pytest.mark.parametrize(("how", "code"), [("return", 0), ("raise", 1), ("exit", 3)])
def test_a_forked_child_does_not_go_on_as_the_executor(
    start: Start, coordinator: StandIn, tmp_path: Path, where: str, how: str, code: int
) -> None:
    (tmp_path / "forking.py").write_text(FORKING)
    executor = start("forking.py")
    port = registered(coordinator)
    assert run(port, 1, f"comes_back_twice{where}", how)["code"] == 200
    eventually(lambda: len(coordinator.results) == 1, 20)
    assert run(port, 2, "pool")["code"] == 200
    eventually(lambda: len(coordinator.results) == 2, 20)
    assert coordinator.results[0]["handleMsg"] == f"the executor saw {code}"
    assert "the child\n" in executor.told()
    assert ("ValueError: only in the child" in executor.told()) == (how == "raise")
    executor.process.send_signal(signal.SIGTERM)
    assert executor.ended() == 0


def test_nor_does_one_forked_in_a_thread_that_inherits_nothing(
    start: Start, coordinator: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "forking.py").write_text(FORKING)
    start("forking.py")
    assert run(registered(coordinator), 1, "comes_back_twice_from_outside", "exit")["code"] == 200
    eventually(lambda: len(coordinator.results) == 1, 20)
    assert coordinator.results[0]["handleMsg"] == "the executor saw 3"


@pytest.mark.parametrize("handler", ["ForkingAtTheEnd", "ForkingAtTheEndOfALoop"])
def test_a_child_forked_in_destroy_does_not_go_on_as_the_executor(
    start: Start, coordinator: StandIn, tmp_path: Path, handler: str
) -> None:
    (tmp_path / "forking.py").write_text(FORKING)
    executor = start("forking.py")
    assert run(registered(coordinator), 1, handler)["code"] == 200
    eventually(lambda: len(coordinator.results) == 1, 20)
    executor.process.send_signal(signal.SIGTERM)
    assert executor.ended() == 0
    assert (tmp_path / "seen").read_text() == "1"


def test_a_forked_child_does_not_keep_the_successor_of_a_killed_executor_out(
    start: Start, coordinator: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "forking.py").write_text(FORKING)
    first = start("forking.py")
    port = registered(coordinator)
    assert run(port, 1, "leaves_a_child", str(tmp_path / "child"))["code"] == 200
    eventually(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text() != "")
    child = int((tmp_path / "child").read_text())
    try:
        first.process.kill()
        first.ended()
        second = start(ORTH_EXECUTOR__LISTEN=f"127.0.0.1:{port}")
        registered(coordinator, 2)
        assert run(port, 2, "hello")["code"] == 200
        second.process.send_signal(signal.SIGTERM)
        assert second.ended() == 0
        assert Path(f"/proc/{child}").exists(), "it lived all the while"
    finally:
        os.kill(child, signal.SIGKILL)


def test_a_process_tells_those_it_turns_away_why(start: Start, coordinator: StandIn) -> None:
    """On the event loop that processes run on, which need not be the one of the tests."""
    start()
    eventually(lambda: coordinator.executor_port is not None, 20)
    url = f"http://127.0.0.1:{coordinator.executor_port}/run"
    known, foreign = {"ORTH-ACCESS-TOKEN": TOKEN}, {"XXL-JOB-ACCESS-TOKEN": "wrong"}
    large = b" " * (6 * 1024 * 1024)
    pieces = (large[at : at + 65_536] for at in range(0, len(large), 65_536))
    websocket = known | {"Connection": "Upgrade", "Upgrade": "websocket"}
    for status, headers, body in (
        (413, known, large),
        (413, known, pieces),
        (200, foreign, large[: 1024 * 1024]),
        (400, websocket, b""),
    ):
        answer = urllib3.request("POST", url, headers=headers, body=body, retries=False, timeout=20)
        assert (answer.status, answer.json()["code"]) == (status, 500)
        assert answer.json()["msg"]
