"""Why an execution is where it is, told in order: pure.

The cause and what the ledger decided, whom routing chose, what happened beyond the ordinary, where it stands, and what
happens next. The ordinary way leaves no notes, so most explanations are three lines long.

Everything is said twice: as a sentence, and as a code with the facts the sentence is made of, so that those who speak
another language can make their own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from orth.clock import iso
from orth.domain import reasons
from orth.domain.executions import Execution, Phase, Status, Turn
from orth.domain.fires import FireDecision
from orth.domain.handoffs import PastHandoff, Reason
from orth.domain.jobs import Job, TriggerCause, longest_silence
from orth.domain.nodes import StillWorking
from orth.domain.overlap import BlockedBy, BlockingExecution, is_guarded
from orth.domain.reasons import REASONS

Fact = str | int | float
Facts = Mapping[str, Fact]


class NextCode(StrEnum):
    """What happens next, or what somebody has to do. The facts of each are in its sentence; instants are ISO 8601."""

    SENT_SOON = "sent_soon"
    SENT_WHEN_DUE = "sent_when_due"
    SENT_AFTER_PAUSE = "sent_after_pause"
    LEFT_ALONE = "left_alone"
    LOOKED_AT_AGAIN = "looked_at_again"
    ON_ITS_WAY = "on_its_way"
    ASKED_UNTIL = "asked_until"
    ASKED_FOR = "asked_for"
    AWAITED_UNTIL = "awaited_until"
    AWAITED_FOR = "awaited_for"
    NOBODY_TAKES = "nobody_takes"
    WAITS_IN_QUEUE = "waits_in_queue"
    WAITS_ITS_TURN = "waits_its_turn"
    WAITS_FOR_JOB = "waits_for_job"
    WAITS_FOR_RUNNING = "waits_for_running"
    WAITS_FOR_ENDED = "waits_for_ended"
    WAITS_FOR_EARLIER = "waits_for_earlier"
    WAITS_FOR_AHEAD = "waits_for_ahead"
    RUNS = "runs"
    TRIED_AGAIN = "tried_again"
    NOTHING = "nothing"
    MEND_TRIGGER = "mend_trigger"
    MEND_JOB = "mend_job"
    MEND_TIME = "mend_time"
    MEND_LOST = "mend_lost"
    RETRY_IF_WANTED = "retry_if_wanted"
    RETRY_WHEN_FREE = "retry_when_free"
    RUN_WHERE_IT_IS = "run_where_it_is"
    GONE = "gone"
    TEST_AGAIN = "test_again"
    STILL_WORKS = "still_works"
    STILL_WORKS_BESIDE = "still_works_beside"
    STILL_WORKS_GONE = "still_works_gone"


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that happened. ``at`` is None where the time was not kept."""

    code: str
    text: str
    at: int | None = None
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Following:
    """What to expect."""

    code: NextCode
    text: str
    facts: Facts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Patience:
    """The bounds that decide what happens next, in seconds."""

    answer: float
    circuit: float
    lost: float
    offer: float = 86_400.0


@dataclass(frozen=True, slots=True)
class Record:
    """What is known about an execution. ``notes`` are in order; ``job`` is None when it was deleted, or
    moved to where whoever asks may not see it.
    """

    execution: Execution
    job: Job | None
    fire: FireDecision | None
    notes: Sequence[Step]
    next_attempt: int | None = None
    """The execution that tries again."""
    takers: int = 0
    """Executors that take from the queue it waits in."""
    still_working: StillWorking | None = None
    """Where its handler works on, because nobody could end it."""
    app_name: str | None = None
    """Of its group, as long as there is one."""
    turn: Turn | None = None
    """Its place among those of its job that wait on the executor, if it waits there."""
    hands: Sequence[PastHandoff] = ()
    """The coordinators that took it over, in order."""
    blocking: BlockingExecution | None = None
    """The execution of its job that it waits for."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The whole story. ``summary`` is its last line in one sentence; ``words`` are what was said of its end, where its
    reason with its facts does not say it all.
    """

    summary: str
    steps: tuple[Step, ...]
    following: Following
    words: str | None = None
    reason_facts: Facts = field(default_factory=dict)

    @property
    def next(self) -> str:
        return self.following.text


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
    notes = sorted((*notes, *_hands(record)), key=lambda note: note.at or 0)
    before = (note for note in notes if note.code not in _AFTER_THE_END)
    late = (note for note in notes if note.code in _AFTER_THE_END)
    steps = (*_origin(record), *_route(record), *before, *ending, *_left_behind(record), *late)
    following = _next(record, patience, now)
    execution = record.execution
    if execution.phase is not Phase.ENDED:
        return Explanation(following.text, steps, following)
    if execution.status is Status.SUCCESS:
        return Explanation("It ended well.", steps, following)
    meaning = REASONS.get(execution.reason_code or "", "")
    words = _last_words(execution)
    summary = words or meaning or "It failed without a word."
    facts = _reason_facts(record)
    ours = execution.reason_code in _SAID_BY_REASON or bool(facts)
    return Explanation(summary, steps, following, None if ours or words in ("", meaning) else words, facts)


_SAID_BY_REASON = (reasons.DELETED, reasons.JOB_MOVED, reasons.SECRETS_NOT_QUEUED)
"""What a coordinator says itself when it fails a trigger, in which there is no more than in the reason."""


def _reason_facts(record: Record) -> Facts:
    """What its reason is about. Together they say what the coordinator said when it failed the trigger."""
    execution, job, app_name = record.execution, record.job, record.app_name
    if execution.status is not Status.TRIGGER_FAILED or app_name is None:
        return {}
    if execution.reason_code == reasons.NO_EXECUTOR:
        return {"app": app_name}
    if execution.reason_code == reasons.NO_MATCHING_EXECUTOR and job is not None:
        return {"app": app_name, "selector": job.label_selector}
    return {}


def _origin(record: Record) -> Iterator[Step]:
    execution, fire = record.execution, record.fire
    text = _CAUSES[execution.cause]
    facts: dict[str, Fact] = {}
    kind, _, origin = execution.trigger_key.partition(":")
    if kind == "retry":
        text += f": this is attempt {execution.attempt}, after execution {origin}"
        facts |= {"attempt": execution.attempt, "after": origin}
    if kind == "test":
        text += ", to try code that is not the job's"
        facts["test"] = 1
    if kind == "again":
        again = origin.partition(":")[0]
        text += f": it does again what execution {again} was to do"
        facts["again"] = again
    if execution.batch_id is not None:
        text += f" (batch {execution.batch_id})"
        facts["batch"] = execution.batch_id
    if execution.schedule_time is not None:
        text += f", for {iso(execution.schedule_time)}"
        facts["for"] = iso(execution.schedule_time)
    yield Step(execution.cause, f"{text}.", execution.trigger_time, facts)
    if fire is not None:
        spelled = f"The fire ledger says {fire.decision}" + (f": {fire.reason}" if fire.reason else "")
        facts = {"reason": fire.reason} if fire.reason else {}
        yield Step(f"fire_{fire.decision}", f"{spelled.rstrip('.')}.", execution.trigger_time, facts)


def _route(record: Record) -> Iterator[Step]:
    execution, job, address = record.execution, record.job, record.execution.executor_address
    if execution.queue is not None:
        told = f"It was offered in the queue {execution.queue}."
        yield Step("offered", told, execution.offered_at, {"queue": execution.queue})
        if address is not None:
            yield Step("taken", f"{address} took it.", execution.dispatch_time, {"address": address})
        return
    if address is None:
        return
    facts: dict[str, Fact] = {"address": address}
    text = f"{address} was chosen"
    if job is not None:
        text += f" by {job.executor_route_strategy}"
        facts["strategy"] = job.executor_route_strategy
    if execution.addresses:
        text += f" among {len(execution.addresses)} given with the trigger"
        facts["among"] = len(execution.addresses)
    if execution.shard_total > 1:
        text += f" for shard {execution.shard_index} of {execution.shard_total}"
        facts |= {"shard": execution.shard_index, "shards": execution.shard_total}
    yield Step("routed", f"{text}.", _routed_at(record), facts)


def _routed_at(record: Record) -> int | None:
    """When its executor took it, which is a moment after that was chosen unless something was noted between them."""
    taken = record.execution.dispatch_time
    doubted = taken is not None and any(note.at is not None and note.at <= taken for note in record.notes)
    return None if doubted else taken


_HANDED = {
    Reason.SHUTDOWN: ("owner_stopped", "{taker} follows it from now on: {giver} was stopped."),
    Reason.NODE_CRASH: ("owner_lost", "{taker} follows it from now on: {giver} was not heard of any more."),
    Reason.REBALANCE: ("owner_relieved", "{taker} follows it from now on: {giver} had much more to follow."),
    Reason.ORPHAN: ("owner_found", "{taker} follows it from now on: nobody did."),
}


def _hands(record: Record) -> Iterator[Step]:
    for one in record.hands:
        code, text = _HANDED[one.reason]
        if one.from_node == one.to_node:
            code, text = "owner_restarted", "{taker} follows it again, after a restart."
        facts = {"taker": one.to_node, "giver": one.from_node or ""}
        yield Step(code, text.format(**facts), one.at, facts)


def _ending(execution: Execution) -> Iterator[Step]:
    if execution.phase is not Phase.ENDED:
        return
    text = _last_words(execution) or REASONS.get(execution.reason_code or "", "")
    doubted = execution.reason_code in _DOUBTS  # a result came meanwhile, and it is what ended the execution
    code = execution.status if doubted or not execution.reason_code else execution.reason_code
    yield Step(code, text or "It ended.", execution.handle_time)


def _left_behind(record: Record) -> Iterator[Step]:
    if (left := record.still_working) is not None:
        facts: Facts = {"address": left.address, "at": iso(left.since)}
        yield Step("left_behind", f"{_still_works(left)}.", left.since, facts)


def _still_works(left: StillWorking) -> str:
    return f"Its handler could not be ended and still works on {left.address} since {iso(left.since)}"


def _last_words(execution: Execution) -> str:
    told = execution.trigger_msg if execution.status is Status.TRIGGER_FAILED else execution.handle_msg
    return _first_line(told)


def _next(record: Record, patience: Patience, now: int) -> Following:
    execution = record.execution
    address = str(execution.executor_address)
    match execution.phase:
        case Phase.OPENED:
            return _waiting(record, patience, now)
        case Phase.DISPATCHING:
            told = f"It is on its way; {address} has {patience.answer:g} s to answer."
            return Following(NextCode.ON_ITS_WAY, told, {"address": address, "seconds": patience.answer})
        case Phase.UNKNOWN:
            return _doubted(record, patience)
        case Phase.OFFERED:
            return _offered(record, patience)
        case Phase.ENDED:
            return _after_the_end(record)
        case Phase.DISPATCHED if record.turn is not None:
            return _its_turn(address, record.turn)
        case Phase.DISPATCHED if record.blocking is not None and _must_not_overlap(record):
            return _blocked_by(record.blocking)
        case _:
            lost = (record.job.lost_after if record.job else 0) or patience.lost
            told = (
                f"{address} has it and will report how it ends; "
                f"should that executor be gone for {lost:g} s, it ends as lost."
            )
            return Following(NextCode.RUNS, told, {"address": address, "seconds": lost})


def _its_turn(address: str, turn: Turn) -> Following:
    told = (
        f"Execution {turn.ahead} of the same job is before it on {address}, where it is queued "
        f"(place {turn.position}): it begins when its turn comes. Kill that one, or let the job run several at once, "
        "if it should not wait."
    )
    facts: Facts = {"address": address, "position": turn.position, "ahead": turn.ahead}
    return Following(NextCode.WAITS_ITS_TURN, told, facts)


_MENDING = {
    Status.TRIGGER_FAILED: (NextCode.MEND_TRIGGER, "Do it again when what stopped it is mended"),
    Status.TIMEOUT: (NextCode.MEND_TIME, "See in its log where the time went, or give the job more; then do it again"),
}
_MEND_LOST = (NextCode.MEND_LOST, "Nobody knows how far it came: see what became of its work, then do it again")
_NEVER_BEGUN = (reasons.JOB_STOPPED, reasons.JOB_CHANGED)
"""Why it ended that was taken back before it could begin: nothing is to be mended."""
_RETRY_IF_WANTED = (NextCode.RETRY_IF_WANTED, "If it is wanted after all, do it again")
_WANTED_SO = {
    reasons.KILLED: _RETRY_IF_WANTED,
    reasons.ENDED_TOGETHER: _RETRY_IF_WANTED,
    reasons.COVERED: _RETRY_IF_WANTED,
    reasons.HANDLER_CHANGED: _RETRY_IF_WANTED,
    reasons.EXECUTOR_STOPPED: _RETRY_IF_WANTED,
    reasons.DISCARDED: (NextCode.RETRY_WHEN_FREE, "If it is wanted after all, do it again when the job is not busy"),
}
"""What ended that did nothing wrong: nothing is to be looked for in its log."""
_MEND_JOB = (NextCode.MEND_JOB, "See in its log what went wrong, mend it, and do it again")


def _after_the_end(record: Record) -> Following:
    one, again, left = record.execution, record.next_attempt, record.still_working
    if left is not None:
        return _while_it_works(record, left)
    if again is not None:
        return Following(NextCode.TRIED_AGAIN, f"Execution {again} tries again.", {"execution": again})
    if one.status is Status.SUCCESS or (one.reason_code in _NEVER_BEGUN and one.start_time is None):
        return Following(NextCode.NOTHING, "Nothing: it has ended.")
    if one.is_test:
        told = "Nothing: a test run is not done again. See in its log what went wrong, and test the code anew."
        return Following(NextCode.TEST_AGAIN, told)
    if one.reason_code == reasons.JOB_MOVED:
        told = "Nothing by itself: it is not retried. If it is still wanted, run the job in the group where it is now."
        return Following(NextCode.RUN_WHERE_IT_IS, told)
    if _is_gone(record):
        return Following(NextCode.GONE, "Nothing: it cannot be done again, for its job or its code is gone.")
    code, advice = _advice(one)
    told = f"Nothing by itself: it is not retried. {advice} (orth exec retry {one.id})."
    return Following(code, told, {"execution": one.id})


def _is_gone(record: Record) -> bool:
    """Whether there is nothing left that could be done again."""
    return record.job is None or record.execution.reason_code == reasons.DELETED


def _while_it_works(record: Record, left: StillWorking) -> Following:
    """What to do about one that has ended, and whose handler does not."""
    one, again = record.execution, record.next_attempt
    where: dict[str, Fact] = {"address": left.address, "at": iso(left.since)}
    if again is not None:
        told = f"{_still_works(left)}; execution {again} tries again beside it."
        return Following(NextCode.STILL_WORKS_BESIDE, told, {**where, "execution": again})
    if _is_gone(record):
        told = (
            f"{_still_works(left)}. Restart that executor if it must end; it cannot be done again, for its job or its "
            "code is gone."
        )
        return Following(NextCode.STILL_WORKS_GONE, told, where)
    told = (
        f"{_still_works(left)}. Wait until it has returned, or restart that executor; "
        f"then do it again (orth exec retry {one.id})."
    )
    return Following(NextCode.STILL_WORKS, told, {**where, "execution": one.id})


def _advice(one: Execution) -> tuple[NextCode, str]:
    if one.reason_code == reasons.RESULT_LOST:
        return _MEND_LOST
    return _WANTED_SO.get(one.reason_code or "") or _MENDING.get(one.status, _MEND_JOB)


def _offered(record: Record, patience: Patience) -> Following:
    execution, takers = record.execution, record.takers
    until = iso((execution.offered_at or execution.trigger_time) + int(patience.offer * 1000))
    facts: Facts = {"queue": str(execution.queue), "until": until}
    if not takers:
        app_name, _, queue = (execution.queue or "").rpartition(".")
        start = f"orth executor FILE --app-name {app_name} --transport queue --queue {queue}"
        told = (
            f"It waits in the queue {execution.queue}, and no executor takes from it. Start one ({start}); "
            f"it fails after {until}."
        )
        return Following(NextCode.NOBODY_TAKES, told, {**facts, "command": start})
    who = "one executor takes" if takers == 1 else f"{takers} executors take"
    told = f"It waits in the queue {execution.queue}, from which {who}, for one of them to be free; until {until}."
    return Following(NextCode.WAITS_IN_QUEUE, told, {**facts, "count": takers})


_BUSY_HINT = "Kill that one, or set the job's overlap to executor, if this one should not wait."


def _must_not_overlap(record: Record) -> bool:
    return record.job is not None and is_guarded(record.job)


def _blocked_by(one: BlockingExecution) -> Following:
    """What an execution waits for at this moment."""
    which = f"Execution {one.id} of the same job"
    facts: dict[str, Fact] = {"execution": one.id, "address": one.place}
    match one.kind:
        case BlockedBy.RUNNING:
            told = (
                f"{which} may still be running at {one.place}. This one is sent when it may go there, or when that one "
            )
            return Following(NextCode.WAITS_FOR_RUNNING, f"{told}has ended. {_BUSY_HINT}", facts)
        case BlockedBy.ENDED:
            told = (
                f"{which} has ended, but its handler may still work at {one.place}: that executor has not confirmed "
                "the end. This one begins when it has. If the handler never returns, restart that executor."
            )
            return Following(NextCode.WAITS_FOR_ENDED, told, facts)
        case BlockedBy.EARLIER:
            told = f"{which} was due earlier and has to wait as well. This one is sent after it."
            return Following(NextCode.WAITS_FOR_EARLIER, told, {"execution": one.id})
        case BlockedBy.AHEAD:
            begins = iso(one.begins or 0)
            told = (
                f"{which} was sent ahead to {one.place}, where this one cannot go now, and begins at {begins}. "
                "This one is sent when that one has ended."
            )
            return Following(NextCode.WAITS_FOR_AHEAD, told, {**facts, "at": begins})


def _waiting(record: Record, patience: Patience, now: int) -> Following:
    execution = record.execution
    due = execution.not_before
    if execution.reason_code == reasons.CIRCUIT_OPEN:
        since = _last(record, reasons.CIRCUIT_OPEN)
        until = iso((now if since is None else since) + int(patience.circuit * 1000))
        told = f"{REASONS[reasons.CIRCUIT_OPEN]} It is looked at again every second and fails after {until}."
        return Following(NextCode.LEFT_ALONE, told, {"until": until})
    if execution.reason_code == reasons.BUSY_ELSEWHERE:
        if record.blocking is not None:
            return _blocked_by(record.blocking)
        told = f"{REASONS[reasons.BUSY_ELSEWHERE]} It is sent as soon as that is over."
        return Following(NextCode.WAITS_FOR_JOB, told)
    if execution.reason_code in (reasons.PEER_FULL, reasons.CHANNELS_AWAY, reasons.QUEUE_FULL):
        told = f"{REASONS[execution.reason_code]} It is looked at again every second."
        return Following(NextCode.LOOKED_AT_AGAIN, told)
    if due is not None and due > now and execution.cause is TriggerCause.RETRY:
        told = f"It is sent when the pause before attempt {execution.attempt} is over, at {iso(due)}."
        return Following(NextCode.SENT_AFTER_PAUSE, told, {"attempt": execution.attempt, "at": iso(due)})
    if due is not None and due > now:
        told = f"It is sent when it is due, at {iso(due)}, or earlier to an executor that holds it until then."
        return Following(NextCode.SENT_WHEN_DUE, told, {"at": iso(due)})
    return Following(NextCode.SENT_SOON, "It waits to be sent: the leader takes it within a second, if there is one.")


def _doubted(record: Record, patience: Patience) -> Following:
    address = str(record.execution.executor_address)
    since = _last(record, *_DOUBTS)
    bound = longest_silence(record.job, patience.lost) if record.job else patience.lost
    until = None if since is None else iso(since + int(bound * 1000))
    span = f"for {bound:g} s" if until is None else f"until {until}"
    facts: Facts = {"address": address, "seconds": bound} if until is None else {"address": address, "until": until}
    if record.execution.incarnation is not None:
        told = f"{address} is asked again every second {span}; then it fails and is not retried."
        return Following(NextCode.ASKED_FOR if until is None else NextCode.ASKED_UNTIL, told, facts)
    told = (
        f"{address} cannot be asked about it. Its result is awaited {span}, and as long after as "
        "the executor says that it is busy with the job; then it fails and is not retried."
    )
    return Following(NextCode.AWAITED_FOR if until is None else NextCode.AWAITED_UNTIL, told, facts)


def _last(record: Record, *codes: str) -> int | None:
    """When one of these was last noted."""
    return next((step.at for step in reversed(record.notes) if step.code in codes and step.at is not None), None)


def _first_line(text: str | None) -> str:
    return next(iter((text or "").strip().splitlines()), "")
