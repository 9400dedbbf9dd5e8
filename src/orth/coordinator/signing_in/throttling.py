"""How often somebody may try to sign in.

Tries are counted by account and address together, by address, and by account, in the store and so for all nodes.
An address that goes on failing at an account waits longer and longer; so does one that fails at many accounts. Nobody
is kept out because of what another address does: an account that is attacked from everywhere only leaves each address
one try, not five, before it has to wait. Names that do not exist are counted like any other.

An IPv6 address counts as its network of 64 bits, which is what one customer gets.
"""

import hashlib
from dataclasses import dataclass

from orth.domain.audit import Actor, ActorKind, Deed
from orth.domain.networks import network_of
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.sign_in_tallies import Tally, drop_stale_tallies, hold_tallies, make_good, set_tally

FREE = 5
FREE_WHEN_ATTACKED = 1
ATTACKED_FROM = 50
FREE_OF_ADDRESS = 30
FIRST_PAUSE_MS = 10_000
LONGEST_PAUSE_MS = 15 * 60_000
FORGOTTEN_AFTER_MS = 60 * 60_000
_MOST_DOUBLINGS = 20


@dataclass(frozen=True, slots=True)
class Attempt:
    """Somebody at an address who wants to be an account. ``username`` is what was typed."""

    username: str
    address: str

    @property
    def pair(self) -> str:
        return _digest("pair", self.username, network_of(self.address))

    @property
    def by_address(self) -> str:
        return _digest("address", network_of(self.address))

    @property
    def by_account(self) -> str:
        return _digest("account", self.username)


def pause(pair: Tally, address: Tally, account: Tally, now: int) -> int:
    """Milliseconds to wait before the next try; 0: now."""
    free = FREE_WHEN_ATTACKED if account.tries >= ATTACKED_FROM else FREE
    return max(_pause(pair, free, now), _pause(address, FREE_OF_ADDRESS, now))


def take_try(connection: Connection, attempt: Attempt, now: int) -> int:
    """Count a try before it is made; milliseconds to wait when it may not be made yet, and then it is not counted."""
    drop_stale_tallies(connection, now - FORGOTTEN_AFTER_MS)
    digests = (attempt.pair, attempt.by_address, attempt.by_account)
    held = hold_tallies(connection, digests, now)
    pair, address, account = (_remembered(held[digest], now) for digest in digests)
    wait = pause(pair, address, account, now)
    if wait == 0:
        for digest, tally in zip(digests, (pair, address, account), strict=True):
            set_tally(connection, digest, Tally(tally.tries + 1, now))
    return wait


def forgive(connection: Connection, attempt: Attempt) -> None:
    """The try was a good one. What others tried at this account, or this address at others, stays counted."""
    make_good(connection, attempt.pair, (attempt.by_address, attempt.by_account))


def take_back(connection: Connection, attempt: Attempt) -> None:
    """The try was counted and not made."""
    make_good(connection, None, (attempt.pair, attempt.by_address, attempt.by_account))


def record_refusal(connection: Connection, attempt: Attempt, known: bool, now: int) -> None:
    """Tell the audit. A name nobody has is not repeated: people type passwords into the wrong field."""
    deed = Deed("session.refuse", "user", attempt.username if known else "")
    record(connection, Actor(ActorKind.STRANGER, "", attempt.address), deed, now)


def _pause(tally: Tally, free: int, now: int) -> int:
    if tally.tries < free:
        return 0
    length = min(FIRST_PAUSE_MS << min(tally.tries - free, _MOST_DOUBLINGS), LONGEST_PAUSE_MS)
    return min(max(0, tally.last_at + length - now), LONGEST_PAUSE_MS)


def _remembered(tally: Tally, now: int) -> Tally:
    return tally if now - tally.last_at < FORGOTTEN_AFTER_MS else Tally(0, now)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x00".join(("sign-in", *parts)).encode("utf-8", "surrogatepass")).hexdigest()
