"""Two loops of the leader that keep the statistics: ``Folding`` adds up what the ends of executions left behind, and
``DailyReports`` writes one row per day from it.

Neither is needed for correct answers: readers add what is not folded yet (``orth.store.statistics``). Without folding
they would become slow.
"""

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.leading import LeaderLoop
from orth.events import Events
from orth.store.daily_reports import write_reports
from orth.store.database import Database
from orth.store.leases import Term
from orth.store.statistics import fold, has_unfolded

# The longer the pause, the more ends of one job are added at once: writing a row takes longer than adding it.
_BATCH = 20_000
_PAUSE = 30.0
_REPORT_EVERY = 60.0
REPORTED_DAYS = 3
"""Today and two days before: what ended late, and what is still open, may yet change those."""


class Folding(LeaderLoop):
    """Adds counts to the statistics, a bounded number in one transaction."""

    def __init__(self, db: Database, election: Election, clock: Clock, events: Events) -> None:
        super().__init__(election, clock, events)
        self._db = db

    async def lead(self, term: Term) -> float:
        if not await self._db.read(has_unfolded):
            return _PAUSE
        folded = await self._db.leader_tx(term, fold, _BATCH)
        return 0.0 if folded == _BATCH else _PAUSE


class DailyReports(LeaderLoop):
    """Keeps the rows of the last days up to date; writes only what changed."""

    def __init__(self, db: Database, election: Election, clock: Clock, events: Events) -> None:
        super().__init__(election, clock, events)
        self._db = db

    async def lead(self, term: Term) -> float:
        await self._db.leader_tx(term, write_reports, self.clock.now(), REPORTED_DAYS)
        return _REPORT_EVERY
