"""The socket through which other commands reach a running ``orth up``."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from orth.apphost.control import Control, Served, ask, show, watch
from orth.apphost.lines import LastLines, Line
from orth.apphost.place import Place
from orth.apphost.viewing import Do, Wish
from orth.clock import SystemClock
from orth.errors import NotFound, Unavailable
from tests.apphost.pictures import SHOWN
from tests.walk.processes import eventually


class Told:
    def __init__(self, place: Place) -> None:
        self.place = place
        self.lines = LastLines()
        self.control: Control
        self.wishes: list[Wish] = []
        self.downs: list[bool] = []

    async def carry_out(self, wish: Wish) -> str:
        if wish.name == "nobody":
            raise NotFound("resource", wish.name)
        self.wishes.append(wish)
        return f"{wish.do} {wish.name}"


@asynccontextmanager
async def serving(folder: Path) -> AsyncIterator[Told]:
    told = Told(Place(folder))
    served = Served(lambda: SHOWN, told.lines, told.carry_out, told.downs.append)
    with told.place.held():
        async with Control(told.place, served, SystemClock()) as told.control:
            yield told


async def test_it_shows_what_runs(tmp_path: Path) -> None:
    async with serving(tmp_path) as told:
        assert await asyncio.to_thread(show, told.place) == SHOWN


async def test_wishes_are_carried_out(tmp_path: Path) -> None:
    async with serving(tmp_path) as told:
        answer = await asyncio.to_thread(ask, told.place, do=Do.RESTART, name="agent-1")
        assert (answer, told.wishes) == ({"said": "restart agent-1"}, [Wish(Do.RESTART, "agent-1")])
        await asyncio.to_thread(ask, told.place, do="down", now=True)
        assert told.downs == [True]


async def test_the_reason_is_told_when_a_wish_is_not_carried_out(tmp_path: Path) -> None:
    async with serving(tmp_path) as told:
        answer = await asyncio.to_thread(ask, told.place, do=Do.KILL, name="nobody")
        assert answer == {"said": "There is no resource nobody.", "refused": True}


async def test_a_watcher_gets_every_line_once(tmp_path: Path) -> None:
    async with serving(tmp_path) as told:
        told.lines.add(Line("a", "before"))
        watching = watch(told.place)
        _shown, first = await asyncio.to_thread(next, watching)
        told.lines.add(Line("a", "after"))
        seen = [*first]
        while len(seen) < 2:
            seen += (await asyncio.to_thread(next, watching))[1]
        assert seen == [Line("a", "before"), Line("a", "after")]
    assert await asyncio.to_thread(lambda: [*watching]) is not None, "it ends with what it watches"


async def test_nonsense_is_answered_by_closing(tmp_path: Path) -> None:
    async with serving(tmp_path) as told:
        for nonsense in (b"{\n", b"[]\n", b'{"do": "dance"}\n', b"x" * 100_000 + b"\n"):
            with told.place.connected(5) as client:
                client.sendall(nonsense)
                assert await asyncio.to_thread(client.recv, 100) == b""
        assert await asyncio.to_thread(show, told.place) == SHOWN


async def test_one_that_does_not_read_is_dropped_and_delays_nobody(tmp_path: Path) -> None:
    async with serving(tmp_path) as told:
        with told.place.connected(5) as stalled:
            stalled.sendall(b'{"do": "watch"}\n')
            for _ in range(50):
                for _ in range(100):
                    told.lines.add(Line("a", "x" * 1000))
                await asyncio.to_thread(show, told.place)
            assert await asyncio.to_thread(show, told.place) == SHOWN
            while await asyncio.to_thread(stalled.recv, 1 << 20):
                pass  # what was on its way; then the end


async def test_watchers_that_leave_are_forgotten(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with serving(tmp_path) as told:
        for _ in range(2):  # together more than may watch at once
            watchers = [watch(told.place) for _ in range(20)]
            for watching in watchers:
                await asyncio.to_thread(next, watching)
            assert told.control.clients == 20
            for watching in watchers:
                watching.close()
            await asyncio.to_thread(eventually, lambda: not told.control.clients, within=10, what="it is forgotten")
        assert await asyncio.to_thread(show, told.place) == SHOWN
    assert not caplog.records


async def test_many_who_look_in_one_after_the_other_are_all_answered(tmp_path: Path) -> None:
    async with serving(tmp_path) as told:
        for _ in range(100):
            watching = watch(told.place)
            shown, _ = await asyncio.to_thread(next, watching)
            assert shown == SHOWN
            watching.close()


async def test_nobody_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="has just ended"):
        await asyncio.to_thread(show, Place(tmp_path))
