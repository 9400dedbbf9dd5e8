"""Which executions are sent, and to whom: the part of dispatch that happens inside a transaction.

``Routes`` reads once what a batch of executions needs (jobs, groups, executors, what was used before), addresses them
one after the other with ``routing``, and writes the memory back. It decides one of these about an execution: a
``Letter``, or an ``Offer`` if its job has a queue; a ``Refusal``, which ends it; a ``Wait``, because its executor must
not or cannot take it now; or ``None``, when it may start only later and nobody would hold it.

A unit may be repeated by the database, so nothing here changes anything outside its connection.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from orth.coordinator.group_bounds import Refusal, code_refused, moved_away, strangers_refused
from orth.coordinator.letters import Letter, Offer, Peer, drafted, may_be_held, queue_on_wire
from orth.coordinator.posting import Standing, room_for
from orth.coordinator.routing import ASKING, COUNTING, LOOKING_BACK, Load, Question, Use, eligible, route
from orth.domain import reasons
from orth.domain.executions import Execution
from orth.domain.job_secrets import travels_safely
from orth.domain.jobs import AddressType, BlockStrategy, Group, GroupDialect, Job, RouteStrategy, TriggerCause
from orth.domain.nodes import ExecutorEntry, in_turns, normal_address, taking_work, undrained
from orth.domain.overlap import (
    BusyJobs,
    Candidate,
    Discard,
    Key,
    Later,
    Only,
    is_guarded,
    key_of,
    may_be_released,
    may_move,
    position_of,
    room_of,
    where,
)
from orth.domain.selectors import parse_selector
from orth.errors import Invalid
from orth.store.database import Connection
from orth.store.dispatching import take_ahead, take_due, take_these
from orth.store.executor_entries import list_executors
from orth.store.groups import groups_by_id
from orth.store.jobs import jobs_by_id, unreadable_jobs
from orth.store.possibly_running import longest_waiting, possibly_running, usual_durations
from orth.store.routes import (
    Memory,
    keep_route_memory,
    keep_route_numbers,
    open_at_addresses,
    route_memory,
    route_numbers,
)
from orth.store.script_drafts import drafts_of
from orth.store.secrets import secrets_of_jobs
from orth.wire.messages import Extension

_LOOK_AGAIN = 1_000  # ms; an executor that was full or left alone is often neither by then
_OURS = frozenset[str](
    {
        Extension.APP_NAME,
        Extension.SOURCE_DIGEST,
        Extension.REPORT_KEY,
        Extension.RUN_KEY,
        Extension.LOG_LEVEL,
        Extension.OVERLAP,
    }
)
_SECRETS = frozenset[str]({Extension.SECRETS, Extension.SIGNED})
MEASURED_FOR = 2 * 3_600_000
"""ms of the past that say how long executions of a job take."""
_RELEASED_AT_ONCE = 500
_NAMED = 3
"""Addresses named in a message; the others are counted."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Why an execution is not sent yet, and when to look again; None: when others of its job have ended."""

    code: str
    message: str
    until: int | None


@dataclass(frozen=True, slots=True)
class QueueOutlook:
    """Whether anything can be offered: the channels are open, and how much waits in each place already."""

    away: str = "no channels are open here"
    """Why not; empty when it can."""
    waiting: Mapping[tuple[str, int], int] = field(default_factory=dict)
    limit: int = 20_000


@dataclass(frozen=True, slots=True)
class Outlook:
    """What this coordinator knows beside the database, as it was when the transaction began."""

    avoid: Callable[[Sequence[str]], tuple[str, ...]]
    pick: Callable[[int], int]
    standing: Standing = field(default_factory=Standing)
    queues: QueueOutlook = field(default_factory=QueueOutlook)
    plain_secrets: bool = False
    """Whether secrets may go to other machines unencrypted."""
    settling_until: int = 0
    """Until then this coordinator has just come up, and perhaps the executors come up with it."""
    plan_ahead: int = 0
    """How many ms before it is due a fire is planned."""


@dataclass(frozen=True, slots=True)
class _Case:
    """An execution with what it belongs to."""

    execution: Execution
    job: Job
    source: Job
    group: Group
    epoch: int
    tried: tuple[str, ...]


class Routes:
    """Addresses the executions of one transaction."""

    def __init__(
        self,
        connection: Connection,
        executions: Sequence[Execution],
        outlook: Outlook,
        now: int,
        *,
        unsent: bool = False,
    ) -> None:
        """``unsent``: these were addressed before, and surely did not get there."""
        self._connection = connection
        self._outlook = outlook
        self._now = now
        job_ids = {execution.job_id for execution in executions}
        self._jobs = jobs_by_id(connection, job_ids)
        self._unreadable = unreadable_jobs(connection, job_ids - self._jobs.keys())
        supers = {job.super_task_id for job in self._jobs.values() if _has_super(job)} - self._jobs.keys()
        self._sources = self._jobs | (jobs_by_id(connection, supers) if supers else {})
        self._groups = groups_by_id(connection, {execution.job_group for execution in executions})
        self._entries = {
            group.app_name: _by_address(list_executors(connection, group.app_name)) for group in self._groups.values()
        }
        self._secrets = secrets_of_jobs(connection, self._jobs.values())
        self._drafts = drafts_of(connection, [execution.id for execution in executions if execution.is_test])
        self._peers: dict[tuple[str, str], Peer] = {}
        self._lists: dict[tuple[int, str], tuple[str, ...] | Refusal] = {}
        self._usable: dict[tuple[str, ...], tuple[str, ...]] = {}
        self._before = _Remembered.read(connection, self._jobs.values())
        self._remembered = self._before.copy()
        self._held = Counter(outlook.standing.held)
        self._total = self._held.total()
        self._open = self._opened() if any(map(_looks_at_load, self._jobs.values())) else Counter[str]()
        self._offered: Counter[tuple[str, int]] = Counter()
        self._busy = self._possibly_running(executions, unsent=unsent)
        self._durations = self._durations_of_busy(executions)
        self.covering: list[Execution] = []
        """Executions for a queue whose block strategy ends those before them."""

    def _possibly_running(self, executions: Sequence[Execution], *, unsent: bool) -> BusyJobs:
        """What may be running of the jobs, besides what is decided about now; read at once for all of them."""
        guarded = {one.id for one in self._jobs.values() if is_guarded(one)}
        if not guarded:
            return BusyJobs()
        waits = (unsent or one.reason_code == reasons.BUSY_ELSEWHERE or self._is_ahead(one) for one in executions)
        besides = [one.id for one, counts in zip(executions, waits, strict=True) if counts]
        return BusyJobs(possibly_running(self._connection, guarded, self._now, besides))

    def _durations_of_busy(self, executions: Sequence[Execution]) -> dict[int, float]:
        """How long executions take of jobs that are busy or have several to decide about."""
        several = (job_id for job_id, count in Counter(one.job_id for one in executions).items() if count > 1)
        busy = self._jobs.keys() & {*self._busy.job_ids, *several}
        return usual_durations(self._connection, busy, self._now - MEASURED_FOR) if busy else {}

    def save(self) -> None:
        """Write what the strategies remember."""
        keep_route_numbers(self._connection, self._remembered.numbers, self._before.numbers)
        keep_route_memory(self._connection, self._remembered.uses, self._before.uses)

    def address(
        self, execution: Execution, epoch: int, tried: tuple[str, ...] = ()
    ) -> Letter | Offer | Refusal | Wait | None:
        """What to do with an execution; ``tried`` are addresses that did not get it."""
        job, group = self._jobs.get(execution.job_id), self._groups.get(execution.job_group)
        if execution.job_id in self._unreadable:
            return Refusal(reasons.JOB_UNREADABLE, f"The job cannot be read: {self._unreadable[execution.job_id]}.")
        if group is not None and group.unreadable:
            told = f"The group {group.app_name!r} cannot be read: {group.unreadable}."
            return Refusal(reasons.GROUP_UNREADABLE, f"{told} Upgrade this coordinator, or write the group again.")
        if job is None or group is None:
            return Refusal(reasons.DELETED, "The job or its group was deleted before this execution was sent.")
        source = moved_away(job, group) or self._source(execution, job, group)
        if isinstance(source, Refusal):
            return source
        case = _Case(execution, job, source, group, epoch, tried)
        if job.executor_queue and not execution.addresses:
            return self._offer(case)
        listed = self._choice(case)
        if isinstance(listed, Refusal):
            if listed.code != reasons.NOT_SENT and isinstance(blocked := self._guarded(case, ()), Refusal | Wait):
                return None if self._is_ahead(execution) else blocked
            return self._wait_for_executors(case, listed) or listed
        match self._guarded(case, listed):
            case Only(address):
                return None if self._moves(case, listed, address) else self._letter(case, (address,), asks=False)
            case Refusal() | Wait() as blocked:
                return None if self._is_ahead(execution) else blocked
        usable = self._worth_trying(listed)
        if not usable:
            message = f"{_some(listed)} failed too often and is left alone for a while."
            return Wait(reasons.CIRCUIT_OPEN, message, self._now + _LOOK_AGAIN)
        return self._letter(case, usable)

    def _guarded(self, case: _Case, listed: tuple[str, ...]) -> Only | Refusal | Wait | None:
        """What follows from other executions of the job that may be running; None when there are none."""
        job, execution = case.job, case.execution
        if not is_guarded(job) or execution.is_test:
            return None
        key, position = key_of(execution), position_of(execution)
        asks, duration = job.executor_route_strategy in ASKING, self._durations.get(job.id)
        busy = self._busy.seen_by(key, released=execution.reason_code == reasons.BUSY_ELSEWHERE)
        decided = where(job, Candidate(position, self._now, listed, asks, duration), busy)
        if isinstance(decided, Only) and len(listed) > 1 and decided.address not in self._worth_trying(listed):
            decided = Later(f"Executions of the job had to go to {decided.address}, which could not be reached.")
        match decided:
            case Only():
                return decided
            case Discard(message):
                return Refusal(reasons.DISCARDED, message)
            case Later(message):
                self._busy.of(key).block(position)
                return Wait(reasons.BUSY_ELSEWHERE, message, None)
        return None

    def _moves(self, case: _Case, listed: tuple[str, ...], address: str) -> bool:
        """Whether a fire is not sent ahead to where its job is, because it would go elsewhere when it is due."""
        if not self._is_ahead(case.execution) or len(listed) < 2:
            return False
        if not may_move(case.job.id, case.execution.not_before or 0, self._outlook.plan_ahead):
            return False
        usable = self._worth_trying(listed)
        return bool(usable) and route(case.job.executor_route_strategy, self._question(case, usable)) != address

    def _occupy(self, case: _Case, address: str | None) -> None:
        """From now on it may be running there."""
        execution = case.execution
        if is_guarded(case.job) and not execution.is_test:
            not_until = execution.not_before if self._is_ahead(execution) else None
            self._busy.of(key_of(execution)).occupy(address, not_until or 0)

    def _is_ahead(self, execution: Execution) -> bool:
        return (execution.not_before or 0) > self._now

    def _wait_for_executors(self, case: _Case, refusal: Refusal) -> Wait | None:
        """Whether to wait for somebody to register: after a start of everything, and where nobody waits for an answer.
        Otherwise what fell due while everything was down would fail for want of executors that come a moment later.
        """
        patient = case.execution.cause not in (TriggerCause.MANUAL, TriggerCause.API)
        if refusal.code != reasons.NO_EXECUTOR or not patient or self._now >= self._outlook.settling_until:
            return None
        told = f'No executor of app "{case.group.app_name}" has registered yet, and this coordinator has just come up.'
        return Wait(reasons.NO_EXECUTOR, told, min(self._now + _LOOK_AGAIN, self._outlook.settling_until))

    def _source(self, execution: Execution, job: Job, group: Group) -> Job | Refusal:
        """The job whose handler or code is run, unless that must not be."""
        source = self._sources.get(job.super_task_id) if _has_super(job) else job
        if execution.is_test:
            draft = self._drafts.get(execution.id)
            if draft is None:
                return Refusal(reasons.DELETED, "The code that was to be tried is gone.")
            source = drafted(job, draft)
        if source is None:
            missing = f"The job runs the handler of job {job.super_task_id}, which does not exist or cannot be read."
            return Refusal(reasons.SUPER_TASK_MISSING, f"{missing} Choose another super task.")
        return code_refused(execution, source, group) or source

    def _choice(self, case: _Case) -> tuple[str, ...] | Refusal:
        """The addresses it may go to, whatever their state; never none."""
        strange = strangers_refused(case.execution, case.job, case.group, self._entries[case.group.app_name].values())
        listed = strange or case.execution.addresses or self._listed(case.job, case.group)
        if isinstance(listed, Refusal):
            return listed
        if case.execution.is_test:
            able = tuple(one for one in listed if Extension.DRAFTS in self._peer(case.group, one).extensions)
            if not able:
                told = f"None of these runs a test beside its job: {_some(listed)}."
                return Refusal(reasons.NO_TEST_EXECUTOR, f"{told} Executors of this version of Orth do.")
            listed = able
        if case.job.secrets:
            trusted = tuple(one for one in listed if self._may_have_secrets(self._peer(case.group, one)))
            if not trusted:
                told = f"The job has secrets, and none of these may get them: {_some(listed)}."
                hint = "An executor of this version of Orth does, over https or on this machine."
                return Refusal(reasons.NO_SECRET_EXECUTOR, f"{told} {hint}")
            listed = trusted
        if case.tried:
            listed = tuple(address for address in listed if normal_address(address) not in case.tried)
        return listed or Refusal(reasons.NOT_SENT, f"None of these could be reached: {_some(case.tried)}.")

    def _may_have_secrets(self, peer: Peer) -> bool:
        """Whether an executor hides secrets in its logs, and proved a key that only this process has."""
        ours = peer.dialect in (GroupDialect.AUTO, GroupDialect.ORTH) and peer.extensions >= _SECRETS
        return ours and peer.has_own_key and (self._outlook.plain_secrets or travels_safely(peer.address))

    def _letter(self, case: _Case, usable: tuple[str, ...], *, asks: bool = True) -> Letter | Wait | None:
        execution, job, strategy = case.execution, case.job, case.job.executor_route_strategy
        chosen = route(strategy, self._question(case, usable))
        assert chosen is not None, "somebody is usable"
        peer = self._peer(case.group, chosen)
        ahead = self._is_ahead(execution)
        # Who is idle now may not be idle then.
        if ahead and (strategy is RouteStrategy.BUSYOVER or not may_be_held(job, peer)):
            return None
        if room_for(peer.key, peer.can_be_asked, self._outlook.standing, self._held, self._total) <= 0:
            return Wait(reasons.PEER_FULL, f"{peer.address} has enough to take.", self._now + _LOOK_AGAIN)
        self._count(job, peer)
        self._occupy(case, peer.address)
        asks = asks and strategy in ASKING
        asked = in_turns(usable) if asks and _in_shares(case) else usable if asks else ()
        others = tuple(self._peer(case.group, address) for address in asked if address != chosen)
        if ahead:  # whoever is asked instead must hold it as well
            others = tuple(other for other in others if may_be_held(job, other))
        secrets = self._secrets.get(job.id, ())
        return Letter(execution, job, case.source, peer, case.epoch, asks, others, case.tried, secrets)

    def _offer(self, case: _Case) -> Offer | Refusal | Wait | None:
        execution, job, outlook = case.execution, case.job, self._outlook.queues
        if job.secrets:
            told = "The job has secrets, which are not put into a queue: they would lie there for others to read."
            return Refusal(reasons.SECRETS_NOT_QUEUED, f"{told} Take away its queue, or its secrets.")
        if self._is_ahead(execution):
            return None  # nobody knows how long a message waits
        if isinstance(blocked := self._guarded(case, ()), Refusal | Wait):
            if job.executor_block_strategy is BlockStrategy.COVER_EARLY:
                self.covering.append(execution)
            return blocked
        if outlook.away:
            told = f"It cannot be offered in a queue: {outlook.away}."
            return Wait(reasons.CHANNELS_AWAY, told, self._now + _LOOK_AGAIN)
        place = queue_on_wire(case.group.app_name, job.executor_queue), job.priority
        if outlook.waiting.get(place, 0) + self._offered[place] >= outlook.limit:
            return Wait(reasons.QUEUE_FULL, f"{place[0]} has enough waiting.", self._now + _LOOK_AGAIN)
        self._offered[place] += 1
        self._occupy(case, None)
        peer = Peer("", case.group.app_name, extensions=_OURS)
        # Clocks may be set back; the number of an offer only grows.
        sending = max(self._now, (execution.offered_at or 0) + 1)
        return Offer(Letter(execution, job, case.source, peer, case.epoch), *place, sending)

    def _listed(self, job: Job, group: Group) -> tuple[str, ...] | Refusal:
        """The group's addresses that the job may use, whatever their state."""
        key = (group.id, job.label_selector)
        if key not in self._lists:
            self._lists[key] = self._selected(job, group)
        return self._lists[key]

    def _selected(self, job: Job, group: Group) -> tuple[str, ...] | Refusal:
        if not group.addresses:
            return Refusal(
                reasons.NO_EXECUTOR,
                f'No executor is registered for app "{group.app_name}". '
                f"Start one (orth executor FILE --app-name {group.app_name}) or give the group addresses.",
            )
        try:
            selector = parse_selector(job.label_selector)
        except Invalid as error:
            return Refusal(reasons.BAD_SELECTOR, str(error))
        entries = self._entries[group.app_name]
        labels = {address: entry.known_labels for address, entry in entries.items()}
        fit = eligible(group.addresses, selector, labels)
        if not fit:
            return Refusal(
                reasons.NO_MATCHING_EXECUTOR,
                f'None of the {len(group.addresses)} executors of app "{group.app_name}" has the labels '
                f"{job.label_selector!r}. Start one that has, or change the job's label_selector.",
            )
        return undrained(fit, entries.values()) or Refusal(
            reasons.ALL_DRAINED, f"Drained, so nothing new is sent there: {_some(fit)}. Resume one, or start another."
        )

    def _worth_trying(self, listed: tuple[str, ...]) -> tuple[str, ...]:
        """Without those that cannot be reached or are left alone; and, if others remain, without those that say with
        their beats that they take no work.
        """
        if listed not in self._usable:
            usable = self._outlook.avoid(listed)
            usable = taking_work(usable, chain.from_iterable(here.values() for here in self._entries.values()))
            if self._outlook.standing.open:
                usable = tuple(address for address in usable if not self._left_alone(normal_address(address)))
            self._usable[listed] = usable
        return self._usable[listed]

    def _left_alone(self, key: str) -> bool:
        """Whether its circuit is open, and the process there still the one that failed."""
        failed = self._outlook.standing.open
        entries = (here[key] for here in self._entries.values() if key in here)
        return key in failed and all(entry.incarnation == failed[key] for entry in entries)

    def _question(self, case: _Case, usable: tuple[str, ...]) -> Question:
        job = case.job
        memory: Mapping[str, Use] = {}
        if job.executor_route_strategy in LOOKING_BACK:
            uses = self._remembered.uses.get(job.id, {})
            memory = {address: Use(*uses[address]) for address in usable if address in uses}
        load = self._load(case.group.app_name, usable) if _looks_at_load(job) else {}
        number = self._remembered.numbers.get(job.id, 0)
        return Question(job.id, usable, number, self._outlook.pick, memory, load, shared=_in_shares(case))

    def _load(self, app_name: str, addresses: Sequence[str]) -> dict[str, Load]:
        here = self._entries.get(app_name, {})
        loads: dict[str, Load] = {}
        for address in addresses:
            key = normal_address(address)
            entry = here.get(key)
            stuck = entry.vitals.abandoned if entry is not None and entry.vitals is not None else 0
            announced = entry.load or 0 if entry is not None else 0
            loads[address] = Load(self._open[key] + stuck, announced)
        return loads

    def _opened(self) -> Counter[str]:
        """How much is open at each address, without what a process had that is there no more."""
        present = {key: entry.incarnation for here in self._entries.values() for key, entry in here.items()}
        found: Counter[str] = Counter()
        for (address, incarnation), count in open_at_addresses(self._connection).items():
            key = normal_address(address)
            if incarnation is None or incarnation == present.get(key, incarnation):
                found[key] += count
        return found

    def _count(self, job: Job, peer: Peer) -> None:
        """Remember that an execution of ``job`` goes to ``peer``."""
        self._held[peer.key] += 1
        self._open[peer.key] += 1
        self._total += 1
        if job.executor_route_strategy in COUNTING:
            self._remembered.count(job.id)
        elif job.executor_route_strategy in LOOKING_BACK:
            group = self._groups.get(job.job_group)
            self._remembered.use(job.id, peer.address, frozenset(group.addresses) if group else frozenset())

    def _peer(self, group: Group, address: str) -> Peer:
        key = (group.app_name, address)
        if key not in self._peers:
            entry = self._entries[group.app_name].get(normal_address(address))
            incarnation, extensions = (entry.incarnation, entry.extensions) if entry else (None, frozenset[str]())
            own_key = entry is not None and entry.work_key is not None
            self._peers[key] = Peer(address, group.app_name, incarnation, extensions, group.dialect, own_key)
        return self._peers[key]


@dataclass(frozen=True, slots=True)
class Taken:
    """The executions to decide about now, locked."""

    executions: Sequence[Execution]
    ahead_after: int
    """The last of those that must not start yet."""
    waiting: frozenset[int] = frozenset()
    """Of the jobs that were looked at, those of which executions wait until others have ended."""


def take(connection: Connection, looked_at: frozenset[int], ahead_after: int, limit: int, now: int) -> Taken:
    """Take executions that are to be sent: those of the jobs ``looked_at`` that wait for others and for which there is
    room now, what is due, and what was planned ahead with ids above ``ahead_after``.
    """
    waiting, room = _room_for_waiting(connection, looked_at, now) if looked_at else (frozenset[int](), {})
    released = take_these(connection, longest_waiting(connection, room)[:limit]) if room else []
    due = take_due(connection, now, limit - len(released)) if len(released) < limit else []
    left = limit - len(released) - len(due)
    ahead = take_ahead(connection, now, ahead_after, left) if left else []
    return Taken([*released, *due, *ahead], ahead[-1].id if ahead else ahead_after, waiting)


def _room_for_waiting(
    connection: Connection, job_ids: frozenset[int], now: int
) -> tuple[frozenset[int], dict[Key, int]]:
    """The jobs of which executions wait for others, and for how many there is room."""
    jobs = jobs_by_id(connection, job_ids)
    took = usual_durations(connection, job_ids, now - MEASURED_FOR)
    busy = BusyJobs(possibly_running(connection, job_ids, now))
    waiting = busy.waiting()
    room: dict[Key, int] = {}
    for key in waiting:
        job = jobs.get(key[0])
        guarded = job is not None and is_guarded(job)
        most = room_of(job, took.get(job.id)) if job is not None and guarded else _RELEASED_AT_ONCE
        room[key] = may_be_released(busy.seen_by(key), most) if guarded else most
    return frozenset(job_id for job_id, _shard in waiting), {key: count for key, count in room.items() if count}


@dataclass(slots=True)
class _Remembered:
    """What the strategies know about the past of each job."""

    numbers: dict[int, int]
    uses: Memory

    @classmethod
    def read(cls, connection: Connection, jobs: Iterable[Job]) -> "_Remembered":
        listed = list(jobs)
        counting = [job.id for job in listed if job.executor_route_strategy in COUNTING]
        looking_back = [job.id for job in listed if job.executor_route_strategy in LOOKING_BACK]
        return cls(route_numbers(connection, counting), route_memory(connection, looking_back))

    def copy(self) -> "_Remembered":
        return _Remembered(dict(self.numbers), {job: dict(uses) for job, uses in self.uses.items()})

    def count(self, job_id: int) -> None:
        self.numbers[job_id] = self.numbers.get(job_id, 0) + 1

    def use(self, job_id: int, address: str, listed: frozenset[str]) -> None:
        """Note a use and forget addresses that are ``listed`` no more."""
        kept = {one: use for one, use in self.uses.get(job_id, {}).items() if one in listed}
        fewest = min((use[0] for use in kept.values()), default=0)
        number = 1 + max((use[1] for use in kept.values()), default=0)
        self.uses[job_id] = kept | {address: (kept.get(address, (fewest, 0))[0] + 1, number)}


def _in_shares(case: _Case) -> bool:
    """Whether its addresses registered themselves, so that those of one host and port have one share."""
    return case.group.address_type is AddressType.AUTO and not case.execution.addresses


def _looks_at_load(job: Job) -> bool:
    return job.executor_route_strategy is RouteStrategy.LEAST_LOADED


def _has_super(job: Job) -> bool:
    return job.super_task_id not in (0, job.id)


def _by_address(entries: Iterable[ExecutorEntry]) -> dict[str, ExecutorEntry]:
    return {normal_address(entry.address): entry for entry in entries}


def _some(addresses: Sequence[str]) -> str:
    more = f" and {len(addresses) - _NAMED} more" if len(addresses) > _NAMED else ""
    return ", ".join(addresses[:_NAMED]) + more
