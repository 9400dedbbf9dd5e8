"""Every exception of the project: one base, facts as fields, the sentence made inside.

``OrthError`` means "this was expected to be possible": it carries the HTTP status it becomes, a stable
machine-readable ``kind``, and where it helps a ``hint`` that says what to do next. Anything else that escapes is a
bug, and a loop that meets one ends its process (see ``orth.loop``). "Nothing to do" is a return value, never an
exception.

What people meet often has a ``code`` of its own, with the facts of its sentence beside it, so that a program can say it
in another language: ``SAYINGS`` has the words for all of them, and ``of`` makes the error from them.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Self

SAYINGS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "not_found": ("There is no {what} {key}.", ""),
        "needs_permission": (
            "{name} may not do this: it needs the permission '{permission}'.",
            "Ask an administrator for a role that has it.",
        ),
        "scripts_not_allowed": (
            'The group "{group}" does not allow scripts.',
            "An administrator can: orth script allow {id}, or scripts_allowed of the group.",
        ),
        "quota_reached": (
            "The group '{group}' has {limit} jobs, and no group may have more.",
            "Delete jobs that nobody needs, use another group, or have security.jobs_per_group raised.",
        ),
        "too_many_tries": ("Too many tries to sign in.", "Try again in {seconds} s."),
        "wrong_password": ("The user name or the password is wrong.", ""),
        "store_unavailable": ("The database does not answer.", ""),
        "no_schedule": (
            "Job {job} has no schedule (NONE), so there is nothing to start.",
            "Give it one, or trigger it by hand.",
        ),
        "job_is_open": ("Job {job} has an execution that has not ended.", "Stop the job and wait, then delete it."),
        "job_has_batch": ("Job {job} has a batch that is not over.", "Wait for it or cancel it, then delete the job."),
        "job_followed_by": ("Job {job} cannot be deleted: job {others} is followed by it.", "Change that first."),
        "job_handler_used": ("Job {job} cannot be deleted: job {others} runs its handler.", "Change that first."),
        "unknown_handler": ("No executor of {group} has a handler '{handler}'.", ""),
        "execution_ended": ("Execution {execution} has ended: {tag}.", ""),
        "execution_open": ("Execution {execution} has not ended: {tag}.", "Wait for its end, or kill it."),
        "group_has_jobs": ("Group {group} still has jobs.", "Delete or move them first."),
        "group_exists": ("There is a group with app name '{group}' already.", "Use that one, or choose another name."),
        "user_exists": ("There is a user '{name}' already.", "Change that one, or choose another name."),
        "last_administrator": (
            "{name} is the last administrator.",
            "Let somebody else be one first, then change this one.",
        ),
        "changed_meanwhile": (
            "{thing} is now at ETag {etag}; the change was made to another.",
            "Read it and try again.",
        ),
        "nobody_leads": ("Nobody leads at the moment.", ""),
        "no_other_leader": ("There is nobody else to lead but {node}.", ""),
        "not_supervised": (
            "No orth up keeps this process.",
            "Ask what keeps it: systemd, the container platform, a person.",
        ),
        "same_name": ("There are {count} jobs with this name in the group.", "Rename all but one."),
        "same_definition": ("Definition {place} is about the same job.", "Leave one of them out."),
        "no_group_here": ("There is no group '{group}' here.", "Make it first."),
        "no_calendar_here": ("There is no calendar '{calendar}' here.", "Make it first."),
        "no_job_here": ("There is no job '{job}' in '{group}'.", ""),
    }
)
"""By code: what is wrong, and what to do next."""

Facts = Mapping[str, str | int]


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
    def of(cls, code: str, *, field: str | None = None, hint: str | None = None, **facts: str | int) -> Self:
        """The failure that has this code, in the words of ``SAYINGS``; ``hint`` where there is more to say."""
        sentence, step = (text.format(**facts) for text in SAYINGS[code])
        error = cls.__new__(cls)
        OrthError.__init__(error, sentence, hint=hint or step or None, field=field)
        error.code, error.facts = code, facts
        return error

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
        super().__init__(SAYINGS["not_found"][0].format(what=what, key=key))
        self.what = what
        self.key = key
        self.code, self.facts = "not_found", {"what": what, "key": str(key)}


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
    """What an API answered instead of doing what it was asked; ``status`` is the answer's."""

    kind = "api-problem"

    def __init__(self, status: int, message: str, *, hint: str | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status
