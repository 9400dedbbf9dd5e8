"""Where a coordinator stands: what every part of ownership needs."""

from dataclasses import dataclass, field

from orth.channels.interface import Channels
from orth.channels.names import Names
from orth.clock import Clock
from orth.cluster.holdings import Holdings
from orth.cluster.peers import Peers
from orth.events import Events
from orth.store.database import Database
from orth.store.ownership import Owner

OWN_AFTER = 2.0


@dataclass(frozen=True, slots=True)
class Station:
    """This process as an owner, its rows, its channels and its fellows."""

    db: Database
    owner: Owner
    peers: Peers
    clock: Clock
    events: Events
    channels: Channels | None = None
    """None: the sweeps over the database have to do."""
    names: Names = field(default_factory=Names)
    holdings: Holdings = field(default_factory=Holdings)
    own_after: float = OWN_AFTER
    """Seconds for which an execution is open before that somebody owns it is told and written: most have ended by
    then.
    """

    @property
    def consumer(self) -> str:
        """Its name as a consumer of queues: one for each process, so that what a dead one had is given to others."""
        return self.owner.incarnation
