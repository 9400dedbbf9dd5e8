"""A coordinator whose loops turn, with channels, and executors of queues that do what a test says."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

from orth.channels.interface import START, Channels, ChannelsUnavailable, Delivery, Entry, Message
from orth.channels.memory import MemoryChannels
from orth.channels.names import Names
from orth.clock import Clock, SystemClock
from orth.cluster.election import Node
from orth.coordinator.defining import define, define_group, trigger_job
from orth.coordinator.node import Coordinator
from orth.coordinator.rooms import Surroundings
from orth.coordinator.triggering import Request
from orth.domain.executions import Execution
from orth.domain.jobs import AddressType, Group, Job, Overlap, TriggerCause
from orth.events import Events
from orth.loop import run_loops
from orth.settings import Settings
from orth.settings.sections import ClusterSection, CoordinatorSection
from orth.store.database import Database, open_database
from orth.store.executions import find_execution
from orth.store.groups import list_groups
from orth.testing.clocks import ManualClock
from orth.testing.recorder import Recorder
from orth.testing.stores import prepare_store
from orth.wire.channel_messages import Dispatch, LogLines, Standing, StatusReport, WorkerBeat
from orth.wire.entry_signatures import refusal_of
from orth.wire.executor_calls import ExecutorCalls
from orth.wire.messages import CallbackItem, Extension
from orth.wire.signatures import key_of

T = TypeVar("T")

TOKEN = "what-executors-have"
APP = "queue-tests"
NAMES = Names()


def quick_settings(folder: Path, **coordinator: Any) -> Settings:
    """Silence counts after a second and a half."""
    return Settings(
        cluster=ClusterSection(
            heartbeat=timedelta(milliseconds=300),
            dead_after=timedelta(seconds=1.5),
            orphan_check=timedelta(seconds=1),
            assignment_timeout=timedelta(seconds=1),
        ),
        coordinator=CoordinatorSection(data_dir=folder, **coordinator),
    )


class ForgetfulChannels(MemoryChannels):
    """Channels of this process that may lose all they have, as a Redis does that is restarted empty, or be away."""

    away = False
    looked_at = 0
    """Messages of queues that somebody asked to see."""

    async def send(self, queue: str, messages: Sequence[Message]) -> None:
        await self.check()
        await super().send(queue, messages)

    async def waiting(self, queue: str) -> int:
        await self.check()
        return await super().waiting(queue)

    async def undone(self, queue: str, after: str, *, limit: int) -> list[Entry]:
        await self.check()
        self.looked_at += limit
        return await super().undone(queue, after, limit=limit)

    async def post(self, boxes: Mapping[str, Sequence[Message]]) -> None:
        await self.check()
        await super().post(boxes)

    async def announce(self, topic: str, message: Message) -> None:
        await self.check()
        await super().announce(topic, message)

    async def check(self) -> None:
        if self.away:
            raise ChannelsUnavailable("They are away, as this test wants it.")

    def lose_everything(self) -> None:
        self._queues.clear()
        self._boxes.clear()


class QueueSite:
    """One coordinator or several, on one database and with the same channels."""

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        coordinators: int = 1,
        settings: Settings | None = None,
        clock: ManualClock | None = None,
        patience: float = 1.0,
    ) -> None:
        """With a ``clock`` nothing turns by itself. ``patience`` is with executors that are called."""
        self._patience = patience
        self.clock: Clock = clock or SystemClock()
        self._turns = clock is None
        self.channels = ForgetfulChannels(self.clock)
        self.recorder = Recorder()
        self.events = Events(self.recorder)
        self.settings = settings or quick_settings(folder)
        self.url = url
        self.secret = secrets.token_hex(32)
        self.coordinators: list[Coordinator] = []
        self._count = coordinators
        self._dbs: list[Database] = []
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def __aenter__(self) -> Self:
        prepare_store(self.url)
        self._link = await ExecutorCalls(timeout=self._patience).__aenter__()
        for _ in range(self._count):
            self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        for coordinator in self.coordinators:
            coordinator.stop_loops()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        for coordinator in self.coordinators:
            await coordinator.leave()
        await self._link.__aexit__(None, None, None)
        await self.channels.close()
        for db in self._dbs:
            db.close()

    def start(self) -> Coordinator:
        db = open_database(self.url, size=4)
        self._dbs.append(db)
        given = Surroundings(
            settings=self.settings,
            node=Node(f"node-{len(self._dbs)}", secrets.token_hex(8)),
            db=db,
            link=self._link,
            clock=self.clock,
            events=self.events,
            access_token=TOKEN,
            signing_secret=self.secret,
            channels=self.channels,
        )
        coordinator = Coordinator(given)
        self.coordinators.append(coordinator)
        if self._turns:
            self._tasks[given.node.id] = asyncio.create_task(run_loops(*coordinator.loops))
        return coordinator

    async def kill(self, coordinator: Coordinator) -> None:
        """End it without a word."""
        self.coordinators.remove(coordinator)
        task = self._tasks.pop(coordinator.given.node.id)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await coordinator.presence.probing.close()

    @property
    def db(self) -> Database:
        return self._dbs[0]

    async def job(self, **fields: Any) -> Job:
        known = {group.app_name: group.id for group in await self.db.read(list_groups, 0, 10)}
        if APP not in known:
            known[APP] = await self.db.tx(define_group, Group(0, APP, APP, AddressType.AUTO, ()), self.clock.now())
        usual = {"executor_handler": "work", "executor_queue": "a", "overlap": Overlap.EXECUTOR}
        values = {"job_group": known[APP], **usual, **fields}
        job = Job(id=0, job_desc="queued", **values)
        job_id = await self.db.tx(define, job, self.clock.now(), True)
        return Job(**{**{name: getattr(job, name) for name in Job.__slots__}, "id": job_id})

    async def trigger(self, job: Job, param: str | None = None) -> int:
        asked = Request(TriggerCause.MANUAL, secrets.token_hex(8), param, ())
        (one,) = await self.db.tx(trigger_job, job.id, asked, self.clock.now(), lambda listed: tuple(listed))
        for coordinator in self.coordinators:
            coordinator.work.dispatch.wake()
        return one

    async def execution(self, execution_id: int) -> Execution:
        found = await self.db.read(find_execution, execution_id)
        assert found is not None
        return found

    async def until(self, execution_id: int, right: Callable[[Execution], bool], seconds: float = 10.0) -> Execution:
        """The execution, as soon as it is right."""
        return await eventually(lambda: self.execution(execution_id), right, seconds)


async def eventually(look: Callable[[], Awaitable[T]], right: Callable[[T], bool], seconds: float = 10.0) -> T:
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        found = await look()
        if right(found):
            return found
        assert asyncio.get_running_loop().time() < deadline, f"it never came to be right: {found}"
        await asyncio.sleep(0.02)


class Worker:
    """An executor of queues, by hand."""

    def __init__(
        self, channels: Channels, *, name: str = "worker", queues: Sequence[str] = ("a",), has_keys: bool = True
    ) -> None:
        """Without ``has_keys`` it is of a version that knows nothing of report keys."""
        self.channels = channels
        self.has_keys = has_keys
        self.name = name
        self.queues = queues
        self.incarnation = secrets.token_hex(8)
        self.running: set[int] = set()
        self._seq = 0
        self._beating: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self._beating = asyncio.create_task(self._beat_on())
        return self

    async def __aexit__(self, *_: object) -> None:
        self.fall_silent()

    def fall_silent(self) -> None:
        if self._beating is not None:
            self._beating.cancel()

    async def _beat_on(self) -> None:
        while True:
            with suppress(ChannelsUnavailable):
                await self.beat()
            await asyncio.sleep(0.3)

    async def beat(self, status: str = "Running") -> None:
        said = WorkerBeat(
            worker_id=self.name,
            incarnation=self.incarnation,
            app_name=APP,
            queues=tuple(self.queues),
            status=status,
            active_jobs=len(self.running),
            running=tuple(sorted(self.running)),
            extensions=(Extension.REPORT_KEY,) if self.has_keys else (),
        )
        await self.channels.announce(NAMES.worker_heartbeat, said.model_dump(mode="json", by_alias=True))

    @property
    def lines(self) -> list[str]:
        return [line for queue in self.queues for line in NAMES.dispatch_lines(f"{APP}.{queue}")]

    async def take(self, wait: float = 10.0, *, limit: int = 1, done: bool = True) -> list[Dispatch]:
        found = await self.channels.take(self.lines, self.incarnation, limit=limit, wait=wait)
        deliveries: list[Delivery] = [one for some in found.values() for one in some]
        refused = [refusal_of(one.message, line, key_of(TOKEN), 0) for line, some in found.items() for one in some]
        assert not any(refused), "every offer is signed for the queue it is in"
        if done:
            for line, some in found.items():
                await self.channels.done(line, self.incarnation, [one.id for one in some])
        return [Dispatch.model_validate(one.message) for one in deliveries]

    async def say(self, dispatch: Dispatch, standing: Standing, **facts: Any) -> None:
        self._seq += 1
        word = StatusReport(
            job_id=dispatch.job_id,
            execution_id=dispatch.execution_id,
            seq=self._seq,
            status=standing,
            worker_id=self.name,
            incarnation=self.incarnation,
            sending=dispatch.sending,
            report_key=self._key_of(dispatch),
            **facts,
        )
        box = NAMES.status(dispatch.job_id, dispatch.execution_id)
        await self.channels.post({box: [word.model_dump(mode="json", by_alias=True, exclude_none=True)]})

    async def accept(self, dispatch: Dispatch) -> None:
        self.running.add(dispatch.execution_id)
        await self.say(dispatch, Standing.ACCEPTED)

    async def log(self, dispatch: Dispatch, first_line: int, text: str, *, end: bool = False) -> None:
        lines = LogLines(
            job_id=dispatch.job_id,
            execution_id=dispatch.execution_id,
            seq=first_line,
            first_line=first_line,
            text=text,
            end=end or None,
            report_key=self._key_of(dispatch),
        )
        box = NAMES.logs(dispatch.job_id, dispatch.execution_id)
        await self.channels.post({box: [lines.model_dump(mode="json", by_alias=True, exclude_none=True)]})

    async def finish(self, dispatch: Dispatch, code: int = 200, message: str = "") -> None:
        self.running.discard(dispatch.execution_id)
        result = CallbackItem(
            log_id=dispatch.execution_id,
            handle_code=code,
            handle_msg=message,
            incarnation=self.incarnation,
            report_key=self._key_of(dispatch),
        )
        await self.say(dispatch, Standing.COMPLETED if code == 200 else Standing.FAILED, result=result)

    def _key_of(self, dispatch: Dispatch) -> str | None:
        return dispatch.trigger.report_key if self.has_keys else None

    async def acknowledged(self) -> Mapping[int, str]:
        """What was answered for, by execution."""
        box = NAMES.acknowledged(self.incarnation)
        entries = (await self.channels.read({box: START}, limit=1000)).get(box, [])
        return {entry.message["executionId"]: entry.message["verdict"] for entry in entries}
