"""What is installed: the name of the distribution, the packages of its optional parts, and the console.

On the package index ``orth`` is another project, and ours is not there. A hint that names either could install what is
not ours, so hints name the packages that an optional part needs, and no other file says what to install.

The build reads this file by itself (``hatch_build.py``): it imports nothing of Orth.
"""

import re
import shlex
import sys
from pathlib import Path

DISTRIBUTION = "orth-scheduler"
FOREIGN_DISTRIBUTION = "orth"
"""The other project, which has the name of our import package and of our command."""

_SOURCE = Path(__file__).parents[2]
"""The folder of ``pyproject.toml``, where Orth runs from its source."""
_ADDRESS = re.compile(r'\b(?:src|href)="([^"#?:]+)"')
_EXTRA = re.compile(r"""\bextra\s*==\s*["']([^"']+)["']""")


def built_console() -> Path:
    """Where ``make console`` puts what it builds. A distribution for servers contains it."""
    return Path(__file__).parent / "coordinator" / "http" / "console"


def console_trouble(folder: Path) -> str | None:
    """Why the files in ``folder`` are no console; None if its page and all files that the page names are there."""
    try:
        page = (folder / "index.html").read_text(encoding="utf-8")
    except FileNotFoundError:
        return "The console is not built."
    named = [name for one in _ADDRESS.findall(page) if (name := one.removeprefix("./")) and not name.startswith("/")]
    missing = [name for name in named if not (folder / name).is_file()]
    if named and not missing:
        return None
    return f"The console is incomplete: {missing[0] if missing else 'its code'} is missing."


def has_console() -> bool:
    return console_trouble(built_console()) is None


def console_remedy() -> str:
    """What to do where the console is missing: only a source tree can build it."""
    if (_SOURCE / "Makefile").is_file():
        return "Run: make console"
    return "Install a distribution of Orth that contains it"


def lacking_console() -> str:
    """What a process that serves the console shows if this installation has none."""
    return "not built: make console" if (_SOURCE / "Makefile").is_file() else "not in this installation"


def packages_of(extra: str) -> list[str]:
    """The packages that an optional part needs."""
    import tomllib
    from importlib.metadata import PackageNotFoundError, requires  # only who lacks something waits for these

    try:
        stated = requires(DISTRIBUTION) or []
    except PackageNotFoundError:  # the source tree alone is in sys.path
        project = tomllib.loads((_SOURCE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        return list(project["optional-dependencies"][extra])
    return [text.partition(";")[0].strip() for text in stated if (found := _EXTRA.search(text)) and found[1] == extra]


def install_command(extra: str) -> str:
    """The command that installs what an optional part needs into the environment of this process."""
    return shlex.join([sys.executable, "-m", "pip", "install", *packages_of(extra)])
