"""Commands that call the API, in a folder in which an ``orth up`` runs."""

import asyncio
import json
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from orth.apphost.control import Control, Served
from orth.apphost.lines import LastLines
from orth.apphost.place import Place
from orth.apphost.viewing import Wish
from orth.clock import SystemClock
from tests.apphost.pictures import SHOWN, row
from tests.cli.running import orth
from tests.doctor.places import COORDINATOR, serving

CHECKS = ("doctor", "--check", "registry", "--check", "ports", "--check", "certificates", "-o", "json")


@pytest.fixture
def secured(tmp_path: Path, installed: Callable[[str], Path]) -> ssl.SSLContext:
    """What serves TLS for 127.0.0.1; who made its certificate stands where ``orth up`` keeps its authority."""
    (tmp_path / ".orth/tls").mkdir(parents=True)
    cert, key = tmp_path / ".orth/tls/ca.pem", tmp_path / "key.pem"
    subprocess.run(
        [installed("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
         "-keyout", key, "-out", cert, "-days", "90", "-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1"],
        check=True,
        capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context


@asynccontextmanager
async def running_up(folder: Path, url: str) -> AsyncIterator[None]:
    """An ``orth up`` of ``folder``, as others see it, whose one coordinator is at ``url``."""

    async def carry_out(wish: Wish) -> str:
        return f"{wish.do} {wish.name}"

    port = int(url.rpartition(":")[2])
    shown = replace(SHOWN, api=url, rows=(row("coordinator-1", port, kind="coordinator"),))
    place = Place(folder / ".orth")
    with place.held():
        async with Control(place, Served(lambda: shown, LastLines(), carry_out, lambda _now: None), SystemClock()):
            yield


async def test_the_run_of_this_folder_is_examined_and_its_authority_trusted(
    tmp_path: Path, secured: ssl.SSLContext
) -> None:
    with serving(COORDINATOR, secure=secured) as coordinator:
        async with running_up(tmp_path, coordinator.url):
            found = await asyncio.to_thread(orth, *CHECKS, cwd=tmp_path)
        assert found.returncode == 0, found.stdout + found.stderr
        told = [(one["id"], one["what"]) for one in json.loads(found.stdout)]
        assert [name for name, _what in told] == ["registry", "ports", "certificates", "certificates"]
        assert told[0][1].startswith(f"{coordinator.url}: a coordinator answers")
        assert told[1][1].startswith(f"127.0.0.1:{coordinator.server_port} is taken by")
        assert told[1][1].endswith("a coordinator of Orth answers there.")
        over = await asyncio.to_thread(orth, *CHECKS, cwd=tmp_path)
        assert str(coordinator.server_port) not in over.stdout, "the run has ended, though its folder is there"
        assert "127.0.0.1:5080" in over.stdout


async def test_commands_call_the_run_of_this_folder(tmp_path: Path, secured: ssl.SSLContext) -> None:
    pages = {"/api/v1/cluster": 503}
    with serving(pages, secure=secured) as coordinator:
        async with running_up(tmp_path, coordinator.url):
            await asyncio.to_thread(orth, "cluster", "status", cwd=tmp_path, ORTH_TOKEN="x")
            events = await asyncio.to_thread(orth, "events", cwd=tmp_path, ORTH_TOKEN="x")
        assert [path for path, _headers in coordinator.heard] == ["/api/v1/cluster", "/ws"]
        assert f"{coordinator.url} has no live socket" in events.stderr


async def test_who_has_to_sign_in_is_told_of_the_file_with_the_password(
    tmp_path: Path, secured: ssl.SSLContext
) -> None:
    with serving({"/api/v1/cluster": 401}, secure=secured) as coordinator:
        async with running_up(tmp_path, coordinator.url):
            file = tmp_path / ".orth" / "admin-password"
            file.write_text("x")
            told = await asyncio.to_thread(orth, "cluster", "status", cwd=tmp_path)
    assert told.returncode == 4
    assert f"Sign in with: orth login --password-stdin < {file}" in told.stderr


async def test_what_somebody_has_chosen_comes_first(tmp_path: Path) -> None:
    with serving(COORDINATOR) as here, serving(COORDINATOR) as chosen:
        async with running_up(tmp_path, here.url):
            for name in ("ORTH_SERVER", "ORTH_EXECUTOR__COORDINATORS"):
                await asyncio.to_thread(
                    orth, "cluster", "status", cwd=tmp_path, **{name: chosen.url, "ORTH_TOKEN": "x"}
                )
            await asyncio.to_thread(orth, "cluster", "status", "--server", chosen.url, cwd=tmp_path, ORTH_TOKEN="x")
        assert here.heard == []
        assert [path for path, _headers in chosen.heard].count("/api/v1/cluster") == 3
