"""Queue transport as this coordinator takes part in it, made from what it is given.

Every coordinator hears the executors of queues, follows what they say about its own executions, and lets those that
have no other way reach the channels. The leader besides looks after what is in queues.
"""

from collections.abc import Sequence
from dataclasses import replace

from orth.coordinator.calling_off import CallingOff
from orth.coordinator.ended_logs import EndedLogs
from orth.coordinator.http.channels import ChannelDoor
from orth.coordinator.log_keeping import LogKeeping
from orth.coordinator.offering import InQueues
from orth.coordinator.owned_events import OwnedEvents
from orth.coordinator.owning import Owning
from orth.coordinator.queue_evidence import Patience
from orth.coordinator.queueing import Queueing, WorkerEar
from orth.coordinator.refusals import Refusals
from orth.coordinator.rooms import Records, Surroundings, Work
from orth.coordinator.workers import Workers
from orth.loop import Loop

_SIGNS = 4
"""Characters of a log message for each of the log, amply: some are written as two."""
_ROOM = 1024 * 1024


class Queues:
    """Executors that take, and what they took."""

    def __init__(self, given: Surroundings, work: Work, records: Records, owning: Owning, refusals: Refusals) -> None:
        cluster, own = given.settings.cluster, given.settings.coordinator
        silent = min(own.silent_after, own.lost_after).total_seconds()
        dead_after = cluster.dead_after.total_seconds()
        self.workers = Workers(given.clock, dead_after=dead_after)
        self.door = ChannelDoor(
            given.channels,
            given.names,
            given.clock,
            self.workers,
            report_keys=given.report_keys,
            box_size=_ROOM + _SIGNS * given.settings.logs.archive_limit,
        )
        self._offering = work.offering
        self._offering.assign = owning.assigning.queued
        self.loops: Sequence[Loop] = ()
        self.queueing: Queueing | None = None
        if given.channels is None or records.boxes is None:
            return
        to = (given.channels, given.names)
        self.queueing = Queueing(
            given.db,
            work.election,
            *to,
            given.clock,
            given.events,
            node_id=given.node.id,
            workers=self.workers,
            offering=work.offering,
            proving=work.proving,
            patience=Patience(dead_after, silent, own.offer_bound.total_seconds()),
            wakes=work.wakes,
        )
        plan = replace(records.plan, kind="folder" if records.plan.kind == "folder" else "store")
        keeping = LogKeeping(given.db, *to, records.archives, given.clock, plan=plan, proving=work.proving)
        self.ended_logs = EndedLogs(
            given.db,
            *to,
            given.clock,
            given.events,
            keeping=keeping,
            boxes=records.boxes,
            offering=work.offering,
        )
        self.owned_events = OwnedEvents(
            given.db,
            *to,
            given.clock,
            given.events,
            callbacks=work.callbacks,
            proving=work.proving,
            refusals=refusals,
            keeping=keeping,
            ended_logs=self.ended_logs,
            boxes=records.boxes,
            wakes=work.wakes,
        )
        records.archiving.hand_on = self.ended_logs.take
        owning.holdings.listen(self.owned_events)
        ear = WorkerEar(*to, self.workers, given.clock, given.events)
        calling_off = CallingOff(work.offering, given.clock, given.events)
        work.offering.owe = calling_off.owe
        given.events.listen(self.queueing.hear)
        self.loops = (ear, self.owned_events, self.ended_logs, self.queueing, calling_off)

    def seen(self) -> InQueues:
        """What waits in queues, as the leader last saw it; nothing on another node."""
        return InQueues() if self.queueing is None else self.queueing.seen

    async def leave(self) -> None:
        """Let go of those who listen through this node; its loops have ended."""
        await self._offering.close()
        await self.door.close()
