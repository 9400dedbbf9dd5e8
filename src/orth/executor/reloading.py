"""``orth executor FILE --reload``: an executor that is started again whenever its source changes.

A process that only watches keeps the executor as its child. When a Python file below the watched folder changes, the
new source is first loaded in a process of its own: if it is broken, takes longer than ``TRIAL_LIMIT`` seconds or exits
before it is loaded, that is told and the old executor goes on. A change, or a signal, while it is being loaded ends
that process with its group. Otherwise the old one is asked to stop, lets its executions end, and the new one begins;
``hard`` kills it instead, which is quick and cuts executions short. A child that ends by itself is started again after
the next change.
"""

import asyncio
import ctypes
import logging
import os
import signal
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from orth.clock import Clock
from orth.serving import asked_to_stop

LOOK_EVERY = 0.5
TRIAL_LIMIT = 60
LOADED = 86
"""The exit code of a trial that has loaded the source: 0 is also that of a source which exits meanwhile."""
_IGNORED = {"__pycache__", "node_modules", "site-packages"}
_LONGEST_COMPLAINT = 64 * 1024
_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl if sys.platform == "linux" else None

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
        seen: Snapshot | None = None
        while not stopping.is_set():
            now = await asyncio.to_thread(snapshot, self._folder)
            if now == seen:
                self._note_end()
                await self._clock.sleep_unless(stopping, LOOK_EVERY)
                continue
            if seen is not None:
                log.info("%s changed", ", ".join(changed(seen, now)))
            seen = now
            if await self.is_sound(seen, stopping):
                await self._replace(stopping)
        return await self._end(signal.SIGTERM)

    async def is_sound(self, seen: Snapshot, stopping: asyncio.Event) -> bool:
        """Whether the source can be loaded, which is told if not; false also when the question is out of date, because
        it is no longer as it was ``seen``, or we are stopping.
        """
        # A file, not a pipe: what the source starts when it is loaded could keep a pipe open for ever.
        with tempfile.TemporaryFile() as said:
            trial = await asyncio.create_subprocess_exec(
                *self._check,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
                preexec_fn=partial(_die_with_parent, signal.SIGKILL),
            )
            try:
                if not await self._ends(trial, seen, stopping):
                    return False
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(trial.pid, signal.SIGKILL)
                await trial.wait()
            said.seek(0)
            complaint = said.read(_LONGEST_COMPLAINT).decode(errors="replace").strip()
        if trial.returncode != LOADED:
            self._complain(_reason(trial.returncode, complaint))
        return trial.returncode == LOADED

    async def _ends(self, trial: Process, seen: Snapshot, stopping: asyncio.Event) -> bool:
        """Wait until the trial has ended by itself; false as soon as that is pointless."""
        over = asyncio.Event()
        waiting = asyncio.create_task(trial.wait())
        waiting.add_done_callback(lambda _: over.set())
        deadline = self._clock.monotonic() + TRIAL_LIMIT
        while not over.is_set():
            await self._clock.sleep_unless(over, LOOK_EVERY)
            if stopping.is_set() or await asyncio.to_thread(snapshot, self._folder) != seen:
                return False
            if self._clock.monotonic() > deadline and not over.is_set():
                self._complain(f"the source was not loaded within {TRIAL_LIMIT} s")
                return False
        return True

    def _complain(self, what: str) -> None:
        left = "the executor goes on as it was" if self._alive else "no executor runs"
        log.error("%s; %s until it is mended", what, left)

    async def _replace(self, stopping: asyncio.Event) -> None:
        await self._end(signal.SIGKILL if self._hard else signal.SIGTERM)
        if stopping.is_set():
            return
        self._child = await asyncio.create_subprocess_exec(
            *self._command,
            start_new_session=True,  # Ctrl+C is for us: we pass on one signal, not two
            preexec_fn=partial(_die_with_parent, signal.SIGTERM),
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


def _reason(code: int | None, complaint: str) -> str:
    """Why the source is not sound, if its trial ended with ``code``; with 1 it has said so itself."""
    if code == 1 and complaint:
        return complaint
    ended = f"is ended by signal {-code}" if code is not None and code < 0 else f"exits with code {code}"
    return ": ".join(filter(None, (complaint, f"the source {ended} while it is loaded")))


def _die_with_parent(number: signal.Signals) -> None:
    """A killed watcher leaves nothing behind. Runs in the child before exec, where nothing can be loaded any more."""
    if _prctl is not None:
        _prctl(_PR_SET_PDEATHSIG, number)


def run_reloading(target: str, arguments: Sequence[str], *, hard: bool, clock: Clock) -> int:
    """``arguments`` are those of ``orth executor`` without ``--reload``; the exit code."""
    orth = [sys.executable, "-m", "orth"]
    reloader = Reloader(
        [*orth, *arguments], [*orth, "executor", target, "--trial"], folder_of(target), hard=hard, clock=clock
    )
    return asyncio.run(reloader.run())
