"""Being one of several: saying that one lives, and knowing who else does.

``Membership`` counts its beats in its row and announces each on the topic of heartbeats; with the same transaction it
reads what the others said, and ``fellows`` judges them. The row is the truth. The topic only makes it known sooner:
``HeartbeatEar`` takes it as a sign of life, as a reason to look who leads, or as the hint that somebody has left a
wish in our row.

The name of a node is its configuration; the process is its *incarnation*. A process that finds its name taken by
another one stops: it was replaced while it was frozen, or two were given the same name, and two of one name must not
both act.

``admit`` decides in the transaction that enters the node whether this node may join, and raises ``CannotStart`` if not.
A node that was silent for ``dead_after`` is admitted anew with its next beat: the others may have gone on without it.
"""

import os
import random
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from orth.channels.interface import Channels, ChannelsUnavailable, Heard
from orth.channels.names import Names
from orth.clock import Clock, iso
from orth.cluster.election import Election, Node
from orth.cluster.facts import NodeAsked, NodeRefused, NodeReplaced
from orth.cluster.fellows import Fellows
from orth.cluster.hearing import Hearing
from orth.errors import CannotStart, TermEnded
from orth.events import Event, Events
from orth.loop import Loop
from orth.store.database import Connection, Database
from orth.store.leases import Term
from orth.store.nodes import (
    Beat,
    Load,
    NodeRow,
    NodeState,
    Role,
    Wish,
    beat,
    declare_dead,
    forget_nodes,
    join,
    list_nodes,
    wish_granted,
)
from orth.version import __version__

_REMEMBERED = timedelta(days=1)
"""How long one that has left or died is still shown."""
_LONGEST_HOST = 255

Admit = Callable[[Connection, int], None]
"""Takes the time in milliseconds."""


@dataclass(frozen=True, slots=True)
class Rhythm:
    """How often a node beats, and how long it may be silent."""

    heartbeat: timedelta
    dead_after: timedelta

    @property
    def pace(self) -> float:
        """Seconds between beats: three fit into the longest silence, so that one that is lost kills nobody."""
        return min(self.heartbeat.total_seconds(), self.dead_after.total_seconds() / 3)


@dataclass(frozen=True, slots=True)
class Voice:
    """The channels a node speaks on."""

    channels: Channels
    names: Names

    async def say(self, topic: str, message: dict[str, Any]) -> None:
        """Tell whoever listens; a hint, so that nobody minds when it is not heard."""
        try:
            await self.channels.announce(topic, message)
        except ChannelsUnavailable:
            return


class Membership(Loop):
    """This node among its fellows."""

    def __init__(
        self,
        db: Database,
        election: Election,
        node: Node,
        clock: Clock,
        events: Events,
        *,
        rhythm: Rhythm,
        url: str,
        voice: Voice | None = None,
        load: Callable[[], Load] = Load,
        asked_to_stop: Callable[[], None] = lambda: None,
        admit: Admit = lambda _connection, _now: None,
        chance: random.Random | None = None,
    ) -> None:
        super().__init__(clock, events, chance=chance)
        self._db = db
        self._election = election
        self._node = node
        self._rhythm = rhythm
        self._url = url
        self._voice = voice
        self._load = load
        self._asked_to_stop = asked_to_stop
        self._admit = admit
        self.fellows = Fellows(dead_after=rhythm.dead_after.total_seconds())
        self._beat_due = clock.monotonic()
        self._longest_pause = rhythm.pace
        self._joined = False
        self._beaten_at = clock.monotonic()
        self._last_role = Role.FOLLOWER
        self._told_to_stop = False
        self.state = NodeState.ACTIVE
        self.beats = 0
        self.refusal: CannotStart | None = None
        """Why this node may not be a member."""
        election.led.append(self)  # who leads is part of what is said

    async def turn(self) -> float:
        now = self.clock.monotonic()
        if now >= self._beat_due or self._role is not self._last_role:
            rows = await self._beat()
        else:
            rows = await self._db.urgent.read(list_nodes)
        await self._take_in(rows)
        now = self.clock.monotonic()
        return max(0.05, min(self._beat_due - now, self.fellows.next_death(now)))

    async def join(self) -> None:
        """Enter this node; ``CannotStart`` if it may not join."""
        await self._beat()
        if self.refusal is not None:
            raise self.refusal

    async def drain(self) -> None:
        """Let everybody know that this node takes nothing more."""
        self.state = NodeState.DRAINING
        await self._take_in(await self._beat())

    async def leave(self) -> None:
        """Say good-bye."""
        self.state = NodeState.OFFLINE
        await self._beat()

    async def hint(self, node_id: str) -> None:
        """Let a node look into its row, where somebody has left a wish."""
        if node_id == self._node.id:
            self.wake()
        elif self._voice is not None:
            await self._voice.say(self._voice.names.coordinator_heartbeat, {"nodeId": self._node.id, "asks": node_id})

    def heard(self, message: dict[str, Any]) -> None:
        """Something was said on the topic of heartbeats."""
        node_id, incarnation, beats = message.get("nodeId"), message.get("incarnation"), message.get("beats")
        if message.get("asks") == self._node.id:
            self.wake()
        if node_id == self._node.id or not isinstance(node_id, str) or not isinstance(incarnation, str):
            return
        fellow = self.fellows.find(node_id)
        if isinstance(beats, int):
            self.fellows.sign_of_life(node_id, incarnation, beats, self.clock.monotonic())
        self._election.heard_of(node_id, leads=message.get("role") == Role.LEADER)
        said = None if fellow is None else fellow.row.said
        if said is None or said.incarnation != incarnation or said.state != message.get("status"):
            self.wake()  # somebody has come, gone or is about to go

    @property
    def _role(self) -> Role:
        return Role.FOLLOWER if self._election.term is None else Role.LEADER

    async def _beat(self) -> list[NodeRow]:
        said, now = self._said(), self.clock.monotonic()
        silent = now - self._beaten_at >= self._rhythm.dead_after.total_seconds()
        admit = self._admit if self.refusal is None and (silent or not self._joined) else None
        try:
            rows = await self._db.urgent.tx(_beat_and_look, said, self.clock.now(), self._joined, admit)
        except CannotStart as error:
            self.refusal = error
            self._stop_once(NodeRefused(self._node.id, self._node.incarnation, str(error)))
            return await self._db.urgent.read(list_nodes)
        self._joined, self._last_role, self._beaten_at = True, said.role, now
        self._beat_due = now + self._rhythm.pace * self._chance.uniform(0.9, 1.0)
        mine = next((row for row in rows if row.said.node_id == self._node.id), None)
        if mine is not None and mine.said.incarnation == self._node.incarnation:
            self.beats = mine.beats
            await self._announce(said)
        return rows

    async def _take_in(self, rows: Sequence[NodeRow]) -> None:
        for fact in self.fellows.look(rows, self.clock.monotonic()):
            if fact.node != self._node.id:
                self.events.emit(fact)
        mine = self.fellows.find(self._node.id)
        if mine is not None:
            await self._heed(mine.row)
        term = self._election.term
        if term is not None:
            await self._bury(term)

    async def _heed(self, mine: NodeRow) -> None:
        """Do what our row tells us."""
        by = mine.said.incarnation
        if by != self._node.incarnation:
            self._stop_once(NodeReplaced(self._node.id, self._node.incarnation, by))
        elif mine.wish is Wish.DRAIN:
            self._stop_once(NodeAsked(self._node.id, "drain"))
        elif mine.wish is Wish.STEP_DOWN:
            self.events.emit(NodeAsked(self._node.id, "step down"))
            await self._election.step_down()
            await self._db.urgent.tx(wish_granted, self._node.id, self._node.incarnation, Wish.STEP_DOWN)
            await self._announce(self._said())

    def _stop_once(self, why: Event) -> None:
        if not self._told_to_stop:
            self._told_to_stop = True
            self.events.emit(why)
            self._asked_to_stop()

    async def _bury(self, term: Term) -> None:
        """As leader: write down who is dead, and forget those that have been gone for long."""
        silent = [
            (one.row.said.node_id, one.row.said.incarnation, one.row.beats)
            for one in self.fellows.all()
            if one.dead and one.row.said.state in (NodeState.ACTIVE, NodeState.DRAINING)
        ]
        now = self.clock.now()
        forgotten = now - int(_REMEMBERED.total_seconds() * 1000)
        old = any(not one.alive and one.row.last_beat < forgotten for one in self.fellows.all())
        if not silent and not old:
            return
        try:
            await self._db.leader_tx(term, _bury_all, silent, forgotten)
        except TermEnded:
            self._election.fenced(term)

    def _said(self) -> Beat:
        return Beat(
            node_id=self._node.id,
            incarnation=self._node.incarnation,
            url=self._url,
            role=self._role,
            state=self.state,
            load=self._load(),
            hostname=socket.gethostname()[:_LONGEST_HOST],
            process_id=os.getpid(),
            version=__version__,
        )

    async def _announce(self, said: Beat) -> None:
        if self._voice is not None:
            message = heartbeat_message(said, self.beats, self.clock.now())
            await self._voice.say(self._voice.names.coordinator_heartbeat, message)


class HeartbeatEar(Hearing):
    """Listens to the heartbeats of the others."""

    def __init__(self, membership: Membership, voice: Voice, clock: Clock, events: Events) -> None:
        super().__init__(voice.channels, [voice.names.coordinator_heartbeat], clock, events)
        self._membership = membership

    async def heard(self, messages: Sequence[Heard]) -> None:
        for one in messages:
            self._membership.heard(dict(one.message))


def heartbeat_message(said: Beat, beats: int, now: int) -> dict[str, Any]:
    """A beat as it is announced."""
    return {
        "nodeId": said.node_id,
        "incarnation": said.incarnation,
        "beats": beats,
        "url": said.url,
        "role": str(said.role),
        "status": str(said.state),
        "jobCount": said.load.job_count,
        "queuedJobCount": said.load.queued_count,
        "cpuMillicores": said.load.cpu_millicores,
        "memoryUsageBytes": said.load.memory_bytes,
        "hostname": said.hostname,
        "processId": said.process_id,
        "version": said.version,
        "timestamp": iso(now),
    }


def _beat_and_look(connection: Connection, said: Beat, now: int, joined: bool, admit: Admit | None) -> list[NodeRow]:
    """Beat, or join when there is no row to beat in, and read what all have said. Nothing is written if ``admit``
    refuses.
    """
    if not joined:
        join(connection, said, now)
    elif not beat(connection, said, now):
        rows = list_nodes(connection)
        if any(row.said.node_id == said.node_id for row in rows):
            return rows  # the name is another process's by now
        join(connection, said, now)  # we were thought dead for so long that we were forgotten
    if admit is not None:
        admit(connection, now)
    return list_nodes(connection)


def _bury_all(connection: Connection, silent: Sequence[tuple[str, str, int]], forgotten: int) -> None:
    for node_id, incarnation, beats in silent:
        declare_dead(connection, node_id, incarnation, beats)
    forget_nodes(connection, forgotten)
