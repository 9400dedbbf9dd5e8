"""Every exception of the project: one base, facts as fields, the sentence made inside.

``OrthError`` means "this was expected to be possible": it carries the HTTP status it becomes, a stable
machine-readable ``kind``, and where it helps a ``hint`` that says what to do next. Anything else that escapes is a
bug, and a loop that meets one ends its process (see ``orth.loop``). "Nothing to do" is a return value, never an
exception.
"""


class OrthError(Exception):
    """An expected failure."""

    status = 500
    kind = "error"

    def __init__(self, message: str, *, hint: str | None = None, field: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.field = field

    def __str__(self) -> str:
        return f"{self.message} {self.hint}" if self.hint else self.message


class Invalid(OrthError):
    """Input that can never work, whoever sends it and however often."""

    status = 422
    kind = "invalid"


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
        super().__init__(f"There is no {what} {key}.")
        self.what = what
        self.key = key


class Conflict(OrthError):
    """Somebody else was first, or the thing is in use."""

    status = 409
    kind = "conflict"


class QuotaReached(OrthError):
    """A group has as many jobs as it may have."""

    status = 409
    kind = "quota-reached"

    def __init__(self, app_name: str, limit: int) -> None:
        super().__init__(
            f"The group {app_name!r} has {limit} jobs, and no group may have more.",
            hint="Delete jobs that nobody needs, use another group, or have security.jobs_per_group raised.",
            field="job_group",
        )


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
        super().__init__("Too many tries to sign in.", hint=f"Try again in {self.retry_after} s.")


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
    """What an API answered instead of doing what it was asked; ``status`` is the answer's."""

    kind = "api-problem"

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
