"""The reference of ``executor_run`` and ``precision``: taskiq with Redis, in an environment of its own.

``taskiq_rate`` is how fast one worker drains a stream. The tasks are in it before the worker starts, and the worker
itself takes the time between its first task and its last, so that neither its start nor its sender counts.

``taskiq_starts`` is when the tasks of a scheduler start: every schedule has an interval of a second, all of them are
due at the same instant, and each task takes its time itself.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TASKIQ = "0.12.6"
PACKAGES = (f"taskiq=={TASKIQ}", "taskiq-redis==1.2.2")
_INSTALL_SECONDS = 240.0
_DRAIN_SECONDS = 180.0
_WARM_SECONDS = 3

BROKER = """
import os, time
from taskiq_redis import RedisStreamBroker

broker = RedisStreamBroker(url=os.environ["BENCH_REDIS"])
count = int(os.environ["BENCH_COUNT"])
done = 0
began = 0.0


@broker.task
async def noop() -> None:
    global done, began
    began = began or time.perf_counter()
    done += 1
    if done == count:
        took = time.perf_counter() - began
        with open(os.environ["BENCH_RESULT"] + ".part", "w") as file:
            file.write(str(count / took))
        os.rename(os.environ["BENCH_RESULT"] + ".part", os.environ["BENCH_RESULT"])


async def fill() -> None:
    await broker.startup()
    for _ in range(count):
        await noop.kiq()
    await broker.shutdown()
"""
# Imported and not run: a task is named after its module, and the worker imports it too.
FILL = "import asyncio, bench_broker; asyncio.run(bench_broker.fill())"


SCHEDULER = """
import os, time
from taskiq import ScheduledTask, TaskiqScheduler
from taskiq.abc.schedule_source import ScheduleSource
from taskiq_redis import RedisStreamBroker

broker = RedisStreamBroker(url=os.environ["BENCH_REDIS"])
count = int(os.environ["BENCH_COUNT"])
record = os.open(os.environ["BENCH_RESULT"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


@broker.task(task_name="note")
async def note(number: int) -> None:
    os.write(record, b"%d %d\\n" % (number, time.time_ns()))


class Schedules(ScheduleSource):
    async def get_schedules(self) -> list[ScheduledTask]:
        return [
            ScheduledTask(
                task_name="note", labels={}, args=[number], kwargs={}, schedule_id=str(number), interval=1
            )
            for number in range(count)
        ]


scheduler = TaskiqScheduler(broker, [Schedules()])
"""


class NotMeasured(Exception):
    """Why there is no reference here."""


def taskiq_rate(count: int) -> float:
    """Tasks per second of one worker; ``NotMeasured`` where it or Redis cannot be had."""
    with _redis() as (folder, url):
        return _drained(_environment(), folder, url, count)


def taskiq_starts(count: int, seconds: int) -> dict[int, list[int]]:
    """By schedule, when its tasks started (ns), over ``seconds``; ``NotMeasured`` as above."""
    python = _environment()
    with _redis() as (folder, url):
        (folder / "bench_schedules.py").write_text(SCHEDULER)
        result = folder / "starts"
        environment = _environment_of(folder, url, count, result)
        command, quiet = str(python.with_name("taskiq")), ["--log-level", "ERROR"]
        worker = [command, "worker", "bench_schedules:broker", "--workers", "1", *quiet]
        scheduler = [command, "scheduler", "bench_schedules:scheduler", *quiet]
        started = [subprocess.Popen(one, cwd=folder, env=environment) for one in (worker, scheduler)]
        try:
            _wait_for(result.exists, "its first task did not start")
            time.sleep(_WARM_SECONDS + seconds)
        finally:
            for process in reversed(started):
                process.terminate()
            for process in started:
                process.wait(30)
        noted = [tuple(map(int, line.split())) for line in result.read_text().splitlines()]
    warm = min(start for _number, start in noted) + _WARM_SECONDS * 1_000_000_000
    starts: dict[int, list[int]] = {}
    for number, start in noted:
        if start >= warm:
            starts.setdefault(number, []).append(start)
    return starts


@contextmanager
def _redis() -> Iterator[tuple[Path, str]]:
    """A private Redis, and a folder for what goes with it."""
    server = shutil.which("redis-server") or shutil.which("valkey-server")
    if server is None:
        raise NotMeasured("there is no redis-server")
    with tempfile.TemporaryDirectory() as folder:
        port = _free_port()
        redis = subprocess.Popen(
            [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL,
        )
        try:
            _wait_for_port(port)
            yield Path(folder), f"redis://127.0.0.1:{port}/0"
        finally:
            redis.terminate()
            redis.wait(30)


def _environment() -> Path:
    """The interpreter of the private environment, made when missing."""
    folder = Path(tempfile.gettempdir()) / f"orth-bench-taskiq-{TASKIQ}-{os.getuid()}"
    python = folder / "bin" / "python"
    if (folder / "complete").exists():
        return python
    try:
        venv.create(folder, with_pip=True, clear=True)
        install = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *PACKAGES]
        subprocess.run(install, check=True, capture_output=True, timeout=_INSTALL_SECONDS)
    except (OSError, subprocess.SubprocessError) as error:
        raise NotMeasured(f"taskiq cannot be installed ({type(error).__name__})") from None
    (folder / "complete").touch()
    return python


def _environment_of(folder: Path, redis_url: str, count: int, result: Path) -> dict[str, str]:
    return {
        **os.environ,
        "PYTHONPATH": str(folder),
        "BENCH_REDIS": redis_url,
        "BENCH_COUNT": str(count),
        "BENCH_RESULT": str(result),
    }


def _drained(python: Path, folder: Path, redis_url: str, count: int) -> float:
    (folder / "bench_broker.py").write_text(BROKER)
    result = folder / "rate"
    environment = _environment_of(folder, redis_url, count, result)
    fill = subprocess.run([str(python), "-c", FILL], cwd=folder, env=environment, timeout=_DRAIN_SECONDS)
    if fill.returncode != 0:
        raise NotMeasured("its tasks could not be sent")
    worker = subprocess.Popen(
        [str(python.with_name("taskiq")), "worker", "bench_broker:broker", "--workers", "1", "--log-level", "WARNING"],
        cwd=folder,
        env=environment,
        stderr=subprocess.PIPE,
    )
    try:
        deadline = time.monotonic() + _DRAIN_SECONDS
        while not result.exists():
            if worker.poll() is not None or time.monotonic() > deadline:
                raise NotMeasured("its worker did not drain the stream")
            time.sleep(0.05)
        return float(result.read_text())
    finally:
        worker.terminate()
        worker.wait(30)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_for(condition: Callable[[], bool], otherwise: str) -> None:
    deadline = time.monotonic() + _DRAIN_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise NotMeasured(otherwise)
        time.sleep(0.05)


def _wait_for_port(port: int) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise NotMeasured("redis-server did not start")


if __name__ == "__main__":
    print(f"{taskiq_rate(int(sys.argv[1])):.0f} /s")
