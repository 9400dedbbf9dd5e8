"""Coordinators as the database knows them: one row for each name, of the process that last joined under it.

A row is written by its own process, which counts its beats. Others judge whether it lives by watching that counter
with their own clock; ``last_beat`` is a wall clock's reading, for people. What somebody asks a process to do is a wish
in its row: it finds it with its next beat, whoever carried the hint, and a successor under the same name never does.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeVar

from sqlalchemy import Connection, Row, delete, exists, func, select, update

from orth.store.engines import insert_new
from orth.store.tables import nodes, ownership

_Word = TypeVar("_Word", bound=StrEnum)
_Or = TypeVar("_Or")


class NodeState(StrEnum):
    """What is known of a coordinator."""

    ACTIVE = "Active"
    DRAINING = "Draining"  # it gives away what it owns and stops
    OFFLINE = "Offline"  # it said good-bye
    DEAD = "Dead"  # declared by the leader, after a silence


class Role(StrEnum):
    LEADER = "Leader"
    FOLLOWER = "Follower"


class Wish(StrEnum):
    """What a coordinator may be asked to do."""

    DRAIN = "drain"
    STEP_DOWN = "step_down"


@dataclass(frozen=True, slots=True)
class Load:
    """What a coordinator has to do."""

    job_count: int = 0
    """Executions it owns."""
    queued_count: int = 0
    """Triggers it still has to send."""
    cpu_millicores: int = 0
    memory_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Beat:
    """What a coordinator says of itself."""

    node_id: str
    incarnation: str
    url: str
    role: Role
    state: NodeState
    load: Load
    hostname: str
    process_id: int
    version: str


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A coordinator as it was last heard of."""

    said: Beat
    beats: int
    wish: Wish | None
    joined_at: int
    last_beat: int


@dataclass(frozen=True, slots=True)
class OwnedCount:
    """How many executions a process has in one state of ownership; None: nobody has them."""

    node_id: str | None
    incarnation: str | None
    holding: str
    count: int


def join(connection: Connection, beat: Beat, now: int) -> None:
    """Enter a process under its name; the row of an earlier process of that name becomes this one's."""
    values = {**_values(beat), "beats": 1, "wish": None, "joined_at": now, "last_beat": now}
    if connection.execute(update(nodes).where(nodes.c.node_id == beat.node_id).values(values)).rowcount == 0:
        insert_new(connection, nodes, [{"node_id": beat.node_id, **values}])


def beat(connection: Connection, said: Beat, now: int) -> bool:
    """Count a beat of this very process; False when the row is not its own."""
    done = connection.execute(
        update(nodes)
        .where(nodes.c.node_id == said.node_id, nodes.c.incarnation == said.incarnation)
        .values({**_values(said), "beats": nodes.c.beats + 1, "last_beat": now})
    )
    return done.rowcount == 1


def list_nodes(connection: Connection) -> list[NodeRow]:
    """All of them, by name."""
    return [_row(row) for row in connection.execute(select(nodes).order_by(nodes.c.node_id))]


def find_node(connection: Connection, node_id: str) -> NodeRow | None:
    row = connection.execute(select(nodes).where(nodes.c.node_id == node_id)).one_or_none()
    return None if row is None else _row(row)


def ask_node(connection: Connection, node_id: str, incarnation: str, wish: Wish) -> bool:
    """Leave a wish for a process; False when another one bears its name by now. To drain is the stronger wish."""
    theirs = update(nodes).where(nodes.c.node_id == node_id, nodes.c.incarnation == incarnation)
    if wish is not Wish.DRAIN:
        theirs = theirs.where(nodes.c.wish.is_distinct_from(str(Wish.DRAIN)))
    return connection.execute(theirs.values(wish=str(wish))).rowcount == 1


def wish_granted(connection: Connection, node_id: str, incarnation: str, wish: Wish) -> None:
    """Take a wish back that was fulfilled."""
    connection.execute(
        update(nodes)
        .where(nodes.c.node_id == node_id, nodes.c.incarnation == incarnation, nodes.c.wish == str(wish))
        .values(wish=None)
    )


def declare_dead(connection: Connection, node_id: str, incarnation: str, beats: int) -> bool:
    """Say of a process that it is dead, unless it has beaten since. One that comes back says otherwise."""
    done = connection.execute(
        update(nodes)
        .where(
            nodes.c.node_id == node_id,
            nodes.c.incarnation == incarnation,
            nodes.c.beats == beats,
            nodes.c.state.in_((str(NodeState.ACTIVE), str(NodeState.DRAINING))),
        )
        .values(state=str(NodeState.DEAD))
    )
    return done.rowcount == 1


def forget_nodes(connection: Connection, before: int) -> int:
    """Remove those that left or died before an instant and own nothing any more."""
    owns = exists().where(ownership.c.node_id == nodes.c.node_id)
    gone = (str(NodeState.OFFLINE), str(NodeState.DEAD))
    done = connection.execute(delete(nodes).where(nodes.c.state.in_(gone), nodes.c.last_beat < before, ~owns))
    return done.rowcount


def count_owned(connection: Connection) -> list[OwnedCount]:
    """How many executions each process has, by the state of the ownership."""
    columns = (ownership.c.node_id, ownership.c.incarnation, ownership.c.state)
    rows = connection.execute(select(*columns, func.count()).group_by(*columns))
    return [OwnedCount(*row) for row in rows]


def _values(said: Beat) -> dict[str, object]:
    return {
        "incarnation": said.incarnation,
        "url": said.url,
        "role": str(said.role),
        "state": str(said.state),
        "job_count": said.load.job_count,
        "queued_count": said.load.queued_count,
        "cpu_millicores": said.load.cpu_millicores,
        "memory_bytes": said.load.memory_bytes,
        "hostname": said.hostname,
        "process_id": said.process_id,
        "version": said.version,
    }


def _row(row: Row[Any]) -> NodeRow:
    said = Beat(
        node_id=row.node_id,
        incarnation=row.incarnation,
        url=row.url,
        role=_known(Role, row.role, Role.FOLLOWER),
        state=_known(NodeState, row.state, NodeState.DRAINING),
        load=Load(row.job_count, row.queued_count, row.cpu_millicores, row.memory_bytes),
        hostname=row.hostname or "",
        process_id=row.process_id,
        version=row.version,
    )
    return NodeRow(said, row.beats, _known(Wish, row.wish, None), row.joined_at, row.last_beat)


def _known(kind: type[_Word], text: str | None, otherwise: _Or) -> _Word | _Or:
    """A word of ours, or ``otherwise`` for one that only a newer version of a fellow knows."""
    return kind(text) if text in {str(word) for word in kind} else otherwise
