"""An executor without sockets and signals: every room built once, everything from outside passed in.

``process`` puts a runtime behind a port. A test, or a cluster within one process, calls ``handle`` instead of sending
requests, turns ``loops`` by hand or runs them, and waits with ``join_idle``.
"""

import asyncio
import os
import platform
from collections.abc import Callable, Mapping
from contextlib import ExitStack

from orth.clock import Clock
from orth.domain.executions import STORED_MESSAGE_LIMIT
from orth.domain.nodes import Unavailability
from orth.errors import CannotStart, Conflict
from orth.events import Event, Events
from orth.executor.admission import Admission
from orth.executor.announcing import announced_handlers
from orth.executor.beginnings import Beginnings
from orth.executor.callers import Callers
from orth.executor.capture import capturing
from orth.executor.facts import (
    AbandonedReturned,
    AnnouncementShortened,
    CallbacksDelivered,
    ExecutionAbandoned,
    ExecutorStarted,
    ExecutorStopped,
    OutboxRecovered,
    OutboxUnwritable,
    ScheduleNotAnnounced,
    ScriptsAsRoot,
    TriggerRefused,
)
from orth.executor.handlers import Handlers
from orth.executor.heartbeat import Heartbeat
from orth.executor.job_threads import IdleThreads, JobThreads
from orth.executor.masking import mask_of_token
from orth.executor.metrics import Metrics, Standing
from orth.executor.outbox import Outbox
from orth.executor.queue_transport import QueueTransport
from orth.executor.results import Result
from orth.executor.retention import Retention
from orth.executor.run_logs import RunLogs
from orth.executor.running import Tools
from orth.executor.server import Endpoints, HttpDoor
from orth.executor.settings import ExecutorSettings
from orth.executor.sources import Sources
from orth.executor.time_limits import TimeLimits
from orth.executor.turned_away import TurnedAway
from orth.loop import Loop
from orth.version import __version__
from orth.wire.coordinator_calls import CoordinatorLink
from orth.wire.dialects import VERDICTS
from orth.wire.fields import STANDING_LIMIT
from orth.wire.messages import Announcement, Extension, Load, RegistryRequest
from orth.wire.signatures import Verifier
from orth.wire.work_keys import OwnKey

EXTENSIONS = (
    "resend",
    VERDICTS,
    Extension.KILL_EXECUTION,
    Extension.BATCH_RUN,
    Extension.FOLLOW_LOG,
    Extension.NOT_BEFORE,
    Extension.APP_NAME,
    Extension.TICKS,
    Extension.PROGRESS,
    Extension.SIGNED,
    Extension.SOURCE_DIGEST,
    Extension.DRAFTS,
    Extension.SECRETS,
    Extension.LONG_PAGES,
    Extension.REPORT_KEY,
    Extension.RUN_KEY,
    Extension.LOG_LEVEL,
    Extension.PROOFS,
    Extension.OVERLAP,
)
_MAY_CHANGE_AVAILABILITY = (CallbacksDelivered, OutboxRecovered, OutboxUnwritable, TriggerRefused)
_GOODBYE = 2.0
_NAMED = 5
"""Handlers that are named where it is told that something of them is left out."""
_FLUSH = 10.0


class Runtime:
    """One executor. Made, started and stopped once; a restart is another runtime with another incarnation."""

    def __init__(
        self,
        handlers: Handlers,
        settings: ExecutorSettings,
        link: CoordinatorLink,
        *,
        address: str,
        incarnation: str,
        clock: Clock,
        events: Events,
        queue: QueueTransport | None = None,
        work_key: str | None = None,
        own_key: OwnKey | None = None,
    ) -> None:
        """Without a ``work_key``, or an own key from which it is made, the token is enough to ask for work."""
        work_key = work_key if own_key is None else own_key.work_key
        link = link if queue is None else queue.link
        self._queue = queue
        self.settings = settings
        self.address = address
        self.incarnation = incarnation
        self.events = events
        self.logs = RunLogs(settings.logs_dir, clock, events, file_limit=settings.log_file_limit)
        self.outbox = _open_outbox(settings, link, self.logs, lambda: self.threads, clock, events)
        self.limits = TimeLimits(clock, events)
        self.tools = Tools(
            clock,
            events,
            self.logs,
            self.limits,
            incarnation,
            settings.app_name,
            kill_grace=settings.kill_grace,
            abandoned_hold=settings.abandoned_hold,
            on_progress=None if queue is None else queue.on_progress,
            always_hidden=mask_of_token(settings.access_token),
        )
        self.threads = JobThreads(self.tools, self.outbox.add)
        self.sources = Sources(handlers, settings, clock)
        self.admission = Admission(
            self.sources, self.threads, self.outbox, queue_limit=settings.queue_limit, events=events
        )
        self.metrics = Metrics(__version__, incarnation)
        self._unlisten = events.listen(self._hear)
        self.endpoints = self._made_endpoints(Verifier(incarnation, clock), work_key, own_key)
        self.turned_away = TurnedAway(events)
        self.http = HttpDoor(self.endpoints, turned_away=self.turned_away)
        self.registration = self._made_registration(work_key, own_key)
        beat = settings.heartbeat if queue is None else settings.queue_heartbeat
        self.heartbeat = Heartbeat(self.announced, link, beat=beat, clock=clock, events=events, taken=self._beat_taken)
        self.loops: list[Loop] = [
            self.heartbeat,
            self.outbox,
            self.limits,
            IdleThreads(self.threads, settings.idle_thread, events),
            Beginnings(self.tools.began, link, incarnation=incarnation, clock=clock, events=events),
            Retention(self.logs, settings.log_retention, clock, events),
        ]
        if queue is not None:
            self.loops += queue.enter(self.admission, self.threads, self.outbox, self.logs)
        self._announced_unavailable: Unavailability | None = None
        self._beats_with_orth = False
        """Whether the last beat went to a coordinator of Orth. Another one goes on sending until the good-bye."""
        self._capture = ExitStack()
        self._captures_prints = handlers.capture_stdout
        self._schedule_mistakes = handlers.schedule_mistakes

    def _made_endpoints(self, verifier: Verifier, work_key: str | None, own_key: OwnKey | None) -> Endpoints:
        settings = self.settings
        must_sign = settings.require_signatures
        takes_tokens = settings.show_token or settings.token_until_registered
        callers = Callers(
            settings.access_token,
            verifier,
            app_name=settings.app_name,
            work_key=work_key,
            executor_key=None if own_key is None else own_key.executor_key,
            must_sign=must_sign,
            work_key_alone=must_sign or self._queue is not None or not takes_tokens,
            token_until_registered=settings.token_until_registered,
        )
        metrics = self.metrics_text if settings.metrics else None
        return Endpoints(self.admission, self.logs, self.health, callers=callers, events=self.events, metrics=metrics)

    def _made_registration(self, work_key: str | None, own_key: OwnKey | None) -> RegistryRequest:
        handlers, self._shortened = announced_handlers(self.sources.infos())
        announcement = Announcement(
            incarnation=self.incarnation,
            version=__version__,
            python=platform.python_version(),
            extensions=EXTENSIONS if work_key is None else (*EXTENSIONS, Extension.WORK_KEY),
            handlers=handlers,
            labels=dict(self.settings.labels),
            process=None if own_key is None else own_key.process,
            work_key=work_key,
        )
        return RegistryRequest(registry_key=self.settings.app_name, registry_value=self.address, orth=announcement)

    def start(self) -> None:
        """Start helper processes, capture what handlers print and log. The loops are run, or turned, by the caller."""
        self.sources.start()
        if self._queue is not None:
            self._queue.start()
        self._capture.enter_context(capturing(prints=self._captures_prints))
        handlers = self.registration.orth.handlers if self.registration.orth else ()
        self.events.emit(ExecutorStarted(self.settings.app_name, self.address, len(handlers), self.incarnation))
        for mistake in self._schedule_mistakes:
            self.events.emit(ScheduleNotAnnounced(str(mistake)))
        if self._shortened:
            some = ", ".join(self._shortened[:_NAMED]) + (" …" if len(self._shortened) > _NAMED else "")
            self.events.emit(AnnouncementShortened(len(self._shortened), some))
        if self.settings.scripts and self.settings.script_user is None and os.geteuid() == 0:
            self.events.emit(ScriptsAsRoot(", ".join(self.settings.scripts)))

    def handle(self, path: str, body: bytes, headers: Mapping[str, str], *, method: str = "POST") -> tuple[int, bytes]:
        """Answer a request as the HTTP door would: status and body."""
        answer = self.endpoints.handle(method, path, headers, body)
        return answer.status, answer.body

    def quiet(self) -> bool:
        """Whether nothing runs or waits."""
        return self.threads.count() == 0

    def busy(self) -> bool:
        """Whether anything runs."""
        return bool(self.tools.contexts)

    def join_idle(self, seconds: float, *, held: bool = True) -> bool:
        """Wait until nothing runs or waits, all results being in the outbox; false when it took longer. With ``held``
        false, what came before its time is not waited for.
        """
        idle = self.threads.join_idle(seconds, held=held)
        self.outbox.join_recorded()
        return idle

    def health(self) -> dict[str, object]:
        refusal = self.outbox.refusal
        status = "stopping" if self.admission.closed else "ok" if refusal is None else refusal.reason
        return {
            "status": status,
            "incarnation": self.incarnation,
            "open": self.threads.count(),
            "threads": self.threads.thread_count(),
            "abandoned": len(self.tools.abandoned),
            "undelivered": len(self.outbox),
            "now": self.tools.clock.now(),
            "tick": int(self.tools.clock.monotonic() * 1000),
        }

    def announced(self) -> RegistryRequest:
        """The registration with what is true now: what is here, and how much."""
        said = self.registration.orth
        assert said is not None
        unacknowledged = [item.log_id for item in self.outbox.waiting()]
        self._announced_unavailable = self._unavailable()
        now = said.model_copy(
            update={
                "running": tuple(self.threads.open_ids()[:STANDING_LIMIT]),
                "unacknowledged": tuple(unacknowledged[:STANDING_LIMIT]),
                "load": self._load(len(unacknowledged)),
                "left_behind": self.tools.abandoned.named(),
                "turned_away": self.turned_away.report(),
                "unavailable": self._announced_unavailable,
            }
        )
        return self.registration.model_copy(update={"orth": now})

    def _unavailable(self) -> Unavailability | None:
        declined = self.admission.unavailable()
        return None if declined is None else declined.code

    def _beat_taken(self, beat: RegistryRequest, known_key: str | None) -> None:
        self._beats_with_orth = known_key is not None
        self.endpoints.callers.acknowledge(known_key)
        if self._queue is None and beat.orth is not None:  # beats on channels do not tell of it
            self.turned_away.taken(beat.orth.turned_away)

    def metrics_text(self) -> bytes:
        """What ``/metrics`` answers."""
        load = self._load(len(self.outbox))
        return self.metrics.text(
            Standing(
                running=load.running,
                queued=load.queued,
                threads=load.threads,
                abandoned=load.abandoned,
                outbox_results=load.unacknowledged,
                outbox_bytes=self.outbox.byte_count,
                outbox_oldest=self.outbox.oldest_age(),
                fsyncs=self.outbox.fsyncs,
                verdicts=self.outbox.verdicts.copy(),
                not_taken=self.outbox.not_taken,
                log_bytes=self.logs.growth.bytes_written,
                registered=self.heartbeat.registered,
                turned_away=self.turned_away.counts(),
            )
        )

    def _load(self, unacknowledged: int) -> Load:
        held, running = self.threads.count(), len(self.tools.contexts)
        return Load(
            running=min(running, held),
            queued=max(0, held - running),
            threads=self.threads.thread_count(),
            abandoned=len(self.tools.abandoned),
            unacknowledged=unacknowledged,
        )

    def _hear(self, event: Event) -> None:
        self.metrics(event)
        if isinstance(event, CallbacksDelivered):
            self.heartbeat.heard_from()
        elif isinstance(event, ExecutionAbandoned | AbandonedReturned):
            self.heartbeat.wake()  # whoever looks at that execution should know at once
        if isinstance(event, _MAY_CHANGE_AVAILABILITY) and self._unavailable() != self._announced_unavailable:
            self.heartbeat.wake()  # coordinators send elsewhere, or here again, from the next beat on

    async def stop(self, *, flush: float = _FLUSH) -> None:
        """Leave in good order: take nothing more, say so, drain, deliver, say goodbye, each within its bound.

        Coordinators of Orth go on hearing beats, which say that it is leaving: they read logs, kill executions and ask
        what is running. Others send work until the good-bye, so they get it first. What cannot be delivered within
        ``flush`` seconds stays in the outbox on disk, for the next start.
        """
        if self._queue is not None:
            await self._queue.stop_taking()
        self.admission.close()
        goodbye_first = self._queue is None and not self._beats_with_orth
        if goodbye_first:
            await self._say_goodbye()
        elif self._queue is not None or not self.quiet():
            self.heartbeat.wake()  # that it is leaving; what was given back is offered again once no beat names it
        limit, finish_queue = self.settings.drain_timeout, self.settings.finish_queue
        cut_short = await asyncio.to_thread(self.threads.drain, limit, finish_queue=finish_queue)
        await asyncio.to_thread(self.sources.close)
        await self.outbox.flush(flush)
        if not goodbye_first:
            await self._say_goodbye()
        for loop in self.loops:
            loop.stop()
        if self._queue is not None:
            await self._queue.leave()
        self.close()
        self.events.emit(ExecutorStopped(self.settings.app_name, cut_short, len(self.outbox)))

    def give_up(self) -> None:
        """The process ends at once: give everything that runs or waits its result, on the disk for the next start."""
        self.admission.close()
        cut_short = self.threads.give_up("the executor was told twice to stop")
        self.outbox.join_recorded()
        for context in cut_short:
            context.run_log.write("--- cut short: the executor was told twice to stop")
        self.logs.write_ended()

    async def _say_goodbye(self) -> None:
        self.heartbeat.stop()
        await self.heartbeat.unregister(_GOODBYE)

    def close(self) -> None:
        """Let go of files, threads and capture at once, as if the process had been killed: no result, no goodbye."""
        self._unlisten()
        self.http.close()
        if self._queue is not None:
            self._queue.close()
        self.outbox.close()
        self.threads.let_go()
        self.logs.close()
        self.sources.close()
        self._capture.close()


def _keep_whole(result: Result, logs: RunLogs) -> None:
    """Put all of a result into the log of its execution, unless its length has brought it there already."""
    if len(result.handle_msg) <= STORED_MESSAGE_LIMIT:
        run_log = logs.open(result.log_id, result.log_date_time)
        run_log.write(f"--- the outbox has no room for the whole result; here it is:\n{result.handle_msg}")
        run_log.close()


def _open_outbox(
    settings: ExecutorSettings,
    link: CoordinatorLink,
    logs: RunLogs,
    threads: Callable[[], JobThreads],
    clock: Clock,
    events: Events,
) -> Outbox:
    directory = settings.data_dir / "outbox"
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings.logs_dir.mkdir(mode=0o750, parents=True, exist_ok=True)
        return Outbox(
            directory,
            link,
            retry=settings.callback_retry,
            clock=clock,
            events=events,
            before_recording=logs.write_ended,
            more_coming=lambda: threads().count() > 0,
            starting=lambda: threads().starting,
            shortened=lambda whole: _keep_whole(whole, logs),
        )
    except OSError as error:
        raise CannotStart(
            f"The data folder {settings.data_dir} cannot be written: {error.strerror or error}.",
            hint="Choose another with --data-dir.",
        ) from None
    except Conflict:
        raise CannotStart(
            f"Another executor uses the data folder {settings.data_dir}.",
            hint="Give this one its own with --data-dir.",
        ) from None
