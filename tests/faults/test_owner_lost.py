"""A coordinator that owns executions, or all of them, is killed or drained: real processes.

Every execution has an owner again within the bounds of the settings, each ran once, and no result is lost. In ``make
faults`` they own 500 instead of 200, are restarted one after the other, and it is done on MariaDB, on SQLite and
through Redis, too.
"""

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, select

from orth.coordinator.defining import define, define_group, trigger_job
from orth.coordinator.triggering import Request
from orth.domain.jobs import AddressType, Group, Job, TriggerCause
from orth.store.database import open_database
from orth.store.groups import find_group
from orth.store.tables import executions, ownership
from tests.faults.trio import NAMES, Trio, told_at
from tests.servers.postgres import PostgresServer
from tests.walk.processes import eventually

LONG = os.environ.get("ORTH_TEST_FAULTS") == "long"
OPEN = 500 if LONG else 200
DEAD_AFTER, ORPHAN_CHECK, ASSIGNMENT_TIMEOUT, ACK_TIMEOUT = 3.0, 1.0, 3.0, 5.0
SETTINGS = {
    "ORTH_CHANNELS__URL": "database://",
    "ORTH_CLUSTER__LEASE": "2s",
    "ORTH_CLUSTER__LEASE_RENEW": "500ms",
    "ORTH_CLUSTER__HEARTBEAT": "1s",
    "ORTH_CLUSTER__DEAD_AFTER": f"{DEAD_AFTER:g}s",
    "ORTH_CLUSTER__ORPHAN_CHECK": f"{ORPHAN_CHECK:g}s",
    "ORTH_CLUSTER__REBALANCE": "false",  # what is counted must not move
    "ORTH_CLUSTER__ASSIGNMENT_TIMEOUT": f"{ASSIGNMENT_TIMEOUT:g}s",
    "ORTH_CLUSTER__HANDOFF_ACK_TIMEOUT": f"{ACK_TIMEOUT:g}s",
}
GATED = Path(__file__).parent / "gated_jobs.py"
KINDS = ("postgresql", "mariadb", "sqlite")
WAYS = ("database://", "redis", "memory://")


class Owners:
    """Three coordinators, and executions that stay open until they are let through."""

    def __init__(self, trio: Trio, folder: Path) -> None:
        self.trio = trio
        self.gate, self.passed = folder / "gate", folder / "passed"
        self.ids: list[int] = []
        known = ",".join(f"http://127.0.0.1:{port}" for port in trio.ports.values())
        more = {"ORTH_EXECUTOR__COORDINATORS": known, "GATE": str(self.gate), "PASSED": str(self.passed)}
        executor = trio.site.executor(GATED, "gated", **more)
        eventually(lambda: told_at(executor, "registered http"), what="the executor to be known")

    def open(self, count: int) -> None:
        """Close the gate, let executions begin, and wait until each of them has an owner."""
        self.gate.unlink(missing_ok=True)
        self.passed.unlink(missing_ok=True)
        self.ids = self.store(_trigger, count)
        eventually(lambda: len(self.owned()) == count, what=f"owners of {count} executions")

    def store(self, work: Callable[..., Any], *arguments: Any) -> Any:
        return asyncio.run(self._store(work, *arguments))

    async def _store(self, work: Callable[..., Any], *arguments: Any) -> Any:
        with open_database(self.trio.url, size=1, patience=30) as db:
            return await db.tx(work, *arguments)

    def owned(self, *states: str) -> dict[int, str]:
        """Who owns what of them."""
        wanted = ownership.c.state.in_(states or ("owned",)), ownership.c.execution_id.in_(self.ids)
        rows = self.store(_rows, select(ownership).where(*wanted))
        return {row.execution_id: row.node_id for row in rows}

    def counts(self) -> Counter[str]:
        return Counter(self.owned().values())

    def all_owned_by(self, *names: str, within: float) -> None:
        """Wait until these own everything between them."""
        eventually(
            lambda: len(owned := self.owned()) == len(self.ids) and set(owned.values()) <= set(names),
            within=within,
            what=f"everything owned by {names}",
        )

    def all_ended_once(self) -> None:
        """Open the gate: every execution succeeds, has run once, and has no owner any more."""
        self.gate.touch()
        ended = select(executions.c.id).where(executions.c.handle_code == 200, executions.c.id.in_(self.ids))
        eventually(lambda: len(self.store(_rows, ended)) == len(self.ids), within=60, what="the end of all")
        ran = Counter(int(line) for line in self.passed.read_text().splitlines())
        assert sorted(ran.elements()) == sorted(self.ids)
        eventually(lambda: self.owned("owned", "offered", "orphan_pending") == {}, what="rows removed")


@pytest.fixture(scope="module")
def shared(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owners]:
    folder = tmp_path_factory.mktemp("trio")
    with Trio(folder, postgres_server.create_database(), **SETTINGS) as trio:
        yield Owners(trio, folder)


@pytest.fixture
def owners(shared: Owners) -> Owners:
    """Three who are well and own nothing yet."""
    shared.trio.mend()
    return shared


def test_what_a_killed_follower_owned_is_adopted(owners: Owners) -> None:
    _killed(owners)


def test_a_drain_hands_over_everything_and_exits_in_good_order(owners: Owners) -> None:
    _drained(owners)


def test_a_second_signal_ends_a_drain_at_once_and_loses_nothing(owners: Owners) -> None:
    trio = owners.trio
    owners.open(OPEN)
    ((most, _count),) = owners.counts().most_common(1)
    frozen = [trio.nodes[name].popen for name in trio.others(most)]
    for popen in frozen:
        popen.send_signal(signal.SIGSTOP)
    leaving = trio.nodes[most]
    leaving.popen.send_signal(signal.SIGTERM)
    eventually(lambda: trio.said(most, "drains: it owns"), what="the drain to begin")
    assert leaving.end(signal.SIGTERM, within=ACK_TIMEOUT) == 1
    for popen in frozen:
        popen.send_signal(signal.SIGCONT)
    owners.all_owned_by(*trio.others(most), within=DEAD_AFTER + 2 * ORPHAN_CHECK + 15)
    owners.all_ended_once()


def test_all_are_killed_and_come_back_while_executors_go_on(owners: Owners) -> None:
    _all_killed(owners)


if LONG:

    @pytest.fixture(params=KINDS)
    def url(request: pytest.FixtureRequest) -> str:
        fixture = {"postgresql": "postgres_url", "mariadb": "mariadb_url", "sqlite": "sqlite_url"}[request.param]
        found: str = request.getfixturevalue(fixture)
        return found

    @pytest.fixture(params=WAYS)
    def channels(request: pytest.FixtureRequest) -> str:
        return str(request.getfixturevalue("redis_url")) if request.param == "redis" else str(request.param)

    def test_so_they_are_everywhere(url: str, channels: str, tmp_path: Path) -> None:
        with Trio(tmp_path, url, **{**SETTINGS, "ORTH_CHANNELS__URL": channels}) as trio:
            trio.all_beat()
            _killed(Owners(trio, tmp_path), spread=channels != "memory://")  # which reach nobody else

    def test_so_does_a_drain_everywhere(url: str, channels: str, tmp_path: Path) -> None:
        with Trio(tmp_path, url, **{**SETTINGS, "ORTH_CHANNELS__URL": channels}) as trio:
            trio.all_beat()
            _drained(Owners(trio, tmp_path))

    def test_all_are_restarted_one_after_the_other(url: str, tmp_path: Path) -> None:
        with Trio(tmp_path, url, **SETTINGS) as trio:
            trio.leader()
            trio.all_beat()
            owners = Owners(trio, tmp_path)
            owners.open(OPEN)
            trio.fire_every_second(50)
            for name in NAMES:
                assert trio.nodes[name].end(signal.SIGTERM) == 0
                trio.start(name)
                trio.all_beat()
                owners.all_owned_by(*NAMES, within=20)
            trio.stop()
            trio.check_fires()
            owners.all_ended_once()

    def test_so_is_nothing_lost_anywhere_when_all_are_killed(url: str, tmp_path: Path) -> None:
        with Trio(tmp_path, url, **SETTINGS) as trio:
            _all_killed(Owners(trio, tmp_path))

    def test_who_is_alone_leaves_at_once_and_its_successor_adopts(postgres_url: str, tmp_path: Path) -> None:
        with Trio(tmp_path, postgres_url, **SETTINGS) as trio:
            first, *rest = NAMES
            for name in rest:
                assert trio.nodes[name].end(signal.SIGTERM) == 0
            owners = Owners(trio, tmp_path)
            owners.open(20)
            began = time.monotonic()
            assert trio.nodes[first].end(signal.SIGTERM) == 0
            assert time.monotonic() - began < 5
            assert set(owners.owned("orphan_pending")) == set(owners.ids)
            trio.start(rest[0])
            owners.all_owned_by(rest[0], within=15)
            owners.all_ended_once()


def _killed(owners: Owners, *, spread: bool = True) -> None:
    """A follower is killed; ``spread``: with what it owned."""
    trio = owners.trio
    leader = trio.leader()
    owners.open(OPEN)
    victim = max(trio.others(leader), key=lambda name: owners.counts()[name])
    if spread:
        assert owners.counts()[victim] > 0
    trio.nodes[victim].end(signal.SIGKILL)
    owners.all_owned_by(*trio.others(victim), within=DEAD_AFTER + 2 * ORPHAN_CHECK + 10)
    owners.all_ended_once()


def _drained(owners: Owners) -> None:
    """Whoever owns most is asked to stop."""
    trio = owners.trio
    trio.leader()
    owners.open(OPEN)
    ((leaving, count),) = owners.counts().most_common(1)
    began = time.monotonic()
    assert trio.nodes[leaving].end(signal.SIGTERM) == 0
    took = time.monotonic() - began
    assert took < 15, f"it took {took:.1f} s"
    assert set(owners.owned()) == set(owners.ids)
    assert leaving not in owners.counts()
    assert trio.said(leaving, f"drained in .*: {count} executions handed over, 0 left")
    owners.all_ended_once()


def _all_killed(owners: Owners) -> None:
    trio, passed = owners.trio, owners.passed
    trio.leader()
    owners.open(OPEN)
    for name in NAMES:
        trio.nodes[name].end(signal.SIGKILL)
    owners.gate.touch()
    eventually(lambda: passed.exists() and len(passed.read_text().splitlines()) > OPEN // 4, what="a quarter done")
    trio.start(*NAMES)
    owners.all_ended_once()


def _trigger(connection: Connection, count: int) -> list[int]:
    now = round(time.time() * 1000)
    known = find_group(connection, "gated-tests")
    group = Group(0, "gated-tests", "gated-tests", AddressType.AUTO, ())
    group_id = known.id if known else define_group(connection, group, now)
    job = Job(id=0, job_group=group_id, job_desc="gated", executor_handler="gated")
    job_id = define(connection, job, now, True)
    asked = (Request(TriggerCause.MANUAL, f"request-{job_id}-{number}") for number in range(count))
    return [one for request in asked for one in trigger_job(connection, job_id, request, now)]


def _rows(connection: Connection, query: Any) -> list[Any]:
    return list(connection.execute(query))
