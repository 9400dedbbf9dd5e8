"""``orth executor FILE --reload``: an executor that is started again whenever its source changes.

A process that only watches keeps the executor as its child. When a Python file below the watched folder changes, the
new source is first loaded in a process of its own: if it is broken, that is told and the old executor goes on.
Otherwise the old one is asked to stop, lets its executions end, and the new one begins; ``hard`` kills it instead,
which is quick and cuts executions short. A child that ends by itself is started again after the next change.
"""

import asyncio
import ctypes
import logging
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import Sequence
from pathlib import Path

from orth.clock import Clock
from orth.serving import asked_to_stop

LOOK_EVERY = 0.5
_IGNORED = {"__pycache__", "node_modules", "site-packages"}
_PR_SET_PDEATHSIG = 1

log = logging.getLogger("orth.reload")

Snapshot = dict[str, tuple[int, int]]


def snapshot(folder: Path) -> Snapshot:
    """Every Python file below ``folder`` with its time and size; hidden folders and installed packages left out."""
    seen: Snapshot = {}
    for here, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _IGNORED and not name.startswith(".")]
        for name in files:
            if name.endswith(".py"):
                path = os.path.join(here, name)
                try:
                    facts = os.stat(path)
                except OSError:  # it went away while we looked
                    continue
                seen[path] = (facts.st_mtime_ns, facts.st_size)
    return seen


def changed(before: Snapshot, now: Snapshot) -> list[str]:
    return sorted(path for path in before.keys() | now.keys() if before.get(path) != now.get(path))


def folder_of(target: str) -> Path:
    """What to watch for a target: the file's folder; for a module, the working directory it is found from."""
    place = target.partition(":")[0]
    return Path(place).parent if place.endswith(".py") or "/" in place else Path()


class Reloader:
    """Keeps one executor process going. ``command`` starts it, ``check`` only tries to load the source."""

    def __init__(self, command: Sequence[str], check: Sequence[str], folder: Path, *, hard: bool, clock: Clock) -> None:
        self._command = command
        self._check = check
        self._folder = folder
        self._hard = hard
        self._clock = clock
        self._child: Process | None = None

    async def run(self) -> int:
        """Until a signal; the exit code is that of the last executor, or 0 if there was none."""
        stopping = asked_to_stop()
        seen = await asyncio.to_thread(snapshot, self._folder)
        await self._start_if_sound()
        while not stopping.is_set():
            await self._clock.sleep_unless(stopping, LOOK_EVERY)
            now = await asyncio.to_thread(snapshot, self._folder)
            if stopping.is_set() or now == seen:
                self._note_end()
                continue
            log.info("%s changed", ", ".join(changed(seen, now)))
            seen = now
            await self._start_if_sound()
        return await self._end(signal.SIGTERM)

    async def _start_if_sound(self) -> None:
        trial = await asyncio.create_subprocess_exec(
            *self._check, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE, start_new_session=True
        )
        _, told = await trial.communicate()
        if trial.returncode != 0:
            left = "the executor goes on as it was" if self._alive else "no executor runs"
            log.error("%s; %s until it is mended", told.decode(errors="replace").strip(), left)
            return
        await self._end(signal.SIGKILL if self._hard else signal.SIGTERM)
        self._child = await asyncio.create_subprocess_exec(
            *self._command,
            start_new_session=True,  # Ctrl+C is for us: we pass on one signal, not two
            preexec_fn=_die_with_parent,  # runs before exec in a process that has no other threads yet
        )

    @property
    def _alive(self) -> bool:
        return self._child is not None and self._child.returncode is None

    def _note_end(self) -> None:
        if self._child is not None and self._child.returncode is not None:
            log.error(
                "the executor ended with exit code %d; it is started after the next change", self._child.returncode
            )
            self._child = None

    async def _end(self, number: signal.Signals) -> int:
        child, self._child = self._child, None
        if child is None:
            return 0
        if child.returncode is None:
            child.send_signal(number)
        return await child.wait()


def _die_with_parent() -> None:
    """A killed watcher leaves no executor behind."""
    if os.uname().sysname == "Linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def run_reloading(target: str, arguments: Sequence[str], *, hard: bool, clock: Clock) -> int:
    """``arguments`` are those of ``orth executor`` without ``--reload``; the exit code."""
    orth = [sys.executable, "-m", "orth"]
    reloader = Reloader(
        [*orth, *arguments], [*orth, "executor", target, "--check"], folder_of(target), hard=hard, clock=clock
    )
    return asyncio.run(reloader.run())
