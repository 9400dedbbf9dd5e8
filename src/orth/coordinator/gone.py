"""What a process held until its time and took with it when it died is sent again: the GoneExecutors loop.

A trigger sent ahead waits at its executor. When that process is gone before the instant has come, the trigger surely
did not start, and nobody else has it: it waits for dispatch again and is routed as any other. Being gone must be
certain, because a trigger that starts twice is worse than one that starts never. Doubt about an address, or another
incarnation in the registry, is only the occasion to ask at that address. What counts is the answer:

* the machine says that nobody listens on the port. An executor that stops keeps its port until it has settled what it
  holds, so this one did not get that far, or has nothing left;
* another process answers, and says that it never had the execution. It is asked about each one: the registry may have
  been behind when it was sent, and then the successor has it.

Silence is not an answer, nor is a machine that cannot be reached: a process that is frozen or cut off will start what
it holds. Only what this node sent is looked at, so the clock that said how long to wait is the one that judges it.
"""

import asyncio
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import timedelta

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.coordinator.facts import ExecutionsReopened
from orth.coordinator.reach import Reach
from orth.domain import reasons
from orth.domain.executions import Execution
from orth.domain.nodes import normal_address
from orth.errors import OrthError
from orth.events import Events
from orth.loop import Loop
from orth.store.ahead import Holder, list_holders, list_sent_ahead, reopen_unstarted
from orth.store.database import Connection, Database
from orth.store.executor_entries import incarnations_at
from orth.store.groups import groups_by_id
from orth.store.leases import Term
from orth.store.notes import Note, add_notes
from orth.wire.executor_link import ExecutorLink, NotSent
from orth.wire.fields import BATCH_LIMIT
from orth.wire.messages import NEVER_HAD, Extension, RunRequest

_LOOK_EVERY = 0.5
_TERMS = 8
_NOTHING_AHEAD = 3600.0  # nothing is sent ahead of its time
_MARGIN = 100
"""Milliseconds that must be left: what a clock may have been corrected by since the trigger was sent."""
_NOBODY = "nobody"
"""Asked for with this incarnation, which no process has, an execution is never taken: the answer says who has it."""


@dataclass(frozen=True, slots=True)
class _Lost:
    """Executions that died with their holder, and at which instant that was known."""

    holder: Holder
    ids: tuple[int, ...]
    known_at: int
    why: str


class GoneExecutors(LeaderLoop):
    """Sends again what was held by processes that are gone."""

    def __init__(
        self,
        db: Database,
        election: Election,
        link: ExecutorLink,
        reach: Reach,
        clock: Clock,
        events: Events,
        *,
        node_id: str,
        token: str,
        ahead: timedelta,
        dispatch: Loop,
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._link = link
        self._reach = reach
        self._node_id = node_id
        self._token = token
        self._pause = _LOOK_EVERY if ahead else _NOTHING_AHEAD
        self._dispatch = dispatch
        self._terms: deque[int] = deque(maxlen=_TERMS)
        """Those of this node: what it sent in an earlier one, it sent by the same clock."""
        if ahead:
            reach.wakes.append(self)

    async def lead(self, term: Term) -> float:
        if term.epoch not in self._terms:
            self._terms.append(term.epoch)
        doubted = frozenset(self._reach.suspects())
        held = await self._db.read(_doubtful, tuple(self._terms), self.clock.now() + _MARGIN, doubted)
        questions = (self._ask(holder, app_name, some) for (holder, app_name), some in held.items())
        lost = [one for one in await asyncio.gather(*questions) if one is not None]
        counts = await self._db.leader_tx(term, self._reopen, lost, self.clock.now()) if lost else []
        if not any(counts):
            return self._pause
        for one, count in zip(lost, counts, strict=True):
            self.events.emit(ExecutionsReopened(one.holder.address, count, one.why))
        self._dispatch.wake()
        return 0.0

    async def _ask(self, holder: Holder, app_name: str, held: Sequence[Execution]) -> _Lost | None:
        """Ask whoever is at the address which of these are surely not there, the process that took them being gone."""
        requests = [
            RunRequest(job_id=one.job_id, log_id=one.id, log_date_time=one.trigger_time, resend_to=_NOBODY)
            for one in held
        ]
        extensions = frozenset({Extension.RESEND, Extension.BATCH_RUN})
        try:
            answers = await self._link.run_all(
                holder.address, requests, token=self._token, app_name=app_name, extensions=extensions
            )
        except NotSent as error:
            if not error.nobody_listens:
                return None
            ids, why = tuple(one.id for one in held), "nobody listens there any more"
        except OrthError:
            return None
        else:
            said = [(one.id, answer.msg or "") for one, answer in zip(held, answers, strict=True) if answer is not None]
            ids = tuple(one for one, text in said if NEVER_HAD in text and holder.incarnation not in text)
            why = "another process is there now"
        return _Lost(holder, ids, self.clock.now(), why) if ids else None

    def _reopen(self, connection: Connection, lost: Sequence[_Lost], now: int) -> list[int]:
        counts: list[int] = []
        for one in lost:
            reopened = reopen_unstarted(
                connection, one.ids, one.holder.incarnation, one.known_at + _MARGIN, now, reasons.EXECUTOR_GONE
            )
            told = f"{one.holder.address} held it until its time and is gone: {one.why}."
            notes = [Note(execution_id, reasons.EXECUTOR_GONE, told) for execution_id in reopened]
            add_notes(connection, notes, self._node_id, now)
            counts.append(len(reopened))
        return counts


def _doubtful(
    connection: Connection, epochs: Collection[int], after: int, doubted: frozenset[str]
) -> dict[tuple[Holder, str], list[Execution]]:
    """What is held by each process whose address is doubted, or at whose address the registry knows another one; by
    app name, for each is asked with its own token.
    """
    holders = list_holders(connection, epochs, after)
    known = incarnations_at(connection, {holder.address for holder in holders})
    found: dict[tuple[Holder, str], list[Execution]] = {}
    for holder in holders:
        if normal_address(holder.address) in doubted or _replaced(holder, known.get(holder.address)):
            held = list_sent_ahead(connection, holder, epochs, after, BATCH_LIMIT)
            groups = groups_by_id(connection, {one.job_group for one in held})
            for one in held:
                group = groups.get(one.job_group)
                found.setdefault((holder, group.app_name if group else ""), []).append(one)
    return found


def _replaced(holder: Holder, known: Collection[str | None] | None) -> bool:
    return known is not None and holder.incarnation not in known
