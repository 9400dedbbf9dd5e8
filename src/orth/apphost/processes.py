"""One child process: its lines, its readiness, its end."""

import asyncio
import contextlib
import ctypes
import os
import signal
from collections.abc import Callable, Mapping

from orth.apphost.resources import Resource
from orth.clock import Clock
from orth.errors import CannotStart

_READY_WITHIN = 30.0
_LOOK_EVERY = 0.05
_PR_SET_PDEATHSIG = 1

Tell = Callable[[str, str], None]
"""``tell(name, line)``: show a line of the process ``name``."""


class Child:
    """A started resource."""

    def __init__(self, resource: Resource, process: asyncio.subprocess.Process, tell: Tell) -> None:
        self.resource = resource
        self._process = process
        self._lines = asyncio.create_task(_show_lines(process.stdout, resource.name, tell))

    @classmethod
    async def start(cls, resource: Resource, environment: Mapping[str, str], tell: Tell) -> "Child":
        process = await asyncio.create_subprocess_exec(
            *resource.command,
            env={**environment, **resource.environment, "PYTHONUNBUFFERED": "1"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,  # Ctrl+C is for us: we stop the children in order
            preexec_fn=_die_with_parent,  # runs before exec in a process that has no other threads yet
        )
        return cls(resource, process, tell)

    async def ready(self, answers: Callable[[str], bool], path: str, clock: Clock) -> None:
        """Wait until the process answers at ``path``; ``CannotStart`` when it ends or takes too long."""
        deadline = clock.monotonic() + _READY_WITHIN
        never = asyncio.Event()
        while not await asyncio.to_thread(answers, f"{self.resource.url}{path}"):
            if self._process.returncode is not None:
                await self._lines
                raise CannotStart(f"{self.resource.name} ended with exit code {self._process.returncode}.")
            if clock.monotonic() > deadline:
                raise CannotStart(f"{self.resource.name} was not ready after {_READY_WITHIN:.0f} s.")
            await clock.sleep_unless(never, _LOOK_EVERY)

    async def ended(self) -> int:
        """Wait for the process to end by itself; its exit code."""
        code = await self._process.wait()
        await self._lines
        return code

    async def stop(self, within: float) -> None:
        """Ask the process to stop in good order, and end it if it does not."""
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(within):
                await self._process.wait()
        except TimeoutError:
            self.kill()
            await self._process.wait()
        await self._lines

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: int) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)


async def _show_lines(stream: asyncio.StreamReader | None, name: str, tell: Tell) -> None:
    assert stream is not None
    while True:
        try:
            line = await stream.readline()
        except ValueError:  # a line beyond the reader's limit: show that something was there
            tell(name, "(a line too long to show)")
            continue
        if not line:
            return
        tell(name, line.decode(errors="replace").rstrip("\n"))


def _die_with_parent() -> None:
    """Let the kernel end the child when we are killed: a killed ``orth up`` leaves nothing behind."""
    if os.uname().sysname == "Linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
