"""How far an execution is can be seen while it runs, whichever way it came to its executor."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.walk.processes import Site, eventually
from tests.walk.test_queue_walk import JOBS, QUICK, job, trigger, until


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Site(tmp_path, NOTES=str(tmp_path / "notes"), ORTH_CHANNELS__URL="memory://", **QUICK) as site:
        site.coordinator()
        yield site


@pytest.mark.parametrize("transport", ["push", "queue"])
def test_progress_is_shown_while_it_runs_and_gone_when_it_is_over(site: Site, transport: str) -> None:
    api = site.api()
    queue = {"ORTH_EXECUTOR__TRANSPORT": "queue", "ORTH_EXECUTOR__QUEUE": "a"} if transport == "queue" else {}
    executor = site.executor(JOBS, "executor-1", **queue)
    eventually(lambda: api.items("/api/v1/executors"), what="the executor in the list")
    one = trigger(api, job(api, "halfway", **({"executor_queue": "a"} if queue else {})))

    def shown() -> dict[str, Any] | None:
        told: dict[str, Any] | None = api.call("GET", f"/api/v1/executions/{one}")["progress"]
        return told if told and told["done"] == 2 else None

    told = eventually(shown, what="its progress")
    assert told.keys() == {"done", "total", "message", "eta"}
    assert (told["total"], told["message"]) == (4, "rows")
    assert "progress" not in api.items("/api/v1/executions")[0]
    api.call("POST", f"/api/v1/executions/{one}/kill")
    assert until(api, one, status="failed")["progress"] is None
    assert executor.end() == 0


def test_an_executor_that_is_gone_is_not_waited_for(site: Site) -> None:
    api = site.api()
    executor = site.executor(JOBS, "executor-1")
    eventually(lambda: api.items("/api/v1/executors"), what="the executor in the list")
    one = trigger(api, job(api, "halfway"))
    eventually(lambda: api.call("GET", f"/api/v1/executions/{one}")["progress"], what="its progress")
    executor.end(signal.SIGKILL)
    began = time.monotonic()
    assert api.call("GET", f"/api/v1/executions/{one}")["progress"] is None
    assert time.monotonic() - began < 5
