"""What this coordinator looks after, in memory: a copy of its rows, and what it follows before they are written.

An execution is followed as soon as it was assigned, for its executor may have something to say at once, and is written
down a moment later if it is still open. Whoever reads what executors say listens here.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from orth.store.ownership import Owned


class Follower(Protocol):
    """Somebody who reads what is said about this node's executions."""

    def gained(self, owned: Sequence[Owned]) -> None:
        """These are ours to follow, from the first message on."""
        ...

    def lost(self, ids: Sequence[int]) -> None:
        """These are somebody else's, or have ended."""
        ...


class Holdings:
    """The executions this process follows. Only the event loop may touch it."""

    def __init__(self) -> None:
        self._held: dict[int, Owned] = {}
        self._unwritten: dict[int, float] = {}
        self._followers: list[Follower] = []

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, execution_id: int) -> bool:
        return execution_id in self._held

    def listen(self, follower: Follower) -> None:
        """Tell ``follower`` of everything that is held, and of every change from now on."""
        self._followers.append(follower)
        if self._held:
            follower.gained(list(self._held.values()))

    @property
    def held(self) -> Mapping[int, Owned]:
        """Everything that is followed; generation 0 where no row says so yet."""
        return self._held

    def written(self) -> dict[int, int]:
        """What rows say, as this node last saw them: by execution, its generation."""
        return {one.execution_id: one.generation for one in self._held.values() if one.generation}

    def unwritten(self, before: float) -> list[int]:
        """What has been followed since before ``before``, and is not written down."""
        return [one for one, since in self._unwritten.items() if since <= before]

    def follow(self, assigned: Iterable[tuple[int, int]], since: float) -> None:
        """Begin to follow executions, each with its job; rows come later."""
        new = [Owned(one, job_id, 0) for one, job_id in assigned if one not in self._held]
        for owned in new:
            self._held[owned.execution_id] = owned
            self._unwritten[owned.execution_id] = since
        self._gained(new)

    def own(self, rows: Iterable[Owned]) -> None:
        """Rows say that these are ours."""
        new: list[Owned] = []
        for owned in rows:
            before = self._held.get(owned.execution_id)
            if before is None:
                new.append(owned)
            self._held[owned.execution_id] = owned
            self._unwritten.pop(owned.execution_id, None)
        self._gained(new)

    def drop(self, ids: Iterable[int]) -> list[int]:
        """Follow these no longer; which of them were followed."""
        dropped = [one for one in ids if self._held.pop(one, None) is not None]
        for one in dropped:
            self._unwritten.pop(one, None)
        if dropped:
            for follower in self._followers:
                follower.lost(dropped)
        return dropped

    def _gained(self, new: Sequence[Owned]) -> None:
        if new:
            for follower in self._followers:
                follower.gained(new)
