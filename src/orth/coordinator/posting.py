"""A queue for each executor, and the requests on their way.

Isolation instead of pools: an executor that answers slowly holds up its own queue and nothing else. Each has a limit of
requests at a time, all together have one, and those that wait take turns. Requests carry many letters to executors that
take batches: at most two at a time, because they are decided one after the other there and both must be answered within
their deadline.

How many letters one executor may hold shrinks as memory fills: never more than half of what is still free. So there is
always room for another one.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic_core import to_json

from orth.clock import Clock
from orth.coordinator.breaker import Breaker, Circuit
from orth.coordinator.facts import CircuitClosed, CircuitOpened
from orth.coordinator.letters import Answer, Letter, Outcome
from orth.coordinator.sending import Sending
from orth.domain import reasons
from orth.events import Events
from orth.wire.fields import BATCH_LIMIT, BODY_LIMIT

HELD_LIMIT = 20_000
"""Letters in memory, at most."""
_OURS_HELD = 5_000
_FOREIGN_HELD = 500
"""Letters one executor may hold. Those that cannot be asked have fewer: if this process dies, each of theirs is a doubt
that nobody can resolve.
"""
_BATCHES_AT_ONCE = 2
_BATCH_BYTES = BODY_LIMIT - 256 * 1024
_BYTES_AROUND = 2_048


@dataclass(frozen=True, slots=True)
class Limits:
    """Of requests on their way, and of the patience with an executor."""

    in_flight: int
    per_executor: int
    breaker_after: int
    breaker_pause: float


@dataclass(frozen=True, slots=True)
class Standing:
    """What is held for each executor at one moment, and whom to leave alone; by ``Peer.key``."""

    held: Mapping[str, int] = field(default_factory=dict)
    open: Mapping[str, str | None] = field(default_factory=dict)
    """Open circuits, with the incarnation that failed."""
    trying: frozenset[str] = frozenset()
    """Circuits that are half open: one letter at a time."""


@dataclass(slots=True)
class _Queue:
    breaker: Breaker
    incarnation: str | None
    waiting: deque[Letter] = field(default_factory=deque)
    requests: int = 0
    letters: int = 0
    """On their way."""

    @property
    def held(self) -> int:
        return len(self.waiting) + self.letters


class Posting:
    """Sends letters, each executor at its own pace. ``done`` hears the answers, in the event loop."""

    def __init__(
        self,
        sending: Sending,
        clock: Clock,
        events: Events,
        limits: Limits,
        *,
        still_leads: Callable[[int], bool],
        done: Callable[[Sequence[Answer]], None],
    ) -> None:
        self._sending = sending
        self._clock = clock
        self._events = events
        self._limits = limits
        self._still_leads = still_leads
        self._done = done
        self._queues: dict[str, _Queue] = {}
        self._turns: dict[str, None] = {}
        """Executors with letters waiting and a request to spare, in the order in which they get one."""
        self._tasks: set[asyncio.Task[None]] = set()
        self.bug: BaseException | None = None
        """What a request died of, if one did."""

    def put(self, letters: Iterable[Letter]) -> None:
        """Take letters to send."""
        for letter in letters:
            self._queue_of(letter).waiting.append(letter)
            self._turns[letter.peer.key] = None
        self._pump()

    def _queue_of(self, letter: Letter) -> _Queue:
        key, incarnation = letter.peer.key, letter.peer.incarnation
        queue = self._queues.get(key)
        if queue is None:
            queue = self._queues[key] = _Queue(self._closed_circuit(), incarnation)
        elif queue.incarnation != incarnation:
            queue.breaker, queue.incarnation = self._closed_circuit(), incarnation
        return queue

    def _closed_circuit(self) -> Breaker:
        return Breaker(self._limits.breaker_after, self._limits.breaker_pause)

    def standing(self) -> Standing:
        """A copy for a transaction, which runs in another thread."""
        now = self._clock.monotonic()
        states = {key: queue.breaker.state(now) for key, queue in self._queues.items()}
        return Standing(
            {key: queue.held for key, queue in self._queues.items() if queue.held},
            {key: self._queues[key].incarnation for key, state in states.items() if state is Circuit.OPEN},
            frozenset(key for key, state in states.items() if state is Circuit.HALF_OPEN),
        )

    def state(self, key: str) -> Circuit:
        queue = self._queues.get(key)
        return Circuit.CLOSED if queue is None else queue.breaker.state(self._clock.monotonic())

    @property
    def in_flight(self) -> int:
        """Requests on their way."""
        return len(self._tasks)

    @property
    def busy(self) -> bool:
        """Whether a request is on its way."""
        return bool(self._tasks)

    async def answered(self) -> None:
        """Wait until nothing waits or is on its way."""
        while self.busy:
            await asyncio.wait(self._tasks)

    async def cancel(self) -> None:
        """Drop everything, as a kill would."""
        self._queues.clear()
        self._turns.clear()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def withdraw(self) -> None:
        """Hand back what has not been sent."""
        for queue in self._queues.values():
            self._hand_back(queue, "This coordinator stops.")
        self._turns.clear()

    def _pump(self) -> None:
        """Start what may be started; each executor in turn gets one request."""
        for _ in range(len(self._turns)):
            if len(self._tasks) >= self._limits.in_flight:
                return
            key = next(iter(self._turns))
            del self._turns[key]
            queue = self._queues[key]
            while queue.waiting and not self._still_leads(queue.waiting[0].epoch):
                queue.waiting.popleft()  # another coordinator leads, and asks about it
            if queue.waiting and queue.requests < self._at_once(queue):
                self._start(key, queue)
            if queue.waiting and queue.requests < self._at_once(queue):
                self._turns[key] = None
        if self._turns and len(self._tasks) < self._limits.in_flight:
            self._pump()

    def _at_once(self, queue: _Queue) -> int:
        if queue.breaker.state(self._clock.monotonic()) is not Circuit.CLOSED:
            return 1
        return _BATCHES_AT_ONCE if queue.waiting[0].peer.takes_batches else self._limits.per_executor

    def _start(self, key: str, queue: _Queue) -> None:
        letters = _next_request(queue.waiting)
        queue.requests += 1
        queue.letters += len(letters)
        task = asyncio.create_task(self._send(key, queue, letters))
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def _send(self, key: str, queue: _Queue, letters: Sequence[Letter]) -> None:
        try:
            answers = await self._sending.send(letters)
        finally:
            queue.requests -= 1
            queue.letters -= len(letters)
        self._judge(key, queue, answers)
        self._done(answers)
        if queue.waiting:
            self._turns[key] = None
        elif not queue.held and queue.breaker.failures == 0:
            self._queues.pop(key, None)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        if task.exception() is not None:
            self.bug = task.exception()
            self._done(())
            return
        self._pump()

    def _judge(self, key: str, queue: _Queue, answers: Sequence[Answer]) -> None:
        if all(answer.code == reasons.NOT_SENT for answer in answers):
            return  # nobody is there: ``reach`` knows
        if not all(map(_got_nowhere, answers)):
            if queue.breaker.succeeded():
                self._events.emit(CircuitClosed(key))
            return
        if queue.breaker.failed(self._clock.monotonic()):
            self._events.emit(CircuitOpened(key, queue.breaker.failures, answers[0].message))
            self._hand_back(queue, f"{key} failed {queue.breaker.failures} times in a row.")

    def _hand_back(self, queue: _Queue, why: str) -> None:
        if queue.waiting:
            self._done([Answer(one, Outcome.WITHDRAWN, why, reasons.CIRCUIT_OPEN) for one in queue.waiting])
            queue.waiting.clear()


def _got_nowhere(answer: Answer) -> bool:
    return answer.outcome in (Outcome.UNKNOWN, Outcome.NOT_SENT)


def room_for(key: str, can_be_asked: bool, standing: Standing, held: Mapping[str, int], total: int) -> int:
    """How many more letters an executor may hold when ``held`` are held for each and ``total`` in all."""
    if key in standing.trying:
        return 1 - held.get(key, 0)
    most = _OURS_HELD if can_be_asked else _FOREIGN_HELD
    return min(most - held.get(key, 0), (HELD_LIMIT - total) // 2)


def _next_request(waiting: deque[Letter]) -> list[Letter]:
    """The letters of the next request, taken from the queue."""
    letters = [waiting.popleft()]
    if not letters[0].peer.takes_batches:
        return letters
    size = _size(letters[0])
    while waiting and len(letters) < BATCH_LIMIT and waiting[0].peer == letters[0].peer:
        size += _size(waiting[0])
        if size > _BATCH_BYTES:
            break
        letters.append(waiting.popleft())
    return letters


def _size(letter: Letter) -> int:
    """An upper bound for the bytes of its trigger."""
    text = len(to_json(letter.execution.executor_param)) + len(to_json(letter.source.glue_source))
    return text + sum(2 * len(secret.sealed) for secret in letter.secrets) + _BYTES_AROUND
