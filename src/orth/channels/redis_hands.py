"""What this process knows to be in its hands.

Redis notes a message as taken when it sends it. If the answer is lost on the way, or the one who waited for it was
cancelled, the message is in the hands of somebody who does not know it and lives on, so nobody would ever give it back.
Therefore: after a take that failed, whatever Redis says this consumer has and this process has not counts as never
taken, unless another take of the same hand is on its way. A command may lie in the socket of a stopped server and be
carried out after its sender has gone, so the doubt lasts a while. And what is done, but could not be said, is said with
the next chance.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

Hand = tuple[str, str]
"""A queue and a consumer of it."""

_DOUBT = 30.0


class Hands:
    """For one process; a consumer's name belongs to one process at a time."""

    def __init__(self) -> None:
        self._held: defaultdict[Hand, set[str]] = defaultdict(set)
        self._unsaid: dict[Hand, list[str]] = {}
        self._doubted: dict[Hand, float] = {}
        self._reaching: Counter[Hand] = Counter()

    def reach_out(self, hands: Iterable[Hand]) -> None:
        """A take of these begins."""
        self._reaching.update(hands)

    def draw_back(self, hands: Iterable[Hand]) -> None:
        """It has ended."""
        self._reaching -= Counter(hands)

    def took(self, hand: Hand, ids: Iterable[str]) -> None:
        self._held[hand].update(ids)

    def doubt(self, hands: Iterable[Hand], now: float) -> None:
        """A take of these has failed: it may have happened, or happen still."""
        self._doubted.update(dict.fromkeys(hands, now + _DOUBT))

    def doubted(self, hand: Hand, now: float) -> bool:
        """Whether Redis may think this hand holds more than it does, and can be asked about it now."""
        if self._reaching[hand]:
            return False
        until = self._doubted.get(hand)
        if until is not None and until <= now:
            del self._doubted[hand]
        return until is not None

    def strays(self, hand: Hand, pending: Sequence[str]) -> list[str]:
        """What is pending and was never seen here."""
        known = self._held.get(hand, set())
        return [one for one in pending if one not in known]

    def to_say(self, hand: Hand, done: Iterable[str] = ()) -> list[str]:
        """What is done, with what could not be said before."""
        return [*self._unsaid.pop(hand, ()), *done]

    def has_unsaid(self, hand: Hand) -> bool:
        return hand in self._unsaid

    def could_not_say(self, hand: Hand, done: Iterable[str]) -> None:
        self._unsaid.setdefault(hand, []).extend(done)

    def said(self, hand: Hand, done: Iterable[str]) -> None:
        if hand in self._held:
            self._held[hand].difference_update(done)
            if not self._held[hand]:
                del self._held[hand]

    def let_go(self, hand: Hand) -> None:
        """Everything was given back."""
        self._held.pop(hand, None)
        self._unsaid.pop(hand, None)
        self._doubted.pop(hand, None)
