"""What a job author proposes for the jobs that use a handler.

Schedule, zone, time limit, block strategy and retries are announced with the handler and used when a job is first
defined; what the console says later is never overruled. An executor itself acts on none of them: the trigger says what
holds.
"""

import logging
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from orth.domain.jobs import ALIASES, CONCURRENCY_LIMIT, LONGEST_TIMEOUT, BlockStrategy, Overlap
from orth.domain.parameter_schema import misfit
from orth.errors import Invalid
from orth.settings.values import parse_duration
from orth.wire.messages import HandlerInfo, RetryInfo

MOST_ATTEMPTS = 100
LONGEST_DELAY = timedelta(days=1)
_NAME_FIRST = re.compile(r"\s*[A-Za-z]{2}")
_LIKE_SCHEDULE = re.compile(r"\s*(@\w|(fix_rate|fix_delay|at)\s|\S+(\s+\S+){4})", re.IGNORECASE)
_FORMS = "Write a cron expression, FIX_RATE 30s, FIX_DELAY 30s or AT 2030-01-31T06:00."


@dataclass(frozen=True, slots=True)
class Retry:
    """How often a failed execution is tried, and after which pauses.

    ``attempts`` counts all of them, the first included. The pause before the second is ``delay`` (``"10s"``, seconds,
    or a timedelta), each further one ``backoff`` times the one before; ``jitter`` makes pauses shorter at random. A
    failure by one of ``give_up_on`` would fail again: it is not worth another attempt.
    """

    attempts: int = 3
    delay: timedelta | float | str = "10s"
    backoff: float = 1.0
    jitter: bool = False
    give_up_on: tuple[type[BaseException], ...] = ()

    def __post_init__(self) -> None:
        if not 1 <= _whole(self.attempts, "The attempts of a retry") <= MOST_ATTEMPTS:
            raise Invalid(f"There can be 1 to {MOST_ATTEMPTS} attempts, not {self.attempts}.")
        if not timedelta(0) <= _span(self.delay) <= LONGEST_DELAY:
            raise Invalid(f"The delay of a retry lies between 0 and {LONGEST_DELAY.days} day, not {self.delay}.")
        if not (_is_number(self.backoff) and math.isfinite(self.backoff) and self.backoff >= 1):
            raise Invalid(f"The backoff of a retry is a factor of at least 1, not {self.backoff!r}.")
        kinds = self.give_up_on
        if not isinstance(kinds, tuple) or not all(isinstance(one, type) for one in kinds):
            raise Invalid(
                f"give_up_on is a tuple of exceptions, not {kinds!r}.", hint="Write give_up_on=(ValueError,)."
            )

    def info(self) -> RetryInfo:
        """As it is announced."""
        return RetryInfo(
            attempts=self.attempts,
            delay=round(_span(self.delay).total_seconds() * 1000),
            backoff=self.backoff,
            jitter=self.jitter,
            give_up_on=tuple(f"{kind.__module__}.{kind.__qualname__}" for kind in self.give_up_on),
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(value: object, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise Invalid(f"{what} are a whole number, not {value!r}.")
    return value


def _span(delay: timedelta | float | str) -> timedelta:
    if isinstance(delay, timedelta):
        return delay
    try:
        return parse_duration(delay) if isinstance(delay, str) else timedelta(seconds=delay)
    except (ValueError, OverflowError, TypeError) as error:
        raise Invalid(f"The delay of a retry cannot be {delay!r}: {error}") from None


@dataclass(frozen=True, slots=True)
class Proposal:
    """How a job that uses the handler should be set up, as its author sees it."""

    schedule: str | None = None
    timezone: str | None = None
    timeout: int = 0
    """Seconds; 0 means no limit."""
    block: BlockStrategy = BlockStrategy.SERIAL_EXECUTION
    concurrency: int = 1
    overlap: Overlap = Overlap.CLUSTER
    retry: Retry | None = None


@dataclass(frozen=True, slots=True)
class ScheduleMistake:
    """A schedule or zone that no job can have. The handler is registered without it, so that one wrong expression stops
    neither the executor nor its other handlers.
    """

    place: str
    """File and line of the decorator."""
    handler: str
    schedule: str
    timezone: str | None
    message: str
    hint: str | None

    def __str__(self) -> str:
        written = " ".join(filter(None, (self.schedule, self.timezone)))
        said = f"{self.place}: handler {self.handler} has no schedule: {written!r}: {self.message}"
        return f"{said} {self.hint}" if self.hint else said


def schedule_trouble(schedule: str | None, timezone: str | None) -> Invalid | None:
    """Why no job can have this schedule and zone; None if it can."""
    from orth.domain.cron.zones import zone_named  # an executor without schedules does not wait for zones
    from orth.domain.schedules import parse_schedule, read_schedule

    try:
        if timezone is not None:
            zone_named(timezone)
        if schedule is not None:
            if not schedule.strip().isprintable():
                raise Invalid("A schedule is one line without tabs.", hint=_FORMS)
            parse_schedule(*read_schedule(schedule), timezone=timezone or "UTC")
    except Invalid as error:
        is_named = _NAME_FIRST.match(schedule or "") and error.field == "schedule_conf"
        return Invalid(error.message, hint=_FORMS) if is_named else error
    return None


def is_schedule(name: str) -> bool:
    """Whether the name of a handler is a schedule, as in ``@app.job("0 0 2 * * ?")``."""
    return bool(_LIKE_SCHEDULE.match(name)) and schedule_trouble(name, None) is None


def job_troubles(info: HandlerInfo, now: int) -> list[Invalid]:
    """Why the API would refuse the job that a handler's author proposes at ``now``, or why all its runs would fail."""
    from orth.domain.schedules import parse_schedule, read_schedule

    found = []
    if (info.timeout or 0) > LONGEST_TIMEOUT:
        most = f"at most {LONGEST_TIMEOUT} seconds, which are {LONGEST_TIMEOUT // 86_400} days"
        found.append(Invalid(f"A time limit is {most}, not {info.timeout}."))
    if info.schedule is not None:
        try:
            parse_schedule(*read_schedule(info.schedule), timezone=info.timezone or "UTC").check_future(now)
        except Invalid as error:
            found.append(error)
        if trouble := trouble_without_parameter(info.params_schema):
            found.append(trouble)
    return found


def trouble_without_parameter(schema: Mapping[str, Any] | None) -> Invalid | None:
    """Why a handler fails whenever its schedule runs it, if a job says no parameter; None if it may not fail."""
    said = misfit(schema, "{}")
    if said is None:
        return None
    return Invalid(f"By its schedule it gets no parameters: {said}.", hint="Give it a default.")


def checked_zone(name: str | None) -> str | None:
    if name is not None and not isinstance(name, str):
        raise Invalid(f"There is no time zone {name!r}.", hint="Write one such as Europe/Paris.")
    return name


def checked_level(level: int | str) -> int:
    """A level of ``logging``, by its name or as its number."""
    named = logging.getLevelNamesMapping()
    found = named.get(level.strip().upper()) if isinstance(level, str) else level
    if not isinstance(found, int) or isinstance(found, bool) or found < 0:
        raise Invalid(f"There is no log level {level!r}.", hint="Write one such as INFO.")
    return found


def checked_schedule(text: str | None) -> str | None:
    if text is not None and not isinstance(text, str):
        raise Invalid(f"A schedule is a text, not {text!r}.", hint='Write one such as "0 */5 * * * ?".')
    return text


def checked_retry(retry: Retry | None) -> Retry | None:
    if retry is not None and not isinstance(retry, Retry):
        raise Invalid(f"Retries are proposed with a Retry, not {retry!r}.", hint="Write retry=Retry(attempts=3).")
    return retry


def whole_seconds(limit: timedelta | int | str | None) -> int:
    """A time limit as it travels: a timedelta is rounded up, a text such as ``200ms`` refused."""
    if isinstance(limit, timedelta):
        seconds = math.ceil(limit.total_seconds())
    else:
        count = parse_duration(limit).total_seconds() if isinstance(limit, str) else limit or 0
        if not _is_number(count) or (isinstance(count, float) and not count.is_integer()):
            raise Invalid(f"A time limit is in whole seconds, not {limit!r}.", hint='Write one such as 90 or "90s".')
        seconds = int(count)
    if seconds < 0:
        raise Invalid(f"A time limit cannot be negative: {limit}.")
    return seconds


def block_strategy(text: str) -> BlockStrategy:
    spelt = text.strip().upper() if isinstance(text, str) else ""
    strategy = ALIASES.get(spelt, spelt)
    try:
        return BlockStrategy(strategy)
    except ValueError:
        raise Invalid(
            f"There is no block strategy {text!r}.", hint="Write serial, discard, cover or concurrent."
        ) from None


def checked_overlap(text: str) -> Overlap:
    try:
        return Overlap(text.strip().lower() if isinstance(text, str) else text)
    except ValueError:
        raise Invalid(f"There is no overlap {text!r}.", hint="Write cluster or executor.") from None


def checked_concurrency(count: int, block: BlockStrategy) -> int:
    if not 1 <= _whole(count, "Executions beside each other") <= CONCURRENCY_LIMIT:
        raise Invalid(f"Between 1 and {CONCURRENCY_LIMIT} executions can run beside each other, not {count}.")
    if count > 1 and block is not BlockStrategy.CONCURRENT:
        raise Invalid(f"A concurrency of {count} needs the block strategy concurrent.", hint='Add block="concurrent".')
    return count
