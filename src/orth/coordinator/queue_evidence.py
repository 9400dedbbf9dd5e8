"""What speaks for an execution that was offered in a queue, and what against it: what ``queueing`` decides, purely."""

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, field

from orth.channels.interface import Entry
from orth.coordinator.offering import Place, app_of
from orth.coordinator.queue_scans import Offered
from orth.coordinator.workers import Fate, Process, Workers
from orth.domain import reasons
from orth.store.offering import InQueue, Taking
from orth.store.possibly_running import UnconfirmedEnd
from orth.wire.channel_messages import Standing

WORKER = "queue://"
"""Before the name of an executor of queues, where others have an address."""
_BEATEN_TWICE = 1.0
"""Seconds after which a beat was surely made after what it would have to tell of."""
_GONE_FOR = 35.0
"""How long a process must be gone, or silent about an execution, before that is lost: a result may be on its way."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long what must be so, in seconds."""

    missing: float
    """For an offer that nobody has; longer than a living executor is silent."""
    lost: float
    """For what a silent process has."""
    offer: float
    """For an execution in a queue that nobody takes."""


@dataclass(slots=True)
class Evidence:
    """What one look at the queues and the beats has shown."""

    waiting: dict[Place, int] = field(default_factory=dict)
    overtaken: dict[Place, int] = field(default_factory=dict)
    """The latest offer of each place that somebody took: whatever was offered before it does not wait there."""
    in_hand: set[Place] = field(default_factory=set)
    """Places of which some living process has messages that it is not done with."""
    absent: Set[Offered] = frozenset()
    """Offers that are known not to be in their queue, whatever else is there."""
    named: frozenset[int] = frozenset()
    """Everything that the beats of the living name."""
    reticent: frozenset[str] = frozenset()
    """Apps of which somebody alive does not name everything that it has."""


def is_missing(one: InQueue, seen: Evidence) -> bool:
    """Whether nothing speaks for an offered execution being in a queue or with anybody."""
    if not may_be_missing(one, seen):
        return False
    place = (one.queue, one.priority)
    waits = seen.waiting.get(place, 1) > 0 and seen.overtaken.get(place, 0) <= one.sending
    return (one.id, one.sending) in seen.absent or not (waits or place in seen.in_hand)


def may_be_missing(one: InQueue, seen: Evidence) -> bool:
    """Whether nobody says that he has an offered execution, though everybody would."""
    return app_of(one.queue) not in seen.reticent and one.id not in seen.named


def is_given_back(one: InQueue, seen: Evidence) -> bool:
    """Whether the executor that had it has said that it is in no queue and to be offered again, and nobody says that he
    has it: then there is nothing to wait for.
    """
    said = one.reason_code == reasons.OFFERED_AGAIN
    return said and one.id not in seen.named and app_of(one.queue) not in seen.reticent


def named_by(alive: Iterable[Process], rows: Iterable[InQueue]) -> frozenset[int]:
    """What the living name; nobody has what was offered to another app, whatever he says."""
    apps = {one.id: app_of(one.queue) for one in rows}
    said = ((one, process.beat.app_name) for process in alive for one in process.named)
    return frozenset(one for one, app_name in said if apps.get(one, app_name) == app_name)


@dataclass(frozen=True, slots=True)
class Sign:
    """Why an execution may be lost, and for how many seconds that must stay so."""

    why: str
    patience: float


def sign_of_loss(one: InQueue, workers: Workers, named: Collection[int], patience: Patience) -> Sign | None:
    """What speaks for an accepted execution being lost; None when somebody has it."""
    if one.id in named or one.incarnation is None:
        return None
    silent = float(one.lost_after) or patience.lost
    match workers.fate(one.incarnation):
        case Fate.LEFT:
            return Sign("the executor stopped while it had it", min(_GONE_FOR, silent))
        case Fate.REPLACED:
            return Sign("the executor was restarted while it had it", min(_GONE_FOR, silent))
        case Fate.SILENT:
            return Sign("the executor has not been heard of", silent)
    process = workers.process(one.incarnation)
    if process is None or not process.tells_all:
        return None
    return Sign("the executor does not know it any more", min(_GONE_FOR, silent))


def is_named(one: UnconfirmedEnd, workers: Workers, named: Collection[int]) -> bool:
    """Whether some living process says that it has an execution that ended here, or that its handler works on."""
    return one.id in named or any(one.id == left.log_id for each in workers.alive() for left in each.beat.left_behind)


def has_ended(one: UnconfirmedEnd, since: float, workers: Workers, patience: Patience, now: float) -> bool:
    """Whether an execution that ended here, and that no living process has named ``since`` then, has ended at its
    executor too: whoever may have it has beaten since then, twice for sure. A process that is silent keeps it as long
    as one that is lost.
    """
    if now - since >= patience.missing + patience.lost:
        return True
    if one.incarnation is not None and workers.fate(one.incarnation) in (Fate.LEFT, Fate.REPLACED):
        return True
    app_name = app_of(one.queue or "")
    able = [each for each in workers.alive() if each.beat.app_name == app_name]
    if one.incarnation is not None:
        able = [each for each in able if each.beat.incarnation == one.incarnation]
        if not able:
            return False
    return now - since >= _BEATEN_TWICE and all(
        each.tells_all and each.heard_at - since >= _BEATEN_TWICE for each in able
    )


def held_until(one: InQueue, workers: Workers, now: float) -> float:
    """Until when a sign of loss is known to have held. What a living process does not name it did not have at its last
    beat; since then it may have taken it.
    """
    process = workers.process(one.incarnation or "")
    if process is None or workers.fate(process.beat.incarnation) is not Fate.ALIVE:
        return now
    return process.heard_at


def taken_by(one: InQueue, said: Sequence[Entry]) -> Taking | None:
    """Who has an execution, as its status box tells; None when nobody does."""
    taking: Taking | None = None
    for entry in said:
        word = entry.message
        sending = word.get("sending")
        if isinstance(sending, int) and sending < one.sending:
            continue
        standing, who = word.get("status"), word.get("incarnation")
        if standing in (Standing.ACCEPTED, Standing.RUNNING, Standing.PROGRESS) and isinstance(who, str):
            running = standing != Standing.ACCEPTED
            taking = Taking(one.id, f"{WORKER}{word.get('workerId', '')}", who, running)
        elif standing == Standing.RETURNED:
            taking = None
    return taking
