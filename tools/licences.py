"""What Orth brings along when it is installed, with versions and licences, as the page docs/third-party.md.

    python tools/licences.py > docs/third-party.md

It reads the installed packages, so run ``make install console`` first. An extra that is not installed is left out.
"""

import re
import sys
from collections.abc import Iterator
from email.message import Message
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement

try:
    from tools import console_licences
except ImportError:  # run as a program, from anywhere
    import console_licences  # type: ignore[no-redef,import-not-found]  # the same file

EXTRAS = ("server", "postgres", "mysql", "redis")
_CLASSIFIER = "License :: OSI Approved :: "
_SHORT = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only",
    "GNU Library or Lesser General Public License (LGPL)": "LGPL",
}
_HEAD = """# Third-party software

What is installed with Orth and its extras {extras}, made by
`python tools/licences.py`. Orth itself is under the Apache License 2.0 (`LICENSE`) and contains none of this: each
package comes with its own licence.

| package | version | licence |
| --- | --- | --- |
"""
_CONSOLE = """
## In the console

The console is built from the packages below, parts of which are in its files, and so in Orth's wheel. Their notices and
licences are beside these files, in `third-party-notices.txt`.

| package | version | licence |
| --- | --- | --- |
"""


def brought_along(root: str = "orth-scheduler", extras: tuple[str, ...] = EXTRAS) -> dict[str, Distribution]:
    """Every package that ``root`` needs with ``extras``, directly or not, by its normal name."""
    found: dict[str, Distribution] = {}
    waiting = [(root, frozenset(extras))]
    while waiting:
        name, wanted = waiting.pop()
        try:
            package = distribution(name)
        except PackageNotFoundError:
            continue
        if name != root:
            found[name] = package
        for needed in _needed(package, wanted):
            key = normal_name(needed.name)
            if key not in found and key != root:
                waiting.append((key, frozenset(needed.extras)))
    return dict(sorted(found.items()))


def _needed(package: Distribution, extras: frozenset[str]) -> Iterator[Requirement]:
    for text in package.requires or ():
        needed = Requirement(text)
        if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras | {""}):
            yield needed


def licence_of(package: Distribution) -> str:
    """As the package says it, in the shortest of the forms that packages have for it."""
    said = package.metadata
    assert isinstance(said, Message)
    if expression := said.get("License-Expression"):
        return str(expression)
    classified = [line.removeprefix(_CLASSIFIER) for line in said.get_all("Classifier", []) if _CLASSIFIER in line]
    if classified:
        return " or ".join(_SHORT.get(one, one) for one in classified)
    first = str(said.get("License", "")).strip().partition("\n")[0]
    return first[:60] or "not stated"


def normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def rows() -> list[tuple[str, str, str]]:
    return [(name, package.version, licence_of(package)) for name, package in brought_along().items()]


def page() -> str:
    extras = ", ".join(f"`{extra}`" for extra in EXTRAS)
    return _HEAD.format(extras=extras) + _table(rows()) + _CONSOLE + _table(console_licences.rows())


def _table(some: list[tuple[str, str, str]]) -> str:
    return "".join(f"| {' | '.join(row)} |\n" for row in some)


if __name__ == "__main__":
    sys.stdout.write(page())
