"""Where the programs are that tests start, and what to install when they are not there.

Distributions keep server programs off the ordinary PATH, so the usual places are searched too. Run as a module this
file prints the Debian packages of the programs that are missing, one per line; it needs the standard library only.
"""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

PROGRAMS = {
    "initdb": "postgresql",
    "postgres": "postgresql",
    "mariadb-install-db": "mariadb-server",
    "mariadbd": "mariadb-server",
    "redis-server": "redis-server",
    "node": "nodejs",
    "php": "php-cli",
    "tmux": "tmux",
    "openssl": "openssl",
    "ip": "iproute2",
    "chromium-headless-shell": "chromium-headless-shell",  # the whole one draws a window nobody sees, at twice the cost
}
"""Each program with the Debian package that brings it."""

PLACES: Sequence[str] = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/usr/sbin",
    "/usr/libexec",
    "/usr/local/sbin",
    "/usr/local/bin",
    "/usr/local/mysql/bin",
)


class MissingProgramError(Exception):
    """A program the tests need is not installed."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.package = PROGRAMS[program]
        super().__init__(
            f"{program} is not installed. Install the package {self.package} (as root, `make test` does it by itself)."
        )


def find_program(name: str) -> Path:
    """The program called ``name``: first on PATH, then in the usual places, the newest version first."""
    if on_path := shutil.which(name):
        return Path(on_path)
    for place in PLACES:
        folders = sorted(Path("/").glob(place.lstrip("/")), key=_version, reverse=True)
        for folder in folders:
            if found := shutil.which(name, path=str(folder)):
                return Path(found)
    raise MissingProgramError(name)


def _version(folder: Path) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", str(folder))]


def missing_packages() -> list[str]:
    """The packages to install before every program can be started."""
    missing = set()
    for program, package in PROGRAMS.items():
        try:
            find_program(program)
        except MissingProgramError:
            missing.add(package)
    return sorted(missing)


if __name__ == "__main__":
    for package in missing_packages():
        print(package)
