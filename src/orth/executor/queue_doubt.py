"""Which offers are asked about before they are begun.

A kill closes the row first and withdraws the offer then, over the channels. While these are away it cannot, and whoever
was to make up for it may die: then a message lies in the queue, when they are back, of which only the database knows
that nobody wants it. The channels themselves may come back as they were a while ago, with messages of what ran long
since. So after they were away, and after a start, which may have been later than that, what was offered before is
believed only if a coordinator says that the offer stands.

Which those are is told by the numbers of executions, for clocks differ: a moment after the channels are back, when
everybody who withdraws offers can do so again, the coordinator that is asked names the newest execution. What has a
higher number was offered after that, and is not asked about. So this costs nothing while the channels are there.

Nobody answering means waiting: what cannot be asked about stays in its queue, for as long as its offer may.
"""

import asyncio
from collections.abc import Sequence
from typing import Protocol

from orth.clock import Clock
from orth.executor.queue_reports import Taken
from orth.wire.coordinator_calls import CoordinatorLink, NotKnownThere
from orth.wire.open_offers import AskedOffer, OpenOffers, OpenOffersQuestion

SETTLING = 5.0
"""Seconds after the channels were found back in which everything is asked about: others may not have found them yet."""


class OffersLink(CoordinatorLink, Protocol):
    """The way to the coordinators, for those who ask about offers as well."""

    def open_offers(self, question: OpenOffersQuestion) -> OpenOffers: ...


class Doubt:
    """Of one executor process. For one event loop."""

    def __init__(self, link: OffersLink, clock: Clock) -> None:
        self._link = link
        self._clock = clock
        self.arise()

    def arise(self) -> None:
        """The channels are, or may have been, away."""
        self._settled_at = self._clock.monotonic() + SETTLING
        self._newest: int | None = None
        """Up to which execution is asked; None: about all."""
        self.unanswered = True
        """Whether nobody has answered since. Until then nothing need be taken: it would have to be given back."""

    def covers(self, execution_id: int) -> bool:
        return self._newest is None or execution_id <= self._newest

    async def standing(self, executions: Sequence[Taken]) -> list[Taken]:
        """Those that may be begun as far as the database goes; ``Unavailable`` when nobody can tell."""
        doubted = [taken for taken in executions if self.covers(taken.id)]
        still = await self._ask(doubted) if doubted else None
        if still is None:
            return list(executions)
        fallen = {taken.id for taken in doubted} - still
        return [taken for taken in executions if taken.id not in fallen]

    async def somebody_answers(self) -> None:
        """Show that a coordinator can be asked."""
        await self._ask([])

    async def _ask(self, doubted: Sequence[Taken]) -> frozenset[int] | None:
        """Those of which the offer stands; None if only coordinators are there that do not know the question."""
        began, arisen = self._clock.monotonic(), self._settled_at
        offers = tuple(
            AskedOffer(
                execution_id=taken.id,
                sending=taken.dispatch.sending,
                report_key=taken.dispatch.trigger.report_key,
            )
            for taken in doubted
        )
        try:
            answer = await asyncio.to_thread(self._link.open_offers, OpenOffersQuestion(offers=offers))
        except NotKnownThere:
            answer = None
        if arisen == self._settled_at:  # and not anew while somebody was asked
            self.unanswered = False
            if answer is not None and began >= self._settled_at:
                self._newest = answer.newest if self._newest is None else self._newest
        return None if answer is None else frozenset(answer.open)
