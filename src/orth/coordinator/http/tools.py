"""What the resources work with, handed to the application once."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from orth.clock import Clock
from orth.cluster.election import Election
from orth.cluster.membership import Membership
from orth.coordinator.alarming.senders import Senders
from orth.coordinator.beginnings import Beginnings
from orth.coordinator.callbacks import Callbacks
from orth.coordinator.enrolling import Enrolling
from orth.coordinator.executor_access import ExecutorAccess
from orth.coordinator.http.body_budget import BodyBudget
from orth.coordinator.http.callback_reading import CallbackReading
from orth.coordinator.http.channels import ChannelDoor
from orth.coordinator.http.executor_rates import ExecutorRates
from orth.coordinator.http.executor_turns import ExecutorTurns
from orth.coordinator.http.rates import Buckets
from orth.coordinator.logs.following import LiveLogs
from orth.coordinator.logs.read_places import ReadPlaces
from orth.coordinator.logs.reading import LogReading
from orth.coordinator.logs.searching import Searches
from orth.coordinator.metrics import Metrics
from orth.coordinator.offering import Offering
from orth.coordinator.progress import ProgressReading
from orth.coordinator.reach import Reach
from orth.coordinator.refusals import Refusals
from orth.coordinator.registry import Registrations
from orth.coordinator.roster import Roster
from orth.coordinator.sealing import Sealing
from orth.coordinator.services.feed import Feed
from orth.coordinator.services.places import Places
from orth.coordinator.services.registrar import Registrar
from orth.coordinator.signing import Signing
from orth.coordinator.signing_in.gate import Gate, RecentSignIns
from orth.coordinator.signing_in.held import HeldSessions
from orth.coordinator.signing_in.issuer import Issuer
from orth.events import Events
from orth.loop import Loop
from orth.settings import Settings
from orth.store.database import Database
from orth.store.sessions import SignedIn
from orth.wire.executor_link import ExecutorLink


class RememberedSessions:
    """Who signed-in callers were when the database was last asked, for the minutes in which it cannot be."""

    def __init__(self, *, seconds: float = 300.0, limit: int = 1000) -> None:
        self._seconds = seconds
        self._limit = limit
        self._found: dict[str, tuple[SignedIn, float]] = {}

    def note(self, signed_in: SignedIn, now: float) -> None:
        self._found.pop(signed_in.session.id, None)
        self._found[signed_in.session.id] = (signed_in, now)
        if len(self._found) > self._limit:
            del self._found[next(iter(self._found))]

    def find(self, session_id: str, now: float) -> SignedIn | None:
        signed_in, seen = self._found.get(session_id, (None, now))
        return signed_in if now - seen < self._seconds else None

    def forget(self, session_ids: Iterable[str]) -> None:
        for session_id in session_ids:
            self._found.pop(session_id, None)


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
    beginnings: Beginnings
    registrations: Registrations
    metrics: Metrics
    roster: Roster
    reach: Reach
    link: ExecutorLink
    logs: LogReading
    progress: ProgressReading
    live_logs: LiveLogs
    log_places: ReadPlaces
    """Room for pages of logs that are read from executors."""
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
    sealing: Sealing
    enrolling: Enrolling
    """Takes the keys of executors."""
    access: ExecutorAccess
    """Who is let in as an executor."""
    refusals: Refusals
    callers: Buckets
    """How often each caller may ask."""
    bodies: BodyBudget
    """How much of request bodies is in memory."""
    executor_rates: ExecutorRates
    """How often the token of a group may register, and how much it may send."""
    callback_reading: CallbackReading
    """Reads results."""
    result_turns: ExecutorTurns
    """Whose results, and questions about executions, are taken next."""
    channel_turns: ExecutorTurns
    """Whose calls of the channels are carried out next."""
    strangers: Buckets
    """How often they may who are nobody we know, by address."""
    sign_in_gate: Gate = field(default_factory=Gate)
    recent_sign_ins: RecentSignIns = field(default_factory=RecentSignIns)
    remembered: RememberedSessions = field(default_factory=RememberedSessions)
    held: HeldSessions = field(default_factory=HeldSessions)
    """Sessions that sockets and streams hang on."""
    issuer: Issuer = field(default_factory=Issuer)
    """Whom people may sign in through."""


def tools_of(request: Request) -> Tools:
    tools: Tools = request.app.state.tools
    return tools


ToolsHere = Annotated[Tools, Depends(tools_of)]
