"""What a person asks a running ``orth up`` for."""

import json
import sys
import time
from pathlib import Path

import pytest

from orth.apphost.first_jobs import Made
from orth.apphost.hosting import Host, Manner, table_of
from orth.apphost.keeping import State
from orth.apphost.place import Place
from orth.apphost.resources import Kind, Resource, Topology
from orth.apphost.snapshot import Snapshot
from orth.apphost.viewing import Do, Wish
from orth.errors import NotFound
from orth.testing import ManualClock

STOP_OR_START = Wish(Do.STOP_OR_START, "a")


def host_of(folder: Path, clock: ManualClock, code: str, *agents: str) -> Host:
    kinds = {"a": Kind.COORDINATOR, **dict.fromkeys(agents, Kind.AGENT)}
    resources = tuple(
        Resource(name, kind, (sys.executable, "-c", code), {}, "http://127.0.0.1:1", 1) for name, kind in kinds.items()
    )
    manner = Manner(
        screen=False, quiet=True, kept=True, ready_within=30.0, password_file=folder / "password", password=""
    )
    return Host(Topology("test", resources), Place(folder), manner, clock)


async def test_one_that_would_be_started_again_is_stopped_and_then_started(tmp_path: Path) -> None:
    clock = ManualClock()
    host = host_of(tmp_path, clock, "raise SystemExit(3)")
    keeper, deadline = host.keeping.keepers["a"], time.monotonic() + 20
    while keeper.state is not State.CRASHED:
        assert time.monotonic() < deadline
        await host.keeping.turn()
        if keeper.child is not None:
            await keeper.child.wait()
    assert await host.carry_out(STOP_OR_START) == "stop a"
    clock.move(100)
    await host.keeping.turn()
    assert (keeper.state, keeper.child) == (State.STOPPED, None)
    assert await host.carry_out(STOP_OR_START) == "start a"
    assert keeper.state is State.WAITING


async def test_one_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        await host_of(tmp_path, ManualClock(), "").carry_out(Wish(Do.KILL, "b"))


def test_what_was_not_created_is_said_below_the_table(tmp_path: Path) -> None:
    host = host_of(tmp_path, ManualClock(), "", "agent-1", "agent-2")
    assert table_of(host.snapshot()).count("\n") == 3
    wrong = "jobs.py:3: handler nightly has no schedule: '0 25 * * *': hour 25 is outside 0-23."
    for name in ("agent-1", "agent-2", "a"):
        host.tell(name, f"2026-11-19 21:00:00.123 ERROR orth: {wrong if name != 'a' else 'of a coordinator'}")
        host.tell(name, "2026-11-19 21:00:00.123 INFO orth: executor listens")
    host.tell_made(Made((("b", "0 2 * * *"),), ("no job was created for past.",)))
    assert Snapshot.from_json(json.loads(json.dumps(host.snapshot().to_json()))) == host.snapshot()
    assert table_of(host.snapshot()).split("\n")[4:] == [
        "",
        wrong,
        "no job was created for past.",
        "To see the file and line of each, run: orth executor FILE --check",
    ]


def test_a_folder_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    host = host_of(folder, ManualClock(), "")
    folder.rmdir()
    host._write_standing()
    folder.mkdir()
    host._write_standing()
    assert Place(folder).read() is not None, "tried again"
