"""What is installed: the name of the distribution, how to install a part of it, and whether it contains the console.

On the package index ``orth`` is another project. A hint that names it installs that project, and ``pip install
--upgrade`` removes ours for it, so no other file says what to install.
"""

import shlex
import sys
from pathlib import Path

DISTRIBUTION = "orth-scheduler"
FOREIGN_DISTRIBUTION = "orth"
"""The other project, which has the name of our import package and of our command."""


NO_CONSOLE = "not built: make console"
"""What a process that serves the console shows if this installation has none."""


def built_console() -> Path:
    """Where ``make console`` puts what it builds. A distribution for servers contains it."""
    return Path(__file__).parent / "coordinator" / "http" / "console"


def has_console() -> bool:
    return (built_console() / "index.html").is_file()


def requirement(extra: str) -> str:
    """What pip has to install for an optional part."""
    return f"{DISTRIBUTION}[{extra}]"


def install_command(extra: str) -> str:
    """The command that installs an optional part into the environment of this process."""
    return f'{shlex.quote(sys.executable)} -m pip install "{requirement(extra)}"'
