"""What ``orth up`` looks like at one moment: a row for each process, as data.

It is made from what the keepers know and from what the API says, goes over the control socket as JSON, and is all that
the screen, ``orth ps`` and the attached view know.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from orth.apphost.keeping import Keeper, State
from orth.apphost.resources import Kind


@dataclass(frozen=True, slots=True)
class Row:
    """One process. ``up`` and ``beat`` are seconds; None where there is nothing to say."""

    name: str
    kind: str
    state: str
    detail: str
    leader: bool
    address: str
    up: float | None
    beat: float | None
    load: str
    restarts: int
    pid: int | None
    again_in: float | None = None
    """Seconds until one that crashed is started again."""
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Everything there is to show. ``phase`` is starting, running or stopping."""

    name: str
    version: str
    phase: str
    folder: str
    kept: bool
    console: str
    api: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    """What was not created, and which errors executors logged while they started."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Snapshot":
        rows = (Row(**{**row, "waits_for": tuple(row.get("waits_for", ()))}) for row in data["rows"])
        return cls(**{**data, "rows": tuple(rows), "notes": tuple(data.get("notes", ()))})


@dataclass(frozen=True, slots=True)
class NodeSeen:
    """A coordinator as the API shows it."""

    leads: bool
    state: str
    owned: int
    beat: float | None


@dataclass(frozen=True, slots=True)
class Sight:
    """What the API said last: coordinators by name, executors by address."""

    nodes: Mapping[str, NodeSeen] = field(default_factory=dict)
    beats: Mapping[str, float] = field(default_factory=dict)
    """Seconds since the last beat of each executor, and of each service in the registry."""
    work: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The handlers of what each executor has in hand, the oldest first."""
    services: tuple[int, int] | None = None
    """How many orchestrators and agents the registry has."""


def row_of(keeper: Keeper, sight: Sight, now: float) -> Row:
    """One row of the table."""
    resource = keeper.resource
    runs = keeper.state is State.RUNNING
    node = sight.nodes.get(resource.name) if resource.kind is Kind.COORDINATOR else None
    leads = runs and node is not None and node.leads
    work = sight.work.get(resource.url, ()) if runs else ()
    again_in, waits_for = _again_in(keeper, now), _waits_for(keeper)
    return Row(
        name=resource.name,
        kind=resource.kind,
        state=_state(keeper, work),
        detail="leader" if leads else _detail(again_in, waits_for) or resource.lacking,
        leader=leads,
        address=resource.address,
        up=None if keeper.ready_at is None else now - keeper.ready_at,
        beat=_beat(keeper, node, sight) if runs else None,
        load=_load(keeper, node, sight, work) if runs else "",
        restarts=keeper.restarts,
        pid=None if keeper.child is None else keeper.child.pid,
        again_in=again_in,
        waits_for=waits_for,
    )


def _state(keeper: Keeper, work: Sequence[str]) -> str:
    if keeper.state is State.RUNNING and keeper.resource.kind is Kind.AGENT:
        return "Busy" if work else "Idle"
    return keeper.state


def _again_in(keeper: Keeper, now: float) -> float | None:
    crashed = keeper.state is State.CRASHED and keeper.last_code is not None
    return max(0.0, keeper.again_at - now) if crashed else None


def _waits_for(keeper: Keeper) -> tuple[str, ...]:
    return tuple(keeper.resource.after) if keeper.state is State.WAITING else ()


def _detail(again_in: float | None, waits_for: Sequence[str]) -> str:
    if again_in is not None:
        return f"again in {again_in:.0f} s"
    return f"for {waits_for[0]}" + (" …" if len(waits_for) > 1 else "") if waits_for else ""


def _beat(keeper: Keeper, node: NodeSeen | None, sight: Sight) -> float | None:
    if node is not None and node.beat is not None:
        return node.beat
    return sight.beats.get(keeper.resource.url)


def _load(keeper: Keeper, node: NodeSeen | None, sight: Sight, work: Sequence[str]) -> str:
    if node is not None:
        return f"owns {node.owned}"
    if keeper.resource.kind is Kind.REGISTRY and sight.services is not None:
        orchestrators, agents = sight.services
        return f"{orchestrators} coordinators, {agents} agents"
    return ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in Counter(work).items())
