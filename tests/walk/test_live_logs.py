"""A log is followed live: real coordinator, real executor, real clock."""

import json
import time
from pathlib import Path

import urllib3

from tests.walk.processes import Site
from tests.walk.test_walk import job_of

JOBS = Path(__file__).parent / "talking_jobs.py"
LINES = 150
BAR = 1.0


def test_a_line_is_seen_within_a_second_of_being_written(tmp_path: Path) -> None:
    with Site(tmp_path) as site:
        site.coordinator()
        site.executor(JOBS)
        api = site.api()
        job_id = job_of(site, "talk", executor_param=json.dumps({"lines": LINES, "pause": 0.03}))
        (one,) = api.call("POST", f"/api/v1/jobs/{job_id}/trigger", expect=202)["execution_ids"]
        took, ended = followed(site, api._signed_in(), one)
    assert ended["status"] == "success"
    assert len(took) == LINES
    late = sorted(took)[int(LINES * 0.95)]
    assert late <= BAR, f"p95 {late:.3f} s"


def followed(site: Site, token: str, one: int) -> tuple[list[float], dict[str, object]]:
    """Seconds from the writing of each line to its arrival here, and what the end said."""
    pool = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=60))
    headers = {"Authorization": f"Bearer {token}"}
    answer = pool.request(
        "GET", f"{site.url}/api/v1/executions/{one}/log/stream", headers=headers, preload_content=False
    )
    assert answer.status == 200
    took: list[float] = []
    name, rest = "", b""
    for part in answer.stream(65_536):
        now = time.time_ns()
        *lines, rest = (rest + part).split(b"\n")
        for line in lines:
            kind, _, value = line.decode().partition(": ")
            if kind == "event":
                name = value
            elif kind == "data" and name == "end":
                return took, json.loads(value)
            elif kind == "data" and name == "lines":
                texts = [text.split() for text in json.loads(value)["content"].split("\n") if " written " in text]
                took += [(now - int(words[words.index("written") + 1])) / 1e9 for words in texts]
    raise AssertionError("the stream broke off")
