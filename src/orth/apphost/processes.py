"""One child process: its lines, its end, and that it never outlives us.

A child is in a session of its own, so that Ctrl+C in the terminal is for us alone, and the kernel kills it when we die,
however we die. The kernel means the thread that made the child, not the process: children are therefore only ever
started from the event loop of the main thread, which lives as long as we do.
"""

import asyncio
import ctypes
import os
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress

from orth.apphost.resources import Resource
from orth.errors import CannotStart
from orth.serving import STAND_ASIDE

_PR_SET_PDEATHSIG = 1
_LONGEST_LINE = 64 * 1024
_LAST_LINES_WITHIN = 2.0
_LIBC = ctypes.CDLL(None)  # loaded here: between fork and exec one must not look for libraries

Tell = Callable[[str, str], None]
"""``tell(name, line)``: show a line of the process ``name``."""


class Child:
    """A started process."""

    def __init__(
        self, process: asyncio.subprocess.Process, name: str, gate: int, tell: Tell, ended: Callable[[], None]
    ) -> None:
        self._process = process
        self._name = name
        self._gate: int | None = gate
        self._watch = asyncio.create_task(self._watched(tell, ended))

    @classmethod
    async def start(
        cls, resource: Resource, environment: Mapping[str, str], tell: Tell, ended: Callable[[], None]
    ) -> "Child":
        """Start it, up to the point where it waits for ``go``; ``ended`` is called when it has ended and all its lines
        were told.
        """
        assert threading.current_thread() is threading.main_thread(), "children die with the thread that makes them"
        waiting, gate = os.pipe2(os.O_CLOEXEC)
        try:
            process = await asyncio.create_subprocess_exec(
                *resource.command,
                env={**environment, **resource.environment, "PYTHONUNBUFFERED": "1", "ORTH_UP_GATE": str(waiting)},
                pass_fds=(waiting,),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.STDOUT,
                limit=_LONGEST_LINE,
                start_new_session=True,
                preexec_fn=_die_with(os.getpid()),
            )
        except OSError as error:
            os.close(gate)
            raise CannotStart(f"{resource.name} cannot be started: {error}.") from None
        finally:
            os.close(waiting)
        return cls(process, resource.name, gate, tell, ended)

    def go(self) -> None:
        """Let it do its work."""
        if self._gate is not None:
            gate, self._gate = self._gate, None
            with suppress(BrokenPipeError):  # it has ended
                os.write(gate, b"g")
            os.close(gate)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def code(self) -> int | None:
        """Its exit code once it has ended and its lines were told."""
        return self._process.returncode if self._watch.done() else None

    async def wait(self) -> None:
        await asyncio.wait([self._watch])

    def terminate(self) -> None:
        """Ask it to stop in good order."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(signal.SIGTERM)

    def stand_aside(self) -> None:
        """Ask a coordinator that is ready to lead no more."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                self._process.send_signal(STAND_ASIDE)

    def kill(self) -> None:
        """End it and its process group on the spot."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def _watched(self, tell: Tell, ended: Callable[[], None]) -> None:
        lines = asyncio.create_task(_tell_lines(self._process.stdout, self._name, tell))
        await self._process.wait()
        self.go()  # closes the gate
        # What it started may hold the pipe open; its own last lines are there by now.
        await asyncio.wait([lines], timeout=_LAST_LINES_WITHIN)
        lines.cancel()
        asyncio.get_running_loop().call_soon(ended)


async def _tell_lines(stream: asyncio.StreamReader | None, name: str, tell: Tell) -> None:
    assert stream is not None
    while True:
        try:
            line = await stream.readline()
        except ValueError:  # a line beyond the reader's limit: show that something was there
            tell(name, "(a line too long to show)")
            continue
        if not line:
            return
        tell(name, line.decode(errors="replace").rstrip("\r\n"))


def _die_with(parent: int) -> Callable[[], None]:
    """Between fork and exec: let the kernel kill the child when we die, and leave if we just did."""

    def before_exec() -> None:
        if _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0 or os.getppid() != parent:
            os._exit(1)

    return before_exec
