"""What ``precision`` calls wrong: pure, so that it can be shown to find what it is there for."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from orth.domain.executions import SUCCESS

Fire = tuple[int, int]
"""A job and the instant (ms) of its fire."""

NOT_JUDGED = 2


@dataclass(frozen=True, slots=True)
class Span:
    """The fires that count: from ``began`` up to and without ``until``, every ``period`` ms."""

    began: int
    until: int
    period: int

    def fires(self) -> range:
        return range(self.began, self.until, self.period)

    def goes_on_with(self, fire: int) -> bool:
        """Whether a fire is one of those after the span: some are planned before the jobs are stopped."""
        return fire >= self.until and (fire - self.began) % self.period == 0


@dataclass(frozen=True, slots=True)
class Stored:
    """What the database says of each fire: the result of each of its executions, and the decision in the ledger."""

    codes: Mapping[Fire, list[int]] = field(default_factory=dict)
    decided: Mapping[Fire, tuple[str, str]] = field(default_factory=dict)

    def once(self, fire: Fire) -> bool:
        return self.codes.get(fire) == [SUCCESS] and self.decided.get(fire) == ("run", "")


def wrong_fires(jobs: Iterable[int], span: Span, starts: Counter[Fire], stored: Stored) -> Iterator[str]:
    """Fires of the span that have not exactly one start, one execution and one decision; and every start of these jobs
    that belongs to no fire of the span, unless it is the one start of a fire that came after it.
    """
    for fire in ((job, instant) for job in jobs for instant in span.fires()):
        if starts[fire] != 1 or not stored.once(fire):
            yield _told(fire, starts, stored)
    for fire in sorted(starts):
        after = span.goes_on_with(fire[1]) and starts[fire] == 1 and stored.once(fire)
        if fire[1] not in span.fires() and not after:
            yield f"not expected: {_told(fire, starts, stored)}"


def _told(fire: Fire, starts: Counter[Fire], stored: Stored) -> str:
    found = f"{starts[fire]} starts, executions {stored.codes.get(fire)}, ledger {stored.decided.get(fire)}"
    return f"job {fire[0]} at {fire[1]}: {found}"


def exit_code(*, failed: bool, judged: bool) -> int:
    """1 when something is wrong or a bar was missed, 2 when nothing is and not every bar could be judged."""
    if failed:
        return 1
    return 0 if judged else NOT_JUDGED
