"""The reference of ``executor_run``: how fast one taskiq worker drains a Redis stream.

The tasks are in the stream before the worker starts, and the worker itself takes the time between its first task and
its last, so that neither its start nor its sender counts.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

TASKIQ = "0.12.6"
PACKAGES = (f"taskiq=={TASKIQ}", "taskiq-redis==1.2.2")
_INSTALL_SECONDS = 240.0
_DRAIN_SECONDS = 180.0

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


class NotMeasured(Exception):
    """Why there is no reference here."""


def taskiq_rate(count: int) -> float:
    """Tasks per second of one worker; ``NotMeasured`` where it or Redis cannot be had."""
    server = shutil.which("redis-server") or shutil.which("valkey-server")
    if server is None:
        raise NotMeasured("there is no redis-server")
    python = _environment()
    with tempfile.TemporaryDirectory() as folder:
        port = _free_port()
        redis = subprocess.Popen(
            [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", folder],
            stdout=subprocess.DEVNULL,
        )
        try:
            _wait_for_port(port)
            return _drained(python, Path(folder), f"redis://127.0.0.1:{port}/0", count)
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


def _drained(python: Path, folder: Path, redis_url: str, count: int) -> float:
    (folder / "bench_broker.py").write_text(BROKER)
    result = folder / "rate"
    environment = {
        **os.environ,
        "PYTHONPATH": str(folder),
        "BENCH_REDIS": redis_url,
        "BENCH_COUNT": str(count),
        "BENCH_RESULT": str(result),
    }
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
