"""Who has an address when two processes of one app say that they do.

The token of an app is known to all its executors, so a beat alone does not show that a process is where it says. The
work key does: a process that was registered with one is asked, at its address and with that key, whether it is still
there. If it answers, whoever else claims the address is refused, and so is who takes it out of the registry without
the key. If nobody listens there any more, or another process answers, it was restarted, and the next one has it at
once. While there is no answer, the address is kept for as long as the registry waits for a beat: an executor that lives
is not lost to whoever floods it, and one that was restarted tries another coordinator, or again some seconds later.

Nothing of this is asked for an address whose process has told no work key: those of another make, and older ones.
"""

import asyncio
from typing import Literal

from orth.clock import Clock
from orth.coordinator.executor_keys import ExecutorKeys
from orth.domain.nodes import ExecutorEntry
from orth.errors import Conflict, TooBusy
from orth.wire.key_calls import Holding, KeyLink

REMEMBERED = 0.5
"""Seconds for which an answer is believed, so that who claims an address again and again asks little of it. Nobody is
restarted in less."""
_PLACES = 1_000

Claim = Literal["beat", "good-bye"]


class AddressHeld(Conflict):
    """A beat or a good-bye for an address that another process has."""

    def __init__(self, app_name: str, address: str, claim: Claim) -> None:
        super().__init__(
            f"The executor {address} of {app_name!r} is registered with another work key, and the process there is "
            "not known to be gone.",
            hint="If it was restarted, try again in a few seconds; if not, two processes say that they have one "
            "address: look at executor.address.",
        )
        self.app_name = app_name
        self.address = address
        self.claim: Claim = claim


def is_free(holding: Holding, silence: float, dead_after: float) -> bool:
    """Whether an address may be another's, when its process was last heard ``silence`` seconds ago."""
    return holding is Holding.NO or (holding is Holding.UNKNOWN and silence >= dead_after)


class ExecutorKeyInUse(AddressHeld):
    """A beat with the key of an executor that lives at another address: somebody copied its data directory."""

    def __init__(self, app_name: str, address: str, elsewhere: str) -> None:
        super().__init__(app_name, address, "beat")
        self.message = f"The key of this executor is in use at {elsewhere}."
        self.hint = (
            "Executors do not share a data directory, nor a copy of one. If this is a copy, remove the file "
            "executor-key from it and restart this executor."
        )


class Contests:
    """Finds out who is at an address. For one event loop."""

    def __init__(self, keys: ExecutorKeys, link: KeyLink | None, clock: Clock, *, dead_after: float) -> None:
        """Without a ``link`` nobody can be asked."""
        self._keys = keys
        self._link = link
        self._clock = clock
        self._dead_after = dead_after
        self._asked: dict[tuple[str, str, str], tuple[asyncio.Task[Holding], float]] = {}
        """The last question about each process, and when it was asked."""

    async def answers(self, holder: ExecutorEntry) -> bool:
        """Whether the process that is registered at an address surely is there."""
        return await self._holding(holder) is Holding.YES

    async def has_left(self, holder: ExecutorEntry) -> bool:
        """Whether the process that is registered at an address is there no more, as far as anybody can know."""
        holding = await self._holding(holder)
        return is_free(holding, (self._clock.now() - holder.last_beat) / 1000, self._dead_after)

    async def _holding(self, holder: ExecutorEntry) -> Holding:
        key = await self._keys.work_key(holder)
        if key is None or holder.incarnation is None or holder.work_key is None:
            return Holding.NO  # nobody could ask it for work either
        if self._link is None:
            return Holding.UNKNOWN
        now, process = self._clock.monotonic(), (holder.app_name, holder.address, holder.work_key)
        self._asked = {one: (task, at) for one, (task, at) in self._asked.items() if now - at < REMEMBERED}
        if process not in self._asked:
            if len(self._asked) >= _PLACES:
                raise TooBusy("Too many addresses are claimed by two processes each.")
            question = self._link.holding(holder.address, key, holder.incarnation)
            self._asked[process] = (asyncio.ensure_future(question), now)
        return await asyncio.shield(self._asked[process][0])
