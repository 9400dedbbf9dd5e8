"""The leader is killed, frozen, or asked to stop while jobs fire every second: real processes on PostgreSQL.

The schedule has no hole beyond the lease and a little, no fire is missed and none runs twice. In ``make faults`` there
are 200 jobs instead of 20, three executors, other leases from a second to half a minute, channels that reach nobody,
PostgreSQL with Redis, MariaDB, and a SQLite file on one host.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.trio import Trio
from tests.servers.postgres import PostgresServer
from tests.walk.processes import eventually

LONG = os.environ.get("ORTH_TEST_FAULTS") == "long"
JOBS = 200 if LONG else 20
LEASE = 3.0
SETTINGS = {
    "ORTH_CLUSTER__LEASE": "3s",
    "ORTH_CLUSTER__LEASE_RENEW": "1s",
    "ORTH_CLUSTER__HEARTBEAT": "1s",
    "ORTH_CLUSTER__DEAD_AFTER": "3s",
}
PLACES = {"postgres_url": "redis_url", "mariadb_url": "", "sqlite_url": ""}
"""The databases, each with the server of its channels if that is another one."""
HALF_A_MINUTE = {**SETTINGS, "ORTH_CLUSTER__LEASE": "30s", "ORTH_CLUSTER__LEASE_RENEW": "10s"}


@pytest.fixture(scope="module")
def shared_trio(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trio]:
    with Trio(tmp_path_factory.mktemp("trio"), postgres_server.create_database(), **SETTINGS) as trio:
        yield trio


@pytest.fixture
def trio(shared_trio: Trio) -> Trio:
    """Three who are well."""
    shared_trio.mend()
    return shared_trio


def test_a_leader_that_is_killed_leaves_no_hole_in_the_schedule(trio: Trio) -> None:
    _killed(trio, LEASE)


def test_a_leader_that_was_frozen_steps_down_and_doubles_nothing(trio: Trio) -> None:
    _frozen(trio)


def test_a_leader_that_stops_is_followed_within_a_second(trio: Trio) -> None:
    _stopped(trio)


def test_with_a_lease_of_half_a_minute_there_is_none_either(postgres_url: str, tmp_path: Path) -> None:
    """The server of the database notices at once that a process is gone."""
    with Trio(tmp_path, postgres_url, **HALF_A_MINUTE) as trio:
        _killed(trio, LEASE)


if LONG:

    @pytest.mark.parametrize("lease", [1.0, 3.0, 10.0])
    @pytest.mark.parametrize("ahead", ["0s", "3s"])
    def test_so_it_is_with_every_lease(lease: float, ahead: str, postgres_url: str, tmp_path: Path) -> None:
        settings = {
            **SETTINGS,
            "ORTH_CLUSTER__LEASE": f"{lease:g}s",
            "ORTH_CLUSTER__LEASE_RENEW": f"{round(lease * 333)}ms",
            "ORTH_COORDINATOR__PLAN_AHEAD": ahead,
        }
        with Trio(tmp_path, postgres_url, **settings) as trio:
            _killed(trio, lease, times=2)

    @pytest.mark.parametrize("channels", ["database://", "memory://"])
    def test_nobody_waits_for_the_lease_of_one_that_stops(channels: str, postgres_url: str, tmp_path: Path) -> None:
        with Trio(tmp_path, postgres_url, **HALF_A_MINUTE, ORTH_CHANNELS__URL=channels) as trio:
            trio.all_beat()
            _stopped(trio)

    @pytest.fixture(params=PLACES)
    def everywhere(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Trio]:
        redis = PLACES[request.param]
        channels = request.getfixturevalue(redis) if redis else "database://"
        settings = {**SETTINGS, "ORTH_CHANNELS__URL": channels}
        with Trio(tmp_path, request.getfixturevalue(request.param), executors=3, **settings) as trio:
            trio.mend()
            yield trio

    def test_so_it_is_everywhere(everywhere: Trio) -> None:
        _killed(everywhere, LEASE, times=2)

    def test_so_is_a_frozen_one(everywhere: Trio) -> None:
        _frozen(everywhere)


def _killed(trio: Trio, lease: float, *, times: int = 1) -> None:
    leader = trio.leader()
    trio.fire_every_second(JOBS)
    for _ in range(times):
        killed_at = time.time()
        trio.nodes[leader].end(signal.SIGKILL)
        successor = trio.leader(but=leader)
        took = trio.said(successor, "leads: term")[-1] - killed_at
        assert 0 < took <= lease + 1, f"it took {took:.1f} s"
        trio.runs(JOBS * 3)
        if times > 1:
            trio.start(leader)
        leader = successor
    trio.stop()
    trio.check_fires()
    assert trio.worst_gap() <= lease + 2
    assert trio.worst_delay() <= lease + 2


def _frozen(trio: Trio) -> None:
    first = trio.leader()
    trio.fire_every_second(JOBS)
    frozen = trio.nodes[first].popen.pid
    os.kill(frozen, signal.SIGSTOP)
    frozen_at = time.time()
    second = trio.leader(but=first)
    trio.runs(2 * JOBS)
    eventually(lambda: _state(trio, second, first) == "dead", what="its death to be seen")
    time.sleep(max(0.0, frozen_at + 2 * LEASE - time.time()))
    os.kill(frozen, signal.SIGCONT)
    eventually(lambda: trio.said(first, "no longer leads"), what="the frozen one to step down")
    trio.runs(2 * JOBS)
    assert trio.api(first).call("GET", "/api/v1/cluster")["leader"] == second
    eventually(lambda: _state(trio, second, first) == "active", what="its return to be seen")
    trio.stop()
    trio.check_fires()
    assert trio.worst_gap() <= LEASE + 2


def _stopped(trio: Trio) -> None:
    """One leader stops, and the next is asked to step down."""
    first = trio.leader()
    trio.fire_every_second(JOBS)
    assert trio.nodes[first].end(signal.SIGTERM) == 0
    second = trio.leader(but=first)
    (ended,), (began,) = trio.said(first, "no longer leads"), trio.said(second, "leads: term")
    assert began - ended < 1.0
    assert _state(trio, second, first) == "offline"
    trio.runs(2 * JOBS)
    asked = trio.api(second).call("POST", "/api/v1/cluster/step-down", expect=202)
    assert asked["node"] == second
    third = trio.leader(but=second, asking=second)
    (ended,), (began,) = trio.said(second, "no longer leads"), trio.said(third, "leads: term")
    assert began - ended < 1.0
    trio.runs(2 * JOBS)
    trio.stop()
    trio.check_fires()
    assert trio.worst_gap() < 3.0


def _state(trio: Trio, asked: str, name: str) -> str:
    nodes = trio.api(asked).call("GET", "/api/v1/cluster")["nodes"]
    return next(str(one["state"]) for one in nodes if one["id"] == name)
