"""Knowing the coordinators without being one: for processes that only show what there is."""

from orth.clock import Clock
from orth.cluster.fellows import Fellows
from orth.cluster.membership import Rhythm
from orth.events import Events
from orth.loop import Loop
from orth.store.database import Database
from orth.store.nodes import list_nodes


class Onlooker(Loop):
    """Watches the beats of the coordinators."""

    def __init__(self, db: Database, fellows: Fellows, clock: Clock, events: Events, *, rhythm: Rhythm) -> None:
        super().__init__(clock, events)
        self._db = db
        self._fellows = fellows
        self._rhythm = rhythm

    async def turn(self) -> float:
        self._fellows.look(await self._db.read(list_nodes), self.clock.monotonic())
        return self._rhythm.pace
