"""The control socket: other commands look at a running ``orth up`` and ask it for things.

Messages are JSON, one per line. A client sends one request: ``{"do": "show"}`` is answered with a snapshot, ``{"do":
"watch"}`` with snapshots and lines as they come, ``{"do": "down"}`` and the wishes of the keyboard with what was done.
A client that does not read is dropped; nobody waits for it.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from orth.apphost.lines import LastLines, Line
from orth.apphost.place import Place
from orth.apphost.snapshot import Snapshot
from orth.apphost.viewing import Do, Wish
from orth.clock import Clock
from orth.errors import CannotStart, Invalid, OrthError, Unavailable

_PAUSE = 0.25
_UNREAD = 1024 * 1024
_FIRST_LINES = 500
_MOST_CLIENTS = 32
_LONGEST_REQUEST = 4096
_ANSWER_WITHIN = 10.0


@dataclass(frozen=True, slots=True)
class Served:
    """What the socket gives access to."""

    snapshot: Callable[[], Snapshot]
    lines: LastLines
    carry_out: Callable[[Wish], Awaitable[str]]
    """Does what is wished and says what was done."""
    down: Callable[[bool], None]
    """Stop everything, at once or in good order."""


class Control:
    """The server side."""

    def __init__(self, place: Place, served: Served, clock: Clock) -> None:
        self._place = place
        self._served = served
        self._clock = clock
        self._clients: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    async def __aenter__(self) -> "Control":
        self._server = await asyncio.start_unix_server(
            self._serve, sock=self._place.listening(), limit=_LONGEST_REQUEST
        )
        return self

    async def __aexit__(self, *_error: object) -> None:
        assert self._server is not None
        self._server.close()
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    @property
    def clients(self) -> int:
        """How many are answered now."""
        return len(self._clients)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        left = asyncio.Event()
        looking: asyncio.Task[None] | None = None
        try:
            if self.clients <= _MOST_CLIENTS:
                async with asyncio.timeout(_ANSWER_WITHIN):
                    request = json.loads(await reader.readline())
                looking = asyncio.create_task(_look_for_the_end(reader, left))
                async for answer in self._answers(request if isinstance(request, dict) else {}, left):
                    if left.is_set() or reader.at_eof() or writer.transport.is_closing():
                        return
                    writer.write(json.dumps(answer).encode() + b"\n")
                    if writer.transport.get_write_buffer_size() > _UNREAD:
                        return
        except (OSError, ValueError, Invalid):  # silence is a TimeoutError, which is an OSError
            return
        finally:
            if looking is not None:
                looking.cancel()
            self._clients.discard(task)
            writer.close()

    async def _answers(self, request: dict[str, Any], left: asyncio.Event) -> AsyncIterator[dict[str, Any]]:
        match request.get("do"):
            case "show":
                yield {"snapshot": self._served.snapshot().to_json()}
            case "watch":
                async for answer in self._watched(left):
                    yield answer
            case "down":
                self._served.down(bool(request.get("now")))
                yield {"said": "stopping"}
            case _:
                yield await self._carried_out(_wish(request))

    async def _carried_out(self, wish: Wish) -> dict[str, Any]:
        """What was done, or why it was not."""
        try:
            return {"said": await self._served.carry_out(wish)}
        except OrthError as error:
            return {"said": str(error), "refused": True}

    async def _watched(self, left: asyncio.Event) -> AsyncIterator[dict[str, Any]]:
        seen = max(0, self._served.lines.count - _FIRST_LINES)
        while True:
            lines, seen = self._served.lines.since(seen), self._served.lines.count
            yield {
                "snapshot": self._served.snapshot().to_json(),
                "lines": [[line.name, line.text] for line in lines],
            }
            await self._clock.sleep_unless(left, _PAUSE)


async def _look_for_the_end(reader: asyncio.StreamReader, left: asyncio.Event) -> None:
    """Whoever leaves makes room at once, not when the next answer is due."""
    with suppress(OSError):
        while await reader.read(_LONGEST_REQUEST):
            pass
    left.set()


def _wish(request: dict[str, Any]) -> Wish:
    try:
        return Wish(Do(str(request.get("do"))), str(request.get("name", "")))
    except ValueError:
        raise Invalid(f"{request.get('do')} is nothing to do.") from None


# --- the client side


def ask(place: Place, **request: object) -> dict[str, Any]:
    """The answer of the ``orth up`` that runs in a folder."""
    for answer in _asked(place, request):
        return answer
    raise Unavailable(f"The orth up in {place.folder} has just ended.")


def show(place: Place) -> Snapshot:
    return Snapshot.from_json(ask(place, do="show")["snapshot"])


def watch(place: Place) -> Generator[tuple[Snapshot, list[Line]], None, None]:
    """What it shows, again and again, with the lines that came in between; until it ends."""
    for answer in _asked(place, {"do": "watch"}):
        yield Snapshot.from_json(answer["snapshot"]), [Line(*line) for line in answer["lines"]]


def _asked(place: Place, request: dict[str, object]) -> Generator[dict[str, Any], None, None]:
    try:
        with place.connected(_ANSWER_WITHIN) as connection, connection.makefile("rb") as answers:
            connection.sendall(json.dumps(request).encode() + b"\n")
            for line in answers:
                yield json.loads(line)
    except TimeoutError:
        raise Unavailable(f"The orth up in {place.folder} does not answer.", hint="End it: orth down --now") from None
    except (ConnectionError, FileNotFoundError):  # it has ended, or is about to
        return
    except OSError as error:
        raise CannotStart(f"The control socket in {place.folder} cannot be used: {error}.") from None
