"""Killing an execution: its row is closed first, in one transaction, and then its executor is told.

In this order nothing an executor still reports can turn what was killed into a success, and no transaction is open
while an executor takes its time over the answer. What was killed is not tried again, and no child follows it.

What was offered in a queue is called off: every executor of queues is told, and who takes its message later does not
begin. Our executors end the one execution that is named. The protocol of the others names only the job, and they end
all of it: so everything open of that job at that address is closed as well. An executor that cannot be told may go on;
its result is counted and not applied. Killing again tells one of ours again.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from orth.clock import Clock
from orth.coordinator.finishing import Finished, finish, tell
from orth.coordinator.letters import Peer
from orth.coordinator.offering import Offering
from orth.domain import reasons
from orth.domain.audit import Actor, Deed
from orth.domain.executions import FAILURE, SUCCESS, Execution, Phase
from orth.domain.jobs import GroupDialect
from orth.domain.nodes import normal_address
from orth.errors import Conflict, NotFound, OrthError
from orth.events import Events
from orth.store.audit import record
from orth.store.database import Connection, Database
from orth.store.executions import Ending, find_execution
from orth.store.executor_entries import list_executors
from orth.store.groups import groups_by_id
from orth.store.killing import hold_executions, open_at_executors, sent_of_job
from orth.wire.executor_link import ExecutorLink
from orth.wire.messages import Extension

UNSENT = "killed before it was sent"


@dataclass(frozen=True, slots=True)
class Closed:
    """An execution whose row is closed, and what else was closed with it."""

    execution: Execution
    finished: list[Finished]
    peer: Peer | None
    """Who is to be told; None when it was sent to nobody."""
    on_its_way: bool
    """Whether its trigger may reach the executor after the kill does."""


@dataclass(frozen=True, slots=True)
class Killed:
    """What came of a kill: whether the executor was told, and all of that in a sentence."""

    closed: Closed
    told: bool
    message: str


class Killing:
    """Kills executions, on whichever coordinator is asked."""

    def __init__(
        self,
        db: Database,
        link: ExecutorLink,
        clock: Clock,
        events: Events,
        *,
        token: str,
        offering: Offering | None = None,
    ) -> None:
        self._offering = offering
        self._db = db
        self._link = link
        self._clock = clock
        self.events = events
        self._token = token

    async def kill(self, execution_id: int, actor: Actor) -> Killed:
        closed: Closed = await self._db.tx(_kill, execution_id, actor, self._clock.now())
        tell(self.events, closed.finished)
        if closed.peer is None:
            return Killed(closed, False, "It had not been sent to anybody.")
        trouble = await self.ask_to_end(closed.execution, closed.peer)
        return Killed(closed, trouble is None, _message(closed, closed.peer, trouble))

    async def tell_again(self, closed: Closed, after: float) -> None:
        """Tell once more, when the trigger that was on its way has arrived or never will."""
        if closed.peer is not None:
            await self._clock.sleep_unless(asyncio.Event(), after)
            await self.ask_to_end(closed.execution, closed.peer)

    async def ask_to_end(self, execution: Execution, peer: Peer) -> str | None:
        """Ask the executor to end it; why that did not work, if so."""
        if execution.queue is not None:
            return "no channels are open here" if self._offering is None else await self._offering.cancel(execution)
        try:
            reply = await self._link.kill(
                peer.address,
                execution.job_id,
                execution.id if _names_one(peer) else None,
                token=self._token,
                app_name=peer.app_name,
                extensions=peer.extensions,
                dialect=peer.dialect,
            )
        except OrthError as error:
            return error.message
        return None if reply.ok else f"it answered: {reply.msg or reply.code}"


def _kill(connection: Connection, execution_id: int, actor: Actor, now: int) -> Closed:
    closed = close(connection, execution_id, actor.name, now)
    tell_of_kill(connection, actor, [closed], now)
    return closed


def tell_of_kill(connection: Connection, actor: Actor, closed: Sequence[Closed], now: int) -> None:
    """Tell the audit of what somebody has ended, in one entry."""
    ended = sorted({finished.execution.id for one in closed for finished in one.finished})
    if not ended:
        return
    groups = {one.execution.job_group for one in closed}
    named = str(ended[0]) if len(closed) == 1 else ""
    group = groups.pop() if len(groups) == 1 else None
    record(connection, actor, Deed("execution.kill", "execution", named, group, after={"ended": ended}), now)


def close(connection: Connection, execution_id: int, user: str, now: int) -> Closed:
    """Close the row of an execution, and of what its executor will end together with it."""
    seen = find_execution(connection, execution_id)
    held = _hold(connection, seen) if seen else {}
    if seen and execution_id in held and held[execution_id].executor_address != seen.executor_address:
        held |= _hold(connection, held[execution_id])  # it was sent meanwhile, and now nobody can send it on
    one = held.get(execution_id)
    if one is None:
        raise NotFound("execution", execution_id)
    peer = find_peer(connection, one)
    if one.phase is Phase.ENDED:
        if one.reason_code == reasons.KILLED and peer is not None and _names_one(peer):
            return Closed(one, [], peer, on_its_way=False)
        raise Conflict.of("execution_ended", execution=one.id, tag=one.tag)
    together = [one] if peer is None or _names_one(peer) else [each for each in held.values() if _is_at(each, peer)]
    finished = finish(connection, [_ending(each, one, user) for each in together], now)
    (ended,) = (each.execution for each in finished if each.execution.id == one.id)
    return Closed(ended, finished, peer, on_its_way=one.phase is Phase.DISPATCHING)


def _hold(connection: Connection, execution: Execution) -> dict[int, Execution]:
    """Keep an execution as it is, and the others of its job that its executor may end together with it."""
    peer = find_peer(connection, execution)
    alone = peer is None or _names_one(peer) or execution.phase is Phase.ENDED
    others = set() if alone else open_at_executors(connection, execution.job_id)
    return hold_executions(connection, {execution.id, *others})


def _is_at(execution: Execution, peer: Peer) -> bool:
    is_sent = execution.phase not in (Phase.OPENED, Phase.ENDED)
    return is_sent and normal_address(execution.executor_address or "") == peer.key


def _ending(one: Execution, asked: Execution, user: str) -> Ending:
    if one.phase in (Phase.OPENED, Phase.OFFERED):
        return Ending(
            execution_id=one.id,
            trigger_code=FAILURE,
            trigger_msg=UNSENT,
            reason_code=reasons.KILLED,
            confirmed=one.phase is Phase.OPENED,
        )
    message = f"Killed by {user}"
    if one.id != asked.id:
        message += f", together with execution {asked.id}: its executor can end a job only as a whole"
    return Ending(
        execution_id=one.id,
        trigger_code=SUCCESS,
        handle_code=FAILURE,
        handle_msg=message,
        reason_code=reasons.KILLED,
        confirmed=False,
    )


def ended_together(connection: Connection, execution: Execution, peer: Peer) -> list[Execution]:
    """What else its executor ends when it is told to end the execution."""
    if _names_one(peer):
        return []
    sent = sent_of_job(connection, execution.job_id)
    return [each for each in sent if each.id != execution.id and _is_at(each, peer)]


def find_peer(connection: Connection, execution: Execution) -> Peer | None:
    """Who has the execution, or may have it."""
    if execution.queue is not None:
        whoever = execution.executor_address or f"whoever takes from {execution.queue}"
        return Peer(whoever, "", execution.incarnation, frozenset[str]({Extension.KILL_EXECUTION}))
    if execution.executor_address is None or execution.phase is Phase.OPENED:
        return None
    group = groups_by_id(connection, {execution.job_group}).get(execution.job_group)
    key = normal_address(execution.executor_address)
    entries = list_executors(connection, group.app_name) if group else []
    entry = next((one for one in entries if normal_address(one.address) == key), None)
    # One that has left the registry but has an incarnation is ours.
    ours = frozenset[str]({Extension.KILL_EXECUTION} if execution.incarnation else ())
    return Peer(
        execution.executor_address,
        group.app_name if group else "",
        execution.incarnation,
        entry.extensions if entry else ours,
        group.dialect if group else GroupDialect.AUTO,
    )


def _names_one(peer: Peer) -> bool:
    """Whether it can be told to end one execution and leave the others of the job."""
    ours = peer.dialect in (GroupDialect.AUTO, GroupDialect.ORTH)
    return ours and Extension.KILL_EXECUTION in peer.extensions


def may_start_yet(closed: Closed) -> bool:
    """Whether it is worth telling again. Never to those who would end what was sent since as well."""
    return closed.on_its_way and closed.peer is not None and _names_one(closed.peer)


def _message(closed: Closed, peer: Peer, trouble: str | None) -> str:
    what = f"execution {closed.execution.id}"
    if not _names_one(peer):
        count = len(closed.finished)
        what = f"all of job {closed.execution.job_id}, of which {count} {'was' if count == 1 else 'were'} open there"
    if trouble is None:
        return f"{peer.address} was told to end {what}."
    return f"{peer.address} could not be told to end {what}, and may still be working: {trouble.rstrip('.')}."
