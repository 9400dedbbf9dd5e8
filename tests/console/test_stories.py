"""The console in a real browser, against a real coordinator, executor and database: ``console/stories``.

They are told in parts, so that two browsers can work side by side. What one story of a part does, the next may see.
"""

import json
from collections.abc import Iterator

import pytest

from orth.distribution import built_console
from tests.console.site import ALARMS, JOBS, SCRIPTS, furnish
from tests.console.stories import WITHIN, tell
from tests.servers.binaries import find_program
from tests.walk.processes import PASSWORD, TOKEN, Site

PARTS = 3
"""Whole files go together, and no part may be empty."""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment in which stories are told."""
    assert (built_console() / "index.html").exists(), "The console is not built: run `make console`."
    folder = tmp_path_factory.mktemp("stories")
    with Site(folder) as site:
        site.coordinator(**ALARMS)
        site.executor(JOBS, **SCRIPTS)
        for twin in ("twin-1", "twin-2"):
            site.executor(JOBS, twin, ORTH_EXECUTOR__APP_NAME="twins")
        ids = furnish(site)
        yield {
            "ORTH_STORY_URL": site.url,
            "ORTH_STORY_USER": "admin",
            "ORTH_STORY_PASSWORD": PASSWORD,
            "ORTH_STORY_TOKEN": TOKEN,
            "ORTH_STORY_JOBS": json.dumps(ids),
            "ORTH_STORY_BROWSER": str(find_program("chromium-headless-shell")),
        }


@pytest.mark.timeout(WITHIN + 60)
@pytest.mark.parametrize("part", range(1, PARTS + 1))
def test_every_story_ends_well(stage: dict[str, str], part: int) -> None:
    told = tell(stage, f"--shard={part}/{PARTS}", f"--output=build/stories-{part}")
    assert told.returncode == 0, told.stdout[-8000:] + told.stderr[-2000:]
    assert " passed" in told.stdout
    assert "skipped" not in told.stdout
