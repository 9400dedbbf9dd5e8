"""How many may listen, and how many of them without having said who they are yet."""

from orth.errors import TooBusy

_STRANGERS = 200


class Places:
    """Counted, for one event loop."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._strangers_limit = max(1, min(_STRANGERS, limit // 2))
        self._taken = 0
        self._strangers = 0

    def take(self, *, known: bool) -> None:
        """Take a place, or ``TooBusy``; ``give_back`` frees it."""
        if self._taken >= self._limit or (not known and self._strangers >= self._strangers_limit):
            raise TooBusy("There are too many listeners already.", hint="Another coordinator may take more.")
        self._taken += 1
        self._strangers += not known

    def introduced(self) -> None:
        """Somebody has said who it is."""
        self._strangers -= 1

    def give_back(self, *, known: bool) -> None:
        self._taken -= 1
        self._strangers -= not known
