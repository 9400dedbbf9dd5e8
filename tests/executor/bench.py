"""What the tests stand on: a clock turned by hand, a coordinator that does as told, ears, and a whole runtime."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from orth.clock import Clock, SystemClock
from orth.errors import Unavailable
from orth.events import Event, Events
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.executor.run_logs import RunLog
from orth.executor.runtime import Runtime
from orth.executor.settings import ExecutorSettings
from orth.wire.beginnings import BegunReport
from orth.wire.messages import CallbackItem, CallbackVerdict, RegistryRequest, Reply, RunRequest, Verdict
from orth.wire.open_offers import OpenOffers, OpenOffersQuestion

E = TypeVar("E", bound=Event)

TOKEN = "a-token"
HEADERS = {"ORTH-ACCESS-TOKEN": TOKEN}
NOON = 1_750_000_000_000


def eventually(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    """Wait until ``condition`` holds; fail when it does not within ``seconds``."""
    deadline = time.monotonic() + seconds
    pause = 0.002
    while not condition():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(pause)
        pause = min(pause * 1.3, 0.02)  # to look costs processor time, too


class HandClock:
    """A clock that stands still until it is turned."""

    def __init__(self, now: int = NOON) -> None:
        self._now = now
        self._monotonic = 1000.0

    def now(self) -> int:
        return self._now

    def monotonic(self) -> float:
        return self._monotonic

    async def sleep_unless(self, woken: asyncio.Event, seconds: float) -> None:
        if not woken.is_set():
            self.advance(max(0.0, seconds))
        await asyncio.sleep(0)

    def advance(self, seconds: float) -> None:
        self._monotonic += seconds
        self._now += round(seconds * 1000)

    def set_back(self, seconds: float) -> None:
        """Let somebody correct the time of day."""
        self._now -= round(seconds * 1000)


class Ears(Events):
    """Events that remember what they were told."""

    def __init__(self) -> None:
        super().__init__()
        self._heard: list[Event] = []
        self._more = threading.Condition()

    def emit(self, event: Event) -> None:
        with self._more:
            self._heard.append(event)
            self._more.notify_all()
        super().emit(event)

    def of(self, kind: type[E]) -> list[E]:
        with self._more:
            return [event for event in self._heard if isinstance(event, kind)]

    def wait(self, kind: type[E], count: int = 1, seconds: float = 10.0) -> list[E]:
        with self._more:
            heard = self._more.wait_for(lambda: sum(isinstance(e, kind) for e in self._heard) >= count, seconds)
            assert heard, f"{kind.__name__} was not told {count} times; told: {self._heard}"
        return self.of(kind)


class Desk:
    """A coordinator at the other end of the link: takes notes, answers as told, or is away."""

    def __init__(self) -> None:
        self.away = False
        self.answers: dict[int, Verdict | None] = {}
        self.batches: list[list[CallbackItem]] = []
        self.registered: list[RegistryRequest] = []
        self.unregistered: list[RegistryRequest] = []
        self.begun: list[BegunReport] = []
        self.tell_again: frozenset[int] = frozenset()
        self.asked: list[OpenOffersQuestion] = []
        self.ended: set[int] = set()
        """Executions whose offers do not stand."""
        self.newest = 0
        self.knows_no_offers: Unavailable | None = None
        """What is answered to questions about offers."""

    @property
    def results(self) -> list[CallbackItem]:
        return [item for batch in self.batches for item in batch]

    def register(self, request: RegistryRequest) -> None:
        self._be_there()
        self.registered.append(request)

    def unregister(self, request: RegistryRequest) -> None:
        self._be_there()
        self.unregistered.append(request)

    def call_back(self, items: Sequence[CallbackItem]) -> list[CallbackVerdict]:
        self._be_there()
        self.batches.append(list(items))
        verdicts = ((item.log_id, self.answers.get(item.log_id, Verdict.STORED)) for item in items)
        return [CallbackVerdict(log_id=log_id, verdict=verdict) for log_id, verdict in verdicts if verdict]

    def tell_begun(self, report: BegunReport) -> frozenset[int]:
        self._be_there()
        self.begun.append(report)
        return self.tell_again

    def open_offers(self, question: OpenOffersQuestion) -> OpenOffers:
        if self.knows_no_offers is not None:
            raise self.knows_no_offers
        self.asked.append(question)
        open_ones = tuple(one.execution_id for one in question.offers if one.execution_id not in self.ended)
        return OpenOffers(open=open_ones, newest=self.newest)

    def _be_there(self) -> None:
        if self.away:
            raise Unavailable("nobody at the desk")


def request(log_id: int, handler: str, *, job_id: int = 1, **more: object) -> RunRequest:
    return RunRequest.model_validate(
        {"job_id": job_id, "log_id": log_id, "executor_handler": handler, "log_date_time": NOON} | more
    )


def make_context(run_log: RunLog, **more: Any) -> JobContext:
    """A context that no executor has made."""
    facts = {
        "job_id": 3,
        "log_id": 7,
        "log_time": NOON,
        "handler": "hello",
        "param": "raw",
        "schedule_time": None,
        "trigger_time": datetime.fromtimestamp(NOON / 1000, UTC),
        "shard_index": 1,
        "shard_total": 3,
    }
    return JobContext(run_log=run_log, **(facts | more))


class Rig:
    """A runtime in a directory of its own, asked directly: real threads, real files, and real time unless told."""

    def __init__(self, app: Handlers, directory: Path, *, clock: Clock | None = None, **settings: object) -> None:
        self.ears = Ears()
        self.desk = Desk()
        self.clock = clock or SystemClock()
        own = {
            "app_name": "rig-app",
            "access_token": TOKEN,
            "data_dir": directory,
            "logs_dir": directory / "logs",
            "drain_timeout": 5.0,
            "kill_grace": 0.5,
            "scripts_share_user": "script_user" not in settings,
        }
        self.runtime = Runtime(
            app,
            ExecutorSettings(**(own | settings)),  # type: ignore[arg-type]  # tests name the settings they mean
            self.desk,
            address="http://127.0.0.1:9999",
            incarnation="this-process",
            clock=self.clock,
            events=self.ears,
        )
        self.runtime.start()

    def ask(self, path: str, body: bytes = b"{}", *, method: str = "POST") -> Reply:
        status, answer = self.runtime.handle(path, body, HEADERS, method=method)
        assert status == 200, answer
        return Reply.model_validate_json(answer)

    def run(self, log_id: int, handler: str, **more: Any) -> Reply:
        return self.runtime.admission.run(request(log_id, handler, **more))

    def result(self, log_id: int, handler: str, **more: Any) -> CallbackItem:
        """Run one execution to its end and take its result from the outbox."""
        reply = self.run(log_id, handler, **more)
        assert reply.ok, reply
        assert self.runtime.join_idle(10)
        return self.waiting()[log_id]

    def call_off(self) -> None:
        """Begin nothing more, and tell what runs that its result no longer matters."""
        self.runtime.threads.let_go()
        for context in list(self.runtime.tools.contexts.values()):
            context.cancel()

    def waiting(self) -> dict[int, CallbackItem]:
        return {item.log_id: item for item in self.runtime.outbox.waiting()}

    def text(self, log_id: int) -> str:
        return self.runtime.logs.path_of(log_id, NOON).read_text()
