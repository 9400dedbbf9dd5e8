"""The CallingOff loop: what ended while it lay in a queue, and whom that could not be told, is told when it can be.

A kill closes the row first. While the channels are away its offer cannot be withdrawn, and whoever takes the message
when they are back would begin what nobody wants any more. So whoever could not say it owes it, and says it as soon as
the channels answer: by the word in the execution's status box, which executors read before they begin, and by a cancel,
several times, for an executor that took it at once may not hear yet. Should this process die before, the rows still
tell: the leader owes what has ended in queues of late whenever the channels are back, when its term begins, and when a
node has died.

Nobody has to be quick about it: executors that saw the channels away ask whether an offer stands before they begin it.
This is for those that did not, and for the message itself, which is then dropped without a question.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from orth.clock import Clock
from orth.coordinator.offering import Offering, app_of
from orth.errors import OrthError, Unavailable
from orth.events import Events
from orth.loop import Loop
from orth.store.offering import EndedInQueue

TRY_EVERY = 1.0
TELL_TIMES = 10
_AT_ONCE = 200
_OWED = 20_000
_IDLE = 60.0
_REASON = "The execution has ended."


@dataclass(slots=True)
class _Debt:
    ended: EndedInQueue
    told: int = 0


class CallingOff(Loop):
    """Withdraws offers late."""

    def __init__(self, offering: Offering, clock: Clock, events: Events) -> None:
        super().__init__(clock, events)
        self._longest_pause = TRY_EVERY
        self._offering = offering
        self._owed: dict[int, _Debt] = {}

    def owe(self, ended: Iterable[EndedInQueue]) -> None:
        """These must not be begun any more."""
        for one in ended:
            self._owed.setdefault(one.id, _Debt(one))
        for surplus in list(self._owed)[: max(0, len(self._owed) - _OWED)]:
            del self._owed[surplus]
        if self._owed:
            self.wake()

    async def turn(self) -> float:
        some = list(self._owed.values())[:_AT_ONCE]
        if not some:
            return _IDLE
        try:
            await self._tell(some)
        except Unavailable:  # whoever uses the channels has told that they are away
            return TRY_EVERY
        return TRY_EVERY if self._owed else _IDLE

    async def _tell(self, some: list[_Debt]) -> None:
        unsaid = [debt for debt in some if not debt.told]
        full = await self._offering.withdraw((debt.ended.job_id, debt.ended.id, None) for debt in unsaid)
        for debt in some:
            one = debt.ended
            try:
                await self._offering.announce_end(app_of(one.queue), one.job_id, one.id, _REASON)
            except Unavailable:
                raise
            except OrthError:  # its app is gone, and nobody takes for it
                debt.told = TELL_TIMES
            debt.told += 1
            self._owed.pop(one.id, None)
            if debt.told < TELL_TIMES or one.id in full:
                self._owed[one.id] = debt  # behind the others
