"""Processes that an ``orth up`` keeps, asked for over HTTP; the control socket is a real one."""

import asyncio
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orth.apphost.control import Control, Served
from orth.apphost.lines import LastLines
from orth.apphost.place import Place
from orth.apphost.viewing import Do, Wish
from orth.clock import SystemClock
from orth.errors import Unavailable
from orth.settings import Settings
from orth.settings.sections import ApphostSection
from tests.apphost.pictures import SHOWN
from tests.coordinator.http.live import Caller, Site

PROCESSES = "/api/v1/processes"


@contextmanager
def kept(folder: Path, wishes: list[Wish]) -> Iterator[None]:
    """An ``orth up`` in this folder, as far as others can see."""

    async def carry_out(wish: Wish) -> str:
        if wish.name == "console":
            raise Unavailable("Not now.")
        wishes.append(wish)
        return "asked"

    async def serve() -> None:
        served = Served(lambda: SHOWN, LastLines(), carry_out, lambda _now: None)
        async with Control(Place(folder), served, SystemClock()):
            ready.set()
            await asyncio.to_thread(over.wait)

    ready, over = threading.Event(), threading.Event()
    with Place(folder).held():
        thread = threading.Thread(target=asyncio.run, args=(serve(),))
        thread.start()
        assert ready.wait(10)
        try:
            yield
        finally:
            over.set()
            thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / ("a long way down " * 8) / "up"


@pytest.fixture
def supervised(prepared: Path, tmp_path: Path, folder: Path) -> Iterator[Site]:
    own = Settings(apphost=ApphostSection(kept_by=folder))
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), own) as site:
        yield site


def test_without_an_orth_up_there_is_nothing_to_ask(admin: Caller) -> None:
    assert admin.get(PROCESSES).json == {"supervised": False, "items": []}
    assert "orth up" in admin.post(f"{PROCESSES}/agent-1/stop").problem(409)["detail"]


def test_what_it_keeps_is_shown_and_asked_for(supervised: Site, folder: Path) -> None:
    admin, wishes = supervised.admin(), list[Wish]()
    with kept(folder, wishes):
        shown = admin.get(PROCESSES).json
        assert shown["supervised"]
        assert [one["name"] for one in shown["items"]] == [row.name for row in SHOWN.rows]
        assert [one["beat"] for one in shown["items"]] == [row.beat for row in SHOWN.rows]
        for do in ("start", "stop", "restart"):
            answer = admin.post(f"{PROCESSES}/agent-1/{do}")
            assert (answer.status, answer.json) == (202, {"name": "agent-1", "asked_to": do})
        assert wishes == [Wish(Do.START, "agent-1"), Wish(Do.STOP, "agent-1"), Wish(Do.RESTART, "agent-1")]
        told = [one["action"] for one in admin.get("/api/v1/audit").json["items"] if one["object_kind"] == "process"]
        assert told == ["process.restart", "process.stop", "process.start"]
        admin.post(f"{PROCESSES}/nobody/stop").problem(404)
        admin.post(f"{PROCESSES}/console/stop").problem(409)
        assert len(wishes) == 3


def test_one_that_does_not_answer_is_told_as_such(supervised: Site, folder: Path) -> None:
    supervised.admin().get(PROCESSES).problem(503)
    folder.mkdir(parents=True)
    supervised.admin().get(PROCESSES).problem(503)
