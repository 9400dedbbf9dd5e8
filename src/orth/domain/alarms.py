"""When people are told about a job that fails: pure.

An execution that failed for good leaves a *sign*; so does a success of a job that was failing. Signs of one job are
gathered for a moment and judged together, so that a hundred failures are one message that says a hundred:

* ``first``: the job begins to fail. From then on it *stands* as failing.
* ``repeat``: it has failed again, and the last message is older than its ``repeat``. Failures in between are counted
  and say nothing; without a new failure nothing is repeated, so a job that runs once a day does not nag.
* ``resolved``: an execution has succeeded. Told only to those who were told that it failed.

Only the net effect of what was gathered counts: a job that stands as failing, succeeds and fails again within one
gathering still fails. Under a silence failures are counted and not told; of a job nobody was told about, the first
failure after it is ``first``. That a job has recovered is told under a silence too, to those who were told that it
failed: whatever they have opened about it would stay open for ever.

A job stands as failing in the group where it failed. Moved to another one, it begins to fail there anew, with a first
message: those who look after it now have heard of nothing.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from orth.errors import InvalidValue, quotable

MAIL_CHANNEL = "mail"
"""The name of the channel that the settings define: mail to the addresses a job names."""

_POLICY_FIELDS = frozenset({"each", "repeat", "resolved", "channels"})
_LONGEST_REPEAT = 365 * 86_400
_CHANNELS_LIMIT = 10
_NAME_LIMIT = 64
_POLICY_LIMIT = 1000
# One recipient, as plain as can be: nothing that a header or a mail server could read as something else.
_MAIL_ADDRESS = re.compile(r"[A-Za-z0-9._%+=~^&'*/!#$-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,252}[A-Za-z0-9])?")


class SignKind(StrEnum):
    """What an end left behind."""

    FAILURE = "failure"
    RESOLVED = "resolved"


class AlarmKind(StrEnum):
    """What a message says."""

    FIRST = "first"
    REPEAT = "repeat"
    RESOLVED = "resolved"
    TEST = "test"
    EXECUTOR = "executor"  # new executors enrolled


class AlarmState(StrEnum):
    """How far a sign or a message is."""

    NOTED = "noted"  # a sign that nobody has looked at
    LOCKED = "locked"  # a sign about which a message is under way
    WAITING = "waiting"  # a message to be sent
    SENDING = "sending"  # a message somebody is sending
    TOLD = "told"  # the receiver has said yes
    FAILED = "failed"  # given up


class AlarmStatus(IntEnum):
    """An execution's ``alarm_status``; a success keeps the first."""

    NOT_LOOKED_AT = 0
    UNDER_WAY = -1
    NOTHING_TO_TELL = 1
    TOLD = 2
    NOT_TOLD = 3


@dataclass(frozen=True, slots=True)
class AlarmPolicy:
    """What a job wants to have told."""

    each: bool = False
    """Also failures that are tried again."""
    repeat: int | None = None
    """Seconds between messages while it goes on failing; 0 = none but the first, None = as the settings say."""
    resolved: bool = True
    channels: tuple[str, ...] | None = None
    """Names of the channels to use; None = all."""

    @classmethod
    def parse(cls, given: object) -> "AlarmPolicy":
        """The policy of a JSON object; ``InvalidValue`` says what is wrong with it."""
        if not isinstance(given, dict):
            raise _bad("alarm_policy_object")
        unknown = given.keys() - _POLICY_FIELDS
        if unknown:
            raise _bad("alarm_policy_member", name=quotable(sorted(map(str, unknown))[0], 40))
        for name in ("each", "resolved"):
            if not isinstance(given.get(name, True), bool):
                raise _bad("alarm_policy_flag", name=name)
        policy = cls(
            each=given.get("each", False),
            repeat=_seconds(given.get("repeat")),
            resolved=given.get("resolved", True),
            channels=_names(given.get("channels")),
        )
        if len(json.dumps(policy.to_dict())) > _POLICY_LIMIT:
            raise _bad("alarm_policy_too_long", limit=_POLICY_LIMIT)
        return policy

    @classmethod
    def read(cls, stored: str | None) -> "AlarmPolicy":
        """The policy as stored. One that cannot be read is the default one: an alarm too many is better than none."""
        if stored is None:
            return cls()
        try:
            return cls.parse(json.loads(stored))
        except (ValueError, RecursionError):
            return cls()

    def to_dict(self) -> dict[str, object]:
        """Only what was said."""
        said: dict[str, object] = {}
        if self.each:
            said["each"] = True
        if self.repeat is not None:
            said["repeat"] = self.repeat
        if not self.resolved:
            said["resolved"] = False
        if self.channels is not None:
            said["channels"] = list(self.channels)
        return said


@dataclass(frozen=True, slots=True)
class Timing:
    """How long signs are gathered, in milliseconds: until none has come for ``quiet``, and never longer than
    ``gather``. ``repeat`` is for jobs that say nothing about it.
    """

    quiet: int
    gather: int
    repeat: int


@dataclass(frozen=True, slots=True)
class Sign:
    """What an end left, and when."""

    execution_id: int
    job_id: int
    kind: SignKind
    at: int
    id: int = 0
    job_group: int = 0
    """Of the execution: a job that is moved leaves its signs behind."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A job that is failing. ``told_at`` 0: nobody has been told yet."""

    job_id: int
    execution_id: int
    since: int
    told_at: int
    failures: int
    job_group: int = 0
    """In which it failed."""


@dataclass(frozen=True, slots=True)
class Silence:
    """A span in which nothing is told about a job while it is in a group, about a group, or anything."""

    job_id: int | None
    job_group: int | None
    starts_at: int
    ends_at: int
    reason: str
    actor: str
    id: int = 0

    def covers(self, job_id: int, job_group: int, now: int) -> bool:
        return (
            self.starts_at <= now < self.ends_at
            and self.job_id in (None, job_id)
            and self.job_group in (None, job_group)
        )


@dataclass(frozen=True, slots=True)
class Telling:
    """One thing to say. ``failures`` counts from ``since``; ``execution_id`` is the one it is said about."""

    kind: AlarmKind
    execution_id: int
    since: int
    failures: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """What follows from the signs of a job: wait until ``look_again``, or say ``tell`` and let the job stand so."""

    look_again: int | None = None
    tell: tuple[Telling, ...] = ()
    standing: Standing | None = None


def decide(
    standing: Standing | None, signs: Sequence[Sign], policy: AlarmPolicy, timing: Timing, *, silenced: bool, now: int
) -> Verdict:
    """What to tell about a job whose ``signs`` have come, oldest first."""
    failures = [sign for sign in signs if sign.kind is SignKind.FAILURE]
    recovery = signs[-1] if signs[-1].kind is SignKind.RESOLVED else None
    told = standing is not None and standing.told_at > 0
    if failures and not told and not silenced:
        ready = min(failures[-1].at + timing.quiet, failures[0].at + timing.gather)
        if now < ready:
            return Verdict(look_again=ready)
    tell: list[Telling] = []
    if failures:
        standing = _failing(standing, failures)
        kind = _due(standing, policy, timing, now) if not silenced else None
        if kind is not None and not (recovery and kind is AlarmKind.REPEAT):
            about = standing.execution_id if kind is AlarmKind.FIRST else failures[-1].execution_id
            tell.append(Telling(kind, about, standing.since, standing.failures))
            standing = replace(standing, told_at=now)
    if recovery is not None and standing is not None:
        if standing.told_at and policy.resolved:
            tell.append(Telling(AlarmKind.RESOLVED, recovery.execution_id, standing.since, standing.failures))
        standing = None
    return Verdict(tell=tuple(tell), standing=standing)


def mail_addresses(text: str) -> tuple[str, ...]:
    """The recipients in a text with commas between them, each once."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    for part in parts:
        if not _MAIL_ADDRESS.fullmatch(part):
            raise InvalidValue.of("not_an_email", address=quotable(part, 100), field="alarm_email")
    return tuple(dict.fromkeys(parts))


def is_silenced(silences: Sequence[Silence], job_id: int, job_group: int, now: int) -> bool:
    return any(silence.covers(job_id, job_group, now) for silence in silences)


def pause_before(attempt: int, first: int, longest: int) -> int:
    """Milliseconds before another attempt after ``attempt`` of them have failed: doubled each time."""
    return int(min(longest, first * 2 ** min(attempt - 1, 32)))


def outcome_of(states: Mapping[str, AlarmState]) -> AlarmStatus | None:
    """The status of executions whose messages are so, by channel; None while one is under way."""
    if any(state in (AlarmState.WAITING, AlarmState.SENDING) for state in states.values()):
        return None
    every = all(state is AlarmState.TOLD for state in states.values())
    return AlarmStatus.TOLD if every else AlarmStatus.NOT_TOLD


def _failing(standing: Standing | None, failures: Sequence[Sign]) -> Standing:
    first = failures[0]
    if standing is None or standing.job_group != first.job_group:
        return Standing(first.job_id, first.execution_id, first.at, 0, len(failures), first.job_group)
    return replace(standing, failures=standing.failures + len(failures))


def _due(standing: Standing, policy: AlarmPolicy, timing: Timing, now: int) -> AlarmKind | None:
    if not standing.told_at:
        return AlarmKind.FIRST
    repeat = timing.repeat if policy.repeat is None else policy.repeat * 1000
    return AlarmKind.REPEAT if repeat and now - standing.told_at >= repeat else None


def _seconds(value: object) -> int | None:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= _LONGEST_REPEAT:
        raise _bad("alarm_policy_repeat", limit=_LONGEST_REPEAT)
    return value


def _names(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) > _CHANNELS_LIMIT:
        raise _bad("alarm_policy_channels", limit=_CHANNELS_LIMIT)
    if not all(isinstance(name, str) and 0 < len(name) <= _NAME_LIMIT and name.isprintable() for name in value):
        raise _bad("alarm_policy_names", limit=_NAME_LIMIT)
    return tuple(dict.fromkeys(value))


def _bad(code: str, **facts: str | int) -> InvalidValue:
    return InvalidValue.of(code, **facts, field="alarm_policy")
