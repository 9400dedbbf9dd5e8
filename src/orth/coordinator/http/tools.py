"""What the resources work with, handed to the application once."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from fastapi import Request

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.membership import Membership
from orth.coordinator.alarming.senders import Senders
from orth.coordinator.callbacks import Callbacks
from orth.coordinator.http.channels import ChannelDoor
from orth.coordinator.logs.following import LiveLogs
from orth.coordinator.logs.reading import LogReading
from orth.coordinator.logs.searching import Searches
from orth.coordinator.metrics import Metrics
from orth.coordinator.offering import Offering
from orth.coordinator.progress import ProgressReading
from orth.coordinator.reach import Reach
from orth.coordinator.registry import Registrations
from orth.coordinator.roster import Roster
from orth.coordinator.services.feed import Feed
from orth.coordinator.services.places import Places
from orth.coordinator.services.registrar import Registrar
from orth.coordinator.signing import Signing
from orth.errors import TooBusy
from orth.events import Events
from orth.loop import Loop
from orth.settings import Settings
from orth.store.database import Database
from orth.store.users import User
from orth.wire.executor_calls import ExecutorLink


class Gate:
    """Lets a few in at a time and a few more wait; whoever comes beyond that is told to come back later.

    Comparing one password takes 64 MiB and a good part of a second, on purpose: unbounded, strangers could fill the
    memory.
    """

    def __init__(self, at_once: int = 2, waiting: int = 30) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._limit = at_once + waiting
        self._inside = 0

    async def __aenter__(self) -> None:
        if self._inside >= self._limit:
            raise TooBusy("Too many sign-ins at the same time.", hint="Try again in a moment.")
        self._inside += 1
        try:
            await self._places.acquire()
        except BaseException:
            self._inside -= 1
            raise

    async def __aexit__(self, *_exc: object) -> None:
        self._inside -= 1
        self._places.release()


class RememberedUsers:
    """Who signed-in callers were when the database was last asked, for the minutes in which it cannot be."""

    def __init__(self, *, seconds: float = 300.0, limit: int = 1000) -> None:
        self._seconds = seconds
        self._limit = limit
        self._users: dict[str, tuple[User, float]] = {}

    def note(self, user: User, now: float) -> None:
        self._users.pop(user.username, None)
        self._users[user.username] = (user, now)
        if len(self._users) > self._limit:
            del self._users[next(iter(self._users))]

    def find(self, username: str, now: float) -> User | None:
        user, seen = self._users.get(username, (None, now))
        return user if now - seen < self._seconds else None


@dataclass(frozen=True, slots=True)
class Tools:
    """The parts of a coordinator its HTTP side needs."""

    node_id: str
    db: Database
    clock: Clock
    events: Events
    settings: Settings
    election: Election
    membership: Membership
    door: ChannelDoor
    """The way of executors to the channels."""
    offering: Offering
    callbacks: Callbacks
    registrations: Registrations
    metrics: Metrics
    roster: Roster
    reach: Reach
    link: ExecutorLink
    logs: LogReading
    progress: ProgressReading
    live_logs: LiveLogs
    searches: Searches
    signing: Signing
    access_token: str
    planning: Sequence[Loop]
    """Loops to wake when a schedule changed."""
    dispatching: Sequence[Loop]
    """Loops to wake when an execution was opened."""
    batches: Loop
    """The loop to wake when a batch was stored."""
    senders: Senders
    """The ways out of alarms, for trying them."""
    registrar: Registrar
    feed: Feed
    places: Places
    """Room for listeners of the feed."""
    logins: Gate = field(default_factory=Gate)
    users: RememberedUsers = field(default_factory=RememberedUsers)


def tools_of(request: Request) -> Tools:
    tools: Tools = request.app.state.tools
    return tools
