"""What follows from an executor's answer, inside a transaction.

A yes and a doubt are written down; a no ends the execution. What surely was not sent, or was declined by an executor
that takes no work now, goes to another address, at most ``_ATTEMPTS`` in all, unless it belongs to one executor alone;
if nobody else is left it ends, unless it was sent ahead: then it is tried once more when it is due, for the executor
may have been restarted by then. What was withdrawn because its executor keeps failing goes elsewhere or waits, and ends
when it has waited too long. Each leaves a note.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from orth.coordinator.choosing import Choice
from orth.coordinator.claiming import Outlook, Routes, Wait
from orth.coordinator.finishing import Finished, finish
from orth.coordinator.group_bounds import Refusal
from orth.coordinator.letters import Answer, Letter, Offer, Outcome
from orth.domain import reasons
from orth.domain.executions import COVERED_WORDS, FAILURE, SUCCESS, Execution, Phase
from orth.domain.overlap import position_of
from orth.store.database import Connection
from orth.store.dispatching import (
    Assignment,
    assign_executions,
    put_back,
    reassign_executions,
    record_accepted,
    record_unknown,
)
from orth.store.executions import Ending
from orth.store.notes import Note, add_notes, last_noted
from orth.store.offering import Placing, offer_executions
from orth.store.possibly_running import covered_by

_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Office:
    """Who writes, in which term, and for how long an execution may wait for an executor that is left alone."""

    node_id: str
    epoch: int
    longest_wait: int
    outlook: Outlook
    closing: bool = False
    """Nothing is sent any more: what is unsent goes back to wait for the next coordinator."""
    offer_bound: int = 86_400_000
    """For how long an execution may wait until it can be offered in a queue."""


@dataclass(slots=True)
class Verdicts:
    """What a transaction decided: collected first, written at the end."""

    waiting: Mapping[int, int] = field(default_factory=dict)
    """Since when executions have been waiting for one that is left alone; what is not here begins to."""
    letters: list[Letter] = field(default_factory=list)
    offers: list[Offer] = field(default_factory=list)
    endings: list[Ending] = field(default_factory=list)
    waits: dict[tuple[int | None, str], list[int]] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    blocked: set[int] = field(default_factory=set)
    """Jobs of which executions wait until another one has ended."""

    def end(self, execution: Execution, code: str, message: str) -> None:
        self.endings.append(
            Ending(execution_id=execution.id, trigger_code=FAILURE, trigger_msg=message, reason_code=code)
        )

    def note(self, execution: Execution, code: str, message: str) -> None:
        self.notes.append(Note(execution.id, code, message))

    def wait(self, execution: Execution, wait: Wait) -> None:
        # Planned ahead, it must not become due by waiting.
        until = None if wait.until is None else max(wait.until, execution.not_before or 0)
        self.waits.setdefault((until, wait.code), []).append(execution.id)
        if wait.code == reasons.BUSY_ELSEWHERE:
            self.blocked.add(execution.job_id)
        if execution.reason_code != wait.code:  # said once, however often it is looked at
            self.note(execution, wait.code, wait.message)

    def take(self, execution: Execution, decided: Letter | Offer | Refusal | Wait, office: Office, now: int) -> None:
        """Sort one decision."""
        match decided:
            case Letter():
                self.letters.append(decided)
            case Offer():
                self.offers.append(decided)
            case Refusal(code, message):
                self.end(execution, code, message)
            case Wait(reasons.CIRCUIT_OPEN as code, message) if (
                waited := now - self.waiting.get(execution.id, now)
            ) > office.longest_wait:
                self.end(execution, code, f"{message} It has waited {waited // 1000} s for that to end.")
            case Wait(reasons.CHANNELS_AWAY | reasons.QUEUE_FULL as code, message) if (
                waited := now - execution.trigger_time
            ) > office.offer_bound:
                self.end(execution, code, f"{message} It has waited {waited // 1000} s for that to end.")
            case Wait():
                self.wait(execution, decided)

    def write(self, connection: Connection, office: Office, now: int) -> list[Finished]:
        """Store all but the letters, whose assignment depends on where they come from."""
        for (until, code), ids in self.waits.items():
            put_back(connection, ids, until, code, office.epoch, now)
        finished = finish(connection, self.endings, now)
        add_notes(connection, self.notes, office.node_id, now)
        return finished


@dataclass(frozen=True, slots=True)
class Settled:
    """What came of a batch of answers: what has ended, and what is to be sent."""

    finished: list[Finished]
    letters: list[Letter]
    offers: list[Offer] = field(default_factory=list)
    rerouted: list[tuple[Letter, str]] = field(default_factory=list)
    blocked: frozenset[int] = frozenset()
    """Jobs of which executions wait until another one has ended."""
    covered: list[Execution] = field(default_factory=list)
    """Executions from queues that were ended here and whose executors are to be told."""


def claim(connection: Connection, opened: Sequence[Execution], office: Office, now: int) -> Settled:
    """Address opened executions and commit to it, in the order in which they are due."""
    opened = sorted(opened, key=position_of)
    routes = Routes(connection, opened, office.outlook, now)
    verdicts = Verdicts(_waiting(connection, opened))
    for execution in opened:
        decided = routes.address(execution, office.epoch)
        early = is_ahead(execution, now) and isinstance(decided, Refusal)  # it may be otherwise when it is due
        if decided is not None and not early:
            verdicts.take(execution, decided, office, now)
    routes.save()
    assign_executions(connection, [assignment(letter) for letter in verdicts.letters], office.epoch, now)
    offer_executions(connection, [placing(offer) for offer in verdicts.offers], office.epoch, now)
    covered = _cover(connection, routes.covering, verdicts)
    finished = verdicts.write(connection, office, now)
    blocked = frozenset(verdicts.blocked)
    return Settled(finished, verdicts.letters, verdicts.offers, blocked=blocked, covered=covered)


def _cover(connection: Connection, covering: Sequence[Execution], verdicts: Verdicts) -> list[Execution]:
    """End what is before executions of COVER_EARLY in a queue. Nobody else can: the executor that takes the later one
    need not be the one that has the earlier.
    """
    found: dict[int, Execution] = {}
    for one in covering:
        for earlier in covered_by(connection, one):
            found[earlier.id] = earlier
            verdicts.endings.append(_covered(earlier, one))
    return [one for one in found.values() if one.queue is not None]


def _covered(one: Execution, by: Execution) -> Ending:
    told = f"execution {by.id} {COVERED_WORDS}."
    if one.phase in (Phase.OPENED, Phase.OFFERED):
        return Ending(
            execution_id=one.id,
            trigger_code=FAILURE,
            trigger_msg=f"Not executed: {told}",
            reason_code=reasons.COVERED,
            confirmed=one.phase is Phase.OPENED,
        )
    return Ending(
        execution_id=one.id,
        trigger_code=SUCCESS,
        handle_code=FAILURE,
        handle_msg=f"Ended: {told}",
        reason_code=reasons.COVERED,
        confirmed=False,
    )


def is_ahead(execution: Execution, now: int) -> bool:
    """Whether its time has not come."""
    return (execution.not_before or 0) > now


def settle(
    connection: Connection, answers: Sequence[Answer], choices: Sequence[Choice], office: Office, now: int
) -> Settled:
    """Write what the executors said and commit to the next addresses."""
    by_outcome: dict[Outcome, list[Answer]] = {outcome: [] for outcome in Outcome}
    for answer in answers:
        by_outcome[answer.outcome].append(answer)
    verdicts = Verdicts(_waiting(connection, [answer.letter.execution for answer in by_outcome[Outcome.WITHDRAWN]]))
    record_accepted(connection, [answer.letter.execution.id for answer in by_outcome[Outcome.TAKEN]], now)
    doubts = by_outcome[Outcome.UNKNOWN]
    record_unknown(connection, [(one.letter.execution.id, one.message) for one in doubts], now, reasons.UNKNOWN_ANSWER)
    for answer in (*doubts, *by_outcome[Outcome.REFUSED], *by_outcome[Outcome.NOBODY]):
        verdicts.note(answer.letter.execution, answer.code, answer.message)
    for answer in (*by_outcome[Outcome.REFUSED], *by_outcome[Outcome.NOBODY]):
        verdicts.end(answer.letter.execution, answer.code, answer.message)
    unsent = (*by_outcome[Outcome.NOT_SENT], *by_outcome[Outcome.DECLINED], *by_outcome[Outcome.WITHDRAWN])
    rerouted: list[tuple[Letter, str]] = []
    if office.closing:
        _hand_back([*(one.letter for one in unsent), *(one.letter for one in choices)], verdicts, now)
        choices = ()
    elif unsent:
        rerouted = _reroute(connection, unsent, verdicts, office, now)
    for choice in choices:
        verdicts.note(choice.letter.execution, reasons.ASKED, f"{choice.letter.peer.address}, because {choice.heard}")
    moved = [*(choice.letter for choice in choices), *verdicts.letters]
    still = reassign_executions(connection, [assignment(letter) for letter in moved], office.epoch, now)
    finished = verdicts.write(connection, office, now)
    sent = [letter for letter in moved if letter.execution.id in still]
    return Settled(finished, sent, rerouted=rerouted, blocked=frozenset(verdicts.blocked))


def _reroute(
    connection: Connection, unsent: Sequence[Answer], verdicts: Verdicts, office: Office, now: int
) -> list[tuple[Letter, str]]:
    """Find another address for what was not sent; those found, each with the reason."""
    unsent = sorted(unsent, key=lambda answer: position_of(answer.letter.execution))
    routes = Routes(connection, [answer.letter.execution for answer in unsent], office.outlook, now, unsent=True)
    rerouted: list[tuple[Letter, str]] = []
    for answer in unsent:
        letter, execution = answer.letter, answer.letter.execution
        tried = answer.outcome is not Outcome.WITHDRAWN
        if tried:
            verdicts.note(execution, answer.code, answer.message)
            letter = replace(letter, tried=(*letter.tried, letter.peer.key))
        enough = letter.names_one_address or len(letter.tried) >= _ATTEMPTS
        exhausted = tried and enough
        if exhausted and not is_ahead(execution, now):
            verdicts.end(execution, answer.code, answer.message)
            continue
        decided = None if exhausted else routes.address(execution, office.epoch, letter.tried)
        if isinstance(decided, Refusal) and is_ahead(execution, now):
            decided = None
        match decided:
            case None:  # it may start only later: it waits like any other
                verdicts.wait(execution, Wait(reasons.PLANNED, answer.message, execution.not_before or now))
            case Offer() | Refusal(reasons.NOT_SENT):  # the job got a queue meanwhile: this one was for an address
                verdicts.end(execution, answer.code, answer.message)
            case Letter():
                verdicts.take(execution, decided, office, now)
                verdicts.note(execution, reasons.REROUTED, f"{decided.peer.address} instead of {letter.peer.address}")
                rerouted.append((decided, answer.message))
            case _:
                verdicts.take(execution, decided, office, now)
    routes.save()
    return rerouted


def _hand_back(letters: Iterable[Letter], verdicts: Verdicts, now: int) -> None:
    for letter in letters:
        until = max(now, letter.execution.not_before or 0)
        wait = Wait(reasons.HANDED_BACK, "The coordinator that was to send it stopped.", until)
        verdicts.wait(letter.execution, wait)


def placing(offer: Offer) -> Placing:
    keyed = offer.letter.peer.gets_report_key
    return Placing(offer.letter.execution.id, offer.queue, offer.priority, offer.sending, keyed)


def assignment(letter: Letter) -> Assignment:
    message = f"routed to {letter.peer.address} ({letter.job.executor_route_strategy})"
    peer = letter.peer
    return Assignment(letter.execution.id, peer.address, peer.incarnation, message, peer.gets_report_key)


def _waiting(connection: Connection, executions: Iterable[Execution]) -> dict[int, int]:
    """Since when each of those that wait for an executor that is left alone does so; the next leader reads the same."""
    waiting = [execution.id for execution in executions if execution.reason_code == reasons.CIRCUIT_OPEN]
    return last_noted(connection, waiting, reasons.CIRCUIT_OPEN)
