"""To whom coordinators show a token that nobody has shown to them: third-party executors that a group lists.

The coordinator is a real process. Whatever listens at a listed address keeps what it reads.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from orth.coordinator.executor_keys import REMEMBERED
from tests.foreign.executors import envelope
from tests.security.test_downgrade import Interceptor
from tests.servers.processes import free_port
from tests.walk.processes import TOKEN, Api, Site, eventually
from tests.wire.peers import Exchange, Peer

JOBS = """
from orth import Executor

app = Executor("reports")


@app.job("note")
def note() -> None: ...
"""
FAST = {"ORTH_EXECUTOR__HEARTBEAT": "300ms"}
QUICK = {
    "ORTH_REGISTRY__MONITOR": "1s",
    "ORTH_REGISTRY__DEAD_AFTER": "3s",
    "ORTH_REGISTRY__HEARTBEAT": "1s",
    "ORTH_EXECUTOR__HEARTBEAT": "1s",
}


class Listener:
    """Answers like an xxl-job executor: who does not show its token is refused."""

    def __init__(self, port: int = 0, *, wants_token: bool = True) -> None:
        self.read: list[bytes] = []
        self.paths: list[str] = []
        self._wants_token = wants_token
        self._peer = Peer(self._serve, port=port)

    @property
    def address(self) -> str:
        return self._peer.address

    def _serve(self, exchange: Exchange) -> None:
        request, shown = exchange.request, exchange.request.headers
        self.paths.append(request.path)
        self.read.append(repr(shown).encode() + request.body)
        good = TOKEN in (shown.get("xxl-job-access-token"), shown.get("orth-access-token"))
        said = envelope() if good or not self._wants_token else envelope(500, msg="The access token is wrong.")
        exchange.respond(said)

    def has_read(self, secret: str) -> bool:
        return any(secret.encode() in one for one in self.read)

    @contextmanager
    def open(self) -> Iterator["Listener"]:
        with self._peer:
            yield self


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "jobs.py").write_text(JOBS)
    with Site(tmp_path) as site:
        site.coordinator(**QUICK)
        yield site


def listed(api: Api, address: str, strategy: str = "FIRST", **group: Any) -> int:
    """A job of a group that lists the address."""
    body = {"app_name": "reports", "address_type": 1, "address_list": [address], **group}
    number = api.call("POST", "/api/v1/groups", body)["id"]
    job = {"job_group": number, "job_desc": "note", "executor_handler": "note", "executor_route_strategy": strategy}
    return int(api.call("POST", "/api/v1/jobs?allow_unknown_handler=true", job)["id"])


def run(api: Api, job: int, status: str) -> dict[str, Any]:
    (execution,) = api.call("POST", f"/api/v1/jobs/{job}/trigger")["execution_ids"]
    path = f"/api/v1/executions/{execution}"
    eventually(lambda: api.call("GET", path)["status"] == status, what=f"it is {status}")
    found: dict[str, Any] = api.call("GET", path)
    return found


@pytest.mark.parametrize("strategy", ["FIRST", "FAILOVER"])
def test_no_token_is_shown_to_a_listed_address_by_default(site: Site, strategy: str) -> None:
    """The execution fails, and says what to set."""
    api = site.api()
    with Listener().open() as listener:
        ended = run(api, listed(api, listener.address, strategy), "trigger_failed")
        assert "set the dialect of the group" in ended["trigger_msg"]
        assert ended["reason_code"] == ("token_not_shown" if strategy == "FIRST" else "none_answered")
        assert listener.paths
        assert not listener.has_read(TOKEN)


def test_a_third_party_executor_that_wants_no_token_needs_no_dialect(site: Site) -> None:
    api = site.api()
    with Listener(wants_token=False).open() as listener:
        run(api, listed(api, listener.address), "pending")
        assert not listener.has_read(TOKEN)


def test_a_listed_third_party_executor_is_shown_the_token(site: Site) -> None:
    api = site.api()
    with Listener().open() as listener:
        run(api, listed(api, listener.address, dialect="xxl"), "pending")
        assert listener.has_read(TOKEN)


def test_no_token_is_shown_where_an_executor_of_orth_enrolled(site: Site) -> None:
    """It was killed, its registration is over, and something else listens there. The dialect does not matter."""
    api, port = site.api(), free_port()
    job = listed(api, f"http://127.0.0.1:{port}", dialect="xxl")
    executor = site.executor(site.folder / "jobs.py", port=port, **FAST)
    eventually(lambda: api.items("/api/v1/executors"), what="it is registered")
    run(api, job, "success")
    executor.popen.kill()
    executor.popen.wait(10)
    with Listener(port).open() as listener:
        eventually(lambda: not api.items("/api/v1/executors"), what="its registration is over")
        forgotten = time.monotonic() + REMEMBERED
        eventually(lambda: time.monotonic() > forgotten, what="the coordinator asks the database again")
        ended = run(api, job, "trigger_failed")
        assert "An executor of Orth enrolled at this address" in ended["trigger_msg"]
        assert not listener.has_read(TOKEN)


def test_an_executor_that_registered_at_another_address_than_the_listed_one_is_not_shown_the_token(site: Site) -> None:
    """It says who it is when it refuses, and is asked with its work key."""
    api, port = site.api(), free_port()
    site.executor(site.folder / "jobs.py", port=port, **FAST)
    eventually(lambda: api.items("/api/v1/executors"), what="it is registered")
    with Interceptor(f"http://127.0.0.1:{port}").open() as relay:
        relay.attacks = False
        run(api, listed(api, relay.url), "success")
        assert relay.read
        assert not relay.has_read(TOKEN)
