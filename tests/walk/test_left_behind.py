"""A handler that could not be ended is told of where its execution is looked at, until it has returned."""

from pathlib import Path
from typing import Any

import pytest

from tests.walk.processes import Api, Site, eventually
from tests.walk.test_queue_walk import QUICK, job, trigger

JOBS = """
import time
from pathlib import Path

from orth import Executor

app = Executor("walk-tests")


@app.job("deaf")
def deaf(until: str) -> None:
    while not Path(until).exists():
        try:
            time.sleep(0.05)
        except BaseException:
            pass
"""


def why(api: Api, execution_id: int) -> dict[str, Any]:
    told: dict[str, Any] = api.call("GET", f"/api/v1/executions/{execution_id}/why")
    return told


@pytest.mark.parametrize("transport", ["push", "queue"])
def test_it_is_told_at_once_and_until_it_has_returned(tmp_path: Path, transport: str) -> None:
    (tmp_path / "jobs.py").write_text(JOBS)
    beats = {**QUICK, "ORTH_EXECUTOR__QUEUE_HEARTBEAT": "2s", "ORTH_CLUSTER__DEAD_AFTER": "60s"}  # pushed: every 30 s
    with Site(tmp_path, ORTH_CHANNELS__URL="memory://", ORTH_EXECUTOR__KILL_GRACE="300ms", **beats) as site:
        site.coordinator()
        site.executor(tmp_path / "jobs.py", ORTH_EXECUTOR__TRANSPORT=transport, ORTH_EXECUTOR__QUEUE="a")
        api, release = site.api(), tmp_path / "released"
        queue = {"executor_queue": "a"} if transport == "queue" else {}
        one = trigger(api, job(api, "deaf", executor_timeout=1, executor_param=str(release), **queue))
        told = eventually(lambda: why(api, one) if why(api, one)["next_code"] == "still_works" else None, within=10)
        shown = api.call("GET", f"/api/v1/executions/{one}")
        assert shown["status"] == "timeout"
        address, since = shown["left_behind"]["address"], shown["left_behind"]["since"]
        assert address == shown["executor_address"]
        assert f"could not be ended and still works on {address} since {since}" in told["next"]
        assert [step["code"] for step in told["steps"]][-2:] == ["timed_out", "left_behind"]
        release.touch()
        eventually(lambda: why(api, one)["next_code"] == "mend_time", within=10)
        assert api.call("GET", f"/api/v1/executions/{one}")["left_behind"] is None
