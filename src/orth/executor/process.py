"""The executor as a process: a runtime behind a port, until a signal.

Network calls to coordinators are synchronous and run in threads: a silent coordinator never holds up the answer to a
trigger. ``embedding`` puts the same runtime and port into a thread of somebody else's process.
"""

import asyncio
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from orth.clock import SystemClock
from orth.collecting import set_start_aside
from orth.domain.services import ServiceKind
from orth.errors import CannotStart, Invalid
from orth.events import Event, Events, to_log
from orth.executor.channel_way import queue_transport
from orth.executor.facts import Registered
from orth.executor.handlers import Handlers
from orth.executor.loading import load_handlers
from orth.executor.own_key import own_key
from orth.executor.processes import refuse_while_imported
from orth.executor.queue_reports import Worker
from orth.executor.runtime import Runtime
from orth.executor.settings import ExecutorSettings, base_url
from orth.executor.signing_coordinators import SigningCoordinators
from orth.lifecycle.attendance import AgentSide, Attendance
from orth.lifecycle.client import Registration
from orth.loop import run_loops
from orth.serving import Server, Tls, asked_to_stop, bound, event_loop, reload_on_hangup, tls_of
from orth.settings import Settings
from orth.standard_descriptors import occupy_standard_descriptors
from orth.threads import StandingThreads
from orth.wire.coordinator_calls import SIGNING_COORDINATORS_FILE, CoordinatorCalls
from orth.wire.enrolment_calls import Enrolment
from orth.wire.peer_tls import peer_tls
from orth.wire.signatures import Signer
from orth.wire.work_keys import OwnKey, incarnation_of, new_process

_KEEP_ALIVE = 90


def run_executor(target: str, settings: Settings) -> int:
    """Load ``target`` (``jobs.py``, ``pkg.jobs``, ``jobs.py:app``) and serve it until stopped; the exit code."""
    return serve(load_handlers(target), settings)


def serve(handlers: Handlers, settings: Settings) -> int:
    """Serve ``handlers`` until stopped by a signal; the exit code. SIGHUP, or a changed file, changes the settings."""

    async def until_signal(ready: Prepared) -> None:
        stopping = asked_to_stop(last_words=ready.runtime.give_up)
        set_start_aside()
        reload_on_hangup(ready.attendance.watch_settings().ask, stopping)
        await serve_until(stopping, ready)

    with prepared(handlers, settings) as ready, event_loop() as runner:
        runner.run(until_signal(ready))
    return 0


@dataclass(frozen=True, slots=True)
class Prepared:
    """An executor that can start."""

    runtime: Runtime
    listening: socket.socket
    attendance: Attendance
    """How it is known to the registry."""
    tls: Tls | None


@contextmanager
def prepared(handlers: Handlers, settings: Settings) -> Iterator[Prepared]:
    """Everything that can keep an executor from starting, done: the port is bound, the files are open."""
    occupy_standard_descriptors()
    refuse_while_imported()  # before the port, which the importing executor has, and which would be the complaint
    own = ExecutorSettings.of(settings, handlers.app_name)
    with bound(settings.executor.listen) as listening:
        port = listening.getsockname()[1]
        scheme, tls = settings.security.scheme, tls_of(settings)
        address = settings.executor.address or base_url(settings.executor.listen, port, own.coordinators[0], scheme)
        clock, events = SystemClock(), Events(to_log)
        key = OwnKey(own_key(own.data_dir), new_process())
        incarnation = incarnation_of(key.work_key)
        enrolment = Enrolment(key.executor_key, own.access_token, own.app_name, address, clock)
        signing = SigningCoordinators(own.data_dir / SIGNING_COORDINATORS_FILE)
        signer = Signer(incarnation, clock, shows_token=own.show_token, signing=signing)
        try:
            link = CoordinatorCalls(
                own.coordinators,
                own.access_token,
                own.call_timeout,
                app_name=own.app_name,
                signer=signer,
                tls=peer_tls(settings.security),
                enrolment=enrolment,
            )
            queue = None
            if own.transport == "queue":
                queue = queue_transport(own, link, Worker(_worker_id(port), incarnation), key.process, clock, events)
            runtime = Runtime(
                handlers,
                own,
                link,
                address=address,
                incarnation=incarnation,
                clock=clock,
                events=events,
                queue=queue,
                own_key=key,
            )
        except (Invalid, ValueError) as error:
            raise CannotStart(f"The executor cannot announce itself: {error}") from None
        attendance = _attendance(settings, runtime, link, signer)
        try:
            yield Prepared(runtime, listening, attendance, tls)
        finally:
            attendance.close()
            runtime.close()
            link.close()


def _attendance(settings: Settings, runtime: Runtime, link: CoordinatorCalls, signer: Signer) -> Attendance:
    own, events = runtime.settings, runtime.events
    attendance = Attendance(
        settings,
        Registration(ServiceKind.AGENT, runtime.address, runtime.incarnation, own.app_name),
        own.access_token,
        runtime.tools.clock,
        events,
        agent=AgentSide(link, runtime.busy, runtime.heartbeat.heard_from),
        signer=signer,
    )

    def hear(event: Event) -> None:
        if isinstance(event, Registered):  # coordinators are back, and the registry is one of them or near
            attendance.presence.heard_from()

    events.listen(hear)
    return attendance


def _borrowed() -> int:
    """Threads for calls and files: as many as ``asyncio`` would have."""
    return min(32, (os.cpu_count() or 1) + 4)


def _worker_id(port: int) -> str:
    """The name of an executor of queues, for people: where it is."""
    return f"{socket.gethostname()[:50]}:{port}"


async def serve_until(
    stopping: asyncio.Event, ready: Prepared, *, embedded: bool = False, started: Callable[[], None] = lambda: None
) -> None:
    """Run the loops and the HTTP server until ``stopping``, then stop both. A crash of either ends this with it.

    ``started`` is called when nothing is left that could keep it from starting.
    """
    runtime, attendance = ready.runtime, ready.attendance
    asyncio.get_running_loop().set_default_executor(StandingThreads(_borrowed(), "orth-borrowed"))
    server = Server(
        runtime.http,
        keep_alive=_KEEP_ALIVE,
        connections=runtime.settings.connections,
        events=runtime.events,
        embedded=embedded,
        websockets=False,
        tls=ready.tls,
    )
    runtime.start()
    started()
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve(sockets=[ready.listening]), name="http")
        group.create_task(run_loops(*runtime.loops), name="loops")
        group.create_task(run_loops(*attendance.loops), name="registration")
        await stopping.wait()
        attendance.say_stopping()
        await runtime.stop()
        await attendance.leave()
        server.should_exit = True
