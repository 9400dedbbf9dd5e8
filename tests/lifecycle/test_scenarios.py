"""The five scenarios with real processes: what they log to standard error, word for word and at its level.

Pauses are shortened by settings; ``test_presence`` has the long ones on a clock moved by hand.
"""

import re
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.lifecycle.registry import HANG, ScriptedRegistry
from tests.servers.processes import free_port
from tests.walk.processes import HTTP, TOKEN, Process, Site, eventually

JOBS = Path(__file__).with_name("idle_jobs.py")
LINE = re.compile(r"^\S+ \S+ (\w+) +orth: (.*)$")
ID = "([0-9a-f]{32})"
QUICK = {
    "ORTH_LOG_LEVEL": "debug",
    "ORTH_REGISTRY__SETTLE": "100ms",
    "ORTH_REGISTRY__REGISTER_PAUSES": "0s,100ms,200ms,300ms,400ms",
    "ORTH_REGISTRY__REGISTER_AGAIN": "700ms",
    "ORTH_REGISTRY__HEARTBEAT": "500ms",
    "ORTH_REGISTRY__DISCOVER": "500ms",
    "ORTH_REGISTRY__BREAKER_FAILURES": "1000",
}


def told(process: Process) -> list[str]:
    """What the process has logged, as ``LEVEL sentence``."""
    matches = (LINE.match(line) for line in process.text().splitlines())
    return [f"{match[1]} {match[2]}" for match in matches if match]


def in_order(process: Process, patterns: Sequence[str], *, within: float = 20.0) -> list[re.Match[str]]:
    """The first lines that fit the patterns one after the other, waited for."""

    def found() -> list[re.Match[str]] | None:
        matches: list[re.Match[str]] = []
        for line in told(process):
            match = re.fullmatch(patterns[len(matches)], line)
            if match:
                matches.append(match)
                if len(matches) == len(patterns):
                    return matches
        return None

    try:
        return eventually(found, within=within, what=" → ".join(patterns))
    except AssertionError as late:
        lines = [line for line in told(process) if "Heartbeat sent" not in line]
        raise AssertionError("\n".join([str(late), *lines])) from None


def listed(url: str, kind: str) -> list[dict[str, Any]]:
    answer = HTTP.request("GET", f"{url}/api/{kind}", headers={"ORTH-ACCESS-TOKEN": TOKEN})
    assert answer.status == 200, answer.data
    found: list[dict[str, Any]] = answer.json()
    return found


def run_job(site: Site, handler: str = "quick", param: str = "") -> int:
    """Have the executor run something; the id of the execution."""
    api = site.api()
    groups = [group["id"] for group in api.items("/api/v1/groups") if group["app_name"] == "scenario"]
    group = groups[0] if groups else api.call("POST", "/api/v1/groups", {"app_name": "scenario", "title": "s"})["id"]
    body = {"job_group": group, "job_desc": handler, "schedule_type": "NONE", "executor_handler": handler}
    job = api.call("POST", "/api/v1/jobs", body)["id"]
    eventually(lambda: api.items("/api/v1/executors"), what="the executor is known")
    (execution,) = api.call("POST", f"/api/v1/jobs/{job}/trigger", {"executor_param": param})["execution_ids"]
    return int(execution)


def succeeded(site: Site, execution: int) -> bool:
    return bool(site.api().call("GET", f"/api/v1/executions/{execution}")["status"] == "success")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with Site(tmp_path, **QUICK) as site:
        yield site


def test_scenario_1_normal_operation(site: Site) -> None:
    coordinator = site.coordinator()
    (_started, _attempt, registered, *_rest) = in_order(
        coordinator,
        [
            re.escape(f"INFO Registry API started on {site.url}"),
            "INFO Registration attempt 1/5",
            f"INFO Orchestrator registered with ID: {ID}",
            "INFO Successfully registered on attempt 1",
            "INFO Orchestrator status updated to Running",
            f"DEBUG Heartbeat sent for orchestrator {ID}",
        ],
    )
    executor = site.executor(JOBS)
    (_attempt, agent, *_rest) = in_order(
        executor,
        [
            "INFO Registration attempt 1/5",
            f"INFO Agent registered with ID: {ID} for orchestrator {registered[1]}",
            "INFO Successfully registered on attempt 1",
            "INFO Agent status updated to Idle",
            f"DEBUG Heartbeat sent for agent {ID}",
        ],
    )
    (one,) = listed(site.url, "orchestrators")
    assert (one["id"], one["url"], one["status"]) == (registered[1], site.url, "Running")
    (two,) = listed(site.url, "agents")
    assert (two["id"], two["status"], two["orchestratorId"]) == (agent[1], "Idle", registered[1])
    flag = site.folder / "flag"
    execution = run_job(site, "until_told", str(flag))
    in_order(executor, ["INFO Agent status updated to Idle", "INFO Agent status updated to Busy"])
    assert [one["status"] for one in listed(site.url, "agents")] == ["Busy"]
    flag.touch()
    in_order(executor, ["INFO Agent status updated to Busy", "INFO Agent status updated to Idle"])
    eventually(lambda: succeeded(site, execution))


def test_scenario_2_no_registry_at_the_start_and_the_services_work(site: Site) -> None:
    registry = ScriptedRegistry(port=free_port(), token=TOKEN)
    site.settings["ORTH_REGISTRY__URL"] = registry.url
    coordinator = site.coordinator()
    executor = site.executor(JOBS)
    for process, kind in ((coordinator, "orchestrator"), (executor, "agent")):
        in_order(
            process,
            [
                "INFO Registration attempt 1/5",
                r"WARNING Network error during registration \(no internet connection or DNS failure\).*",
                r"WARNING Registration attempt 1 failed\. Retrying in 0\.1 seconds\.\.\.",
                "INFO Registration attempt 2/5",
                r"WARNING Network error during registration \(retry 2/5\).*",
                r"WARNING Registration attempt 2 failed\. Retrying in 0\.2 seconds\.\.\.",
                "INFO Registration attempt 3/5",
                "INFO Registration attempt 4/5",
                "INFO Registration attempt 5/5",
                "ERROR Failed to register after 5 attempts",
                rf"WARNING Failed to register {kind} after 5 attempts\. Service will continue without registration\.",
                "DEBUG Skipping heartbeat - not registered",
            ],
        )
    execution = run_job(site)
    eventually(lambda: succeeded(site, execution), what="work in degraded mode")
    with registry:
        for process in (coordinator, executor):
            in_order(process, ["ERROR Failed to register after 5 attempts", r"INFO Successfully registered on .*"])
    assert coordinator.alive()
    assert executor.alive()


def test_scenario_3_the_registry_goes_away_and_comes_back(site: Site) -> None:
    registry_url = f"http://127.0.0.1:{free_port()}"
    port = int(registry_url.rsplit(":", 1)[1])
    own = {
        "ORTH_COORDINATOR__DATA_DIR": str(site.folder / "registry"),
        "ORTH_REGISTRY__ORCHESTRATORS_BY_TOKEN": "true",  # it has a database of its own
    }
    registry = site.coordinator("registry", port=port, **own)
    site.settings["ORTH_REGISTRY__URL"] = registry_url
    coordinator, executor = site.coordinator(), site.executor(JOBS)
    first = {
        process.name: in_order(process, [rf"INFO {title} registered with ID: {ID}.*", r"DEBUG Heartbeat sent .*"])[0][1]
        for process, title in ((coordinator, "Orchestrator"), (executor, "Agent"))
    }
    registry.end(signal.SIGKILL)
    for process in (coordinator, executor):
        in_order(
            process,
            [
                r"WARNING Heartbeat network error \(1/3\).*",
                r"WARNING Heartbeat network error \(2/3\).*",
                r"WARNING Heartbeat network error \(3/3\).*",
                r"WARNING Too many consecutive heartbeat failures\. Attempting re-registration\.\.\.",
                "INFO Registration attempt 1/5",
            ],
        )
    execution = run_job(site)
    eventually(lambda: succeeded(site, execution), what="work without a registry")
    site.coordinator("registry", port=port, **own, ORTH_REGISTRY__URL="")
    for process, title in ((coordinator, "Orchestrator"), (executor, "Agent")):
        *_before, again = in_order(
            process,
            [
                r"WARNING Too many consecutive heartbeat failures.*",
                rf"INFO {title} registered with ID: {ID}.*",
            ],
        )
        assert again[1] == first[process.name], "it is back as the one it was"
    assert {one["status"] for one in listed(registry_url, "agents")} <= {"Starting", "Idle"}


def test_scenario_4_graceful_shutdown(site: Site) -> None:
    coordinator, executor = site.coordinator(), site.executor(JOBS)
    for process in (coordinator, executor):
        in_order(process, ["INFO .* status updated to (Running|Idle)"])
    for process, title, number in ((executor, "Agent", signal.SIGINT), (coordinator, "Orchestrator", signal.SIGTERM)):
        assert process.end(number) == 0
        in_order(
            process,
            [
                rf"INFO {title} shutting down gracefully\.\.\.",
                f"INFO {title} status updated to Stopping",
                f"INFO {title} unregistered successfully",
            ],
            within=0,
        )
        if process is executor:
            assert listed(site.url, "agents") == []


@pytest.mark.parametrize("answer", [HANG, 503])
def test_a_registry_in_trouble_delays_no_shutdown(site: Site, answer: int | str) -> None:
    with ScriptedRegistry(token=TOKEN) as registry:
        site.settings["ORTH_REGISTRY__URL"] = registry.url
        executor = site.executor(JOBS, ORTH_EXECUTOR__CALL_TIMEOUT="200ms")
        in_order(executor, ["INFO Agent status updated to Idle"])
        registry.always = dict.fromkeys(("heartbeat", "status", "unregister", "list"), answer)
        before = len(registry.of("heartbeat"))
        eventually(lambda: len(registry.of("heartbeat")) > before, what="a beat that meets it")
        began = time.monotonic()
        assert executor.end() == 0
        assert time.monotonic() - began < 2 + 3, "two seconds for the goodbye, and what the rest takes"
        assert any(line.startswith("WARNING Network error during unregister (non-critical)") for line in told(executor))


def test_scenario_5_a_registry_that_is_not_configured(site: Site) -> None:
    (site.folder / "orth.toml").write_text('RegistryApiUrl = ""\n')
    coordinator, executor = site.coordinator(), site.executor(JOBS)
    for process, kind in ((coordinator, "orchestrator"), (executor, "agent")):
        in_order(
            process,
            [
                r"ERROR RegistryApiUrl not configured in appsettings: .*orth\.toml:1.*",
                "ERROR Failed to register after 5 attempts",
                rf"WARNING Failed to register {kind} after 5 attempts\. Service will continue without registration\.",
            ],
        )
    execution = run_job(site)
    eventually(lambda: succeeded(site, execution), what="work without registration")
    for process in (coordinator, executor):
        assert not [line for line in told(process) if "Registration attempt" in line]
        assert len([line for line in told(process) if line.startswith("ERROR")]) == 2, "each is said once"


def test_an_executor_with_nothing_but_a_registry_finds_the_coordinators(site: Site) -> None:
    site.coordinator()
    eventually(lambda: [one for one in listed(site.url, "orchestrators") if one["status"] == "Running"])
    other = free_port()
    (site.folder / "orth.toml").write_text(f'[registry]\nurl = "{site.url}"\n')
    executor = site.executor(JOBS, ORTH_EXECUTOR__COORDINATORS="")
    in_order(executor, [re.escape(f"INFO coordinators are now {site.url}"), "INFO Agent status updated to Idle"])
    second = site.coordinator("node-2", port=other)
    in_order(executor, [r"INFO coordinators are now http://127.0.0.1:\d+, http://127.0.0.1:\d+"])
    second.end()
    in_order(
        executor,
        [
            r"INFO coordinators are now http://127.0.0.1:\d+, http://127.0.0.1:\d+",
            re.escape(f"INFO coordinators are now {site.url}"),
        ],
    )
    execution = run_job(site)
    eventually(lambda: succeeded(site, execution))


@pytest.mark.parametrize("by", ["file", "SIGHUP"])
def test_another_registry_is_taken_over_without_a_restart(site: Site, by: str) -> None:
    file = site.folder / "orth.toml"
    with ScriptedRegistry(token=TOKEN) as first, ScriptedRegistry(token=TOKEN) as second:
        file.write_text(f'RegistryApiUrl = "{first.url}"\n')
        coordinator, executor = site.coordinator(), site.executor(JOBS)
        for process in (coordinator, executor):
            in_order(process, ["INFO .* status updated to (Running|Idle)"])
        file.write_text('RegistryApiUrl = "nonsense"\n')
        _hint([coordinator, executor], by)
        for process in (coordinator, executor):
            in_order(process, [r"ERROR .*orth\.toml was not taken over, the settings stay as they were: .*nonsense.*"])
        file.write_text(f'RegistryApiUrl = "{second.url}"\n')
        _hint([coordinator, executor], by)
        for process in (coordinator, executor):
            in_order(
                process,
                [
                    r"INFO settings read again from .*orth\.toml: registry\.url",
                    "INFO Registration attempt 1/5",
                    r"INFO .* registered with ID: .*",
                ],
            )
        assert coordinator.alive()
        assert executor.alive()
        assert {one.path.split("/")[2] for one in second.of("register")} == {"orchestrators", "agents"}


def _hint(processes: Sequence[Process], by: str) -> None:
    if by == "SIGHUP":
        for process in processes:
            process.popen.send_signal(signal.SIGHUP)
