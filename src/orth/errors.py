"""Every exception of the project: one base, facts as fields, the sentence made inside.

``OrthError`` means "this was expected to be possible": it carries the HTTP status it becomes, a stable
machine-readable ``kind``, and where it helps a ``hint`` that says what to do next. Anything else that escapes is a
bug, and a loop that meets one ends its process (see ``orth.loop``). "Nothing to do" is a return value, never an
exception.

What people can meet in the console has a ``code`` of its own, with the facts of its sentence beside it, so that a
program can say it in another language: ``orth.sayings`` has the words for all of them, and ``of`` makes the error from
them.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Self

from orth.sayings import SAYINGS

Facts = Mapping[str, str | int]


def quotable(text: object, longest: int) -> str:
    """``text`` as a fact that a sentence quotes: not longer than that, and what cannot be seen is escaped."""
    return repr(str(text)[:longest])[1:-1]


class OrthError(Exception):
    """An expected failure."""

    status = 500
    kind = "error"
    code: str | None = None
    facts: Facts = MappingProxyType({})

    def __init__(self, message: str, *, hint: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.field = field

    @classmethod
    def of(cls, code: str, *, field: str | None = None, **facts: str | int) -> Self:
        """The failure that has this code, in the words of ``SAYINGS``."""
        return cls._of(code, facts, field=field)

    @classmethod
    def like(cls, error: "OrthError", *, field: str | None = None) -> Self:
        """What ``error`` says, as a failure of this class and about this field."""
        made = cls._made(error.message, hint=error.hint, field=field)
        made.code, made.facts = error.code, error.facts
        return made

    @classmethod
    def _of(cls, code: str, facts: Facts, *, field: str | None) -> Self:
        sentence, step = (text.format(**facts) for text in SAYINGS[code])
        made = cls._made(sentence, hint=step or None, field=field)
        made.code, made.facts = code, facts
        return made

    @classmethod
    def _made(cls, message: str, *, hint: str | None, field: str | None) -> Self:
        """Without ``__init__``: that of a subclass may make another sentence."""
        made = cls.__new__(cls)
        OrthError.__init__(made, message, hint=hint, field=field)
        return made

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class Invalid(OrthError):
    """Input that can never work, whoever sends it and however often."""

    status = 422
    kind = "invalid"


class InvalidValue(Invalid, ValueError):
    """The same, of a value that a model is made of: Pydantic gathers what is a ``ValueError``."""


class InvalidSchedule(Invalid):
    """A schedule that cannot be understood or would never fire.

    ``position`` is the offset in ``text`` where the trouble starts, so that a person can be shown the place.
    """

    kind = "invalid-schedule"

    def __init__(
        self,
        message: str,
        *,
        text: str = "",
        position: int = 0,
        length: int = 1,
        hint: str | None = None,
        field: str = "schedule_conf",
    ) -> None:
        super().__init__(message, hint=hint, field=field)
        self.text = text
        self.position = position
        self.length = length

    @classmethod
    def at(
        cls,
        code: str,
        facts: Facts,
        *,
        text: str,
        position: int = 0,
        length: int = 1,
        field: str = "schedule_conf",
    ) -> Self:
        """The refusal that has this code, about a place in ``text``."""
        error = cls._of(code, facts, field=field)
        error.text, error.position, error.length = text, position, length
        return error

    def pointer(self) -> str:
        """The text with carets below the offending part."""
        return f"{self.text}\n{' ' * self.position}{'^' * max(1, self.length)}"


class InvalidMessage(Invalid):
    """A message from the network that does not have its form."""

    status = 400
    kind = "invalid-message"


class TooLarge(OrthError):
    """A body, field or page above its stated limit."""

    status = 413
    kind = "too-large"


class NotFound(OrthError):
    """The thing named does not exist, or may not be seen by the one who asks."""

    status = 404
    kind = "not-found"

    def __init__(self, what: str, key: object) -> None:
        super().__init__(SAYINGS["not_found"][0].format(what=what, key=key))
        self.what = what
        self.key = key
        self.code, self.facts = "not_found", {"what": what, "key": str(key)}


class Hidden(NotFound):
    """What the one who asks may not see. The answer is that of what is not there; the audit is told."""

    code = "not_found"


class Conflict(OrthError):
    """Somebody else was first, or the thing is in use."""

    status = 409
    kind = "conflict"


class QuotaReached(OrthError):
    """A group has as many jobs as it may have."""

    status = 409
    kind = "quota-reached"

    def __init__(self, app_name: str, limit: int) -> None:
        sentence, hint = SAYINGS["quota_reached"]
        super().__init__(sentence.format(group=app_name, limit=limit), hint=hint, field="job_group")
        self.code, self.facts = "quota_reached", {"group": app_name, "limit": limit}


class Unreadable(OrthError):
    """Something stored that this version cannot read: a newer one wrote it, or a hand did."""

    status = 409
    kind = "unreadable"


class Unauthenticated(OrthError):
    """No credential, or not one that is known."""

    status = 401
    kind = "unauthenticated"


class Forbidden(OrthError):
    """A known caller who may not do this."""

    status = 403
    kind = "forbidden"


class TooBusy(OrthError):
    """A queue is full: refused, and worth another try a little later."""

    status = 429
    kind = "too-busy"
    retry_after = 5
    """Seconds."""


class TooManyTries(TooBusy):
    """Somebody has tried to sign in too often."""

    kind = "too-many-tries"

    def __init__(self, wait_ms: int) -> None:
        self.retry_after = max(1, -(-wait_ms // 1000))
        sentence, hint = SAYINGS["too_many_tries"]
        super().__init__(sentence, hint=hint.format(seconds=self.retry_after))
        self.code, self.facts = "too_many_tries", {"seconds": self.retry_after}


class Unavailable(OrthError):
    """A neighbour (database, executor, coordinator) does not answer now and may later."""

    status = 503
    kind = "unavailable"
    retry_after = 5


class StoreUnavailable(Unavailable):
    """The database cannot be reached or gave up in the middle; the unit of work may be repeated."""

    kind = "store-unavailable"


class SchemaMismatch(OrthError):
    """The database holds a schema this program does not know how to use."""

    kind = "schema-mismatch"


class TermEnded(OrthError):
    """A write of an old leadership term was refused by the epoch in the database."""

    status = 409
    kind = "term-ended"

    def __init__(self, epoch: int) -> None:
        super().__init__(f"Term {epoch} is over: a newer leader exists, so nothing was written.")
        self.epoch = epoch


class BadSettings(OrthError):
    """Settings that do not fit together, with every problem listed: people mend them all at once."""

    status = 500
    kind = "bad-settings"

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class CannotStart(OrthError):
    """A process that refuses to start, in one line that says what to do."""

    kind = "cannot-start"


class ApiProblem(OrthError):
    """What an API answered instead of doing what it was asked, with the ``status`` and ``code`` of the answer.
    ``troubles`` are the wrong fields, each with what is wrong.
    """

    kind = "api-problem"

    def __init__(
        self,
        status: int,
        message: str,
        *,
        hint: str | None = None,
        code: str | None = None,
        troubles: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.status, self.code, self.troubles = status, code, tuple(troubles)
