"""What commands do before they call into the product: settings, log, failpoints.

Imports that need more than the base install are made where they are used, so that every ``--help`` stays quick.
"""

import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from orth import failpoints
from orth.cli.log_setup import set_up_log
from orth.distribution import install_command
from orth.errors import BadSettings, CannotStart

if TYPE_CHECKING:
    from orth.settings import Settings

log = logging.getLogger("orth.cli")


def settings_of(options: Mapping[str, object], config: Path | None) -> "Settings":
    """The settings of this invocation."""
    from orth.settings import load_settings

    return load_settings(options, environ=os.environ, config=config, cwd=Path.cwd())


def start_process(options: Mapping[str, object], *, config: Path | None, log_level: str) -> "Settings":
    """The settings of a command that runs until it is stopped, its log opened and warnings told."""
    settings = settings_of(options, config)
    set_up_log(log_level, os.environ)
    for warning in settings.warnings:
        log.warning("%s", warning)
    return settings


def arm_failpoints() -> None:
    """Arm the failpoints the environment names; only tests do."""
    try:
        failpoints.arm_from(os.environ.get("ORTH_FAILPOINTS", ""))
    except ValueError as wrong:
        raise BadSettings([f"ORTH_FAILPOINTS: {wrong}"]) from None


def wait_for_turn() -> None:
    """Go on when ``orth up`` says so: it lets processes load while those they wait for get ready. Anybody else's start
    goes on at once; if ``orth up`` is gone, this process goes as well.
    """
    gate = os.environ.pop("ORTH_UP_GATE", None)
    if gate is not None:
        with os.fdopen(int(gate), "rb") as told:
            if not told.read(1):
                raise CannotStart("orth up has ended before it was this process's turn.")


@contextmanager
def needing_extra(extra: str) -> Iterator[None]:
    """Imports of an optional part: a package that is missing becomes advice instead of a traceback."""
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "orth").partition(".")[0] == "orth":
            raise
        raise CannotStart(
            f"This command needs {missing.name}, which is not installed.", hint=f"Run: {install_command(extra)}"
        ) from None
