"""An executor that is cut off and comes back, and a database that does: nothing is lost, and nothing happens twice.

Real processes, real sockets, a real server. A line that is cut holds what was sent into it and lets it through when it
is mended, so requests that their sender has long given up arrive after all: results come in more than once.
"""

import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from orth.testing.stores import prepare_store
from tests.conftest import StartServer
from tests.servers.postgres import PostgresServer
from tests.servers.processes import free_port
from tests.walk.cut_line import CutLine
from tests.walk.processes import HTTP, SHORT, TOKEN, Api, Process, Site, eventually

JOBS = Path(__file__).parent / "timing_jobs.py"
DEAD_AFTER = 3.0
IMPATIENT = {
    "ORTH_EXECUTOR__HEARTBEAT": "500ms",
    "ORTH_REGISTRY__HEARTBEAT": "500ms",
    "ORTH_EXECUTOR__CALL_TIMEOUT": "1s",
    "ORTH_EXECUTOR__CALLBACK_RETRY": "1s",
    "ORTH_REGISTRY__PROBE_TIMEOUT": "500ms",
}
SOON_DEAD = {"ORTH_REGISTRY__DEAD_AFTER": f"{DEAD_AFTER:g}s", "ORTH_REGISTRY__MONITOR": "1s"}
STEP = 1000
ON_TIME = 800
"""Milliseconds a start may be late on a busy machine: less than the distance to the next fire."""


@dataclass(frozen=True)
class Noted:
    """What a handler wrote when it began; instants in milliseconds."""

    execution_id: int
    due: int
    began: int


@dataclass(frozen=True)
class CutOff:
    """A coordinator, and an executor with a line in each direction."""

    site: Site
    coordinator: Process
    executor: Process
    inwards: CutLine
    outwards: CutLine

    def cut(self) -> None:
        self.inwards.cut()
        self.outwards.cut()

    def mend(self) -> None:
        self.inwards.mend()
        self.outwards.mend()

    def outbox(self) -> int:
        """How many results the executor still keeps."""
        answer = HTTP.request("GET", f"{self.inwards.url}/metrics", headers={"XXL-JOB-ACCESS-TOKEN": TOKEN})
        (found,) = re.findall(r"^orth_executor_outbox_results (\d+)", answer.data.decode(), re.MULTILINE)
        return int(found)

    def let_handlers_go_on(self) -> None:
        Path(self.site.settings["GO_ON"]).touch()


@contextmanager
def cut_off_executor(folder: Path, **settings: str) -> Iterator[CutOff]:
    files = {"NOTES": str(folder / "notes"), "GO_ON": str(folder / "go-on")}
    with Site(folder, **files, **IMPATIENT, **settings) as site:
        coordinator, port = site.coordinator(), free_port()
        with CutLine(port) as inwards, CutLine(site.port) as outwards:
            lines = {"ORTH_EXECUTOR__ADDRESS": inwards.url, "ORTH_EXECUTOR__COORDINATORS": outwards.url}
            executor = site.executor(JOBS, "executor-1", port=port, **lines)
            eventually(lambda: inwards.url in executors(site.api()), what="the registration")
            yield CutOff(site, coordinator, executor, inwards, outwards)


def noted(folder: Path) -> list[Noted]:
    notes = folder / "notes"
    lines = notes.read_text().splitlines() if notes.exists() else []
    return [Noted(*map(int, line.split())) for line in lines]


def executors(api: Api) -> dict[str, dict[str, Any]]:
    return {one["address"]: one for one in api.call("GET", "/api/v1/executors")["items"]}


def avoided(api: Api, address: str) -> bool:
    return executors(api)[address]["reachability"][0]["state"] in ("suspect", "unreachable")


def job(api: Api, handler: str, **fields: object) -> int:
    groups = api.items("/api/v1/groups")
    group = groups[0] if groups else api.call("POST", "/api/v1/groups", {"app_name": "walk-tests"})
    body = {"job_group": group["id"], "job_desc": handler, "executor_handler": handler, **fields}
    return int(api.call("POST", "/api/v1/jobs", body)["id"])


def trigger(api: Api, job_id: int) -> int:
    return int(api.call("POST", f"/api/v1/jobs/{job_id}/trigger", {}, expect=202)["execution_ids"][0])


def execution(api: Api, execution_id: int) -> dict[str, Any]:
    found: dict[str, Any] = api.call("GET", f"/api/v1/executions/{execution_id}")
    return found


def ended(api: Api, execution_id: int) -> dict[str, Any]:
    def look() -> dict[str, Any] | None:
        one = execution(api, execution_id)
        return one if one["status"] not in ("init", "pending") else None

    return eventually(look, what=f"the end of execution {execution_id}")


def times_finished(coordinator: Process) -> Counter[int]:
    """How often each execution was told to have ended: once for every end that was stored."""
    return Counter(int(number) for number in re.findall(r"  #(\d+)  \w[\w ]* \d+/\d+  ", coordinator.text()))


def not_applied(coordinator: Process) -> int:
    """How many results came for executions that had ended."""
    return sum(int(count) for count in re.findall(r"(\d+) results were not applied", coordinator.text()))


def test_what_ends_while_its_executor_is_cut_off_is_stored_once_and_run_nowhere_else(tmp_path: Path) -> None:
    with cut_off_executor(tmp_path) as there:
        api = there.site.api()
        routes = ("FIRST", "FAILOVER")
        jobs = [job(api, "hold", executor_route_strategy=route, overlap="executor") for route in routes]
        mine = {trigger(api, job_id) for job_id in jobs}
        eventually(lambda: {one.execution_id for one in noted(tmp_path)} == mine, what="both starts")
        there.site.executor(JOBS, "executor-2")
        eventually(lambda: len(executors(api)) == 2, what="the other executor")
        there.cut()
        there.let_handlers_go_on()
        eventually(lambda: "2 results wait: " in there.executor.text(), what="two results without a way")
        eventually(lambda: avoided(api, there.inwards.url), what="a suspicion")
        others = [ended(api, trigger(api, job_id)) for job_id in jobs]
        assert [one["status"] for one in others] == ["success", "success"], "new work goes round the cut"
        assert there.inwards.url not in {one["executor_address"] for one in others}
        assert {execution(api, one)["status"] for one in mine} == {"pending"}, "the other one was not asked to help"
        there.mend()
        ends = [ended(api, one) for one in mine]
        assert {(one["status"], one["executor_address"]) for one in ends} == {("success", there.inwards.url)}
        eventually(lambda: not_applied(there.coordinator) >= 1, what="the request that had been given up")
        eventually(lambda: there.outbox() == 0, what="the answer")
        everything = [one["id"] for one in api.items("/api/v1/executions")]
        assert sorted(everything) == sorted([*mine, *(one["id"] for one in others)])
        assert Counter(one.execution_id for one in noted(tmp_path)) == Counter(everything)
        assert times_finished(there.coordinator) == Counter(everything)


GONE_OR_SILENT = (
    "Result lost: the executor has left the registry.",
    "Result lost: the executor neither answers nor beats.",
)


def test_a_result_that_comes_after_the_loss_was_declared_is_written_down_and_not_applied(tmp_path: Path) -> None:
    with cut_off_executor(tmp_path, **SOON_DEAD, ORTH_COORDINATOR__LOST_AFTER="1s") as there:
        api = there.site.api()
        child = job(api, "note")
        retried = {"executor_fail_retry_count": 1, "child_jobid": [child]}
        parent = job(api, "hold", **retried)
        first = trigger(api, parent)
        eventually(lambda: noted(tmp_path), what="the start")
        there.site.executor(JOBS, "executor-2")
        eventually(lambda: len(executors(api)) == 2, what="the other executor")
        there.cut()
        there.let_handlers_go_on()
        lost = ended(api, first)
        assert (lost["status"], lost["reason_code"]) == ("failed", "result_lost")
        # Which of the two is noticed first depends on how busy the machine is; both are true.
        assert lost["handle_msg"] in GONE_OR_SILENT
        left = f"executor {there.inwards.url} left walk-tests"
        eventually(lambda: left in there.coordinator.text(), what="its removal")
        (followed,) = eventually(lambda: api.items(f"/api/v1/executions?job_id={child}"), what="the child")
        ended(api, followed["id"])
        again, _ = api.items(f"/api/v1/executions?job_id={parent}")
        assert (again["attempt"], again["status"], again["cause"]) == (2, "success", "retry")
        assert again["executor_address"] != there.inwards.url
        there.mend()
        story = eventually(lambda: told_late(api, first), what="the late result")
        eventually(lambda: there.inwards.url in executors(api), what="the return")
        eventually(lambda: not_applied(there.coordinator) >= 2, what="the same result once more")
        eventually(lambda: there.outbox() == 0, what="the answer")
        assert [step["code"] for step in story["steps"][-2:]] == ["result_lost", "late_result"]
        late = story["steps"][-1]["text"]
        assert (late.startswith("Its executor reported 200 "), late.endswith("not applied: went on")) == (True, True)
        assert told_late(api, first) == story, "noted once"
        assert execution(api, first) == {**lost, "late_code": 200}
        everything = [one["id"] for one in api.items("/api/v1/executions")]
        assert sorted(everything) == sorted([first, again["id"], followed["id"]])
        assert Counter(one.execution_id for one in noted(tmp_path)) == Counter(everything)
        assert times_finished(there.coordinator) == Counter(everything)


def told_late(api: Api, execution_id: int) -> dict[str, Any] | None:
    story: dict[str, Any] = api.call("GET", f"/api/v1/executions/{execution_id}/why")
    return story if "late_result" in {step["code"] for step in story["steps"]} else None


def test_a_line_cut_in_the_middle_of_fifty_results_loses_and_doubles_none(tmp_path: Path) -> None:
    with cut_off_executor(tmp_path) as there:
        api = there.site.api()
        job_id = job(api, "note")
        ids = fifty_results_that_wait(there, job_id)
        cut_while_delivering(there, b'"logId":%d,' % ids[25])
        assert execution(api, ids[25])["status"] == "pending", "half a request is none"
        there.outwards.mend()
        eventually(lambda: len(api.items("/api/v1/executions?status=success")) == 50, what="fifty results")
        eventually(lambda: not_applied(there.coordinator) > 0, what="the request that had been given up")
        eventually(lambda: there.outbox() == 0, what="the answer")
        repeated = not_applied(there.coordinator)
        ids += fifty_results_that_wait(there, job_id)
        cut_while_delivering(there, b'"stored"')
        stored = len(api.items("/api/v1/executions?status=success")) - 50
        assert stored > 0, "stored, though the executor cannot know"
        there.outwards.mend()
        eventually(lambda: not_applied(there.coordinator) >= repeated + stored, what="the same results once more")
        eventually(lambda: there.outbox() == 0, what="the answer")
        assert {one["status"] for one in api.items("/api/v1/executions")} == {"success"}
        assert times_finished(there.coordinator) == Counter(ids)
        assert Counter(one.execution_id for one in noted(tmp_path)) == Counter(ids)


def fifty_results_that_wait(there: CutOff, job_id: int) -> list[int]:
    """Cut the way to the coordinator alone, and let fifty executions end."""
    api = there.site.api()
    there.outwards.cut()
    waiting = there.executor.text().count("50 results wait: ")
    ids = [trigger(api, job_id) for _ in range(50)]
    eventually(lambda: there.executor.text().count("50 results wait: ") > waiting, what="fifty results without a way")
    eventually(lambda: len(api.items("/api/v1/executions?status=pending")) == 50, what="fifty that nobody reported")
    there.outwards.drop()
    return ids


def cut_while_delivering(there: CutOff, mark: bytes) -> None:
    """Mend the line until ``mark`` comes by, and wait until the executor no longer waits for the answer."""
    waiting = there.executor.text().count(" results wait: ")  # fewer than fifty, if some have got through
    there.outwards.cut_at(mark)
    there.outwards.mend()
    eventually(lambda: not there.outwards.whole, what="the cut in the middle")
    eventually(lambda: there.executor.text().count(" results wait: ") > waiting, what="the end of its patience")


@dataclass(frozen=True)
class Outage:
    """A job that fires every second on a PostgreSQL that can be halted."""

    server: PostgresServer
    coordinator: Process
    address: str
    api: Api
    job_id: int


@contextmanager
def every_second(start_server: StartServer, folder: Path, **settings: str) -> Iterator[Outage]:
    server = start_server(PostgresServer, durable=True)
    url = server.create_database()
    prepare_store(url)
    with Site(folder, url, NOTES=str(folder / "notes"), **SHORT, **IMPATIENT, **SOON_DEAD, **settings) as site:
        coordinator, port = site.coordinator(), free_port()
        site.executor(JOBS, port=port)
        api, address = site.api(), f"http://127.0.0.1:{port}"
        eventually(lambda: address in executors(api), what="the registration")
        job_id = job(api, "note", schedule_type="FIX_RATE", schedule_conf="1s")
        api.call("POST", f"/api/v1/jobs/{job_id}/start")
        eventually(lambda: noted(folder), what="the first start")
        yield Outage(server, coordinator, address, api, job_id)


def now() -> int:
    return time.time_ns() // 1_000_000


def ms(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp() * 1000)


def ledger(there: Outage) -> list[dict[str, Any]]:
    return there.api.items(f"/api/v1/jobs/{there.job_id}/fires")[::-1]


def held(there: Outage, span: int) -> list[int]:
    """The coming fires that the executor has, if they are all that come in the next ``span`` milliseconds."""
    began = now()
    runs = there.api.items(f"/api/v1/executions?job_id={there.job_id}&status=pending")
    coming = sorted(due for one in runs if (due := ms(one["schedule_time"])) > began)
    unsent = there.api.items(f"/api/v1/executions?job_id={there.job_id}&status=init")
    return coming if coming and not unsent and coming[-1] >= began + span else []


def check_all_accounted_for(there: Outage, folder: Path) -> set[int]:
    """Stop the job and hold its ledger, its executions and what really ran against each other; the fires that ran."""
    there.api.call("POST", f"/api/v1/jobs/{there.job_id}/stop")
    of_job = f"/api/v1/executions?job_id={there.job_id}"
    eventually(lambda: not there.api.items(f"{of_job}&status=pending"), what="the last end")
    entries, runs = ledger(there), there.api.items(of_job)
    for earlier, later in pairwise(entries):
        assert ms(later["fire_time"]) == ms(earlier["last_time"]) + STEP, "a fire is missing from the ledger"
    planned = {ms(entry["fire_time"]) for entry in entries if entry["decision"] == "run"}
    begun = Counter(one.due for one in noted(folder))
    assert set(begun.values()) == {1}, "a fire ran twice"
    assert all(one.began >= one.due for one in noted(folder)), "a fire ran early"
    assert set(begun) == planned
    succeeded = [ms(one["schedule_time"]) for one in runs if one["status"] == "success"]
    assert sorted(succeeded) == sorted(planned)
    assert {one["reason_code"] for one in runs if one["status"] != "success"} <= {"job_stopped"}
    return planned


def check_on_time(folder: Path, fires: list[int]) -> None:
    late = {one.due: one.began - one.due for one in noted(folder) if one.due in fires}
    assert sorted(late) == fires
    assert all(0 <= by < ON_TIME for by in late.values()), late


def check_still_registered(there: Outage, known: dict[str, Any]) -> None:
    one = executors(there.api)[there.address]
    assert one["incarnation"] == known["incarnation"]
    assert one["since"] in (known["since"], None), "what is in memory alone does not know since when"
    assert f"executor {there.address} left walk-tests" not in there.coordinator.text()


def heard_meanwhile(there: Outage) -> bool:
    answer = there.api.call("GET", "/api/v1/executors")
    states = {one["address"]: one["state"] for one in answer["items"]}
    return answer["from_memory"] and states == {there.address: "alive"}


def test_what_was_planned_before_the_database_went_away_starts_on_time(
    start_server: StartServer, tmp_path: Path
) -> None:
    with every_second(start_server, tmp_path, ORTH_COORDINATOR__PLAN_AHEAD="5s") as there:
        known = executors(there.api)[there.address]
        coming = eventually(lambda: held(there, 3 * STEP), what="three seconds of fires at the executor")
        there.server.halt()
        gone = now()
        eventually(lambda: now() >= gone + 2 * STEP, what="two seconds without a database")
        back = now()
        there.server.start()
        meanwhile = [due for due in coming if gone < due < back - ON_TIME]
        assert meanwhile, "the outage was too short to say anything"
        check_on_time(tmp_path, meanwhile)
        assert all(one.began < back for one in noted(tmp_path) if one.due in meanwhile)
        eventually(lambda: any(one.due > coming[-1] for one in noted(tmp_path)), what="what was planned after it")
        check_still_registered(there, known)
        assert {entry["decision"] for entry in ledger(there)} == {"run"}, "nothing was missed"
        check_on_time(tmp_path, coming)
        check_all_accounted_for(there, tmp_path)


def test_a_database_away_for_longer_than_an_executor_may_be_silent_costs_only_what_nobody_planned(
    start_server: StartServer, tmp_path: Path
) -> None:
    short = {"ORTH_COORDINATOR__PLAN_AHEAD": "2s", "ORTH_COORDINATOR__MISFIRE_THRESHOLD": "1s"}
    with every_second(start_server, tmp_path, **short) as there:
        known = executors(there.api)[there.address]
        coming = eventually(lambda: held(there, STEP), what="fires at the executor")
        there.server.halt()
        gone = now()
        while now() < gone + DEAD_AFTER * 1500:
            check_still_registered(there, known)
            time.sleep(0.1)
        eventually(lambda: heard_meanwhile(there), what="a beat that is heard though nobody can store it")
        check_on_time(tmp_path, coming)
        back = now()
        there.server.start()
        eventually(lambda: any(one.due > back for one in noted(tmp_path)), what="a fire after the outage")
        watched = time.monotonic()
        while time.monotonic() - watched < DEAD_AFTER:
            check_still_registered(there, known)
            time.sleep(0.1)
        missed = [entry for entry in ledger(there) if entry["decision"] != "run"]
        assert missed
        assert all(entry["decision"] == "skipped" and "missed" in entry["reason"] for entry in missed)
        assert all(gone < ms(entry["fire_time"]) <= ms(entry["last_time"]) for entry in missed)
        ran = check_all_accounted_for(there, tmp_path)
        assert set(coming) <= ran, "what was known has run"
