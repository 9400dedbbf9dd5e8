"""Taking over changed settings without a restart: when the file changes, or when somebody sends SIGHUP.

Only what is safe to change under way is taken over (``RELOADED``); other changes are named, and count at the next
start. A file that cannot be used is refused as a whole, and everything stays as it was. A change is read once the file
has stood still for a look, so that an editor's half-written file is not.
"""

import asyncio
from collections.abc import Callable
from pathlib import Path

from orth.clock import Clock
from orth.errors import BadSettings
from orth.events import Events
from orth.lifecycle.facts import SettingsNeedRestart, SettingsRefused, SettingsReloaded
from orth.loop import Loop
from orth.settings import Settings
from orth.settings.names import FIELDS

RELOADED = (
    "registry.url",
    "registry.register_pauses",
    "registry.register_again",
    "registry.timeout",
    "registry.breaker_failures",
    "registry.breaker_cooldown",
    "registry.discover",
    "executor.coordinators",
)
LOOK_EVERY = 2.0

Seen = tuple[int, int, int] | None
"""A file's time, size and number; None while it is not there."""


class Reloading(Loop):
    """Watches the settings file; ``take`` is given new settings when something in ``RELOADED`` has changed."""

    def __init__(self, settings: Settings, take: Callable[[Settings], None], clock: Clock, events: Events) -> None:
        super().__init__(clock, events)
        self._settings = settings
        self._take = take
        self._asked = False
        self._taken = self._seen = _look_at(settings.file)

    async def turn(self) -> float:
        seen = _look_at(self._settings.file)
        settled, self._seen = seen == self._seen, seen
        if self._asked or (settled and seen != self._taken):
            self._asked, self._taken = False, seen
            await self._read_again()
        return LOOK_EVERY

    def ask(self) -> None:
        """Read the settings now, changed or not."""
        self._asked = True
        self.wake()

    async def _read_again(self) -> None:
        old = self._settings
        shown = str(old.file or "the settings")
        if old.file is not None and self._taken is None:
            self.events.emit(SettingsRefused(shown, "the file is gone"))
            return
        try:
            new = await asyncio.to_thread(old.read_again)
        except BadSettings as bad:
            self.events.emit(SettingsRefused(shown, "; ".join(bad.problems)))
            return
        changed = [key for key in FIELDS if old.value(key) != new.value(key)]
        now = [key for key in changed if key in RELOADED]
        later = [key for key in changed if key not in RELOADED]
        self._settings = new
        if now:
            self._take(new)
        self.events.emit(SettingsReloaded(shown, ", ".join(now) or "nothing to take over has changed"))
        if later:
            self.events.emit(SettingsNeedRestart(shown, ", ".join(later)))


def _look_at(file: Path | None) -> Seen:
    if file is None:
        return None
    try:
        facts = file.stat()
    except OSError:
        return None
    return facts.st_mtime_ns, facts.st_size, facts.st_ino
