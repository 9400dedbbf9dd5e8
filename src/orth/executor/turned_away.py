"""Callers that were turned away at the HTTP door: counted, told in the process log, and reported with the next beat.

An executor keeps no audit. The coordinator that takes the beat writes there who knocked, where and in vain, as the
deed of a stranger. So this only has to remember what no coordinator has taken yet, and no more than fits into a beat: a
flood is some kinds with large counts.

A coordinator that meets a new process at an address it knows is corrected by the first answer and comes again at once.
It was turned away, and is no stranger: what it did is forgotten when it proves itself (``proved``).
"""

import threading
from collections import Counter
from collections.abc import Sequence

from orth.errors import OrthError, Unauthenticated
from orth.events import Events
from orth.executor.facts import CallerTurnedAway
from orth.wire.fields import TURNED_AWAY_LIMIT
from orth.wire.messages import TurnedAwayCaller
from orth.wire.signatures import BadSignature, Refused

EARLY = "early"
REASONS = ("token", "unsigned", "work_key", EARLY, "signature", "receiver", "time", "body", "replay")
"""Why: no good token; a good one where requests must be signed, or where the work key is needed as well, or before any
coordinator knew of this process; and what is wrong with a signature."""
CORRECTED = frozenset({"receiver", "time", EARLY})
"""What happens to honest callers too, once."""
_WORDS = {
    Refused.OTHER_RECEIVER: "receiver",
    Refused.UNADDRESSED: "receiver",
    Refused.STALE: "time",
    Refused.OTHER_BODY: "body",
    Refused.REPLAYED: "replay",
}


class Unsigned(Unauthenticated):
    """A good token, shown where it has to be proved."""

    def __init__(self) -> None:
        super().__init__("A token alone is not enough for this executor: requests must be signed.")


class TokenAlone(Unauthenticated):
    """A good token, shown or proved, for what needs the work key as well."""

    def __init__(self) -> None:
        super().__init__(
            "The token alone is not enough to ask this executor for work: coordinators prove its work key as well."
        )


class NotRegistered(Unauthenticated):
    """A good token, shown or proved, before any coordinator could know that the process is there."""

    def __init__(self) -> None:
        super().__init__(
            "The token alone is not enough to ask this executor for work before a coordinator has taken its first beat."
        )


_KINDS: dict[type[OrthError], str] = {
    Unsigned: "unsigned",
    TokenAlone: "work_key",
    NotRegistered: EARLY,
    Unauthenticated: "token",
}


def reason_of(error: OrthError) -> str:
    """The word under which it is counted that a caller was turned away; none for any other failure."""
    if isinstance(error, BadSignature):
        return _WORDS.get(error.why, "signature")
    return next((word for kind, word in _KINDS.items() if isinstance(error, kind)), "")


class TurnedAway:
    """Those of one process. Safe to share between threads."""

    def __init__(self, events: Events) -> None:
        self._events = events
        self._lock = threading.Lock()
        self._waiting: dict[tuple[str, str, str], int] = {}
        """Address, path and reason, with how often; not yet taken by a coordinator."""
        self._counts: Counter[str] = Counter()

    def note(self, address: str, path: str, reason: str) -> None:
        kind = (address, path, reason)
        with self._lock:
            self._counts[reason] += 1
            is_new = kind not in self._waiting
            if is_new and len(self._waiting) >= TURNED_AWAY_LIMIT:
                return
            self._waiting[kind] = self._waiting.get(kind, 0) + 1
        if is_new and reason not in CORRECTED:
            self._events.emit(CallerTurnedAway(address, path, reason))

    def proved(self, address: str) -> None:
        """A caller at this address has proved who it is."""
        if self._waiting:
            with self._lock:
                for kind in [one for one in self._waiting if one[0] == address and one[2] in CORRECTED]:
                    del self._waiting[kind]

    def counts(self) -> dict[str, int]:
        """How many, by reason, since the start."""
        with self._lock:
            return dict(self._counts)

    def report(self) -> tuple[TurnedAwayCaller, ...]:
        """What no coordinator has taken yet."""
        with self._lock:
            return tuple(
                TurnedAwayCaller(address=address, path=path, reason=reason, count=count)
                for (address, path, reason), count in self._waiting.items()
            )

    def taken(self, reported: Sequence[TurnedAwayCaller]) -> None:
        """A coordinator has these; what came since stays."""
        with self._lock:
            for one in reported:
                kind = (one.address, one.path, one.reason)
                left = self._waiting.pop(kind, 0) - one.count
                if left > 0:
                    self._waiting[kind] = left
