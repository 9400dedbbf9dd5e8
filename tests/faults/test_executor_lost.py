"""What an executor had when it was killed is lost within seconds, also when nobody comes in its place."""

import json
import time
from pathlib import Path
from typing import Any

from tests.walk.processes import Api, Site, eventually

JOBS = Path(__file__).parent / "witness_jobs.py"
PATIENCE = 3


def test_what_a_killed_executor_had_is_lost_within_seconds(tmp_path: Path) -> None:
    with Site(tmp_path, NOTES=str(tmp_path / "notes")) as site:
        site.coordinator()
        executor = site.executor(JOBS)
        api = site.api()
        job_id = _long_job(api)
        (first,) = api.call("POST", f"/api/v1/jobs/{job_id}/trigger")["execution_ids"]
        eventually(lambda: _shown(api, first)["status"] == "pending", what="the executor to take it")
        executor.popen.kill()
        executor.popen.wait(10)
        began = time.monotonic()
        eventually(lambda: _shown(api, first)["status"] == "failed", what="the loss to be noticed")
        took = time.monotonic() - began
        lost = _shown(api, first)
        assert lost["handle_msg"] == "Result lost: nobody listens at the executor's address any more."
        assert PATIENCE - 1 <= took <= PATIENCE + 12, "seconds, not ten minutes"
        (letter,) = api.call("GET", f"/api/v1/dead-letters?job_id={job_id}")["items"]
        assert (letter["execution_id"], letter["reason_code"]) == (first, "result_lost")
        site.executor(JOBS)
        eventually(lambda: len(api.call("GET", "/api/v1/executors")["items"]) >= 1, what="another executor")
        replayed = api.call("POST", "/api/v1/dead-letters/replay", {"ids": [first]})
        (again,) = replayed["execution_ids"]
        eventually(lambda: _shown(api, again)["status"] == "pending", what="the replay to be taken")
        api.call("POST", f"/api/v1/executions/{again}/kill")


def _long_job(api: Api) -> int:
    group = api.call("POST", "/api/v1/groups", {"app_name": "walk-tests"})
    body = {
        "job_group": group["id"],
        "job_desc": "takes long",
        "executor_handler": "witness",
        "executor_param": json.dumps({"seconds": 60}),
        "lost_after": PATIENCE,
    }
    return int(api.call("POST", "/api/v1/jobs", body)["id"])


def _shown(api: Api, execution_id: int) -> dict[str, Any]:
    found: dict[str, Any] = api.call("GET", f"/api/v1/executions/{execution_id}")
    return found
