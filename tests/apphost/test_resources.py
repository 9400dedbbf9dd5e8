"""Ports, host names, and who waits for whom: decided before anything is started."""

import socket

import pytest

from orth.apphost.resources import Kind, Ports, Resource, Topology, host_line, leads_here
from orth.errors import CannotStart


def resource(name: str, *after: str) -> Resource:
    return Resource(name, Kind.COORDINATOR, ("true",), {}, "http://127.0.0.1:1", 1, after)


def test_a_taken_port_is_passed_over_and_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ports = Ports()
        given = ports.near(port, "coordinator-1")
        assert given > port
        assert ports.moved == [f"port {port} is taken, so coordinator-1 uses {given}"]
        assert ports.near(given, "coordinator-2") != given
        assert len(ports.moved) == 1, "a port given to one of ours is no news"


def test_waves_begin_with_those_that_wait_for_nobody() -> None:
    made = Topology("t", (resource("b", "a"), resource("a"), resource("c", "a", "b"), resource("d", "a")))
    assert made.waves() == [["a"], ["b", "d"], ["c"]]


def test_those_that_wait_for_each_other_are_refused() -> None:
    made = Topology("t", (resource("a", "b"), resource("b", "a"), resource("c")))
    with pytest.raises(CannotStart, match="a, b wait for each other"):
        made.waves()


def test_executors_and_coordinators_say_in_different_places_that_they_are_ready() -> None:
    coordinator = resource("c")
    agent = Resource("a", Kind.AGENT, ("true",), {}, "http://127.0.0.1:2", 2)
    assert (coordinator.health, agent.health) == ("http://127.0.0.1:1/health/ready", "http://127.0.0.1:2/health")
    assert agent.address == "127.0.0.1:2"


def test_names_that_do_not_lead_here_are_known() -> None:
    assert leads_here("localhost")
    assert not leads_here("nobody.invalid")
    assert host_line(["a.example.test"]) == ("127.0.0.1 a.example.test",)
