"""Asking our executors what they have: who holds an execution says so, and who never had it says that.

The question is a trigger for an incarnation that no process has, so nobody ever takes it. A process that has the
execution, or ended it lately, recognises its id and says so; any other one says that it never had it, and which one it
is. It has read what its predecessor left on the disk by then, so its word counts for both.
"""

from collections.abc import Sequence
from enum import Enum

from orth.domain.executions import SUCCESS, Execution
from orth.errors import OrthError
from orth.store.possibly_running import UnconfirmedEnd
from orth.wire.executor_link import ExecutorLink, NotSent
from orth.wire.fields import BATCH_LIMIT
from orth.wire.messages import ENDED_WITH, NEVER_HAD, Extension, RunRequest

_NOBODY = "nobody"
_EXTENSIONS = frozenset({Extension.RESEND, Extension.BATCH_RUN})


class Word(Enum):
    """What was heard about an execution."""

    HERE = "it runs or waits there, or its result does"
    REPORTED = "it has ended there, and some coordinator has taken the result"
    FORGOTTEN = "the process that took it does not know it"
    REPLACED = "another process is there now, which never had it"
    NOBODY_THERE = "the machine says that nobody listens at the address"
    NO_ANSWER = "no answer"
    SILENCE = "an answer that says nothing about it"


async def inquire(
    link: ExecutorLink, address: str, held: Sequence[Execution | UnconfirmedEnd], token: str, app_name: str
) -> dict[int, Word]:
    """Ask at ``address`` about executions that a process there took; what was heard about each."""
    words: dict[int, Word] = {}
    for start in range(0, len(held), BATCH_LIMIT):
        some = held[start : start + BATCH_LIMIT]
        requests = [
            RunRequest(job_id=one.job_id, log_id=one.id, log_date_time=one.trigger_time, resend_to=_NOBODY)
            for one in some
        ]
        try:
            answers = await link.run_all(address, requests, token=token, app_name=app_name, extensions=_EXTENSIONS)
        except OrthError as error:
            nobody = isinstance(error, NotSent) and error.nobody_listens
            return words | dict.fromkeys(
                (one.id for one in held[start:]), Word.NOBODY_THERE if nobody else Word.NO_ANSWER
            )
        for one, answer in zip(some, answers, strict=True):
            words[one.id] = Word.SILENCE if answer is None else _word(one, answer.code, answer.msg or "")
    return words


def _word(execution: Execution | UnconfirmedEnd, code: int, said: str) -> Word:
    if code == SUCCESS:
        return Word.REPORTED if f": {ENDED_WITH} " in said else Word.HERE
    if NEVER_HAD not in said:
        return Word.SILENCE
    return Word.FORGOTTEN if execution.incarnation and execution.incarnation in said else Word.REPLACED
