"""The console in a real browser, against a real coordinator, executor and database: ``console/stories``.

They are told in parts, so that two browsers can work side by side. What one story of a part does, the next may see.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from orth.coordinator.http.console_files import built_console
from tests.console.site import ALARMS, JOBS, SCRIPTS, furnish
from tests.servers.binaries import find_program
from tests.walk.processes import PASSWORD, TOKEN, Site

PARTS = 3
"""Whole files go together, and no part may be empty."""
CONSOLE = Path(__file__).parents[2] / "console"
WITHIN = 1500.0
"""Seconds, on a machine that has much else to do, where they took ten minutes."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which stories are told."""
    assert (built_console() / "index.html").exists(), "The console is not built: run `make console`."
    folder = tmp_path_factory.mktemp("stories")
    with Site(folder) as site:
        site.coordinator(**ALARMS)
        site.executor(JOBS, **SCRIPTS)
        ids = furnish(site)
        yield {
            "ORTH_STORY_URL": site.url,
            "ORTH_STORY_USER": "admin",
            "ORTH_STORY_PASSWORD": PASSWORD,
            "ORTH_STORY_TOKEN": TOKEN,
            "ORTH_STORY_JOBS": json.dumps(ids),
            "ORTH_STORY_BROWSER": str(find_program("chromium-headless-shell")),
        }


def tell(stage: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run stories with the Node that built the console."""
    node = Path(sys.executable).with_name("node")
    program = CONSOLE / "node_modules" / "@playwright" / "test" / "cli.js"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ORTH_")}
    return subprocess.run(
        [str(node), str(program), "test", *arguments],
        cwd=CONSOLE,
        env={**environment, **stage},
        capture_output=True,
        text=True,
        timeout=WITHIN,
    )


@pytest.mark.timeout(WITHIN + 60)
@pytest.mark.parametrize("part", range(1, PARTS + 1))
def test_every_story_ends_well(stage: dict[str, str], part: int) -> None:
    told = tell(stage, f"--shard={part}/{PARTS}", f"--output=build/stories-{part}")
    assert told.returncode == 0, told.stdout[-8000:] + told.stderr[-2000:]
    assert " passed" in told.stdout
    assert "skipped" not in told.stdout
