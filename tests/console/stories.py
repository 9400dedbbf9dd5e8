"""Telling stories: the console in a real browser, for tests and for benchmarks alike."""

import os
import subprocess
import sys
from pathlib import Path

CONSOLE = Path(__file__).parents[2] / "console"
WITHIN = 1500.0
"""Seconds, on a machine that has much else to do, where they took ten minutes."""


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
