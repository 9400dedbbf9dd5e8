"""An executor that the system gives no more threads: it refuses what needs one, and everything else goes on."""

import signal
from pathlib import Path

from tests.executor.bench import NOON, eventually
from tests.executor.stand_in import StandIn
from tests.executor.test_process import Start, coordinator, post, registered, run, start

__all__ = ["coordinator", "start"]

JOBS = """
import asyncio, threading
from pathlib import Path
from orth import Executor

app = Executor("process-app")

@app.job
def exhaust() -> None:
    threading.stack_size(1 << 46)  # no system has room for such a stack: from here on no thread can be started

@app.job
def hello(name: str = "world") -> str:
    return f"greeted {name}"[:100]

@app.job
async def hello_later() -> str:
    await asyncio.sleep(0)
    return "greeted"

@app.job
def relax() -> None:
    threading.stack_size(0)

app.main()
"""


def test_nothing_that_was_accepted_is_lost_and_the_process_lives(
    start: Start, coordinator: StandIn, tmp_path: Path
) -> None:
    (tmp_path / "jobs.py").write_text(JOBS)
    executor = start(ORTH_EXECUTOR__HEARTBEAT="1s")
    port = registered(coordinator)
    for job_id, handler in enumerate(("hello", "relax", "hello_later", "exhaust"), 1):
        assert run(port, job_id, handler, jobId=job_id)["code"] == 200
        eventually(lambda: len(coordinator.results) == job_id)  # noqa: B023  # called at once

    refused = run(port, 9, "hello", jobId=5)
    assert refused["msg"] == "Refused: no thread can be started for job 5: can't start new thread."
    beats = len(coordinator.of("/api/registry"))
    several = [{"jobId": 1, "logId": 10 + n, "executorHandler": "hello", "logDateTime": NOON} for n in range(20)]
    answers = post(port, "/runs", {"requests": several, "padding": "x" * 40_000})["data"]["replies"]
    assert [answer["code"] for answer in answers] == [200] * 20
    assert run(port, 40, "hello_later", jobId=3)["code"] == 200
    eventually(lambda: {*range(10, 30), 40} <= {result["logId"] for result in coordinator.results})
    eventually(lambda: len(coordinator.of("/api/registry")) > beats + 1)
    assert {result["handleCode"] for result in coordinator.results} == {200}

    assert run(port, 41, "relax", jobId=2)["code"] == 200
    eventually(lambda: 41 in {result["logId"] for result in coordinator.results})
    assert run(port, 42, "hello", jobId=5)["code"] == 200, "there are threads again"
    executor.process.send_signal(signal.SIGTERM)
    assert executor.ended() == 0
    assert coordinator.of("/api/registryRemove")
    assert "Traceback" not in executor.told()


def test_it_stops_in_good_order_without_another_thread(start: Start, coordinator: StandIn, tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(JOBS)
    executor = start()
    port = registered(coordinator)
    assert run(port, 1, "exhaust")["code"] == 200
    eventually(lambda: len(coordinator.results) == 1)
    executor.process.send_signal(signal.SIGTERM)
    assert executor.ended() == 0
    assert coordinator.of("/api/registryRemove")
