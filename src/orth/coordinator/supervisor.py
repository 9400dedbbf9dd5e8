"""The ``orth up`` that keeps this process, asked over its control socket; most coordinators are kept by nobody we know.

The socket is in a folder that only its user can enter, and so can whoever runs here. Messages are JSON, one for each
line, as ``orth.apphost.control`` says.
"""

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from orth.errors import Conflict, NotFound, Unavailable

_SOCKET = "up.sock"
_PATIENCE = 10.0
_LONGEST_ANSWER = 1024 * 1024


class ProcessWish(StrEnum):
    """What may be asked for from here. Draining and ending all are left to the terminal."""

    START = "start"
    STOP = "stop"
    RESTART = "restart"


@dataclass(frozen=True, slots=True)
class Kept:
    """A process that it keeps."""

    name: str
    kind: str
    state: str
    detail: str
    leader: bool
    beat: float | None
    again_in: float | None
    waits_for: Sequence[str]
    address: str
    restarts: int


class Supervisor:
    """Speaks to the ``orth up`` whose folder this is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def processes(self) -> list[Kept]:
        """What it keeps, in the order of their start."""
        answer = await self._asked(do="show")
        try:
            return [Kept(**{name: row[name] for name in Kept.__slots__}) for row in answer["snapshot"]["rows"]]
        except (KeyError, TypeError):
            raise Unavailable.of("supervisor_of_other_version") from None

    async def carry_out(self, wish: ProcessWish, name: str) -> str:
        """Have something done to one of them; what was done."""
        if not any(one.name == name for one in await self.processes()):
            raise NotFound("process", name)
        answer = await self._asked(do=wish.value, name=name)
        if answer.get("refused"):
            raise Conflict.of("process_refused", said=str(answer.get("said", "It was not done.")))
        return str(answer.get("said", ""))

    async def _asked(self, **request: str) -> dict[str, Any]:
        try:
            async with asyncio.timeout(_PATIENCE):
                with _socket_path(self._folder) as path:
                    reader, writer = await asyncio.open_unix_connection(path, limit=_LONGEST_ANSWER)
                try:
                    writer.write(json.dumps(request).encode() + b"\n")
                    await writer.drain()
                    answer = json.loads(await reader.readline())
                finally:
                    writer.close()
        except (OSError, ValueError) as error:  # a time limit is an OSError; nothing at all is no JSON
            raise Unavailable.of("supervisor_silent") from error
        if not isinstance(answer, dict):
            raise Unavailable.of("supervisor_of_other_version")
        return answer


@contextmanager
def _socket_path(folder: Path) -> Iterator[str]:
    """A path short enough for a socket, whatever the folder's: through its descriptor."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield f"/proc/self/fd/{opened}/{_SOCKET}"
    finally:
        os.close(opened)
