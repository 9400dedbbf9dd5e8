"""Pictures of every page in both themes, for people to look at: ``python -m tests.console.shots FOLDER``."""

import json
import sys
import tempfile
from pathlib import Path

from tests.console.site import JOBS, SCRIPTS, furnish
from tests.console.test_stories import tell
from tests.servers.binaries import find_program
from tests.walk.processes import PASSWORD, Site


def main(target: Path) -> int:
    with tempfile.TemporaryDirectory() as folder, Site(Path(folder)) as site:
        site.coordinator()
        site.executor(JOBS, **SCRIPTS)
        ids = furnish(site)
        stage = {
            "ORTH_STORY_URL": site.url,
            "ORTH_STORY_USER": "admin",
            "ORTH_STORY_PASSWORD": PASSWORD,
            "ORTH_STORY_JOBS": json.dumps(ids),
            "ORTH_STORY_BROWSER": str(find_program("chromium")),
            "ORTH_STORY_SHOTS": str(target.resolve()),
        }
        told = tell(stage, "--config", "playwright.shots.ts")
    print(told.stdout if told.returncode else f"The pictures are in {target}.")
    return told.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
