"""Why an execution is where it is, told in order: pure.

The cause and what the ledger decided, whom routing chose, what happened beyond the ordinary, where it stands, and what
happens next. The ordinary way leaves no notes, so most explanations are three lines long.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from orth.clock import iso
from orth.domain import reasons
from orth.domain.executions import Execution, Phase, Status
from orth.domain.fires import FireDecision
from orth.domain.jobs import Job, TriggerCause, longest_silence
from orth.domain.reasons import REASONS


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened. ``at`` is None where the time was not kept."""

    code: str
    text: str
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Patience:
    """The bounds that decide what happens next, in seconds."""

    answer: float
    circuit: float
    lost: float
    offer: float = 86_400.0


@dataclass(frozen=True, slots=True)
class Record:
    """What is known about an execution. ``notes`` are in order; ``job`` is None when it was deleted."""

    execution: Execution
    job: Job | None
    fire: FireDecision | None
    notes: Sequence[Step]
    next_attempt: int | None = None
    """The execution that tries again."""
    takers: int = 0
    """Executors that take from the queue it waits in."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole story. ``summary`` is its last line in one sentence; ``next`` what to expect."""

    summary: str
    steps: tuple[Step, ...]
    next: str


_DOUBTS = (reasons.UNKNOWN_ANSWER, reasons.LEADER_CHANGED)
_CAUSES = {
    TriggerCause.CRON: "Its cron schedule fired",
    TriggerCause.FIXED_RATE: "Its fixed rate fired",
    TriggerCause.FIXED_DELAY: "Its delay after the previous execution was over",
    TriggerCause.AT: "Its instant came",
    TriggerCause.MANUAL: "Somebody triggered it by hand",
    TriggerCause.API: "It was triggered through the API",
    TriggerCause.PARENT: "A parent job ended well",
    TriggerCause.RETRY: "An earlier attempt did not succeed",
    TriggerCause.MISFIRE: "A missed fire was made up for",
    TriggerCause.BATCH: "It is part of a batch",
}


_AFTER_THE_END = (reasons.LATE_RESULT, reasons.DONE_AGAIN)


def explain(record: Record, patience: Patience, now: int) -> Explanation:
    """Tell the story of an execution as it stands at ``now``."""
    ending = tuple(_ending(record.execution))
    said = {(step.code, step.at) for step in ending}  # what ended it was often noted as well, at the same instant
    notes = [note for note in record.notes if (note.code, note.at) not in said]
    before = (note for note in notes if note.code not in _AFTER_THE_END)
    late = (note for note in notes if note.code in _AFTER_THE_END)
    steps = (*_origin(record), *_route(record), *before, *ending, *late)
    following = _next(record, patience, now)
    execution = record.execution
    if execution.phase is not Phase.ENDED:
        return Explanation(following, steps, following)
    if execution.status is Status.SUCCESS:
        return Explanation("It ended well.", steps, following)
    told = execution.trigger_msg if execution.status is Status.TRIGGER_FAILED else execution.handle_msg
    meaning = REASONS.get(execution.reason_code or "", "")
    return Explanation(_first_line(told) or meaning or "It failed without a word.", steps, following)


def _origin(record: Record) -> Iterator[Step]:
    execution, fire = record.execution, record.fire
    text = _CAUSES[execution.cause]
    kind, _, origin = execution.trigger_key.partition(":")
    if kind == "retry":
        text += f": this is attempt {execution.attempt}, after execution {origin}"
    if kind == "test":
        text += ", to try code that is not the job's"
    if kind == "again":
        text += f": it does again what execution {origin.partition(':')[0]} was to do"
    if execution.batch_id is not None:
        text += f" (batch {execution.batch_id})"
    if execution.schedule_time is not None:
        text += f", for {iso(execution.schedule_time)}"
    yield Step(execution.cause, f"{text}.", execution.trigger_time)
    if fire is not None:
        spelled = f"The fire ledger says {fire.decision}" + (f": {fire.reason}" if fire.reason else "")
        yield Step(f"fire_{fire.decision}", f"{spelled.rstrip('.')}.", execution.trigger_time)


def _route(record: Record) -> Iterator[Step]:
    execution, job = record.execution, record.job
    if execution.queue is not None:
        yield Step("offered", f"It was offered in the queue {execution.queue}.", execution.offered_at)
        if execution.executor_address is not None:
            yield Step("taken", f"{execution.executor_address} took it.")
        return
    if execution.executor_address is None:
        return
    by = f" by {job.executor_route_strategy}" if job is not None else ""
    among = f" among {len(execution.addresses)} given with the trigger" if execution.addresses else ""
    shard = f" for shard {execution.shard_index} of {execution.shard_total}" if execution.shard_total > 1 else ""
    yield Step("routed", f"{execution.executor_address} was chosen{by}{among}{shard}.")


def _ending(execution: Execution) -> Iterator[Step]:
    if execution.phase is not Phase.ENDED:
        return
    told = execution.trigger_msg if execution.status is Status.TRIGGER_FAILED else execution.handle_msg
    text = _first_line(told) or REASONS.get(execution.reason_code or "", "")
    doubted = execution.reason_code in _DOUBTS  # a result came meanwhile, and it is what ended the execution
    code = execution.status if doubted or not execution.reason_code else execution.reason_code
    yield Step(code, text or "It ended.", execution.handle_time)


def _next(record: Record, patience: Patience, now: int) -> str:
    execution = record.execution
    match execution.phase:
        case Phase.OPENED:
            return _waiting(record, patience, now)
        case Phase.DISPATCHING:
            return f"It is on its way; {execution.executor_address} has {patience.answer:g} s to answer."
        case Phase.UNKNOWN:
            return _doubted(record, patience)
        case Phase.OFFERED:
            return _offered(record, patience)
        case Phase.ENDED if record.next_attempt is not None:
            return f"Execution {record.next_attempt} tries again."
        case Phase.ENDED:
            return "Nothing: it has ended."
        case _:
            lost = (record.job.lost_after if record.job else 0) or patience.lost
            return (
                f"{execution.executor_address} has it and will report how it ends; "
                f"should that executor be gone for {lost:g} s, it ends as lost."
            )


def _offered(record: Record, patience: Patience) -> str:
    execution, takers = record.execution, record.takers
    until = iso((execution.offered_at or execution.trigger_time) + int(patience.offer * 1000))
    if not takers:
        app_name, _, queue = (execution.queue or "").rpartition(".")
        return (
            f"It waits in the queue {execution.queue}, and no executor takes from it. Start one (orth executor FILE "
            f"--app-name {app_name} --transport queue --queue {queue}); it fails after {until}."
        )
    who = "one executor takes" if takers == 1 else f"{takers} executors take"
    return f"It waits in the queue {execution.queue}, from which {who}, for one of them to be free; until {until}."


def _waiting(record: Record, patience: Patience, now: int) -> str:
    execution = record.execution
    due = execution.not_before
    if execution.reason_code == reasons.CIRCUIT_OPEN:
        since = _last(record, reasons.CIRCUIT_OPEN)
        until = iso((now if since is None else since) + int(patience.circuit * 1000))
        return f"{REASONS[reasons.CIRCUIT_OPEN]} It is looked at again every second and fails after {until}."
    if execution.reason_code in (reasons.PEER_FULL, reasons.CHANNELS_AWAY, reasons.QUEUE_FULL):
        return f"{REASONS[execution.reason_code]} It is looked at again every second."
    if due is not None and due > now and execution.cause is TriggerCause.RETRY:
        return f"It is sent when the pause before attempt {execution.attempt} is over, at {iso(due)}."
    if due is not None and due > now:
        return f"It is sent when it is due, at {iso(due)}, or earlier to an executor that holds it until then."
    return "It waits to be sent: the leader takes it within a second, if there is one."


def _doubted(record: Record, patience: Patience) -> str:
    execution = record.execution
    since = _last(record, *_DOUBTS)
    bound = longest_silence(record.job, patience.lost) if record.job else patience.lost
    until = f"until {iso(since + int(bound * 1000))}" if since is not None else f"for {bound:g} s"
    if execution.incarnation is not None:
        return f"{execution.executor_address} is asked again every second {until}; then it fails and is not retried."
    return (
        f"{execution.executor_address} cannot be asked about it. Its result is awaited {until}, and as long after as "
        "the executor says that it is busy with the job; then it fails and is not retried."
    )


def _last(record: Record, *codes: str) -> int | None:
    """When one of these was last noted."""
    return next((step.at for step in reversed(record.notes) if step.code in codes and step.at is not None), None)


def _first_line(text: str | None) -> str:
    return next(iter((text or "").strip().splitlines()), "")
