"""An executor of queues in this process, and somebody at the other end of the channels who owns what it runs."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from orth.channels.interface import START, Channels
from orth.channels.names import Names
from orth.clock import SystemClock
from orth.executor.handlers import Handlers
from orth.executor.queue_reports import Worker
from orth.executor.queue_transport import QueueTransport
from orth.executor.runtime import Runtime
from orth.executor.settings import ExecutorSettings
from orth.loop import run_loops
from orth.wire.entry_signatures import signed_entry
from orth.wire.signatures import key_of
from tests.executor.bench import NOON, TOKEN, Desk, Ears

APP = "rig-app"
NAMES = Names()


async def sooner_or_later(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until ``condition`` holds; fail when it does not within ``seconds``."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  # of things that threads and servers do
            await asyncio.sleep(0.005)


def dispatch(log_id: int, handler: str, *, job_id: int = 1, param: str = "", **trigger: Any) -> dict[str, Any]:
    """The message that asks for an execution."""
    return {
        "jobId": job_id,
        "executionId": log_id,
        "historyId": log_id,
        "attempt": 1,
        "jobType": handler,
        "arguments": param,
        "trigger": {
            "jobId": job_id,
            "logId": log_id,
            "logDateTime": NOON,
            "executorHandler": handler,
            "executorParams": param,
            "appName": APP,
        }
        | trigger,
    }


def signed(message: dict[str, Any], channel: str, token: str = TOKEN) -> dict[str, Any]:
    """As a coordinator that has ``token`` would put it into ``channel``."""
    return signed_entry(message, channel, [key_of(token)], until=SystemClock().now() + 60_000)


class Owner:
    """Sends work, reads what is said of it, and answers for results unless it is ``silent``."""

    def __init__(self, channels: Channels) -> None:
        self.channels = channels
        self.silent = False
        self.verdict = "stored"
        self.jobs: dict[int, int] = {}
        self.said: dict[int, list[dict[str, Any]]] = {}
        self.lines: dict[int, list[dict[str, Any]]] = {}
        self.beats: list[dict[str, Any]] = []
        self._positions: dict[str, str] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._leaving = False

    async def send(self, *messages: dict[str, Any], queue: str = "default", priority: int = 1) -> None:
        for message in messages:
            self.jobs[message["executionId"]] = message["jobId"]
        line = NAMES.dispatch(f"{APP}.{queue}", priority)
        await self.channels.send(line, [signed(message, line) for message in messages])

    async def cancel(self, log_id: int) -> None:
        message = {"jobId": self.jobs[log_id], "executionId": log_id, "historyId": log_id, "reason": "by hand"}
        await self.channels.announce(NAMES.cancel, signed(message, NAMES.cancel))

    def statuses(self, log_id: int) -> list[str]:
        return [message["status"] for message in self.said.get(log_id, ())]

    def results(self) -> dict[int, dict[str, Any]]:
        found = [(log_id, one["result"]) for log_id, said in self.said.items() for one in said if "result" in one]
        return dict(found)

    def last_beat(self, member: str) -> Any:
        """What the last beat says, if one was heard."""
        return self.beats[-1][member] if self.beats else None

    def log(self, log_id: int) -> str:
        return "\n".join(message["text"] for message in self.lines.get(log_id, ()))

    def log_ended(self, log_id: int) -> bool:
        return any(message.get("end") for message in self.lines.get(log_id, ()))

    async def __aenter__(self) -> Self:
        self._tasks = [asyncio.create_task(self._follow()), asyncio.create_task(self._hear_beats())]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leaving = True  # not by cancelling alone, which Redis clients may overhear on Python 3.11
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _follow(self) -> None:
        while not self._leaving:
            with suppress(Exception):
                await self._read()
            await asyncio.sleep(0.01)

    async def _read(self) -> None:
        boxes = {NAMES.status(job, log_id): (self.said, log_id) for log_id, job in self.jobs.items()}
        boxes |= {NAMES.logs(job, log_id): (self.lines, log_id) for log_id, job in self.jobs.items()}
        found = await self.channels.read({box: self._positions.get(box, START) for box in boxes}, limit=1000)
        for box, entries in found.items():
            kept, log_id = boxes[box]
            for entry in entries:
                kept.setdefault(log_id, []).append(dict(entry.message))
                await self._judge(dict(entry.message))
                self._positions[box] = entry.position

    async def _judge(self, message: dict[str, Any]) -> None:
        if "result" in message and not self.silent:
            verdict = {"executionId": message["executionId"], "verdict": self.verdict}
            await self.channels.post({NAMES.acknowledged(message["incarnation"]): [verdict]})

    async def _hear_beats(self) -> None:
        while not self._leaving:
            with suppress(Exception):
                async with self.channels.listen([NAMES.worker_heartbeat]) as ear:
                    while not self._leaving:
                        self.beats += [dict(heard.message) for heard in await ear.next(5.0)]


class QueueRig:
    """The executor; its loops run while the block lasts."""

    def __init__(self, app: Handlers, directory: Path, channels: Channels, **settings: Any) -> None:
        self.ears, self.desk, self.channels = Ears(), Desk(), channels
        own: dict[str, Any] = {
            "app_name": APP,
            "access_token": TOKEN,
            "data_dir": directory,
            "logs_dir": directory / "logs",
            "drain_timeout": 5.0,
            "kill_grace": 0.5,
            "queue_heartbeat": 0.2,
        }
        self.settings = ExecutorSettings(**(own | settings))
        incarnation = settings.get("incarnation", directory.name)
        self.transport = QueueTransport(
            channels,
            NAMES,
            self.desk,
            None,
            Worker("rig:1", incarnation),
            app_name=APP,
            queues=self.settings.queues,
            places=self.settings.queue_concurrency,
            log_limit=self.settings.queue_log_limit,
            limits=self.settings.channels_limits,
            token=self.settings.access_token,
            clock=SystemClock(),
            events=self.ears,
        )
        self.runtime = Runtime(
            app,
            self.settings,
            self.desk,
            address="http://127.0.0.1:9999",
            incarnation=incarnation,
            clock=SystemClock(),
            events=self.ears,
            queue=self.transport,
        )
        self.stopped = False

    async def __aenter__(self) -> Self:
        self.runtime.start()
        self._running = asyncio.create_task(run_loops(*self.runtime.loops))
        return self

    async def stop(self) -> None:
        await self.runtime.stop()
        await self._running
        self.stopped = True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._running.done() and not self._running.cancelled() and (crash := self._running.exception()):
            raise crash
        if not self.stopped:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
            await self.transport.cancels.deafen()
            self.runtime.close()
