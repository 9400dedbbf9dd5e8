"""Which processes are up, and which are started again; real processes, turned by hand on a clock that stands still."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Callable

import pytest

from orth.apphost.keeping import Keeper, Keeping, State, pause_after
from orth.apphost.resources import Kind, Resource
from orth.events import Events
from orth.testing import ManualClock
from tests.servers.processes import alive

STAYS = "import os, time; os.read(int(os.environ['ORTH_UP_GATE']), 1); print('hello', flush=True); time.sleep(600)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {STAYS}"
LEAVES = f"import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); {STAYS}"
COUNTS = (
    "import signal, time; asked = lambda *_: print('asked', flush=True); signal.signal(signal.SIGTERM, asked); "
    + STAYS.replace("time.sleep(600)", "signal.pause(); time.sleep(0.5); print('done', flush=True)")
)
SLEEPS = "import time; time.sleep(600)"
WITH_CHILD = f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', {SLEEPS!r}]); print(p.pid); p.wait()"


def resource(name: str, code: str, *after: str) -> Resource:
    return Resource(name, Kind.COORDINATOR, (sys.executable, "-c", code), {}, f"http://{name}", 1, after, patience=5.0)


class Stand:
    """A keeping with a clock, what it told, and who is said to be ready."""

    def __init__(self, *resources: Resource) -> None:
        self.clock = ManualClock()
        self.told: list[tuple[str, str]] = []
        self.ready: set[str] = set()
        self.keeping = Keeping(
            resources,
            self.clock,
            Events(),
            environment=os.environ,
            answers=lambda url: url.split("/")[2] in self.ready,
            tell=lambda name, line: self.told.append((name, line)),
            ready_within=30.0,
        )

    def __getitem__(self, name: str) -> Keeper:
        return self.keeping.keepers[name]

    async def turned_until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 20
        while not holds():
            await self.keeping.turn()
            assert time.monotonic() < deadline, [(k, v.state) for k, v in self.keeping.keepers.items()]
            await asyncio.sleep(0.01)

    async def running(self, name: str) -> Keeper:
        self.ready.add(name)
        await self.turned_until(lambda: self[name].state is State.RUNNING and (name, "hello") in self.told)
        return self[name]


@pytest.fixture
async def stands() -> AsyncIterator[list[Stand]]:
    made: list[Stand] = []
    yield made
    for stand in made:
        for keeper in stand.keeping.keepers.values():
            keeper.kill()
            if keeper.child is not None:
                await keeper.child.wait()


def test_pauses_grow_up_to_half_a_minute() -> None:
    assert [pause_after(crashes) for crashes in (1, 2, 3, 4, 5, 6, 7, 5000)] == [1, 2, 4, 8, 16, 30, 30, 30]


async def test_each_waits_until_those_before_it_are_ready(stands: list[Stand]) -> None:
    stand = Stand(resource("a", STAYS), resource("b", STAYS, "a"))
    stands.append(stand)
    await stand.keeping.turn()
    assert (stand["a"].state, stand["b"].state) == (State.STARTING, State.WAITING)
    await stand.turned_until(lambda: ("a", "hello") in stand.told)
    assert stand["b"].state is State.WAITING
    assert stand["b"].child is not None, "it loads meanwhile"
    assert ("b", "hello") not in stand.told, "and does nothing yet"
    await stand.running("a")
    assert not stand["b"].was_ready
    await stand.running("b")


async def test_a_crashed_one_is_started_again_after_a_growing_pause(stands: list[Stand]) -> None:
    stand = Stand(resource("a", STAYS))
    stands.append(stand)
    keeper = await stand.running("a")
    for crash, pause in enumerate((1, 2, 4), 1):
        keeper.kill()
        await stand.turned_until(lambda: keeper.state is State.CRASHED)
        assert stand.told[-1] == ("up", f"a ended with signal 9; it is started again in {pause} s")
        stand.clock.move(pause - 0.1)
        await stand.keeping.turn()
        assert keeper.state is State.CRASHED
        stand.clock.move(0.2)
        await stand.turned_until(lambda: keeper.state is State.RUNNING)
        assert keeper.restarts == crash
    stand.clock.move(61)
    keeper.kill()
    await stand.turned_until(lambda: keeper.state is State.CRASHED)
    assert stand.told[-1][1].endswith("again in 1 s"), "it had run well for a minute"


async def test_one_that_leaves_by_itself_with_0_is_left_alone(stands: list[Stand]) -> None:
    stand = Stand(resource("a", LEAVES))
    stands.append(stand)
    keeper = await stand.running("a")
    assert keeper.child is not None
    os.kill(keeper.child.pid, signal.SIGTERM)  # somebody else asked it to
    await stand.turned_until(lambda: keeper.state is State.STOPPED)
    stand.clock.move(100)
    await stand.keeping.turn()
    assert keeper.state is State.STOPPED
    assert stand.told[-1] == ("up", "a has stopped by itself")


async def test_stop_start_and_restart(stands: list[Stand]) -> None:
    stand = Stand(resource("a", LEAVES))
    stands.append(stand)
    keeper = await stand.running("a")
    keeper.want_stop()
    assert keeper.state is State.STOPPING
    await stand.turned_until(lambda: keeper.state is State.STOPPED)
    keeper.want_start()
    await stand.turned_until(lambda: keeper.state is State.RUNNING)
    before = keeper.child
    stand.told.clear()
    keeper.want_restart()
    await stand.turned_until(lambda: keeper.state is State.RUNNING and keeper.child is not before)
    assert keeper.restarts == 2


async def test_a_stubborn_one_is_killed_when_it_should_stop_but_not_while_it_drains(stands: list[Stand]) -> None:
    stand = Stand(resource("a", STUBBORN))
    stands.append(stand)
    keeper = await stand.running("a")
    assert keeper.child is not None
    pid = keeper.child.pid
    keeper.want_stop(drain=True)
    stand.clock.move(1000)
    await stand.keeping.turn()
    assert (keeper.state, alive(pid)) == (State.DRAINING, True)
    keeper.want_stop()
    stand.clock.move(5.1)
    await stand.turned_until(lambda: keeper.state is State.STOPPED)
    assert not alive(pid)


async def test_one_that_drains_is_not_asked_again(stands: list[Stand]) -> None:
    stand = Stand(resource("a", COUNTS))
    stands.append(stand)
    keeper = await stand.running("a")
    keeper.want_stop(drain=True)
    await stand.turned_until(lambda: ("a", "asked") in stand.told)
    keeper.want_stop()
    keeper.want_stop()
    await stand.turned_until(lambda: ("a", "done") in stand.told and keeper.state is State.STOPPED)
    assert [line for _, line in stand.told].count("asked") == 1, "a second signal would have cut it short"


async def test_one_that_never_gets_ready_is_a_trouble(stands: list[Stand]) -> None:
    stand = Stand(resource("a", "raise SystemExit(3)"), resource("b", STAYS))
    stands.append(stand)
    await stand.turned_until(lambda: stand["a"].state is State.CRASHED)
    assert stand.keeping.troubles == ["a ended with exit code 3 before it was ready."]
    stand.clock.move(31)
    await stand.keeping.turn()
    assert "b was not ready after 30 s." in stand.keeping.troubles
    await stand.running("b")
    assert not stand["b"].trouble


async def test_a_command_that_cannot_be_started_is_a_crash(stands: list[Stand]) -> None:
    missing = Resource("a", Kind.COORDINATOR, ("/no/such/program",), {}, "http://a", 1)
    stand = Stand(missing)
    stands.append(stand)
    await stand.keeping.turn()
    assert stand["a"].state is State.CRASHED
    assert stand.told[0][1].startswith("a cannot be started")


async def test_a_killed_one_takes_its_process_group_with_it(stands: list[Stand]) -> None:
    stand = Stand(resource("a", WITH_CHILD))
    stands.append(stand)
    await stand.turned_until(lambda: any(line.isdecimal() for _, line in stand.told))
    grandchild = next(int(line) for _, line in stand.told if line.isdecimal())
    assert alive(grandchild)
    stand["a"].kill()
    await stand.turned_until(lambda: stand["a"].state is State.CRASHED and not alive(grandchild))
