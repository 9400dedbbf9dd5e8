"""How many results go into one request.

A coordinator of another make answers for a request as a whole. One result that it cannot take would then hold up all
that travel with it, so a request that is refused is cut in halves, until the rest is through and the one is alone. A
request that was not answered in time, or broke off, is cut as well: a coordinator or a line that is slow takes smaller
ones. After a refusal requests grow again as fast as they shrank, after silence step by step.
"""

from orth.wire.fields import RESULTS_OF_OURS

MOST = RESULTS_OF_OURS
_STEP = 10


class Portion:
    """The size of the next request, in results."""

    def __init__(self) -> None:
        self.most = MOST
        self._is_slow = False

    def cut(self, count: int, *, slow: bool = False) -> None:
        """A request with so many did not go through; ``slow`` if nobody said why."""
        self.most = max(1, count // 2)
        self._is_slow |= slow

    def taken(self) -> None:
        self.most = min(MOST, self.most + (self.most // _STEP + 1 if self._is_slow else self.most))
        if self.most == MOST:
            self._is_slow = False
