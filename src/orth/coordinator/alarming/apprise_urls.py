"""The way out through apprise, which knows many more receivers. An extra, and off unless the settings say otherwise:
it connects to wherever its URLs say, so ``outbound`` has no say in it. It does so in a process of its own
(``apprise_process``), which is killed when its time is over.
"""

import asyncio
import json
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from orth.coordinator.alarming.outbound import NotDelivered
from orth.coordinator.alarming.texts import Alarm
from orth.distribution import packages_of
from orth.errors import Invalid, quotable

_PROGRAM = Path(__file__).with_name("apprise_process.py")
_NEVER = ("dbus", "exec", "file", "gnome", "kde", "macosx", "qt", "syslog", "windows")
"""Schemes that act on this machine instead of telling somebody."""


def apprise_library() -> Any:  # Any: it is not installed everywhere, and has no types
    """Apprise, or why it cannot be used."""
    try:
        return import_module("apprise")
    except ModuleNotFoundError:
        raise Invalid.of("apprise_missing", field="kind", requirement=" ".join(packages_of("notify"))) from None


def check_urls(urls: list[str], *, allowed: bool) -> None:
    """Refuse a definition that could not be used here."""
    if not allowed:
        raise Invalid.of("apprise_off", field="kind")
    library = apprise_library()
    for url in urls:
        scheme = url.partition(":")[0].lower()
        if scheme in _NEVER or not library.Apprise().add(url):
            raise Invalid.of("apprise_scheme", scheme=quotable(scheme, 20), field="definition.urls")


async def send_by_apprise(urls: list[str], alarm: Alarm, patience: float) -> str:
    """Send one to all of ``urls``."""
    apprise_library()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        str(_PROGRAM),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    asked = {"urls": urls, "title": alarm.title, "body": alarm.text}
    try:
        async with asyncio.timeout(patience):
            await process.communicate(json.dumps(asked).encode())
    except TimeoutError as error:
        raise NotDelivered.of("no_answer_within", seconds=f"{patience:g}") from error
    finally:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    if process.returncode != 0:
        raise NotDelivered.of("apprise_failed")
    return f"delivered to {len(urls)}"
