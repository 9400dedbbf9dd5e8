"""Run ``orth`` in a process of its own, as people do."""

import os
import subprocess
import sys
from pathlib import Path

from tests.warm.starting import run


def environment(**more: str) -> dict[str, str]:
    """This process's environment without settings of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ORTH_")}
    return {**kept, **more}


def orth(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """The finished command; ``environ`` are variables set for it."""
    return run(list(arguments), environment(**environ), cwd, within=60)


def orth_from_nothing(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """The same in an interpreter that has loaded nothing yet, for what is about loading."""
    return subprocess.run(
        [sys.executable, "-m", "orth", *arguments],
        cwd=cwd,
        env=environment(**environ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
