"""[4] The Dispatch loop: opened executions go out, answers come in, both in batches.

A turn stores the answers that have arrived, then claims as many opened executions as may be in flight. Claiming
writes down the chosen address *before* anything is sent, so a successor knows whom to ask. Sending happens outside
the turn, one task per execution: a slow peer holds up nothing but its own. An answer that cannot be stored (the
database is away) is kept and stored by a later turn.

What happens to lost answers is in ``unknowns``.
"""

import asyncio
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orth import failpoints
from orth.clock import Clock
from orth.cluster.election import Election, Term
from orth.cluster.leading import LeaderLoop
from orth.coordinator.facts import DispatchesDoubted, DispatchUnknown, ExecutionDispatched
from orth.coordinator.finishing import Finished, finish, tell
from orth.coordinator.routing import Question, route
from orth.domain.executions import FAILURE, SUCCESS, Execution
from orth.domain.jobs import Group, Job, RouteStrategy
from orth.domain.nodes import ExecutorEntry, normal_address
from orth.errors import OrthError
from orth.events import Events
from orth.store.database import Connection, Database
from orth.store.executions import (
    Assignment,
    Ending,
    assign_executions,
    doubt_earlier_dispatches,
    record_accepted,
    record_unknown,
    take_opened,
)
from orth.store.groups import groups_by_id
from orth.store.jobs import draw_route_numbers, jobs_by_id
from orth.store.registry import list_executors
from orth.wire.executor_calls import AnswerUnknown, ExecutorLink
from orth.wire.messages import RunRequest

_IDLE_PAUSE = 1.0  # planning, triggers and answers wake the loop; this finds what other nodes opened


@dataclass(frozen=True, slots=True)
class Letter:
    """A claimed execution with what is needed to send it."""

    execution: Execution
    job: Job
    app_name: str
    address: str
    incarnation: str | None
    extensions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Answer:
    """What an executor said, or that nobody knows."""

    letter: Letter
    taken: bool
    unknown: bool
    message: str


class Dispatch(LeaderLoop):
    """Sends opened executions."""

    def __init__(
        self,
        db: Database,
        election: Election,
        link: ExecutorLink,
        clock: Clock,
        events: Events,
        *,
        token: str,
        batch: int,
        in_flight: int,
        chance: random.Random | None = None,
    ) -> None:
        super().__init__(election, clock, events, chance=chance)
        self._db = db
        self._link = link
        self._token = token
        self._batch = batch
        self._in_flight = in_flight
        self._sending: set[asyncio.Task[None]] = set()
        self._answers: list[Answer] = []
        self._doubted_in: int | None = None
        self._bug: BaseException | None = None

    async def lead(self, term: Term) -> float:
        if self._bug is not None:
            raise self._bug  # a bug in a sending task is a crash of this loop: loud, and mended by the next term
        await self._doubt_once(term)
        await self._store_answers(term)
        room = min(self._batch, self._in_flight - len(self._sending))
        if room <= 0:
            return _IDLE_PAUSE  # an answer will wake us
        letters, failed = await self._db.leader_tx(term.epoch, self._claim, term.epoch, room)
        if failpoints.armed and letters:
            failpoints.hit("dispatch.claimed")
        tell(self.events, failed)
        for letter in letters:
            task = asyncio.create_task(self._send(letter))
            self._sending.add(task)
            task.add_done_callback(self._sent)
        return 0.0 if len(letters) + len(failed) == room else _IDLE_PAUSE

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._bug = task.exception()
            self.wake()

    async def all_answered(self) -> None:
        """Wait until nothing is on its way."""
        while self._sending:
            await asyncio.wait(self._sending)

    async def forget(self) -> None:
        """Drop everything unstored, as a kill would."""
        for task in self._sending:
            task.cancel()
        await asyncio.gather(*self._sending, return_exceptions=True)
        self._answers.clear()

    async def drain(self) -> None:
        """Wait for what is on its way and store the answers; used when the node stops."""
        await self.all_answered()
        term = self.election.term
        if term is not None:
            await self._store_answers(term)

    async def _doubt_once(self, term: Term) -> None:
        if self._doubted_in != term.epoch:
            count = await self._db.leader_tx(term.epoch, doubt_earlier_dispatches, term.epoch, self.clock.now())
            self._doubted_in = term.epoch
            if count:
                self.events.emit(DispatchesDoubted(count))

    def _claim(self, connection: Connection, epoch: int, room: int) -> tuple[list[Letter], list[Finished]]:
        now = self.clock.now()
        opened = take_opened(connection, room)
        if not opened:
            return [], []
        jobs = jobs_by_id(connection, {execution.job_id for execution in opened})
        groups = groups_by_id(connection, {execution.job_group for execution in opened})
        known = {(entry.app_name, normal_address(entry.address)): entry for entry in list_executors(connection)}
        numbers = _route_numbers(connection, opened, jobs)
        letters: list[Letter] = []
        endings: list[Ending] = []
        for execution in opened:
            written = _address(execution, jobs, groups, known, numbers, self._chance.randrange)
            if isinstance(written, Letter):
                letters.append(written)
            else:
                endings.append(Ending(execution_id=execution.id, trigger_code=FAILURE, trigger_msg=written))
        assign_executions(connection, [_assignment(letter) for letter in letters], epoch, now)
        return letters, finish(connection, endings, now)

    async def _send(self, letter: Letter) -> None:
        self._answers.append(await ask_to_run(self._link, letter, self._token, again=False))
        if failpoints.armed:
            failpoints.hit("dispatch.sent")
        self.wake()

    async def _store_answers(self, term: Term) -> None:
        answers = self._answers[:]
        if not answers:
            return
        finished = await self._db.leader_tx(term.epoch, store_answers, answers, self.clock.now())
        if failpoints.armed:
            failpoints.hit("dispatch.recorded")
        del self._answers[: len(answers)]
        tell(self.events, finished)
        tell_answers(self.events, answers)


async def ask_to_run(link: ExecutorLink, letter: Letter, token: str, *, again: bool) -> Answer:
    """Send one execution and say what is known afterwards."""
    request = _run_request(letter, again)
    try:
        reply = await link.run(
            letter.address, request, token=token, app_name=letter.app_name, extensions=letter.extensions
        )
    except AnswerUnknown as lost:
        return Answer(letter, taken=False, unknown=True, message=str(lost))
    except OrthError as unsent:
        return Answer(letter, taken=False, unknown=again, message=str(unsent))
    if reply.code == SUCCESS:
        return Answer(letter, taken=True, unknown=False, message=reply.msg or "")
    return Answer(letter, taken=False, unknown=False, message=f"{letter.address} refused: {reply.msg or reply.code}")


def store_answers(connection: Connection, answers: Sequence[Answer], now: int) -> list[Finished]:
    """Write what the executors said; the executions that ended by it."""
    record_accepted(connection, [a.letter.execution.id for a in answers if a.taken], now)
    record_unknown(connection, [(a.letter.execution.id, a.message) for a in answers if a.unknown], now)
    refused = [
        Ending(execution_id=a.letter.execution.id, trigger_code=FAILURE, trigger_msg=a.message)
        for a in answers
        if not a.taken and not a.unknown
    ]
    return finish(connection, refused, now)


def tell_answers(events: Events, answers: Sequence[Answer]) -> None:
    for answer in answers:
        execution = answer.letter.execution
        if answer.taken:
            events.emit(ExecutionDispatched(execution.id, execution.job_id, answer.letter.address))
        elif answer.unknown:
            events.emit(DispatchUnknown(execution.id, answer.letter.address, answer.message))


def _address(
    execution: Execution,
    jobs: Mapping[int, Job],
    groups: Mapping[int, Group],
    known: Mapping[tuple[str, str], ExecutorEntry],
    numbers: dict[int, int],
    pick: Callable[[int], int],
) -> Letter | str:
    """The letter for an execution, or why there is none."""
    job, group = jobs.get(execution.job_id), groups.get(execution.job_group)
    if job is None or group is None:
        return "The job or its group was deleted before this execution was sent."
    number = numbers.get(job.id, 0)
    numbers[job.id] = number + 1
    addresses = execution.addresses or group.addresses
    address = route(job.executor_route_strategy, Question(job.id, addresses, number, pick))
    if address is None:
        return (
            f'No executor is registered for app "{group.app_name}". '
            f"Start one (orth executor FILE --app-name {group.app_name}) or give the group addresses."
        )
    entry = known.get((group.app_name, normal_address(address)))
    incarnation = entry.incarnation if entry else None
    return Letter(execution, job, group.app_name, address, incarnation, entry.extensions if entry else frozenset())


def _route_numbers(connection: Connection, opened: Sequence[Execution], jobs: Mapping[int, Job]) -> dict[int, int]:
    wanted: dict[int, int] = {}
    for execution in opened:
        job = jobs.get(execution.job_id)
        if job is not None and job.executor_route_strategy is RouteStrategy.ROUND:
            wanted[job.id] = wanted.get(job.id, 0) + 1
    return draw_route_numbers(connection, wanted) if wanted else {}


def _assignment(letter: Letter) -> Assignment:
    message = f"routed to {letter.address} ({letter.job.executor_route_strategy})"
    return Assignment(letter.execution.id, letter.address, letter.incarnation, message)


def _run_request(letter: Letter, again: bool) -> RunRequest:
    execution, job = letter.execution, letter.job
    return RunRequest(
        job_id=job.id,
        executor_handler=execution.executor_handler,
        executor_params=execution.executor_param,
        executor_block_strategy=job.executor_block_strategy,
        executor_timeout=job.executor_timeout,
        executor_concurrency=job.executor_concurrency,
        log_id=execution.id,
        log_date_time=execution.trigger_time,
        glue_type=job.glue_type,
        glue_source=job.glue_source,
        glue_updatetime=job.glue_updatetime,
        broadcast_index=execution.shard_index,
        broadcast_total=execution.shard_total,
        schedule_time=execution.schedule_time,
        resend_to=letter.incarnation if again else None,
    )
