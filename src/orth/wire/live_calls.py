"""The client's side of the live socket ``/ws``: one connection, and following it for as long as anybody wants.

Events are numbered without gaps. Whoever knows the last number it has seen asks for what came after it, so a connection
that breaks, or a coordinator that ends, costs nothing: ``follow`` opens another and goes on, and gives no event twice.
Only when so many were missed that they are no longer kept does a snapshot of all services come in their place.
"""

import json
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Origin

from orth.errors import ApiProblem, Unavailable
from orth.wire.network_reasons import network_sentence

PATH = "/ws"
SNAPSHOT = "snapshot"
_QUIET = 25.0
"""Seconds without a message after which the other side is asked whether it is there."""
_PONG_WITHIN = 10.0
_LARGEST = 64 * 1024 * 1024
"""Bytes of one message: a snapshot has every service."""
_SESSION_OVER = 4401
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 15.0


@dataclass(frozen=True, slots=True)
class LiveMessage:
    """An event, or a snapshot. ``text`` is the message as it came."""

    type: str
    data: Any
    seq: int
    at: str
    text: str


class LiveRefused(ApiProblem):
    """The socket was not opened, or closed because the session is over; ``status`` as in HTTP."""

    def __init__(self, status: int) -> None:
        super().__init__(status, f"The live socket answered HTTP {status}.")


class LiveLine:
    """One open connection."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection = connection

    def ask_snapshot(self) -> None:
        with _breaking():
            self._connection.send(json.dumps({"type": SNAPSHOT}))

    def messages(self) -> Iterator[LiveMessage]:
        """What comes, until the connection breaks (``Unavailable``) or the session is over (``LiveRefused``)."""
        while True:
            text = self._next()
            message = None if text is None else _read(text)
            if message is not None:
                yield message

    def _next(self) -> str | None:
        """The next message, or None when there was none for a while and the other side is there."""
        with _breaking():
            try:
                text = self._connection.recv(timeout=_QUIET)
            except TimeoutError:
                if self._connection.ping().wait(_PONG_WITHIN):
                    return None
                raise Unavailable("The live socket has fallen silent.") from None
            return text if isinstance(text, str) else text.decode("utf-8", "replace")


@contextmanager
def live_line(
    url: str,
    *,
    headers: Mapping[str, str],
    since: int | None = None,
    origin: str | None = None,
    patience: float = 10.0,
    tls: ssl.SSLContext | None = None,
) -> Iterator[LiveLine]:
    """A connection to the socket of the coordinator at ``url``; what came after ``since`` comes first.
    ``tls`` says whom to trust at an https address, if not just this machine's authorities.

    ``LiveRefused`` if it does not let us in, ``Unavailable`` if it cannot be reached.
    """
    wanted = "" if since is None else f"?since={since}"
    with (
        closing(_dialled(url, patience)) as line,
        _opening(url),
        connect(
            f"ws{url.removeprefix('http')}{PATH}{wanted}",
            ssl=tls if url.startswith("https:") else None,
            sock=line,  # ours: a proxy of the environment is not for calls to our own coordinators
            origin=None if origin is None else Origin(origin),
            additional_headers=headers,
            user_agent_header="orth",
            open_timeout=patience,
            close_timeout=1,
            max_size=_LARGEST,
        ) as connection,
    ):
        yield LiveLine(connection)


def _dialled(url: str, patience: float) -> socket.socket:
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return socket.create_connection((parts.hostname or "", port), timeout=patience)
    except (OSError, ValueError) as error:  # nobody there; or no address: a port that is none, a name that is none
        raise Unavailable(f"{network_sentence(url, error)}.") from None


@contextmanager
def _opening(url: str) -> Iterator[None]:
    try:
        yield
    except InvalidStatus as refused:
        raise LiveRefused(refused.response.status_code) from None
    except (WebSocketException, OSError, EOFError) as error:
        raise Unavailable(f"{network_sentence(url, error)}; the live socket cannot be opened.") from None


@contextmanager
def _breaking() -> Iterator[None]:
    try:
        yield
    except ConnectionClosed as closed:
        code = closed.rcvd.code if closed.rcvd is not None else 0
        if code == _SESSION_OVER:
            raise LiveRefused(401) from None
        raise Unavailable(f"The live socket was closed ({code or 'it broke off'}).") from None


def _read(text: str) -> LiveMessage | None:
    """A message, or None if it is nothing that has a number."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict) or not isinstance(said.get("seq"), int) or not isinstance(said.get("type"), str):
        return None
    return LiveMessage(said["type"], said.get("data"), said["seq"], str(said.get("at") or ""), text)


Open = Callable[[int | None], Any]
"""Opens a line from a number on: a context manager that gives a ``LiveLine``."""


def newest_seq(open_line: Open) -> int:
    """The number of the newest event there is."""
    with open_line(None) as line:
        line.ask_snapshot()
        for message in line.messages():
            if message.type == SNAPSHOT:
                return int(message.seq)
    raise Unavailable("The live socket gave no snapshot.")


def follow(
    open_line: Open, since: int, *, pause: Callable[[float], None], broke: Callable[[Exception], None]
) -> Iterator[LiveMessage]:
    """Every message after ``since``, each once and in order; a line that breaks is opened again, after a pause.

    Goes on for ever: ``broke`` is told of each break, and may raise to end it.
    """
    last, failures = since, 0
    while True:
        try:
            with open_line(last) as line:
                for message in line.messages():
                    failures = 0
                    if message.seq > last or message.type == SNAPSHOT:  # which may lead back: to an older database
                        last = message.seq
                        yield message
        except (Unavailable, LiveRefused) as error:
            broke(error)
        pause(pause_after(failures))
        failures += 1


def pause_after(failures: int) -> float:
    """Seconds before another attempt: doubled each time, up to a bound."""
    return min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(failures, 10))
