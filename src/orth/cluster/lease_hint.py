"""What somebody beside the database may say about the lease.

A hint may make a node compete for the lease sooner or a moment later. It never decides who leads: that is the epoch in
the database, which fences whatever a hint got wrong. So every method answers, quickly, even when the one to ask is
away; and the base class, which is the lease provider ``database``, has no opinion.
"""


class LeaseHint:
    """No opinion: the lease row alone is watched."""

    async def overdue(self, _waited: float) -> bool:
        """Whether the holder of a lease that was seen unchanged for so many seconds is known to have stopped
        renewing it, so that the rest need not be waited for.
        """
        return False

    async def may_compete(self) -> bool:
        """Whether to compete now for a lease that is free, or to leave it to somebody who has just begun to."""
        return True

    async def held(self, epoch: int) -> None:
        """The lease of this node's term ``epoch`` was taken or renewed."""

    async def given_up(self, epoch: int) -> None:
        """It was given up."""

    async def close(self) -> None:
        """Let go of connections."""
