"""The console of a coordinator that knows under which address and path people find it."""

from pathlib import Path

import pytest

from orth.distribution import built_console
from tests.console.stories import WITHIN, tell
from tests.servers.binaries import find_program
from tests.servers.processes import free_port
from tests.walk.processes import PASSWORD, Site


@pytest.mark.timeout(WITHIN + 60)
def test_the_prefix_that_the_coordinator_knows_needs_no_slash(tmp_path: Path) -> None:
    assert (built_console() / "index.html").exists(), "The console is not built: run `make console`."
    public = f"http://127.0.0.1:{free_port()}/tools/orth"
    with Site(tmp_path) as site:
        site.coordinator(ORTH_CONSOLE__BASE_URL=public)
        stage = {
            "ORTH_STORY_URL": site.url,
            "ORTH_STORY_PUBLIC_URL": public,
            "ORTH_STORY_USER": "admin",
            "ORTH_STORY_PASSWORD": PASSWORD,
            "ORTH_STORY_JOBS": "{}",
            "ORTH_STORY_BROWSER": str(find_program("chromium-headless-shell")),
        }
        told = tell(stage, "--config", "playwright.public.ts")
    assert told.returncode == 0, told.stdout[-8000:] + told.stderr[-2000:]
    assert " 1 passed" in told.stdout
