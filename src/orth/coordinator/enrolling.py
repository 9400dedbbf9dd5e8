"""Executors give their keys: the coordinator's side of an enrolment (``orth.wire.enrolment``).

The private value of an exchange is in memory only, for half a minute, and used once.
"""

import asyncio
from dataclasses import dataclass

from orth.clock import Clock
from orth.coordinator.alarming.judging import Rules
from orth.coordinator.alarming.new_executors import tell_of_executor
from orth.coordinator.executor_keys import ExecutorKey, enrolled_context
from orth.coordinator.facts import ExecutorEnrolled
from orth.coordinator.sealing import Sealing
from orth.domain.audit import Actor, ActorKind, Deed
from orth.domain.enrolments import EnrolledKey
from orth.errors import TooBusy, Unauthenticated
from orth.events import Events
from orth.store.audit import head, record
from orth.store.database import Connection, Database
from orth.store.enrolments import Joining, enrol
from orth.wire.enrolment import Enrolled, EnrolmentRequest, Exchange, Offered, Transcript, Wrapping, proof_of_offer
from orth.wire.signatures import key_of

_EXCHANGES = 1_000
_PER_TOKEN = 200
_LASTS = 30.0


@dataclass(frozen=True, slots=True)
class _Begun:
    exchange: Exchange
    token_key: str
    at: float


class Enrolling:
    """Takes the keys of executors. For one event loop."""

    def __init__(self, db: Database, clock: Clock, sealing: Sealing, events: Events, alarms: Rules) -> None:
        self._db = db
        self._clock = clock
        self._sealing = sealing
        self._events = events
        self._alarms = alarms
        self._begun: dict[tuple[str, str, str], _Begun] = {}
        """Exchanges whose second step has not come, by the public value of the executor and what it claims."""

    async def take(self, request: EnrolmentRequest, key: ExecutorKey, source: str) -> Offered | Enrolled:
        """Answer either step of an enrolment that was proved with the token ``key`` and came from ``source``."""
        if request.sealed is None:
            return await self._offer(request, key)
        return await self._enrol(request, request.sealed, key, source)

    async def _offer(self, request: EnrolmentRequest, key: ExecutorKey) -> Offered:
        now = self._clock.monotonic()
        self._begun = {one: begun for one, begun in self._begun.items() if now - begun.at < _LASTS}
        of_token = sum(begun.token_key == key.key.id for begun in self._begun.values())
        if len(self._begun) >= _EXCHANGES or of_token >= _PER_TOKEN:
            raise TooBusy("Too many executors enrol at once.", hint="Try again in half a minute.")
        exchange = await asyncio.to_thread(Exchange)
        self._begun[_claim(request)] = _Begun(exchange, key.key.id, now)
        return Offered(public=exchange.public, proof=proof_of_offer(key.key, _transcript(request, exchange)))

    async def _enrol(self, request: EnrolmentRequest, sealed: str, key: ExecutorKey, source: str) -> Enrolled:
        begun = self._begun.pop(_claim(request), None)
        if begun is None or begun.token_key != key.key.id or self._clock.monotonic() - begun.at >= _LASTS:
            raise Unauthenticated("This enrolment was not begun here, or too long ago.", hint="Begin it again.")
        shared = await asyncio.to_thread(begun.exchange.shared, request.public)
        wrapping = Wrapping.of(shared, key.key, _transcript(request, begun.exchange))
        executor_key = wrapping.opened(sealed)
        key_id = key_of.__wrapped__(executor_key).id
        joining = Joining(
            key_id,
            request.registry_key,
            self._sealing.seal(bytes.fromhex(executor_key), enrolled_context(key_id)),
            request.registry_value,
            source,
            key.token_id,
            key.key.id,
            key.name if key.once else None,
        )
        stored, is_new = await self._db.tx(_store, joining, key, self._alarms, self._clock.now())
        if is_new:
            self._events.emit(ExecutorEnrolled(stored.app_name, stored.address, stored.id, stored.state.value))
        return Enrolled(state=stored.state.value, proof=wrapping.proof_of_state(stored.state.value))


def _store(
    connection: Connection, joining: Joining, key: ExecutorKey, alarms: Rules, now: int
) -> tuple[EnrolledKey, bool]:
    """Store a key, with an entry in the audit and an alarm if it is new."""
    stored, is_new = enrol(connection, joining, now)
    if is_new:
        told = {
            "app_name": stored.app_name,
            "address": stored.address,
            "state": stored.state.value,
            "token": joining.token_id,
        }
        actor = Actor(ActorKind.EXECUTOR, key.name, joining.source)
        record(connection, actor, Deed("executor.join", "executor key", str(stored.id), after=told), now)
        entry = head(connection)
        assert entry is not None, "an entry was just made"
        tell_of_executor(connection, stored, entry.seq, alarms, now)
    return stored, is_new


def _claim(request: EnrolmentRequest) -> tuple[str, str, str]:
    return request.public, request.registry_key, request.registry_value


def _transcript(request: EnrolmentRequest, exchange: Exchange) -> Transcript:
    return Transcript(request.registry_key, request.registry_value, request.public, exchange.public)
