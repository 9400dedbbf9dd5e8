"""A coordinator that is told to stop does so, whatever its neighbours do."""

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from orth.testing.stores import prepare_store
from tests.walk.cut_line import CutLine
from tests.walk.processes import Site, eventually

SOON = 40.0
"""Seconds: a silent server is known as such after six, and everybody who asks it is told so once."""
HARD = {
    "ORTH_CLUSTER__LEASE": "30s",
    "ORTH_CLUSTER__LEASE_RENEW": "10s",
    "ORTH_CLUSTER__HANDOFF_HARD_TIMEOUT": "3s",
    "ORTH_CLUSTER__HANDOFF_ACK_TIMEOUT": "1s",
    "ORTH_CLUSTER__HANDOFF_GRACE": "1s",
}
PATIENCE = 8.0
"""Seconds for which a writer waits for a file that is locked, with such a lease."""


def test_a_coordinator_stops_though_the_database_says_nothing(tmp_path: Path, postgres_url: str) -> None:
    prepare_store(postgres_url)
    url = make_url(postgres_url)
    assert url.port is not None
    with CutLine(url.port) as line:
        through = url.set(host="127.0.0.1", port=line.port).render_as_string(hide_password=False)
        with Site(tmp_path, through, ORTH_CLUSTER__LEASE="30s", ORTH_CLUSTER__LEASE_RENEW="10s") as site:
            node = site.coordinator()
            eventually(lambda: "leads: term" in node.text(), what="a leader")
            line.cut()
            began = time.monotonic()
            assert node.end(within=SOON) == 0, node.text()
            assert time.monotonic() - began < SOON


@contextmanager
def locked(file: Path, *, held: float, free: float) -> Iterator[None]:
    """Somebody writes to the file for so many seconds at a time, and lets go of it in between."""
    over, has_it = threading.Event(), threading.Event()

    def hold() -> None:
        with closing(sqlite3.connect(file, isolation_level=None, timeout=30)) as other:
            while not over.is_set():
                other.execute("BEGIN IMMEDIATE")
                has_it.set()
                over.wait(held)
                other.execute("ROLLBACK")
                over.wait(free)

    holder = threading.Thread(target=hold)
    holder.start()
    assert has_it.wait(30)
    try:
        yield
    finally:
        over.set()
        holder.join()


@pytest.mark.parametrize(("held", "free"), [(3600.0, 0.0), (0.9 * PATIENCE, 0.01)], ids=["for good", "almost always"])
def test_a_coordinator_stops_though_its_file_is_locked(tmp_path: Path, held: float, free: float) -> None:
    file = tmp_path / "orth.db"
    with Site(tmp_path, f"sqlite:///{file}", **HARD) as site:
        node = site.coordinator()
        eventually(lambda: "leads: term" in node.text(), what="a leader")
        with locked(file, held=held, free=free):
            assert node.end(within=SOON) == 0, node.text()
            assert "could not say good-bye" in node.text(), "what was not done is told"
            assert "stopped" in node.text().splitlines()[-1]
