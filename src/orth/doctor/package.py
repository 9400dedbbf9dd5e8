"""This installation: a distribution that has the name of our import package and replaces our files, and the console."""

import sys
from importlib.metadata import PackageNotFoundError, version

from orth.distribution import DISTRIBUTION, FOREIGN_DISTRIBUTION, built_console, console_remedy, console_trouble
from orth.doctor.case import Case
from orth.doctor.verdicts import Verdict, ok, warn


def look_at_package(_case: Case, _subject: str) -> list[Verdict]:
    return [judge_package(_installed(DISTRIBUTION), _installed(FOREIGN_DISTRIBUTION))]


def judge_package(own: str | None, foreign: str | None) -> Verdict:
    """``own`` and ``foreign`` are the installed versions of both distributions."""
    if foreign is not None:
        return warn(
            f"The distribution {FOREIGN_DISTRIBUTION} {foreign} is installed here. It is another project, "
            "and its files can replace those of Orth.",
            f"Run: {sys.executable} -m pip uninstall {FOREIGN_DISTRIBUTION}, and install Orth again (docs/running.md).",
        )
    if own is None:
        return ok(f"Orth runs from its source: {DISTRIBUTION} is not installed.")
    return ok(f"{DISTRIBUTION} {own} is installed.")


def look_at_console(_case: Case, _subject: str) -> list[Verdict]:
    """Only processes that serve the console need it, and this machine may run none."""
    trouble = console_trouble(built_console())
    if trouble is None:
        return [ok("The console is built.")]
    return [warn(f"{trouble} Coordinators here serve the API only.", f"{console_remedy()}, and restart.")]


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
