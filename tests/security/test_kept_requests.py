"""An attacker on the wire, without TLS and without a token, who keeps what it reads to use it at another time.

Coordinators and executors are real processes.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from orth.wire.signatures import RECEIVER_HEADER, SIGNATURE_HEADER, TIME_HEADER, WINDOW, read_signature
from tests.security.test_downgrade import Forged, Interceptor
from tests.servers.processes import free_port
from tests.walk.processes import Api, Site, eventually

JOBS = """
from pathlib import Path

from orth import Executor, JobContext

app = Executor("reports")


@app.job("note")
def note(ctx: JobContext) -> None:
    with Path(__file__).with_name("ran").open("a") as file:
        file.write(f"{ctx.log_id}\\n")
"""
FAST = {"ORTH_EXECUTOR__HEARTBEAT": "300ms"}
HTTP = urllib3.PoolManager(retries=False, timeout=10)
Kept = list[tuple[str, dict[str, str], bytes]]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "jobs.py").write_text(JOBS)
    with Site(tmp_path) as site:
        site.coordinator()
        yield site


def made_job(api: Api, *addresses: str, **more: Any) -> int:
    """A job of a group that lists these addresses, if there are any."""
    listed = {"address_type": 1, "address_list": addresses} if addresses else {}
    group = api.call("POST", "/api/v1/groups", {"app_name": "reports", **listed})["id"]
    body = {"job_group": group, "job_desc": "note", "executor_handler": "note", "overlap": "executor", **more}
    body |= {"executor_block_strategy": "CONCURRENT"}
    return int(api.call("POST", "/api/v1/jobs?allow_unknown_handler=true", body)["id"])


def triggered(api: Api, job: int) -> list[int]:
    return [int(api.call("POST", f"/api/v1/jobs/{job}/trigger")["execution_ids"][0]) for _ in range(4)]


def registered(api: Api) -> int:
    return len(api.items("/api/v1/executors"))


def ran(site: Site) -> Counter[str]:
    """How often each execution ran."""
    file = site.folder / "ran"
    return Counter(file.read_text().split() if file.exists() else ())


@pytest.mark.parametrize("ahead", [0, 200_000])
def test_a_trigger_that_an_attacker_refused_and_kept_runs_once(site: Site, ahead: int) -> None:
    """It names the right process and a time, so that the trigger is signed for then and sent to another executor."""
    api, kept = site.api(), Kept()

    def refuse(path: str, headers: dict[str, str], body: bytes) -> Forged | None:
        if path not in ("/run", "/runs"):
            return None
        kept.append((path, headers, body))
        receiver = read_signature(headers[SIGNATURE_HEADER]).receiver
        told = {RECEIVER_HEADER: receiver, TIME_HEADER: str(int(time.time() * 1000) + ahead)}
        return Forged(401, told, b'{"code":401,"msg":"no"}')

    port = free_port()
    with Interceptor(f"http://127.0.0.1:{port}", attack=refuse).open() as between:
        attacked = {**FAST, "ORTH_EXECUTOR__ADDRESS": between.url}
        site.executor(site.folder / "jobs.py", port=port, **attacked)
        other = free_port()
        site.executor(site.folder / "jobs.py", "executor-2", port=other, **FAST)
        eventually(lambda: registered(api) == 2, what="both are registered")
        job = made_job(api, between.url, f"http://127.0.0.1:{other}", executor_route_strategy="FAILOVER")
        started = triggered(api, job)
        eventually(lambda: kept, what="a trigger was kept")
        time.sleep(3)  # long enough to send it elsewhere
        now = time.time() * 1000
        assert max(read_signature(headers[SIGNATURE_HEADER]).time for _path, headers, _body in kept) < now + WINDOW
        between.attacks = False
        for path, headers, body in list(kept):
            HTTP.request("POST", f"http://127.0.0.1:{port}{path}", body=body, headers=headers)
        started += triggered(api, job)  # what was kept and is accepted runs before these
        paths = [f"/api/v1/executions/{one}" for one in started]
        eventually(lambda: all(api.call("GET", one)["status"] == "success" for one in paths), what="all ended")
        assert ran(site) == Counter(map(str, started))


def test_an_answer_that_an_attacker_kept_gives_no_work_to_another_executor(tmp_path: Path) -> None:
    """It also says, in the place of the coordinator, that the offer of the execution stands."""
    (tmp_path / "jobs.py").write_text(JOBS)
    with Site(tmp_path, ORTH_CHANNELS__URL="database://", ORTH_EXECUTOR__QUEUE_HEARTBEAT="500ms") as site:
        site.coordinator()
        api, kept, shown = site.api(), list[bytes](), list[str]()

        def forge(path: str, _headers: dict[str, str], body: bytes) -> Forged | None:
            if not shown:
                return None
            if path.endswith("/take"):
                shown.append(path)
                return Forged(200, {RECEIVER_HEADER: "x"}, kept[0])
            asked = [one["executionId"] for one in json.loads(body)["offers"]] if path.endswith("/openOffers") else []
            if asked:
                told = {"open": asked, "newest": 1_000_000}
                answer = {"code": 200, "msg": None, "content": told, "data": told}
                return Forged(200, {RECEIVER_HEADER: "x"}, json.dumps(answer).encode())
            return None

        def keep(path: str, body: bytes) -> bytes:
            if path.endswith("/take") and b"logId" in body:
                kept.append(body)
            return body

        with Interceptor(site.url, change_answer=keep, attack=forge).open() as between:
            own = {"ORTH_EXECUTOR__TRANSPORT": "queue", "ORTH_EXECUTOR__QUEUE": "a"}
            own |= {"ORTH_EXECUTOR__COORDINATORS": between.url}
            first = site.executor(site.folder / "jobs.py", **own)
            job = made_job(api, executor_queue="a")
            (started, *_more) = triggered(api, job)
            path = f"/api/v1/executions/{started}"
            eventually(lambda: api.call("GET", path)["status"] == "success", what="it ran")
            eventually(lambda: len(ran(site)) == 4, what="all ran")
            first.end()
            shown.append("begins")
            second = site.executor(site.folder / "jobs.py", "executor-2", **own)
            eventually(lambda: len(shown) > 1, what="what was kept is shown to another executor")
            told = "nothing proves"
            eventually(
                lambda: told in second.text() or max(ran(site).values()) > 1, what="it says that it takes nothing"
            )
            assert set(ran(site).values()) == {1}
            shown.clear()
            triggered(api, job)
            eventually(lambda: len(ran(site)) == 8, what="it works on")
            assert set(ran(site).values()) == {1}
