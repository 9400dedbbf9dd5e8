"""Coordinators and executors in one process, cranked by hand."""

import asyncio
import random
import secrets
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Self

from orth.cluster.election import Node
from orth.coordinator.defining import define, define_group, start_job, trigger_job
from orth.coordinator.node import Coordinator
from orth.coordinator.rooms import Surroundings
from orth.coordinator.sealing import Sealing
from orth.coordinator.triggering import Request
from orth.domain.executions import Execution
from orth.domain.jobs import AddressType, Group, Job, TriggerCause
from orth.events import Events
from orth.executor.handlers import Handlers
from orth.executor.runtime import Runtime
from orth.executor.settings import ExecutorSettings
from orth.loop import Loop
from orth.settings import Settings
from orth.store.database import Database, open_database
from orth.store.execution_filters import Filter
from orth.store.execution_lists import list_executions
from orth.store.executions import find_execution
from orth.store.groups import list_groups
from orth.store.jobs import get_job
from orth.testing.clocks import ManualClock
from orth.testing.network import CoordinatorLine, ExecutorEnd, Line, Network
from orth.testing.recorder import Recorder
from orth.testing.stores import prepare_store

TOKEN = "token-of-this-cluster"  # noqa: S105  # there is no network to protect
_HANDLERS_MAY_TAKE = 20.0
_TURNS_AT_ONE_INSTANT = 2000


class Cluster:
    """A cluster a test turns: ``async with Cluster(tmp_path, handlers) as cluster``.

    Fires are planned when they are due, unless ``plan_ahead`` seconds are given, and wait for no executor, unless
    ``settle`` seconds are.
    """

    def __init__(
        self,
        folder: Path,
        handlers: Handlers,
        *,
        coordinators: int = 1,
        executors: int = 1,
        store_url: str | None = None,
        settings: Settings | None = None,
        plan_ahead: float = 0.0,
        settle: float = 0.0,
        seed: int = 0,
        own_keys: bool = False,
    ) -> None:
        """With ``own_keys``, coordinators believe that each executor has proved a key of its own."""
        self._own_keys = own_keys
        self.folder = folder
        self.handlers = handlers
        self.clock = ManualClock()
        self.recorder = Recorder()
        self.events = Events(self.recorder)
        self.settings = _planning(settings or Settings(), plan_ahead, settle)
        self.chance = random.Random(seed)
        self.sealing = Sealing.fresh()
        self.secret = secrets.token_hex(32)
        self.store_url = store_url or f"sqlite:///{folder / 'orth.db'}"
        self.coordinators: list[Coordinator] = []
        self.executors: list[Runtime] = []
        self._counts = (coordinators, executors)
        self._databases: list[Database] = []
        self._started = 0

    async def __aenter__(self) -> Self:
        self.network = Network()
        self.network.own_keys = self._own_keys
        prepare_store(self.store_url)
        for _ in range(self._counts[0]):
            self.add_coordinator()
        for _ in range(self._counts[1]):
            self.add_executor()
        await self.advance(seconds=0)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for executor in self.executors:
            await asyncio.to_thread(executor.threads.drain, 1.0)
            executor.close()
        for coordinator in self.coordinators:
            await coordinator.presence.probing.close()
            await coordinator.work.dispatch.drain(patience=5.0)
        for db in self._databases:
            db.close()

    @property
    def db(self) -> Database:
        """The store, through the connections of the first coordinator that was made."""
        return self._databases[0]

    def add_coordinator(self) -> Coordinator:
        """A new coordinator process, as far as anybody can tell."""
        self._started += 1
        db = open_database(self.store_url, size=4)
        self._databases.append(db)
        node = Node(f"node-{self._started}", secrets.token_hex(8))
        end = ExecutorEnd(self.network)
        given = Surroundings(
            settings=self.settings,
            node=node,
            db=db,
            link=end,
            key_link=end,
            clock=self.clock,
            events=self.events,
            access_token=TOKEN,
            signing_secret=self.secret,
            chance=self.chance,
            sealing=self.sealing,
        )
        coordinator = Coordinator(given)
        self.coordinators.append(coordinator)
        self.network.coordinators.append(coordinator)
        return coordinator

    def add_executor(
        self,
        *,
        at: Runtime | None = None,
        labels: Mapping[str, str] | None = None,
        scripts: Sequence[str] = (),
        work_key: str | None = None,
    ) -> Runtime:
        """A new executor process; ``at`` another one's address and folder, it is that one's successor."""
        self._started += 1
        address = at.address if at else f"http://executor-{self._started}:9999"
        folder = at.settings.data_dir if at else self.folder / f"executor-{self._started}"
        settings = ExecutorSettings(
            app_name=self.handlers.app_name or "tests",
            access_token=TOKEN,
            data_dir=folder,
            logs_dir=folder / "logs",
            labels=labels or {},
            scripts=tuple(scripts),
            scripts_share_user=bool(scripts),
        )
        runtime = Runtime(
            self.handlers,
            settings,
            CoordinatorLine(self.network),
            address=address,
            incarnation=secrets.token_hex(8),
            clock=self.clock,
            events=self.events,
            work_key=work_key,
        )
        runtime.start()
        self.executors.append(runtime)
        self.network.executors[address] = runtime
        return runtime

    async def kill_coordinator(self, coordinator: Coordinator) -> None:
        """End a coordinator without a word: no good-bye, no last write."""
        self.coordinators.remove(coordinator)
        self.network.coordinators.remove(coordinator)
        await coordinator.work.dispatch.forget()
        await coordinator.presence.probing.close()

    def kill_executor(self, executor: Runtime) -> None:
        """End an executor without a word."""
        executor.close()
        self.executors.remove(executor)
        del self.network.executors[executor.address]

    def set_line(self, executor: Runtime, line: Line) -> None:
        self.network.set_line(executor.address, line)

    async def advance(self, *, seconds: float) -> None:
        """Let time pass, turning every loop when its pause is over, oldest first."""
        until = self.clock.monotonic() + seconds
        turns = 0
        while True:
            await self.settle()
            now = self.clock.monotonic()
            due = [loop for loop in self._loops() if loop.paused_until <= now]
            for loop in due:
                await loop.guarded_turn()
            turns += len(due)
            assert turns < _TURNS_AT_ONE_INSTANT, f"these loops never rest: {[loop.name for loop in due]}"
            if due:
                continue
            following = min((loop.paused_until for loop in self._loops()), default=until)
            if following > until:
                self.clock.move(until - now)
                return
            self.clock.move(following - now)
            turns = 0

    async def settle(self) -> None:
        """Wait, in real time, until requests have been answered and handlers have ended."""
        for coordinator in self.coordinators:
            await coordinator.work.dispatch.all_answered()
            await coordinator.presence.probing.all_answered()
        for executor in self.executors:
            idle = await asyncio.to_thread(executor.join_idle, _HANDLERS_MAY_TAKE, held=False)
            assert idle, "a handler has not ended; a cluster turned by hand needs handlers that do"

    def _loops(self) -> Sequence[Loop]:
        nodes = [loop for coordinator in self.coordinators for loop in coordinator.loops]
        return nodes + [loop for executor in self.executors for loop in executor.loops]

    async def job(self, *, start: bool = True, **fields: object) -> Job:
        """Define a job in the group of the executors, made if need be, and start it."""
        now = self.clock.now()
        groups = await self.db.read(list_groups, 0, 100)
        app_name = self.handlers.app_name or "tests"
        known = {group.app_name: group.id for group in groups}
        if app_name not in known:
            group = Group(0, app_name, app_name, AddressType.AUTO, ())
            known[app_name] = await self.db.tx(define_group, group, now)
        job = Job(id=0, job_group=known[app_name], job_desc=str(fields.get("executor_handler")), **fields)  # type: ignore[arg-type]  # the fields of Job, checked by its constructor
        job_id = await self.db.tx(define, job, now, True)
        if start:
            await self.db.tx(start_job, job_id, now)
            for coordinator in self.coordinators:
                coordinator.work.due.wake()
        return await self.db.read(get_job, job_id)

    async def trigger(self, job: Job, param: str | None = None) -> int:
        """Trigger a job by hand; the id of its execution."""
        (execution_id,) = await self.trigger_all(job, param)
        return execution_id

    async def trigger_all(self, job: Job, param: str | None = None, addresses: Sequence[str] = ()) -> list[int]:
        """Trigger a job by hand; the ids of its executions, of which a broadcast has several."""
        asked = Request(TriggerCause.MANUAL, secrets.token_hex(8), param, tuple(addresses))
        opened = await self.db.tx(
            trigger_job, job.id, asked, self.clock.now(), self.coordinators[0].presence.reach.avoid
        )
        for coordinator in self.coordinators:
            coordinator.work.dispatch.wake()
        return opened

    async def execution(self, execution_id: int) -> Execution:
        found = await self.db.read(find_execution, execution_id)
        assert found is not None
        return found

    async def executions(self, job: Job) -> list[Execution]:
        """All executions of a job, oldest first."""
        found = await self.db.read(list_executions, Filter(job_id=job.id), limit=10_000)
        return [one for one in found[::-1] if isinstance(one, Execution)]


def _planning(settings: Settings, ahead: float, settle: float) -> Settings:
    spans = {"plan_ahead": timedelta(seconds=ahead), "settle": timedelta(seconds=settle)}
    own = settings.coordinator.model_copy(update=spans)
    return settings.model_copy(update={"coordinator": own})
