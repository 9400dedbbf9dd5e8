"""Run ``orth`` in a process of its own, as people do."""

import os
import subprocess
import sys
from pathlib import Path


def environment(**more: str) -> dict[str, str]:
    """This process's environment without settings of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ORTH_")}
    return {**kept, **more}


def orth(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """The finished command; ``environ`` are variables set for it."""
    return subprocess.run(
        [sys.executable, "-m", "orth", *arguments],
        cwd=cwd,
        env=environment(**environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
