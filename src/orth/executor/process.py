"""The executor as a process: its port, its signals, its exit code.

The port is bound before anything is announced, so the address that coordinators learn is one that answers. SIGTERM and
SIGINT stop it in good order; a second one ends it at once. Network calls to coordinators are synchronous and run in
threads: a silent coordinator never holds up the answer to a trigger.
"""

import asyncio
import errno
import os
import signal
import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import uvicorn

from orth.clock import SystemClock
from orth.errors import CannotStart, Invalid
from orth.events import Events, to_log
from orth.executor.handlers import Handlers
from orth.executor.loading import load_handlers
from orth.executor.runtime import Runtime
from orth.executor.server import HttpDoor
from orth.executor.settings import ExecutorSettings, base_url
from orth.loop import run_loops
from orth.settings import Address, Settings
from orth.wire.coordinator_calls import CoordinatorCalls

_BACKLOG = 2048
_KEEP_ALIVE = 90
_LAST_ANSWERS = 3


def run_executor(target: str, settings: Settings) -> int:
    """Load ``target`` (``jobs.py``, ``pkg.jobs``, ``jobs.py:app``) and serve it until stopped; the exit code."""
    return serve(load_handlers(target), settings)


def serve(handlers: Handlers, settings: Settings) -> int:
    """Serve ``handlers`` until stopped; the exit code."""
    own = ExecutorSettings.of(settings, handlers.app_name)
    with bound(settings.executor.listen) as listening:
        port = listening.getsockname()[1]
        address = settings.executor.address or base_url(settings.executor.listen, port, own.coordinators[0])
        try:
            link = CoordinatorCalls(own.coordinators, own.access_token, own.call_timeout, app_name=own.app_name)
            runtime = Runtime(
                handlers,
                own,
                link,
                address=address,
                incarnation=uuid.uuid4().hex,
                clock=SystemClock(),
                events=Events(to_log),
            )
        except (Invalid, ValueError) as error:
            raise CannotStart(f"The executor cannot announce itself: {error}") from None
        try:
            with asyncio.Runner(loop_factory=_loop_factory()) as runner:
                runner.run(_serve(runtime, listening))
        finally:
            runtime.close()
            link.close()
    return 0


async def _serve(runtime: Runtime, listening: socket.socket) -> None:
    """Run the loops and the HTTP server until a signal, then stop both. A crash of either ends the process."""
    server = _Server(_server_config(runtime.http))
    asked_to_stop = _signalled()
    runtime.start()
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listening]), name="http")
        group.create_task(run_loops(*runtime.loops), name="loops")
        await asked_to_stop.wait()
        await runtime.stop()
        server.should_exit = True


def _server_config(app: HttpDoor) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        log_config=None,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        backlog=_BACKLOG,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_LAST_ANSWERS,
    )


class _Server(uvicorn.Server):
    """Uvicorn without its signal handlers: stopping begins with draining, not with closing the port."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _signalled() -> asyncio.Event:
    """Set by the first SIGTERM or SIGINT; the second ends the process on the spot."""
    first = asyncio.Event()

    def on_signal() -> None:
        if first.is_set():
            os._exit(1)
        first.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)
    return first


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


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop
