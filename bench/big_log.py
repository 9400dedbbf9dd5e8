"""A log of one gigabyte: its first screen, its end, a search, a stream and a download, through a real coordinator from
a real executor, in bounded memory.

Memory is the peak of each process while it is read (``VmHWM``, reset before), less what it had before. Exits with 1
when a bar is missed::

    python bench/big_log.py              # 1,000 MB
    python bench/big_log.py --quick      # 30 MB
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import urllib3
from _site import TOKEN, Site, wait_for
from tests.servers.processes import free_port

from orth.store.migrating import upgrade

JOBS = Path(__file__).with_name("_flood_jobs.py")
SCREEN_WITHIN = 1.0
MEMORY = 150.0
HTTP = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=3600))


class Api:
    """The admin API, signed in."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"
        session = self._call("POST", "/api/v1/auth/login", {"username": "admin", "password": TOKEN})
        self._headers = {"Authorization": f"Bearer {session['access_token']}"}

    def _call(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        answer = HTTP.request(method, self._url + path, json=body, headers=headers)
        if answer.status >= 300:
            raise SystemExit(f"{method} {path}: {answer.status} {answer.data!r}")
        return json.loads(answer.data)

    def get(self, path: str) -> Any:
        return self._call("GET", path, None, **self._headers)

    def post(self, path: str, body: object = None) -> Any:
        return self._call("POST", path, body, **self._headers)

    def streamed(self, path: str) -> Iterator[bytes]:
        answer = HTTP.request("GET", self._url + path, headers=self._headers, preload_content=False)
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status}")
        yield from answer.stream(1 << 20)


def memory(pid: int, what: str) -> float:
    """What a process has (``VmRSS``), or has had at most (``VmHWM``), in MB."""
    return int(Path(f"/proc/{pid}/status").read_text().partition(f"{what}:")[2].split()[0]) / 1024


def forget_peak(pid: int) -> float:
    """Let the peak begin anew; what the process has now. (Checking a password took 64 MB a moment ago.)"""
    Path(f"/proc/{pid}/clear_refs").write_text("5")
    return memory(pid, "VmRSS")


def measure(site: Site, pids: dict[str, int], megabytes: int) -> bool:
    api = Api(site.port)
    group = api.post("/api/v1/groups", {"app_name": "bench-flood"})["id"]
    body = {"job_group": group, "job_desc": "flood", "executor_handler": "flood"}
    job = api.post("/api/v1/jobs", body | {"executor_param": json.dumps({"megabytes": megabytes})})["id"]
    (one,) = api.post(f"/api/v1/jobs/{job}/trigger")["execution_ids"]
    where = f"/api/v1/executions/{one}"
    began = time.perf_counter()
    wait_for("the log is written", lambda: api.get(where)["status"] == "success", 1800)
    line("written by the handler in", f"{time.perf_counter() - began:.1f} s")
    before = {name: forget_peak(pid) for name, pid in pids.items()}
    screen = timed(lambda: api.get(f"{where}/log?from=1&limit=100"))
    line("first screen", f"{screen * 1e3:.0f} ms")
    tail = timed(lambda: api.get(f"{where}/log?tail=100"))
    line("last lines", f"{tail * 1e3:.0f} ms")
    middle = api.get(f"{where}/log?tail=1")["to_line"] // 2
    line("a page from the middle", f"{timed(lambda: api.get(f'{where}/log?from={middle}')) * 1e3:.0f} ms")
    began = time.perf_counter()
    found, answers, at = [], 0, 1
    while not found:
        answer = api.get(f"{where}/log/search?q=the+needle&from={at}")
        found, at, answers = answer["matches"], answer["to_line"] + 1, answers + 1
    line("search to the last megabyte", f"{time.perf_counter() - began:.1f} s, {answers} answers")
    for name, path in (("stream", "log/stream"), ("download", "log/download")):
        began = time.perf_counter()
        size = sum(map(len, api.streamed(f"{where}/{path}"))) / 1e6
        took = time.perf_counter() - began
        line(name, f"{size:.0f} MB in {took:.1f} s, {size / took:.0f} MB/s")
    grown = {name: memory(pid, "VmHWM") - before[name] for name, pid in pids.items()}
    line("memory beyond what it had", ", ".join(f"{name} {more:.0f} MB" for name, more in grown.items()))
    return screen <= SCREEN_WITHIN and tail <= SCREEN_WITHIN and max(grown.values()) <= MEMORY


def timed(call: Any) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def line(what: str, figure: str) -> None:
    print(f"  {what:<30}{figure}", flush=True)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--quick", action="store_true", help="a log of 30 MB")
    arguments.add_argument("--megabytes", type=int)
    given = arguments.parse_args()
    megabytes = given.megabytes or (30 if given.quick else 1000)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = f"sqlite:///{folder}/orth.db"
        upgrade(url)
        site = Site(folder, url)
        stack.callback(site.db.close)
        port = free_port()
        coordinator = site.start("coordinator", site.port, ["server"])
        stack.callback(coordinator.wait, 60)
        stack.callback(coordinator.terminate)
        executor = site.start(
            "executor",
            port,
            ["executor", str(JOBS)],
            ORTH_EXECUTOR__LISTEN=f"127.0.0.1:{port}",
            ORTH_EXECUTOR__DATA_DIR=str(folder / "executor"),
        )
        stack.callback(executor.wait, 60)
        stack.callback(executor.terminate)
        print(f"a log of {megabytes} MB")
        kept = measure(site, {"coordinator": coordinator.pid, "executor": executor.pid}, megabytes)
    print(f"bars: a screen within {SCREEN_WITHIN:g} s, {MEMORY:g} MB{'' if kept else '  MISSED'}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
