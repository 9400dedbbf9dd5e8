"""How many may listen: all together, each of them, and those who have not said who they are yet."""

from dataclasses import dataclass

from orth.errors import TooBusy

_STRANGERS = 200


@dataclass(slots=True)
class Place:
    """One listener's. ``whose`` is a user or token by name, or the address of one who has not said; None: a service,
    of which any number may be at one address.
    """

    whose: str | None
    known: bool


class Places:
    """Counted, for one event loop. ``each`` is how many one user, token or address may take."""

    def __init__(self, limit: int, each: int) -> None:
        self._limit = limit
        self._each = each
        self._strangers_limit = max(1, min(_STRANGERS, limit // 2))
        self._taken = 0
        self._strangers = 0
        self._by_whose: dict[str, int] = {}

    def take(self, whose: str | None, *, known: bool) -> Place:
        """Take a place, or ``TooBusy``; ``give_back`` frees it."""
        if self._taken >= self._limit or (not known and self._strangers >= self._strangers_limit):
            raise TooBusy("There are too many listeners already.", hint="Another coordinator may take more.")
        self._count(whose)
        self._taken += 1
        self._strangers += not known
        return Place(whose, known)

    def introduced(self, place: Place, whose: str | None) -> None:
        """Somebody has said who it is; ``TooBusy`` when that one listens often enough already."""
        self._count(whose)
        self._uncount(place.whose)
        self._strangers -= not place.known
        place.whose, place.known = whose, True

    def give_back(self, place: Place) -> None:
        self._uncount(place.whose)
        self._taken -= 1
        self._strangers -= not place.known

    def _count(self, whose: str | None) -> None:
        if whose is None:
            return
        taken = self._by_whose.get(whose, 0)
        if taken >= self._each:
            raise TooBusy(f"You have {self._each} listeners here already.", hint="Close some of them.")
        self._by_whose[whose] = taken + 1

    def _uncount(self, whose: str | None) -> None:
        if whose is None:
            return
        self._by_whose[whose] -= 1
        if not self._by_whose[whose]:
            del self._by_whose[whose]
