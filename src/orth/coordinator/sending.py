"""The exchange itself: letters go out in one request, and each gets its answer.

What a failure means is decided here once. No connection: surely not sent. Anything else after a connection was there:
unknown. A batch that was answered as a whole instead of item by item is unknown as well, because part of it may have
been taken before something went wrong.

Secrets are opened here, at the last moment, and are nowhere but in the request.
"""

from collections.abc import Sequence

from orth.clock import Clock
from orth.coordinator.letters import Answer, Letter, Outcome, Peer, run_request
from orth.coordinator.reach import Reach
from orth.coordinator.sealing import Sealing
from orth.domain import reasons
from orth.domain.executions import SUCCESS
from orth.domain.jobs import BlockStrategy, GlueType
from orth.errors import Invalid, OrthError
from orth.wire.executor_calls import AnswerUnknown, ExecutorLink, NotSent
from orth.wire.messages import MISDIRECTED, NOT_ALLOWED_HERE, RunRequest

_DISCARDS = ("DISCARD_LATER", "Discard Later")
"""How executors of all makes name the strategy when they refuse by it."""


class Sending:
    """Sends letters to one executor at a time and tells ``reach`` how it went."""

    def __init__(self, link: ExecutorLink, reach: Reach, clock: Clock, token: str, sealing: Sealing) -> None:
        self._link = link
        self._reach = reach
        self._clock = clock
        self._token = token
        self._sealing = sealing

    async def send(self, letters: Sequence[Letter], *, again: bool = False) -> list[Answer]:
        """Send letters that go to the same executor; what is known about each afterwards, in order.

        ``again``: they may have arrived before. Then a failure to send leaves everything as unknown as it was.
        """
        without = {letter.execution.id: told for letter in letters if (told := self._lack(letter))}
        if not without:
            return await self._send(letters, again)
        good = [letter for letter in letters if letter.execution.id not in without]
        sent = {answer.letter.execution.id: answer for answer in (await self._send(good, again) if good else ())}
        outcome = Outcome.UNKNOWN if again else Outcome.REFUSED
        return [
            sent.get(one.execution.id) or Answer(one, outcome, without[one.execution.id], reasons.SECRET_MISSING)
            for one in letters
        ]

    async def _send(self, letters: Sequence[Letter], again: bool) -> list[Answer]:
        address = letters[0].peer.address
        try:
            answers = await (self._one(letters[0], again) if len(letters) == 1 else self._batch(letters, again))
        except NotSent as error:
            self._reach.failed(address, error)
            code = reasons.NO_CONNECTION if isinstance(error.__cause__, TimeoutError) else reasons.NOT_SENT
            return _all(letters, Outcome.UNKNOWN if again else Outcome.NOT_SENT, error.message, code)
        except AnswerUnknown as error:
            self._reach.failed(address, error)
            return _all(letters, Outcome.UNKNOWN, error.message, reasons.UNKNOWN_ANSWER)
        except OrthError as error:
            code = reasons.ADDRESS_REFUSED if isinstance(error, Invalid) else reasons.REFUSED
            return _all(letters, Outcome.UNKNOWN if again else Outcome.REFUSED, str(error), code)
        self._reach.answered(address)
        return answers

    async def _one(self, letter: Letter, again: bool) -> list[Answer]:
        peer = letter.peer
        reply = await self._link.run(
            peer.address,
            self._request(letter, self._clock.now(), again),
            token=self._token,
            app_name=peer.app_name,
            extensions=peer.extensions,
            dialect=peer.dialect,
        )
        return [_answer(letter, reply.code, reply.msg, again)]

    async def _batch(self, letters: Sequence[Letter], again: bool) -> list[Answer]:
        peer, now = letters[0].peer, self._clock.now()
        replies = await self._link.run_all(
            peer.address,
            [self._request(letter, now, again) for letter in letters],
            token=self._token,
            app_name=peer.app_name,
            extensions=peer.extensions,
        )
        silent = f"{peer.address} answered the batch without a word about this one."
        return [
            _answer(letter, reply.code, reply.msg, again)
            if reply is not None
            else Answer(letter, Outcome.UNKNOWN, silent, reasons.UNKNOWN_ANSWER)
            for letter, reply in zip(letters, replies, strict=True)
        ]

    def _request(self, letter: Letter, now: int, again: bool) -> RunRequest:
        request = run_request(letter, now, self._tick_at, again=again)
        return request.model_copy(update={"secrets": self._opened(letter)}) if letter.secrets else request

    def _opened(self, letter: Letter) -> dict[str, str]:
        return {one.name: self._sealing.open(one.sealed, one.context).decode() for one in letter.secrets}

    def _lack(self, letter: Letter) -> str:
        """Which secret of the job cannot be given, in words; empty when all can."""
        if not letter.job.secrets:
            return ""
        missing = set(letter.job.secrets) - {one.name for one in letter.secrets}
        if missing:
            return f"The job names the secret {min(missing)}, which does not exist."
        try:
            self._opened(letter)
        except OrthError as error:
            return f"A secret of the job cannot be opened. {error}"
        return ""

    def _tick_at(self, peer: Peer, ahead: int) -> int | None:
        now = self._clock.monotonic()
        return self._reach.ticks.tick_at(peer.address, peer.incarnation, now + ahead / 1000, now)


def _answer(letter: Letter, code: int, said: str | None, again: bool) -> Answer:
    if code == SUCCESS:
        return Answer(letter, Outcome.TAKEN, said or "")
    if code == MISDIRECTED:
        told = f"Another application listens at {letter.peer.address} now: {said or code}"
        if again:  # the process that may have had it is gone
            return Answer(letter, Outcome.UNKNOWN, told, reasons.UNKNOWN_ANSWER)
        return Answer(letter, Outcome.NOT_SENT, told, reasons.NOT_SENT)
    message = f"{letter.peer.address} refused: {said or code}"
    return Answer(letter, Outcome.REFUSED, message, _refusal(letter, message))


def _refusal(letter: Letter, message: str) -> str:
    """Why an executor did not take it, in a word."""
    discards = letter.job.executor_block_strategy is BlockStrategy.DISCARD_LATER
    if discards and any(word in message for word in _DISCARDS):
        return reasons.DISCARDED
    if letter.source.glue_type is not GlueType.BEAN and NOT_ALLOWED_HERE in message:
        return reasons.SCRIPT_REFUSED
    return reasons.REFUSED


def _all(letters: Sequence[Letter], outcome: Outcome, message: str, code: str) -> list[Answer]:
    return [Answer(letter, outcome, message, code) for letter in letters]
