"""The console while coordinators are lost: three of them on one database, and a browser at the one that stays."""

from pathlib import Path

import pytest

from orth.distribution import built_console
from tests.console.stories import WITHIN, tell
from tests.console.three import three_coordinators


@pytest.mark.timeout(WITHIN + 60)
def test_a_killed_leader_and_a_drain_are_seen_without_a_reload(tmp_path: Path) -> None:
    assert (built_console() / "index.html").exists(), "The console is not built: run `make console`."
    with three_coordinators(tmp_path) as stage:
        told = tell(stage, "--config", "playwright.cluster.ts")
    assert told.returncode == 0, told.stdout[-8000:] + told.stderr[-2000:]
    assert " 6 passed" in told.stdout
