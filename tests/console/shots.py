"""Pictures of every page in both themes, for people to look at: ``python -m tests.console.shots FOLDER``."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.console.site import ALARMS, JOBS, SCRIPTS, furnish
from tests.console.stories import tell
from tests.console.three import three_coordinators
from tests.servers.binaries import find_program
from tests.walk.processes import PASSWORD, Site


def main(target: Path) -> int:
    with tempfile.TemporaryDirectory() as folder, Site(Path(folder)) as site:
        site.coordinator(**ALARMS)
        site.executor(JOBS, **SCRIPTS)
        ids = furnish(site)
        stage = {
            "ORTH_STORY_URL": site.url,
            "ORTH_STORY_USER": "admin",
            "ORTH_STORY_PASSWORD": PASSWORD,
            "ORTH_STORY_JOBS": json.dumps(ids),
            "ORTH_STORY_BROWSER": str(find_program("chromium-headless-shell")),
            "ORTH_STORY_SHOTS": str(target.resolve()),
        }
        told = tell(stage, "--config", "playwright.shots.ts")
    if told.returncode == 0:
        told = _lose_coordinators(target)
    print(told.stdout if told.returncode else f"The pictures are in {target}.")
    return told.returncode


def _lose_coordinators(target: Path) -> subprocess.CompletedProcess[str]:
    """What a cluster looks like when some of it is lost."""
    with tempfile.TemporaryDirectory() as folder, three_coordinators(Path(folder)) as stage:
        return tell({**stage, "ORTH_STORY_SHOTS": str(target.resolve())}, "--config", "playwright.cluster.ts")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
