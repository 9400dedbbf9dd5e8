"""The leader is killed, frozen, or asked to stop while jobs fire every second: real processes on PostgreSQL.

The schedule has no hole beyond the lease and a little, no fire is missed and none runs twice. In ``make faults`` there
are 200 jobs instead of 50, other leases down to a second, and MariaDB.
"""

import os
import signal
import time
from pathlib import Path

import pytest

from tests.faults.trio import Trio, told_at
from tests.walk.processes import eventually

LONG = os.environ.get("ORTH_TEST_FAULTS") == "long"
JOBS = 200 if LONG else 50
LEASE = 3.0
SETTINGS = {
    "ORTH_CLUSTER__LEASE": "3s",
    "ORTH_CLUSTER__LEASE_RENEW": "1s",
    "ORTH_CLUSTER__HEARTBEAT": "1s",
    "ORTH_CLUSTER__DEAD_AFTER": "3s",
}


def test_a_leader_that_is_killed_leaves_no_hole_in_the_schedule(postgres_url: str, tmp_path: Path) -> None:
    _killed(Trio(tmp_path, postgres_url, **SETTINGS), LEASE)


def test_with_a_lease_of_half_a_minute_there_is_none_either(postgres_url: str, tmp_path: Path) -> None:
    """The server of the database notices at once that a process is gone."""
    settings = {**SETTINGS, "ORTH_CLUSTER__LEASE": "30s", "ORTH_CLUSTER__LEASE_RENEW": "10s"}
    _killed(Trio(tmp_path, postgres_url, **settings), LEASE)


def test_a_leader_that_was_frozen_steps_down_and_doubles_nothing(postgres_url: str, tmp_path: Path) -> None:
    with Trio(tmp_path, postgres_url, **SETTINGS) as trio:
        first = trio.leader()
        trio.fire_every_second(JOBS)
        frozen = trio.nodes[first].popen.pid
        os.kill(frozen, signal.SIGSTOP)
        second = trio.leader(but=first)
        trio.runs(2 * JOBS)
        eventually(lambda: _state(trio, second, first) == "dead", what="its death to be seen")
        time.sleep(max(0.0, 2 * LEASE - (time.time() - told_at(trio.nodes[second], "leads: term")[-1] + LEASE)))
        os.kill(frozen, signal.SIGCONT)
        eventually(lambda: told_at(trio.nodes[first], "no longer leads"), what="the frozen one to step down")
        trio.runs(2 * JOBS)
        assert trio.api(first).call("GET", "/api/v1/cluster")["leader"] == second
        eventually(lambda: _state(trio, second, first) == "active", what="its return to be seen")
        trio.stop()
        trio.check_fires()
        assert trio.worst_gap() <= LEASE + 2


@pytest.mark.parametrize("channels", ["database://", "memory://"])
def test_a_leader_that_stops_is_followed_within_a_second(channels: str, postgres_url: str, tmp_path: Path) -> None:
    settings = {
        **SETTINGS,
        "ORTH_CLUSTER__LEASE": "30s",
        "ORTH_CLUSTER__LEASE_RENEW": "10s",
        "ORTH_CHANNELS__URL": channels,
    }
    with Trio(tmp_path, postgres_url, **settings) as trio:
        first = trio.leader()
        trio.all_beat()
        trio.fire_every_second(JOBS)
        assert trio.nodes[first].end(signal.SIGTERM) == 0
        second = trio.leader(but=first)
        (ended,), (began,) = told_at(trio.nodes[first], "no longer leads"), told_at(trio.nodes[second], "leads: term")
        assert began - ended < 1.0
        assert _state(trio, second, first) == "offline"
        trio.runs(2 * JOBS)
        asked = trio.api(second).call("POST", "/api/v1/cluster/step-down", expect=202)
        assert asked["node"] == second
        third = trio.leader(but=second, asking=second)
        (ended,), (began,) = told_at(trio.nodes[second], "no longer leads"), told_at(trio.nodes[third], "leads: term")
        assert began - ended < 1.0
        trio.runs(2 * JOBS)
        trio.stop()
        trio.check_fires()
        assert trio.worst_gap() < 3.0


if LONG:

    @pytest.mark.parametrize("lease", [1.0, 3.0, 10.0])
    @pytest.mark.parametrize("ahead", ["0s", "3s"])
    def test_so_it_is_with_every_lease(lease: float, ahead: str, postgres_url: str, tmp_path: Path) -> None:
        settings = {
            **SETTINGS,
            "ORTH_CLUSTER__LEASE": f"{lease:g}s",
            "ORTH_CLUSTER__LEASE_RENEW": f"{lease / 3:.2f}s",
            "ORTH_COORDINATOR__PLAN_AHEAD": ahead,
        }
        _killed(Trio(tmp_path, postgres_url, **settings), lease, times=2)

    def test_so_it_is_on_mariadb(mariadb_url: str, tmp_path: Path) -> None:
        _killed(Trio(tmp_path, mariadb_url, **SETTINGS), LEASE, times=2)


def _killed(trio: Trio, lease: float, *, times: int = 1) -> None:
    with trio:
        leader = trio.leader()
        trio.fire_every_second(JOBS)
        for _ in range(times):
            killed, killed_at = trio.nodes[leader], time.time()
            killed.end(signal.SIGKILL)
            successor = trio.leader(but=leader)
            took = told_at(trio.nodes[successor], "leads: term")[-1] - killed_at
            assert took <= lease + 1, f"it took {took:.1f} s"
            trio.runs(JOBS * 3)
            if times > 1:
                trio.start(leader)
            leader = successor
        trio.stop()
        trio.check_fires()
        assert trio.worst_gap() <= lease + 2
        assert trio.worst_delay() <= lease + 2


def _state(trio: Trio, asked: str, name: str) -> str:
    nodes = trio.api(asked).call("GET", "/api/v1/cluster")["nodes"]
    return next(str(one["state"]) for one in nodes if one["id"] == name)
