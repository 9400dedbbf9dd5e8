"""The exchange itself: letters go out in one request, and each gets its answer.

What a failure means is decided here once. No connection: surely not sent. Anything else after a connection was there:
unknown. A batch that was answered as a whole instead of item by item is unknown as well, because part of it may have
been taken before something went wrong.

An executor of another make may refuse by DISCARD_LATER in words of its own. Whether it did, it is asked: busy with this
job, and idle for one that nobody has, it discarded the trigger. Anything else stays a refusal, which is retried and
alarmed about.

Secrets are opened here, at the last moment, and are nowhere but in the request.
"""

from collections.abc import Sequence
from dataclasses import replace

from orth.clock import Clock
from orth.coordinator.letters import Answer, Letter, Outcome, Peer, run_request
from orth.coordinator.reach import Reach
from orth.coordinator.sealing import Sealing
from orth.domain import reasons
from orth.domain.executions import SUCCESS
from orth.domain.jobs import BlockStrategy, GlueType, GroupDialect
from orth.errors import Invalid, OrthError
from orth.wire.executor_link import AnswerUnknown, ExecutorLink, NotSent, TokenNotShown
from orth.wire.messages import MISDIRECTED, NOT_ALLOWED_HERE, UNAVAILABLE, RunRequest
from orth.wire.report_keys import ReportKeys

_DISCARDS = ("DISCARD_LATER", "Discard Later")
"""How executors of all makes name the strategy when they refuse by it."""
_OTHER_REFUSALS = ("not found", "not valid", "access token")
"""How they refuse for another reason, busy or not."""
_UNKNOWN_PATHS = ("uri-mapping(run)", "uri-mapping(/run)", "uri-mapping(trigger)", "uri-mapping(/trigger)")
"""How executors of xxl-job refuse the path of a trigger that is not of their generation."""
_NOBODYS_JOB = 0


class Sending:
    """Sends letters to one executor at a time and tells ``reach`` how it went."""

    def __init__(
        self,
        link: ExecutorLink,
        reach: Reach,
        clock: Clock,
        token: str,
        *,
        sealing: Sealing,
        report_keys: ReportKeys,
    ) -> None:
        self._link = link
        self._reach = reach
        self._clock = clock
        self._token = token
        self._sealing = sealing
        self._report_keys = report_keys

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
            if isinstance(error, TokenNotShown):
                code = reasons.TOKEN_NOT_SHOWN
            return _all(letters, Outcome.UNKNOWN if again else Outcome.REFUSED, str(error), code)
        took = any(answer.outcome is Outcome.TAKEN for answer in answers)
        (self._reach.took if took else self._reach.declined)(address)
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
        answer = _answer(letter, reply.code, reply.msg, again)
        if _may_be_discarded(answer) and await self._is_busy(letter):
            told = f"{answer.message} It is busy with the job, whose block strategy is DISCARD_LATER."
            answer = replace(answer, message=told, code=reasons.DISCARDED)
        return [answer]

    async def _is_busy(self, letter: Letter) -> bool:
        """Whether the executor has something of the job. One that says no to everything has said nothing."""
        said = await self._idle(letter.peer, letter.job.id)
        return said is False and await self._idle(letter.peer, _NOBODYS_JOB) is True

    async def _idle(self, peer: Peer, job_id: int) -> bool | None:
        """Whether it says that a job is idle there; None when it does not answer."""
        try:
            reply = await self._link.idle_beat(
                peer.address, job_id, token=self._token, app_name=peer.app_name, dialect=peer.dialect
            )
        except OrthError:
            return None
        return reply.ok

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
        request = run_request(letter, now, self._tick_at, self._report_keys, again=again)
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
    if _speaks_otherwise(letter.peer, said or ""):
        told = f"It seems to speak another dialect than {letter.peer.dialect}, which its group names."
        return Answer(letter, Outcome.REFUSED, f"{message.rstrip('.')}. {told}", reasons.WRONG_DIALECT)
    if code == UNAVAILABLE and letter.peer.can_be_asked and not again:
        return Answer(letter, Outcome.DECLINED, message, reasons.REFUSED)
    return Answer(letter, Outcome.REFUSED, message, _refusal(letter, message))


def _speaks_otherwise(peer: Peer, said: str) -> bool:
    """Whether a third-party executor refused because it was spoken to in the dialect of another generation: the path of
    the trigger is not one of its paths, or it saw no token because the header has another name there.
    """
    if peer.incarnation is not None:
        return False
    no_token = peer.dialect is GroupDialect.ORTH and "access token" in said.lower()
    return no_token or any(path in said for path in _UNKNOWN_PATHS)


def _refusal(letter: Letter, message: str) -> str:
    """Why an executor did not take it, in a word."""
    discards = letter.job.executor_block_strategy is BlockStrategy.DISCARD_LATER
    if discards and any(word in message for word in _DISCARDS):
        return reasons.DISCARDED
    if letter.source.glue_type is not GlueType.BEAN and NOT_ALLOWED_HERE in message:
        return reasons.SCRIPT_REFUSED
    return reasons.REFUSED


def _may_be_discarded(answer: Answer) -> bool:
    """Whether a foreign executor may have refused because it is busy, without one of the words that say so."""
    letter, said = answer.letter, answer.message.lower()
    return (
        answer.code == reasons.REFUSED
        and letter.job.executor_block_strategy is BlockStrategy.DISCARD_LATER
        and not letter.peer.can_be_asked
        and not any(words in said for words in _OTHER_REFUSALS)
    )


def _all(letters: Sequence[Letter], outcome: Outcome, message: str, code: str) -> list[Answer]:
    return [Answer(letter, outcome, message, code) for letter in letters]
