"""Processes with one role each, on one store: a coordinator, a registry and a console, as a user would start them."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from orth.store.migrating import upgrade
from tests.servers.processes import free_port
from tests.walk.processes import HTTP, TOKEN, Api, Site, eventually


class Place:
    """One process, and how it is called."""

    def __init__(self, site: Site, name: str, **settings: str) -> None:
        self.site, self.name, self.settings = site, name, settings
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        self.process = self.site.coordinator(self.name, port=self.port, **self.settings)

    def call(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        answer = HTTP.request(method, self.url + path, json=body, headers={"ORTH-ACCESS-TOKEN": TOKEN})
        return answer.status, json.loads(answer.data)

    @contextmanager
    def listening(self, since: int | None = None) -> Iterator[ClientConnection]:
        query = "" if since is None else f"?since={since}"
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with connect(f"ws://127.0.0.1:{self.port}/ws{query}", additional_headers=headers, proxy=None) as line:
            yield line


def next_of(line: ClientConnection, service_id: str) -> dict[str, Any]:
    """What is told next of one service; others come and go as they like."""
    while True:
        message: dict[str, Any] = json.loads(line.recv(timeout=20))
        if message["data"].get("id") == service_id:
            return message


def roles(*names: str) -> dict[str, str]:
    return {"ORTH_COORDINATOR__ROLES": ",".join(names)}


def test_what_one_is_told_all_know_and_nobody_forgets(store_url: str, tmp_path: Path) -> None:
    upgrade(store_url)
    with Site(tmp_path, store_url, ORTH_CHANNELS__URL="database://") as site:
        node, registry = Place(site, "node"), Place(site, "registry", **roles("registry"))
        status, registered = registry.call("POST", "/api/agents/register", {"url": "http://127.0.0.1:9", "name": "a"})
        assert status == 200
        path, service_id = f"/api/agents/{registered['id']}", registered["id"]
        for place, said in ((node, "Idle"), (registry, "Busy")):
            with node.listening() as first, registry.listening() as second:
                assert place.call("POST", f"{path}/status", {"status": said})[0] == 200
                told = [next_of(line, service_id) for line in (first, second)]
            assert [one["data"]["status"] for one in told] == [said] * 2
            assert told[0] == told[1]
        assert registry.call("GET", "/api/v1/jobs")[0] == 404, "it is a registry and nothing else"
        assert registry.call("POST", "/api/registry", {})[0] == 404

        assert registry.process.end(signal.SIGKILL) == -signal.SIGKILL
        assert node.call("POST", f"{path}/status", "stopping")[0] == 200
        registry.start()
        assert registry.call("POST", f"{path}/heartbeat")[0] == 200
        with registry.listening(since=told[0]["seq"]) as line:
            assert next_of(line, service_id)["data"]["status"] == "Stopping"


def _lease_age(api: Api) -> float:
    return api.call("GET", "/api/v1/cluster")["lease_age"] or 0.0


def test_a_console_shows_and_triggers_what_the_coordinator_does(tmp_path: Path) -> None:
    with Site(tmp_path, ORTH_CHANNELS__URL="database://") as site:
        node, console = Place(site, "node"), Place(site, "console", **roles("console"))
        api = Api(console.url)
        eventually(lambda: api.call("GET", "/api/v1/cluster")["leader"] == "node", what="a leader to be shown")
        shown = api.call("GET", "/api/v1/cluster")
        assert [(one["id"], one["state"]) for one in shown["nodes"]] == [("node", "active")]
        assert shown["answered_by"] == "console"
        eventually(lambda: 0 < _lease_age(api) < 1.0, what="a lease of 1 s to be seen by who does not compete for it")
        group = api.call("POST", "/api/v1/groups", {"app_name": "demo"})["id"]
        job = api.call("POST", "/api/v1/jobs", {"job_group": group, "job_desc": "d", "executor_handler": "h"})["id"]
        [execution] = api.call("POST", f"/api/v1/jobs/{job}/trigger", {})["execution_ids"]
        ended = eventually(
            lambda: next(
                (one for one in Api(node.url).items("/api/v1/executions") if one["status"] == "trigger_failed"), None
            ),
            what="the coordinator to find nobody for it",
        )
        assert ended["id"] == execution
        assert console.call("POST", "/api/callback", [])[0] in (404, 405)
        assert console.process.end() == 0
        assert node.process.end() == 0
