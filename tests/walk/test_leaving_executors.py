"""An executor that is stopping, or whose beats are lost, stays within reach of its coordinators.

Real processes and sockets. An executor that drains, or that cannot reach a coordinator, still has executions. Their
logs can be read, they can be killed, and no retry runs beside them.
"""

import fcntl
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.servers.processes import free_port
from tests.walk.processes import Api, Site, eventually
from tests.walk.test_cut_off_and_back import (
    IMPATIENT,
    SOON_DEAD,
    cut_off_executor,
    ended,
    execution,
    executors,
    job,
    noted,
    trigger,
)

JOBS = Path(__file__).parent / "timing_jobs.py"
LOST_AFTER = 10
"""Seconds; the shortest that a job may have."""
RETRIED = {"lost_after": LOST_AFTER, "executor_fail_retry_count": 1}


def read_log(api: Api, execution_id: int) -> str:
    page = api.call("GET", f"/api/v1/executions/{execution_id}/log", expect=200)
    return str(page["content"])


def during(seconds: float, check: Callable[[], None]) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        check()
        time.sleep(0.5)


def test_a_stopping_executor_answers_until_it_is_empty(tmp_path: Path) -> None:
    files = {"NOTES": str(tmp_path / "notes"), "GO_ON": str(tmp_path / "go-on")}
    with Site(tmp_path, **files, **IMPATIENT) as site:
        site.coordinator()
        port = free_port()
        stopping, address = site.executor(JOBS, "executor-1", port=port), f"http://127.0.0.1:{port}"
        api = site.api()
        eventually(lambda: address in executors(api), what="the registration")
        kept_job = job(api, "hold", executor_route_strategy="FIRST", **RETRIED)
        kept = trigger(api, kept_job)
        killed = trigger(api, job(api, "hold", executor_route_strategy="FIRST"))
        eventually(lambda: len(noted(tmp_path)) == 2, what="both starts")
        stopping.popen.send_signal(signal.SIGTERM)
        eventually(lambda: executors(api)[address]["unavailable"] == "leaving", what="the word that it is leaving")
        assert api.items("/api/v1/groups")[0]["address_list"] == [], "nothing new goes there"
        site.executor(JOBS, "executor-2")
        eventually(lambda: len(executors(api)) == 2, what="the other executor")
        told = api.call("POST", f"/api/v1/executions/{killed}/kill", {})
        assert told["told"] is True, told
        following = trigger(api, kept_job)

        def still_known() -> None:
            assert execution(api, following)["status"] == "init", "it waits for the one before it"
            assert stopping.alive()
            assert execution(api, kept)["status"] == "pending"
            assert "hold" in read_log(api, kept)

        during(LOST_AFTER + 6, still_known)
        (tmp_path / "go-on").touch()
        assert ended(api, kept)["status"] == "success"
        followed = ended(api, following)
        assert (followed["status"], followed["executor_address"] != address) == ("success", True)
        assert stopping.popen.wait(15) == 0
        eventually(lambda: address not in executors(api), what="the good-bye")
        begun = Counter(one.execution_id for one in noted(tmp_path))
        assert begun == Counter([kept, killed, following]), "no second run"


def test_an_executor_whose_beats_are_lost_is_still_asked_read_and_told(tmp_path: Path) -> None:
    with cut_off_executor(tmp_path, **SOON_DEAD) as there:
        api = there.site.api()
        kept = trigger(api, job(api, "hold", executor_route_strategy="FIRST", **RETRIED))
        killed = trigger(api, job(api, "hold", executor_route_strategy="FIRST"))
        eventually(lambda: len(noted(tmp_path)) == 2, what="both starts")
        there.site.executor(JOBS, "executor-2")
        eventually(lambda: len(executors(api)) == 2, what="the other executor")
        there.outwards.cut()
        eventually(lambda: there.inwards.url not in executors(api), what="its removal")

        def still_known() -> None:
            assert execution(api, kept)["status"] == "pending"
            assert "hold" in read_log(api, kept)

        during(LOST_AFTER + 6, still_known)
        told = api.call("POST", f"/api/v1/executions/{killed}/kill", {})
        assert told["told"] is True, told
        there.let_handlers_go_on()
        there.outwards.mend()
        assert ended(api, kept)["status"] == "success"
        assert Counter(one.execution_id for one in noted(tmp_path)) == Counter([kept, killed]), "no second run"


def test_an_executor_that_cannot_record_results_costs_no_fire(tmp_path: Path) -> None:
    """Its folder is another process's: what it is sent goes to the other executor, and every coordinator avoids it."""
    files = {"NOTES": str(tmp_path / "notes"), "GO_ON": str(tmp_path / "go-on")}
    with Site(tmp_path, **files, **IMPATIENT) as site:
        site.coordinator()
        low, high = sorted((free_port(), free_port()))
        site.executor(JOBS, "executor-1", port=low)
        site.executor(JOBS, "executor-2", port=high)
        first, second = f"http://127.0.0.1:{low}", f"http://127.0.0.1:{high}"
        api = site.api()
        eventually(lambda: len(executors(api)) == 2, what="the registrations")
        note = job(api, "note", executor_route_strategy="FIRST")
        chosen = ended(api, trigger(api, note))["executor_address"]
        folder = tmp_path / ("executor-1" if chosen == first else "executor-2")
        shutil.rmtree(folder / "outbox")
        (folder / "outbox").mkdir()
        with (folder / "outbox/lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            ends = [ended(api, trigger(api, note)) for _ in range(8)]
            assert {one["status"] for one in ends} == {"success"}
            eventually(lambda: executors(api)[chosen]["unavailable"] == "cannot_record", what="the word")
            ends = [ended(api, trigger(api, note)) for _ in range(4)]
            assert {one["executor_address"] for one in ends} == {first, second} - {chosen}
        eventually(lambda: executors(api)[chosen]["unavailable"] is None, what="the word that it works again")
        assert ended(api, trigger(api, note))["executor_address"] == chosen
