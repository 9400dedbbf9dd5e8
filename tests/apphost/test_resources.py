"""What ``orth up`` starts, decided before anything is."""

import socket
from pathlib import Path

from orth.apphost.resources import Ports, topology
from orth.settings import Settings


def test_a_taken_port_is_passed_over_and_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ports = Ports()
        given = ports.near(port, "coordinator-1")
        assert given > port
        assert ports.moved == [f"port {port} is taken, so coordinator-1 uses {given}"]
        assert ports.near(given, "coordinator-2") != given
        assert len(ports.moved) == 1, "a port given to one of ours is no news"


def test_port_zero_is_any_free_port(tmp_path: Path) -> None:
    settings = Settings.model_validate({"coordinator": {"listen": "127.0.0.1:0"}, "apphost": {"coordinators": 2}})
    plan = topology(settings, tmp_path, "jobs", "secret")
    ports = {one.url.rpartition(":")[2] for one in (*plan.coordinators, *plan.executors)}
    assert len(ports) == 4
    assert "0" not in ports
    known = plan.executors[0].environment["ORTH_EXECUTOR__COORDINATORS"].split(",")
    assert known == [one.url for one in plan.coordinators]
    assert all("secret" not in " ".join(one.command) for one in plan.coordinators), "passwords are not arguments"
