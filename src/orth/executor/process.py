"""The executor as a process: a runtime behind a port, until a signal.

Network calls to coordinators are synchronous and run in threads: a silent coordinator never holds up the answer to a
trigger. ``embedding`` puts the same runtime and port into a thread of somebody else's process.
"""

import asyncio
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from orth.clock import SystemClock
from orth.errors import CannotStart, Invalid
from orth.events import Events, to_log
from orth.executor.channel_way import queue_transport
from orth.executor.handlers import Handlers
from orth.executor.loading import load_handlers
from orth.executor.queue_reports import Worker
from orth.executor.runtime import Runtime
from orth.executor.settings import ExecutorSettings, base_url
from orth.loop import run_loops
from orth.serving import Server, asked_to_stop, bound, loop_factory
from orth.settings import Settings
from orth.wire.coordinator_calls import CoordinatorCalls

_KEEP_ALIVE = 90


def run_executor(target: str, settings: Settings) -> int:
    """Load ``target`` (``jobs.py``, ``pkg.jobs``, ``jobs.py:app``) and serve it until stopped; the exit code."""
    return serve(load_handlers(target), settings)


def serve(handlers: Handlers, settings: Settings) -> int:
    """Serve ``handlers`` until stopped by a signal; the exit code."""

    async def until_signal(runtime: Runtime, listening: socket.socket) -> None:
        await serve_until(asked_to_stop(), runtime, listening)

    with prepared(handlers, settings) as (runtime, listening), asyncio.Runner(loop_factory=loop_factory()) as runner:
        runner.run(until_signal(runtime, listening))
    return 0


@contextmanager
def prepared(handlers: Handlers, settings: Settings) -> Iterator[tuple[Runtime, socket.socket]]:
    """Everything that can keep an executor from starting, done: the port is bound, the files are open."""
    own = ExecutorSettings.of(settings, handlers.app_name)
    with bound(settings.executor.listen) as listening:
        port = listening.getsockname()[1]
        address = settings.executor.address or base_url(settings.executor.listen, port, own.coordinators[0])
        incarnation, clock, events = uuid.uuid4().hex, SystemClock(), Events(to_log)
        try:
            link = CoordinatorCalls(own.coordinators, own.access_token, own.call_timeout, app_name=own.app_name)
            queue = None
            if own.transport == "queue":
                queue = queue_transport(own, link, Worker(_worker_id(port), incarnation), clock, events)
            runtime = Runtime(
                handlers, own, link, address=address, incarnation=incarnation, clock=clock, events=events, queue=queue
            )
        except (Invalid, ValueError) as error:
            raise CannotStart(f"The executor cannot announce itself: {error}") from None
        try:
            yield runtime, listening
        finally:
            runtime.close()
            link.close()


def _worker_id(port: int) -> str:
    """The name of an executor of queues, for people: where it is."""
    return f"{socket.gethostname()[:50]}:{port}"


async def serve_until(
    stopping: asyncio.Event, runtime: Runtime, listening: socket.socket, *, embedded: bool = False
) -> None:
    """Run the loops and the HTTP server until ``stopping``, then stop both. A crash of either ends this with it."""
    server = Server(
        runtime.http,
        keep_alive=_KEEP_ALIVE,
        connections=runtime.settings.connections,
        events=runtime.events,
        embedded=embedded,
        websockets=False,
    )
    runtime.start()
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[listening]), name="http")
        group.create_task(run_loops(*runtime.loops), name="loops")
        await stopping.wait()
        await runtime.stop()
        server.should_exit = True
