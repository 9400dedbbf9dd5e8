"""Whether what a Python script declares that it needs is installed beside this executor. Nothing is ever installed."""

import shlex
import sys
from collections.abc import Iterable
from importlib import import_module, metadata
from typing import Any

from orth.domain.script_headers import required_name


def check_installed(requirements: Iterable[str]) -> str | None:
    """What is missing for a script that runs with this executor's own interpreter, and how to install it; None if
    nothing is.
    """
    compare = _comparing()
    missing = {one: had for one in requirements if (had := _trouble_with(one, compare)) is not None}
    if not missing:
        return None
    told = ", ".join(f"{one} ({had})" if had else one for one, had in missing.items())
    install = f"{shlex.quote(sys.executable)} -m pip install {shlex.join(missing)}"
    return f"The script needs what is not installed for {sys.executable}: {told}. Install it by: {install}"


def _comparing() -> Any:
    """What reads versions, where it is installed: executors do not need it themselves."""
    try:
        return import_module("packaging.requirements").Requirement
    except ImportError:
        return None


def _trouble_with(requirement: str, compare: Any) -> str | None:
    """None if it is there, or not wanted here; else which version is there instead, empty if none is. What nobody here
    can judge is not refused.
    """
    if compare is None and ";" in requirement:
        return None
    try:
        read = compare and compare(requirement)
        if read and read.marker is not None and not read.marker.evaluate():
            return None
        version = metadata.version(required_name(requirement) or requirement)
        fits = not read or not version or read.specifier.contains(version, prereleases=True)
    except metadata.PackageNotFoundError:
        return ""
    except ValueError:  # packaging's own
        return None
    return None if fits else f"{version} is there"
