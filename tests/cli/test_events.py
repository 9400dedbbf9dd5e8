"""``orth events``: the newest of a served coordinator, and following one that dies and comes back."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run
from tests.cli.running import environment
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site as ServedSite
from tests.walk.processes import HTTP, TOKEN, Site, eventually
from tests.wire.live_server import LiveServer, answers_snapshot, event, sends


class Events(SignedIn):
    command = "events"


@pytest.fixture
def site(served: ServedSite) -> Iterator[ServedSite]:
    served.reset()
    yield served
    served.reset()


def registered(site: ServedSite, name: str) -> str:
    answer = site.executor().post("/api/agents/register", {"url": f"http://{name}:5090", "name": name})
    assert answer.status == 200, answer.body
    return str(answer.json["id"])


def test_the_newest_events(run: Run, site: ServedSite) -> None:
    events = Events(run, site)
    assert events() == ""
    first = registered(site, "agent-1")
    registered(site, "agent-2")
    assert site.executor().post(f"/api/agents/{first}/status", {"status": "Idle"}).status == 200
    lines = [line.split() for line in events().splitlines()]
    assert [line[1:4] for line in lines] == [
        ["agent_registered", "Starting", "agent-1"],
        ["agent_registered", "Starting", "agent-2"],
        ["agent_status_changed", "Idle", "agent-1"],
    ]
    assert lines[0][4] == "http://agent-1:5090"
    (last,) = events("-n", "1", "-o", "jsonl").splitlines()
    assert json.loads(last)["data"]["status"] == "Idle"
    assert events("-n", "0") == ""
    wanted = events("--type", "AGENT_REGISTERED", "-o", "jsonl").splitlines()
    assert [json.loads(one)["data"]["name"] for one in wanted] == ["agent-1", "agent-2"]


def test_a_type_is_found_behind_any_number_of_others(run: Run, site: ServedSite) -> None:
    events = Events(run, site)
    first = registered(site, "agent-1")
    for number in range(15):
        status = ("Idle", "Busy")[number % 2]
        assert site.executor().post(f"/api/agents/{first}/status", {"status": status}).status == 200
    (found,) = events("-n", "3", "--type", "agent_registered", "-o", "jsonl").splitlines()
    assert json.loads(found)["data"]["name"] == "agent-1"
    newest = events("-n", "2", "--type", "agent_status_changed", "-o", "jsonl").splitlines()
    assert [json.loads(one)["data"]["status"] for one in newest] == ["Busy", "Idle"]
    assert events("--type", "orchestrator_registered") == ""
    assert events("-n", "0", "--type", "agent_registered") == ""


def test_what_is_wrong_is_told(run: Run, site: ServedSite, free_port: int) -> None:
    assert run("events", "--type", "weather").exit_code == 2
    nobody = run("events", ORTH_SERVER=f"http://127.0.0.1:{free_port}", ORTH_TOKEN="x")
    assert type(nobody.exception).__name__ == "Unavailable"
    stranger = run("events", ORTH_SERVER=site.url, ORTH_TOKEN="not-a-token")
    assert getattr(stranger.exception, "status", None) == 401


def test_words_of_others_do_not_move_the_cursor(run: Run) -> None:
    text = event(1, status="Busy\x1b[2J", name="a\x1b[31m", url="http://x\r\n")
    with LiveServer(answers_snapshot(1), sends(text)).running() as server:
        shown = run("events", ORTH_SERVER=server.url, ORTH_TOKEN="x").output
    assert "\x1b" not in shown
    assert len(shown.splitlines()) == 1


class Follower:
    """``orth events -f`` in a process of its own."""

    def __init__(self, folder: Path, url: str, *more: str) -> None:
        self.out, self.err = folder / "events.jsonl", folder / "events.err"
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.popen = subprocess.Popen(
                [sys.executable, "-u", "-m", "orth", "events", "-f", "-o", "jsonl", *more],
                env=environment(ORTH_SERVER=url, ORTH_TOKEN=TOKEN),
                cwd=folder,
                stdout=out,
                stderr=err,
            )

    def told(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.read_text().splitlines(keepends=True) if line.endswith("\n")]


def test_a_follower_outlives_its_coordinator_and_misses_nothing(tmp_path: Path) -> None:
    with Site(tmp_path) as site:
        coordinator = site.coordinator()

        def report(status: str, agent: str) -> None:
            answer = HTTP.request(
                "POST",
                f"{site.url}/api/agents/{agent}/status",
                json={"status": status},
                headers={"ORTH-ACCESS-TOKEN": TOKEN},
            )
            assert answer.status == 200, answer.data

        told = HTTP.request(
            "POST",
            f"{site.url}/api/agents/register",
            json={"url": "http://127.0.0.1:5999", "name": "agent-1"},
            headers={"ORTH-ACCESS-TOKEN": TOKEN},
        )
        agent = str(told.json()["id"])
        follower = Follower(tmp_path, site.url, "--type", "agent_status_changed", "--type", "agent_registered")
        try:
            eventually(lambda: len(follower.told()) == 1, what="what has happened before")
            report("Idle", agent)
            eventually(lambda: len(follower.told()) == 2, what="what happens")
            coordinator.end(signal.SIGKILL)
            eventually(lambda: "Trying again" in follower.err.read_text(), what="the break")
            site.coordinator()
            for status in ("Busy", "Idle", "Busy"):
                report(status, agent)
            statuses = ["Starting", "Idle", "Busy", "Idle", "Busy"]
            eventually(lambda: len(follower.told()) >= len(statuses), what="what was missed")
            assert [one["data"]["status"] for one in follower.told()] == statuses
            numbers = [one["seq"] for one in follower.told()]
            assert numbers == sorted(set(numbers))
            follower.popen.send_signal(signal.SIGINT)
            assert follower.popen.wait(10) == 0
            assert "Traceback" not in follower.err.read_text()
        finally:
            follower.popen.kill()
            follower.popen.wait(10)
