import asyncio
import os
from pathlib import Path

import pytest
import urllib3

from orth.apphost.browsing import lead_on, open_console
from tests.servers.processes import free_port


async def test_the_dashboard_leads_to_the_console() -> None:
    port = free_port()
    async with lead_on(port, "http://127.0.0.1:5070"):
        pool = urllib3.PoolManager(retries=False)
        answer = await asyncio.to_thread(pool.request, "GET", f"http://127.0.0.1:{port}/x", redirect=False)
    assert (answer.status, answer.headers["Location"]) == (302, "http://127.0.0.1:5070")


async def test_without_a_port_nothing_listens() -> None:
    before = open_sockets()
    async with lead_on(None, "http://127.0.0.1:5070"):
        assert open_sockets() == before
    async with lead_on(free_port(), "http://127.0.0.1:5070"):
        assert open_sockets() > before, "where there is one, this sees it"


def open_sockets() -> int:
    return sum(os.readlink(one).startswith("socket:") for one in Path("/proc/self/fd").iterdir() if one.is_symlink())


def test_without_a_desktop_the_address_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert open_console("http://127.0.0.1:5070") == "open http://127.0.0.1:5070 in a browser"
