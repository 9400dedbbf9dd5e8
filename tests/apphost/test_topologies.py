"""The processes of ``orth up``: from the settings, and from an ``apphost.py``."""

import socket
from pathlib import Path
from typing import Any

import pytest

from orth.apphost import AppHost
from orth.apphost.resources import Kind, Topology
from orth.apphost.topologies import Certificates, Ground, Layout, from_settings, plan
from orth.errors import CannotStart
from orth.settings import Settings

ANY = {"registry_port": 0, "console_port": 0, "coordinator_port": 0, "executor_port": 0}


def ground(folder: Path, certificates: Certificates | None = None, **sections: Any) -> Ground:
    settings = Settings.model_validate({"apphost": ANY, **sections})
    return Ground(settings, folder, "secret", certificates)


def planned(folder: Path, **apphost: Any) -> Topology:
    given = ground(folder, apphost={**ANY, "registry": True, "console": True, **apphost})
    return plan(from_settings(given.settings, "jobs.py"), given)


def test_the_settings_say_what_there_is(tmp_path: Path) -> None:
    made = planned(tmp_path, coordinators=2, executors=3)
    names = [one.name for one in made.resources]
    assert names == ["registry", "coordinator-1", "coordinator-2", "agent-1", "agent-2", "agent-3", "console"]
    assert made.waves() == [
        ["registry"],
        ["coordinator-1", "coordinator-2"],
        ["agent-1", "agent-2", "agent-3"],
        ["console"],
    ]
    assert len({one.port for one in made.resources} - {0}) == 7


@pytest.mark.parametrize(("built", "lacking"), [(True, ""), (False, "not built: make console")])
def test_a_console_that_is_not_built_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, built: bool, lacking: str
) -> None:
    monkeypatch.setattr("orth.apphost.topologies.has_console", lambda: built)
    made = planned(tmp_path, coordinators=1, executors=1)
    assert {one.kind: one.lacking for one in made.resources} == {
        Kind.REGISTRY: "",
        Kind.COORDINATOR: "",
        Kind.AGENT: "",
        Kind.CONSOLE: lacking,
    }


def test_ports_are_those_of_the_settings_when_they_are_free(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free = probe.getsockname()[1]
    made = planned(tmp_path, coordinators=1, executors=1, console_port=free)
    assert made.console_url == f"http://127.0.0.1:{free}"


def test_everybody_is_told_where_the_others_are(tmp_path: Path) -> None:
    made = planned(tmp_path, coordinators=2, executors=1)
    [registry], coordinators, [agent] = made.of(Kind.REGISTRY), made.of(Kind.COORDINATOR), made.of(Kind.AGENT)
    known = agent.environment["ORTH_EXECUTOR__COORDINATORS"].split(",")
    assert known == [one.url for one in coordinators]
    for one in made.resources:
        assert one.environment["ORTH_REGISTRY__URL"] == registry.url
        assert one.environment["ORTH_CHANNELS__URL"] == "database://", "several processes share one file"
        assert "secret" not in " ".join(one.command), "passwords are not arguments"
    assert registry.environment["ORTH_COORDINATOR__ROLES"] == "registry"
    assert coordinators[0].environment["ORTH_COORDINATOR__ROLES"] == "all"
    assert coordinators[0].environment["ORTH_COORDINATOR__URL"] == coordinators[0].url, "whatever a file says"
    assert "secret" not in agent.environment.values(), "executors have no business with it"


def test_without_a_registry_coordinators_are_asked(tmp_path: Path) -> None:
    made = planned(tmp_path, registry=False, console=False)
    assert all("ORTH_REGISTRY__URL" not in one.environment for one in made.resources)
    assert made.console_url == made.of(Kind.COORDINATOR)[0].url


def test_channels_that_were_chosen_stay(tmp_path: Path) -> None:
    given = ground(tmp_path, channels={"url": "redis://h:1/0"})
    made = plan(from_settings(given.settings, "jobs.py"), given)
    assert all("ORTH_CHANNELS__URL" not in one.environment for one in made.resources)


def test_host_names_are_used_where_they_lead_here(tmp_path: Path) -> None:
    made = planned(tmp_path, suffix="invalid", registry_host="r", executor_host="w", executors=2, coordinators=2)
    assert made.hosts == (
        "127.0.0.1 r.invalid",
        "127.0.0.1 orchestrator.invalid",
        "127.0.0.1 w-1.invalid",
        "127.0.0.1 w-2.invalid",
        "127.0.0.1 viz.invalid",
    )
    assert all("127.0.0.1" in one.url for one in made.resources), "as long as the names lead nowhere"
    here = planned(tmp_path, suffix="localhost", executors=1)
    if not here.hosts:  # resolvers that know every name below localhost
        [agent] = here.of(Kind.AGENT)
        assert (
            agent.environment["ORTH_EXECUTOR__ADDRESS"] == agent.url == f"http://worker-agent-1.localhost:{agent.port}"
        )


def test_the_port_of_the_dashboard_moves_too_and_has_a_name(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        made = planned(tmp_path, dashboard_port=port, suffix="invalid")
    assert made.dashboard_port is not None
    assert made.dashboard_port > port
    assert any("so dashboard uses" in sentence for sentence in made.moved)
    assert made.hosts[-1] == "127.0.0.1 dashboard.invalid"


def test_with_certificates_all_addresses_are_https(tmp_path: Path) -> None:
    files = Certificates(tmp_path / "ca", tmp_path / "trusted", tmp_path / "cert", tmp_path / "key")
    given = ground(tmp_path, files)
    made = plan(from_settings(given.settings, "jobs.py"), given)
    assert all(one.url.startswith("https://127.0.0.1:") for one in made.resources)
    assert made.ca_file == str(files.trusted)
    agent = made.of(Kind.AGENT)[0]
    assert agent.environment["ORTH_EXECUTOR__ADDRESS"] == agent.url
    assert agent.environment["ORTH_SECURITY__TLS_KEY"] == str(files.key)
    assert agent.environment["SSL_CERT_FILE"] == str(files.trusted)


def test_a_topology_in_code(tmp_path: Path) -> None:
    host = AppHost("demo")
    registry = host.registry(port=0)
    coordinators = host.coordinators(2, port=0).after(registry)
    agents = host.agents(3, modules=["jobs"], port=0).after(coordinators).env(TZ="Asia/Tokyo")
    host.console(port=0).after(registry)
    made = plan(host, ground(tmp_path))
    assert made.name == "demo"
    assert made.waves() == [
        ["registry"],
        ["coordinator-1", "coordinator-2", "console"],
        ["agent-1", "agent-2", "agent-3"],
    ]
    assert [one.environment["TZ"] for one in made.of(Kind.AGENT)] == ["Asia/Tokyo"] * 3
    assert made.of(Kind.AGENT)[0].command[-2:] == ("executor", "jobs")
    assert agents.names() == ["agent-1", "agent-2", "agent-3"]


def test_executors_of_several_modules_have_names_of_their_own(tmp_path: Path) -> None:
    host = Layout()
    host.coordinators(1, port=0)
    host.agents(1, modules=["jobs"], port=0)
    with pytest.raises(CannotStart, match="two agent-1"):
        host.agents(1, modules=["reports"], port=0)
    host.agents(1, modules=["reports"], port=0, name="reporter")
    made = plan(host, ground(tmp_path))
    assert [one.name for one in made.of(Kind.AGENT)] == ["agent-1", "reporter-1"]
    with pytest.raises(CannotStart, match="one module, not 2"):
        host.agents(1, modules=["a", "b"])


def test_a_host_without_coordinators_is_refused(tmp_path: Path) -> None:
    host = AppHost("empty")
    host.registry(port=0)
    with pytest.raises(CannotStart, match="no coordinators"):
        plan(host, ground(tmp_path))
