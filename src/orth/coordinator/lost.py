"""The LostExecutions loop: an execution whose executor can no longer report it is ended.

Two signs, never age alone. The address has a new incarnation: the process that had it is gone, and its successor has
had time to deliver what its predecessor left on disk. Or the address has left the registry for good: nobody has been
there for ``lost_after``. A sign must stay for a while before it counts, because results may be on their way; who
reports after all is told that the execution had ended.
"""

from collections.abc import Sequence
from datetime import timedelta

from orth.clock import Clock
from orth.cluster.election import Election, Term
from orth.cluster.leading import LeaderLoop
from orth.coordinator.finishing import Finished, finish, tell
from orth.domain.executions import FAILURE, SUCCESS, Execution
from orth.domain.jobs import AddressType, Group
from orth.domain.nodes import ExecutorEntry, normal_address
from orth.events import Events
from orth.store.database import Connection, Database
from orth.store.executions import Ending, list_taken
from orth.store.groups import groups_by_id
from orth.store.registry import list_executors

_BATCH = 1000
_REPLACED_FOR = 30.0
LOST = "Result lost"


class LostExecutions(LeaderLoop):
    """Ends executions that nobody will report."""

    def __init__(
        self,
        db: Database,
        election: Election,
        clock: Clock,
        events: Events,
        *,
        every: timedelta,
        lost_after: timedelta,
    ) -> None:
        super().__init__(election, clock, events)
        self._db = db
        self._every = min(every.total_seconds(), lost_after.total_seconds())
        self._lost_after = lost_after.total_seconds()
        self._signs: dict[int, tuple[str, float]] = {}
        """Executions with a sign of loss: which sign, and since when on the monotonic clock."""

    async def lead(self, term: Term) -> float:
        signs = await self._db.read(_look)
        now = self.clock.monotonic()
        self._signs = {one: _since(self._signs.get(one), sign, now) for one, sign in signs.items()}
        lost = [(one, sign) for one, (sign, since) in self._signs.items() if now - since >= self._patience(sign)]
        if lost:
            finished: list[Finished] = await self._db.leader_tx(term.epoch, _end, lost, self.clock.now())
            tell(self.events, finished)
        # A sign is looked at again when it begins to count; without any, at the usual pace.
        waits = (self._patience(sign) - (now - since) for sign, since in self._signs.values())
        return max(1.0, min(self._every, *(wait for wait in waits if wait > 0), self._every))

    def _patience(self, sign: str) -> float:
        return min(_REPLACED_FOR, self._lost_after) if sign == _REPLACED else self._lost_after


_REPLACED = "the executor was restarted while it had it"
_GONE = "the executor has left the registry"


def _since(before: tuple[str, float] | None, sign: str, now: float) -> tuple[str, float]:
    return before if before is not None and before[0] == sign else (sign, now)


def _look(connection: Connection) -> dict[int, str]:
    """Every taken execution that shows a sign of loss."""
    known = {(entry.app_name, normal_address(entry.address)): entry for entry in list_executors(connection)}
    signs: dict[int, str] = {}
    after = 0
    while taken := list_taken(connection, after, _BATCH):
        groups = groups_by_id(connection, {execution.job_group for execution in taken})
        for execution in taken:
            group = groups.get(execution.job_group)
            place = (group.app_name if group else "", normal_address(execution.executor_address or ""))
            sign = _sign(execution, group, known.get(place))
            if sign is not None:
                signs[execution.id] = sign
        after = taken[-1].id
    return signs


def _sign(execution: Execution, group: Group | None, entry: ExecutorEntry | None) -> str | None:
    if entry is None:
        # An address somebody wrote by hand need never have been in the registry: its absence says nothing.
        by_hand = group is not None and group.address_type is AddressType.MANUAL and execution.incarnation is None
        return None if by_hand else _GONE
    if execution.incarnation is not None and entry.incarnation not in (None, execution.incarnation):
        return _REPLACED
    return None


def _end(connection: Connection, lost: Sequence[tuple[int, str]], now: int) -> list[Finished]:
    endings = [
        Ending(execution_id=one, trigger_code=SUCCESS, handle_code=FAILURE, handle_msg=f"{LOST}: {sign}.")
        for one, sign in lost
    ]
    return finish(connection, endings, now)
