"""How a process of ours serves HTTP and stops: its port, its signals, its event loop.

The port is bound before anything is announced, so an address others learn is one that answers. The first SIGTERM or
SIGINT asks for a stop in good order; the second ends the process at once.
"""

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from orth.errors import CannotStart
from orth.settings import Address

_BACKLOG = 2048
_LAST_ANSWERS = 3


@contextmanager
def bound(listen: Address) -> Iterator[socket.socket]:
    """A socket that listens there; connections wait in its queue until the server takes them."""
    family = socket.AF_INET6 if ":" in listen.host else socket.AF_INET
    try:
        listening = socket.create_server((listen.host, listen.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        hint = "Choose another with --listen HOST:PORT."
        if error.errno == errno.EADDRINUSE:
            raise CannotStart(f"Port {listen.port} on {listen.host} is taken.", hint=hint) from None
        raise CannotStart(f"Cannot listen on {listen}: {error.strerror or error}.", hint=hint) from None
    with listening:
        yield listening


class Server(uvicorn.Server):
    """Uvicorn without its signal handlers: stopping begins with our own order, not with closing the port."""

    def __init__(self, app: Any, *, keep_alive: int) -> None:
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="warning",
            access_log=False,
            lifespan="off",
            server_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=keep_alive,
            timeout_graceful_shutdown=_LAST_ANSWERS,
        )
        super().__init__(config)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def asked_to_stop() -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT; the second ends the process on the spot."""
    first = asyncio.Event()

    def on_signal() -> None:
        if first.is_set():
            os._exit(1)
        first.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    return first


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory
