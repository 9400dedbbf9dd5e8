"""The lease provider ``redis``: a lock in Redis in front of the lease in the database.

The leader keeps a key that lives for a lease after each renewal *in the database*. Others use it in two ways:

* A key that is gone means that the leader has not renewed for a whole lease. Redis also loses keys when it restarts
  empty, so this counts only once the row in the database has missed a renewal too. A node that comes after a crash
  then waits for one and a half renewals instead of a lease.
* Who wants to compete says so in the key first, and the others leave it to that one for a moment.

The key decides nothing. It may be lost, outlive its term, or belong to another cluster by mistake, and costs at most
the moment then; Redis that does not answer is not asked again until the next renewal.
"""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from orth.channels.redis_client import FAILURES, connect, disconnect, failure_sentence
from orth.clock import Clock
from orth.cluster.election import Node
from orth.cluster.facts import LeaseHintAway
from orth.cluster.lease_hint import LeaseHint
from orth.events import Events
from orth.store.leases import LEADER

T = TypeVar("T")

_CONNECTIONS = 2
_LONGEST_ANSWER = 0.5
_MOMENT = 1.0
"""For how long the others leave the lease to the one who competes."""
_MISSED = 1.5
"""Renewals without a change of the row after which one was certainly missed."""

# KEYS lock; ARGV epoch, value, milliseconds. A term that is over does not overwrite a newer one.
_HOLD = """
local epoch = string.match(redis.call('GET', KEYS[1]) or '', '^term (%d+) ')
if epoch and tonumber(epoch) > tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
"""

# KEYS lock; ARGV value, milliseconds -> 0 when somebody else is about to take the lease.
_COMPETE = """
local now = redis.call('GET', KEYS[1])
if now and now ~= ARGV[1] and not string.find(now, '^term ') then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
"""

# KEYS lock; ARGV epoch
_GIVE_UP = """
local epoch = string.match(redis.call('GET', KEYS[1]) or '', '^term (%d+) ')
if epoch == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


class RedisLease(LeaseHint):
    """The lock of this node's cluster."""

    def __init__(
        self, url: str, node: Node, clock: Clock, events: Events, *, lease: float, renew: float, key: str = LEADER
    ) -> None:
        # Asked within a renewal: several answers that do not come must still fit into it.
        self._client = connect(url, patience=min(_LONGEST_ANSWER, renew / 4), connections=_CONNECTIONS)
        self._clock = clock
        self._events = events
        self._name = f"{node.id}/{node.incarnation}"
        self._lease, self._renew, self._key = lease, renew, key
        self._ask_again_at = 0.0
        self._is_away = False
        self._stood_back_at: float | None = None
        self._hold: Callable[..., Any] = self._client.register_script(_HOLD)
        self._compete: Callable[..., Any] = self._client.register_script(_COMPETE)
        self._give_up: Callable[..., Any] = self._client.register_script(_GIVE_UP)

    async def overdue(self, waited: float) -> bool:
        if waited < _MISSED * self._renew:
            return False
        return await self._answer(lambda: self._client.exists(self._key), otherwise=1) == 0

    async def may_compete(self) -> bool:
        arguments = [self._name, int(_MOMENT * 1000)]
        allowed = await self._answer(lambda: self._compete(keys=[self._key], args=arguments), otherwise=1)
        now = self._clock.monotonic()
        if allowed:
            self._stood_back_at = None
        elif self._stood_back_at is None:
            self._stood_back_at = now
        # A lock that others keep taking without ever leading is somebody else's.
        return bool(allowed) or now - (self._stood_back_at or now) > 2 * _MOMENT

    async def held(self, epoch: int) -> None:
        arguments = [epoch, f"term {epoch} {self._name}", int(self._lease * 1000)]
        await self._answer(lambda: self._hold(keys=[self._key], args=arguments), otherwise=None)

    async def given_up(self, epoch: int) -> None:
        await self._answer(lambda: self._give_up(keys=[self._key], args=[epoch]), otherwise=None)

    async def close(self) -> None:
        await disconnect(self._client)

    async def _answer(self, question: Callable[[], Awaitable[T]], *, otherwise: T) -> T:
        """What Redis says; ``otherwise`` while it is away."""
        if self._clock.monotonic() < self._ask_again_at:
            return otherwise
        try:
            answer = await question()
        except FAILURES as error:
            self._ask_again_at = self._clock.monotonic() + self._renew
            if not self._is_away:
                self._events.emit(LeaseHintAway(failure_sentence(self._client, error)))
            self._is_away = True
            return otherwise
        self._is_away = False
        return answer
