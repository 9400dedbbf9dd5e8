"""An executor inside somebody else's program: it serves, and leaves everything of the program's as it was."""

import asyncio
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3
import uvicorn

from orth import Executor, JobContext
from orth.errors import BadSettings, CannotStart
from orth.settings import Settings, load_settings
from tests.executor.bench import NOON, TOKEN, eventually
from tests.executor.stand_in import StandIn

MakeSettings = Callable[..., Settings]


@pytest.fixture
def coordinator() -> Iterator[StandIn]:
    with StandIn(TOKEN) as stand_in:
        yield stand_in


@pytest.fixture
def settings(tmp_path: Path, coordinator: StandIn) -> MakeSettings:
    def make(**options: object) -> Settings:
        usual = {
            "executor.coordinators": coordinator.url,
            "executor.listen": "127.0.0.1:0",
            "executor.show_token": "true",
            "executor.data_dir": str(tmp_path / "data"),
            "executor.drain_timeout": "5s",
        }
        given = {name.replace("__", "."): value for name, value in options.items()}
        return load_settings(usual | given, environ={"ORTH_SECURITY__ACCESS_TOKEN": TOKEN}, cwd=tmp_path)

    return make


@pytest.fixture
def host() -> Iterator[Executor]:
    """An executor with some jobs; stopped after the test, whatever happened."""
    app = Executor("guest-app")

    @app.job
    def hello(name: str = "world") -> str:
        print(f"printed {name}")
        logging.getLogger("jobs").warning("logged %s", name)
        return f"greeted {name}"

    @app.job
    def where(ctx: JobContext) -> str:
        return f"{threading.current_thread() is threading.main_thread()} {ctx.executor}"

    @app.job
    async def nap() -> str:
        await asyncio.sleep(0)
        return "rested"

    yield app
    app.stop()


def post(url: str, handler: str, log_id: int, params: str = "") -> Any:
    body = {"jobId": log_id, "logId": log_id, "executorHandler": handler, "executorParams": params, "logDateTime": NOON}
    return call(f"{url}/run", body)


def log_of(url: str, log_id: int) -> str:
    page = call(f"{url}/log", {"logId": log_id, "logDateTim": NOON, "fromLineNum": 1})
    return str(page["content"]["logContent"])


def call(url: str, body: dict[str, Any]) -> Any:
    return urllib3.request(
        "POST",
        url,
        body=json.dumps(body).encode(),
        headers={"ORTH-ACCESS-TOKEN": TOKEN},
        retries=False,
        timeout=10,
    ).json()


def surroundings() -> tuple[object, ...]:
    """What belongs to the program."""
    loggers = [logging.getLogger(name) for name in (None, "uvicorn", "uvicorn.error", "uvicorn.access", "orth")]
    return (
        [(logger.level, list(logger.handlers), logger.propagate, logger.disabled) for logger in loggers],
        [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGCHLD)],
        sys.stdout,
        sys.stderr,
        (threading.Thread.start, logging.Logger.callHandlers, logging.Logger.isEnabledFor),
    )


def test_it_serves_and_stops_and_leaves_no_trace(host: Executor, settings: MakeSettings, coordinator: StandIn) -> None:
    before = surroundings()
    threads = set(threading.enumerate())
    url = host.start(settings())
    assert post(url, "hello", 1, "Ann")["code"] == 200
    assert post(url, "where", 2)["code"] == 200
    assert post(url, "nap", 3)["code"] == 200
    eventually(lambda: len(coordinator.results) == 3)
    messages = {result["logId"]: result["handleMsg"] for result in coordinator.results}
    assert messages == {1: "greeted Ann", 2: "False guest-app", 3: "rested"}
    new = set(threading.enumerate()) - threads
    assert [thread.name for thread in new if "watch" in thread.name] == ["orth-loop-watch"]
    host.stop()
    assert coordinator.of("/api/registryRemove")
    assert surroundings() == before
    eventually(lambda: not [it for it in set(threading.enumerate()) - threads if it.name.startswith("orth")])
    with pytest.raises(urllib3.exceptions.HTTPError):
        post(url, "hello", 4)


def test_while_it_runs_nothing_of_the_program_s_is_touched(host: Executor, settings: MakeSettings) -> None:
    host.capture_stdout = False
    before = surroundings()
    host.start(settings())
    assert surroundings()[:-1] == before[:-1], "all but how threads start and records pass"


def test_a_second_start_is_an_error_until_the_stop(
    host: Executor, settings: MakeSettings, coordinator: StandIn
) -> None:
    host.start(settings())
    with pytest.raises(CannotStart, match=r"started already\. Call stop\(\) before another start\(\)"):
        host.start(settings())
    eventually(lambda: bool(coordinator.of("/api/registry")))
    host.stop()
    host.stop()
    url = host.start(settings())
    assert post(url, "hello", 1)["code"] == 200
    eventually(lambda: len(coordinator.results) == 1)
    incarnations = {body["orth"]["incarnation"] for body in coordinator.of("/api/registry")}
    assert len(incarnations) == 2, "the second start is another incarnation"


def test_the_program_may_change_its_folder(
    host: Executor, settings: MakeSettings, coordinator: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = host.start(settings(executor__data_dir="data"))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.chdir(elsewhere)
    assert post(url, "hello", 1, "Ann")["code"] == 200
    eventually(lambda: len(coordinator.results) == 1)
    assert "printed Ann" in log_of(url, 1)
    host.stop()
    assert list(elsewhere.iterdir()) == []


def test_stopping_lets_what_runs_end(host: Executor, settings: MakeSettings, coordinator: StandIn) -> None:
    inside, go_on = threading.Event(), threading.Event()

    @host.job
    def slow() -> str:
        inside.set()
        go_on.wait(10)
        return "done in peace"

    url = host.start(settings())
    assert post(url, "slow", 1)["code"] == 200
    assert inside.wait(10)
    stopper = threading.Thread(target=host.stop)
    stopper.start()
    eventually(lambda: bool(coordinator.of("/api/registryRemove")))
    assert stopper.is_alive()
    go_on.set()
    stopper.join(10)
    assert [result["handleMsg"] for result in coordinator.results] == ["done in peace"]


async def test_under_a_running_event_loop(host: Executor, settings: MakeSettings, coordinator: StandIn) -> None:
    mine = asyncio.get_running_loop()
    url = host.start(settings())
    assert asyncio.get_running_loop() is mine
    answer = await asyncio.to_thread(post, url, "hello", 1)
    assert answer["code"] == 200
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.001)

    ticking = asyncio.create_task(tick())
    await asyncio.to_thread(host.stop)
    ticking.cancel()
    assert ticks > 1, "the program's loop goes on meanwhile"
    assert len(coordinator.results) == 1


async def test_beside_a_web_framework_s_own_server(
    host: Executor, settings: MakeSettings, caplog: pytest.LogCaptureFixture
) -> None:
    async def site(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"the site"})

    caplog.set_level(logging.INFO, "uvicorn.access")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(site, log_config=None, lifespan="off")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listening]))
        try:
            url = await asyncio.to_thread(host.start, settings())
            await asyncio.to_thread(post, url, "hello", 1)
            page = f"http://127.0.0.1:{listening.getsockname()[1]}/page"
            answer = await asyncio.to_thread(urllib3.request, "GET", page, retries=False, timeout=10)
            assert answer.data == b"the site"
            await asyncio.to_thread(host.stop)
        finally:
            server.should_exit = True
            await serving
    access = [record.getMessage() for record in caplog.records if record.name == "uvicorn.access"]
    assert len(access) == 1, access
    assert "/page" in access[0], "the site's own access log works, and has nothing of ours"


def test_what_keeps_it_from_starting_is_raised_in_the_callers_thread(
    host: Executor, settings: MakeSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(CannotStart, match="is taken"):
        host.start(settings(executor__listen=f"127.0.0.1:{taken.getsockname()[1]}"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORTH_EXECUTOR__NO_SUCH", "1")
    with pytest.raises(BadSettings):
        host.start()
    monkeypatch.delenv("ORTH_EXECUTOR__NO_SUCH")
    assert host.start(settings()).startswith("http://127.0.0.1:"), "a failed start is no start"


def test_what_keeps_the_helper_processes_from_starting_is_raised_too(host: Executor, settings: MakeSettings) -> None:
    inside = Executor("guest-app")
    inside.job("isolated", isolation="process")(lambda: None)
    with pytest.raises(CannotStart, match="not at the top level of any module"):
        inside.start(settings())
    inside.stop()
    host.start(settings())  # nothing is left of it: port, lock and threads


PROGRAM = """
from orth import Executor

app = Executor("program")

@app.job(isolation="process")
def hello() -> str:
    return "hello"

print("it runs at", app.start())
"""


def test_a_program_that_starts_it_whenever_it_is_imported_is_told(coordinator: StandIn, tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    said = {
        "ORTH_EXECUTOR__COORDINATORS": coordinator.url,
        "ORTH_EXECUTOR__LISTEN": "127.0.0.1:0",
        "ORTH_SECURITY__ACCESS_TOKEN": TOKEN,
    }
    ran = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env=os.environ | said,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "program.py:app starts an executor when it is imported" in ran.stderr


def test_a_crash_is_raised_at_the_stop(host: Executor, settings: MakeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    from orth.executor.time_limits import TimeLimits

    async def broken(self: TimeLimits) -> float:
        raise ZeroDivisionError("a bug of ours")

    monkeypatch.setattr(TimeLimits, "turn", broken)
    host.start(settings())
    eventually(lambda: not any(thread.name == "orth-executor" for thread in threading.enumerate()))
    with pytest.raises(BaseExceptionGroup) as raised:
        host.stop()
    assert raised.group_contains(ZeroDivisionError)


def test_starting_is_quick(host: Executor, settings: MakeSettings) -> None:
    made = settings()
    began = time.monotonic()
    host.start(made)
    assert time.monotonic() - began < 5, "a start under somebody's event loop must not hold it up"
