"""Executions of one job never overlap, whatever the executors: real processes, and handlers that record their spans."""

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from tests.walk.processes import Api, Process, Site, eventually
from tests.walk.spans import overlaps, spans_of

JOBS = Path(__file__).parent / "span_jobs.py"
ROUTES = (
    "FIRST", "LAST", "ROUND", "RANDOM", "CONSISTENT_HASH", "LEAST_FREQUENTLY_USED", "LEAST_RECENTLY_USED",
    "LEAST_LOADED", "FAILOVER", "BUSYOVER",
)  # fmt: skip
BLOCKS = ("SERIAL_EXECUTION", "DISCARD_LATER", "COVER_EARLY")


def three_executors(site: Site) -> list[Process]:
    return [site.executor(JOBS, f"executor-{number}") for number in (1, 2, 3)]


def job(api: Api, every: str = "1s", seconds: float = 1.3, stubborn: float = 0.0, **fields: Any) -> int:
    """A started job of the handler ``span``."""
    groups = {one["app_name"]: one["id"] for one in api.items("/api/v1/groups")}
    body = {
        "job_group": groups.get("walk-tests") or api.call("POST", "/api/v1/groups", {"app_name": "walk-tests"})["id"],
        "job_desc": "span",
        "schedule_type": "FIX_RATE",
        "schedule_conf": every,
        "executor_handler": "span",
        "executor_param": json.dumps({"seconds": seconds, "stubborn": stubborn}),
        **fields,
    }
    made = int(api.call("POST", "/api/v1/jobs", body)["id"])
    api.call("POST", f"/api/v1/jobs/{made}/start")
    return made


def ran(notes: Path, job_id: int) -> int:
    return sum(len(spans) for (one, _shard), spans in spans_of(notes).items() if one == job_id)


@pytest.mark.parametrize("overlap", ["cluster", "executor"])
def test_a_job_with_the_defaults_overlaps_only_where_it_may(tmp_path: Path, overlap: str) -> None:
    notes = tmp_path / "notes"
    with Site(tmp_path, NOTES=str(notes)) as site:
        site.coordinator()
        three_executors(site)
        made = job(site.api(), overlap=overlap, seconds=2.5)
        eventually(lambda: ran(notes, made) >= 4, what="some runs")
        waiting = [one for one in site.api().items(f"/api/v1/executions?job_id={made}") if one["status"] == "init"]
        if overlap == "cluster":
            assert overlaps(spans_of(notes)) == []
            assert {one["reason_code"] for one in waiting} >= {"busy_elsewhere"}
        else:
            assert overlaps(spans_of(notes)) != []


def test_no_strategy_lets_a_job_overlap(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with Site(tmp_path, NOTES=str(notes)) as site:
        site.coordinator()
        three_executors(site)
        api = site.api()
        jobs = {
            job(api, executor_route_strategy=route, executor_block_strategy=block): (route, block)
            for block in BLOCKS
            for route in ROUTES
        }
        broadcast = job(api, executor_route_strategy="SHARDING_BROADCAST")
        eventually(
            lambda: all(ran(notes, one) >= 3 for one in (*jobs, broadcast)), within=90, what="three runs of each"
        )
        found = spans_of(notes)
        assert {jobs.get(one, "broadcast") for one in _jobs_of(overlaps(found), found)} == set()
        assert {len({span.process for span in spans}) for (one, _), spans in found.items() if one == broadcast} == {1}
        discarded = {one["job_id"] for one in api.items("/api/v1/executions") if one["reason_code"] == "discarded"}
        assert discarded == {one for one, (_route, block) in jobs.items() if block == "DISCARD_LATER"}


def _jobs_of(pairs: list[Any], found: Any) -> set[int]:
    bad = {span.execution for pair in pairs for span in pair}
    return {one for (one, _shard), spans in found.items() if any(span.execution in bad for span in spans)}


def test_a_handler_that_outlives_its_end_keeps_its_place(tmp_path: Path) -> None:
    """Killed, past its time limit, covered, or left behind: the next one begins when the handler has returned."""
    notes = tmp_path / "notes"
    with Site(tmp_path, NOTES=str(notes), ORTH_EXECUTOR__KILL_GRACE="2s") as site:
        site.coordinator()
        three_executors(site)
        api = site.api()
        killed = job(api, seconds=30, stubborn=0.8)
        limited = job(api, seconds=30, stubborn=0.8, executor_timeout=1)
        covered = job(api, seconds=30, stubborn=0.8, executor_block_strategy="COVER_EARLY")
        left_behind = job(api, seconds=30, stubborn=4, executor_timeout=1)
        for runs in (1, 2, 3):
            eventually(lambda runs=runs: ran(notes, killed) >= runs, what="the next run")  # type: ignore[misc]
            api.call("POST", f"/api/v1/executions/{spans_of(notes)[killed, 0][-1].execution}/kill")
        jobs = (killed, limited, covered, left_behind)
        eventually(lambda: all(ran(notes, one) >= 3 for one in jobs), within=60, what="three runs of each")
        assert overlaps(spans_of(notes)) == []
        for one, reason in (
            (killed, "killed"),
            (limited, "timed_out"),
            (covered, "covered"),
            (left_behind, "timed_out"),
        ):
            ended = api.call("GET", f"/api/v1/executions?job_id={one}&status=failed,timeout")["items"]
            assert {execution["reason_code"] for execution in ended} == {reason}


def test_killed_executors_take_their_runs_along_and_nothing_overlaps(tmp_path: Path) -> None:
    notes, chance, died = tmp_path / "notes", random.Random(7), dict[int, int]()
    with Site(tmp_path, NOTES=str(notes)) as site:
        site.coordinator()
        executors = three_executors(site)
        api = site.api()
        jobs = [job(api, lost_after=3, executor_block_strategy=block) for block in BLOCKS for _ in range(3)]
        eventually(lambda: all(ran(notes, one) >= 1 for one in jobs), what="a run of each")
        for number in range(4, 8):
            time.sleep(chance.uniform(0.2, 1.5))  # at any moment of a run
            executor = executors.pop(0)
            executor.popen.kill()
            executor.popen.wait(10)
            died[executor.popen.pid] = time.time_ns() // 1_000
            executors.append(site.executor(JOBS, f"executor-{number}"))
        before = {one: ran(notes, one) for one in jobs}
        eventually(lambda: all(ran(notes, one) > before[one] for one in jobs), within=60, what="a run of each again")
        found = spans_of(notes, died)
        assert any(span.end in died.values() for spans in found.values() for span in spans), "a run died"
        assert overlaps(found) == []
