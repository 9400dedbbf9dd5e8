"""The execution as environment variables: what a child process of a handler, or a script, may know about it.

``variables_of`` writes them and ``Inherited`` reads them back, in a Python child that uses ``orth.helper``. Each has
two names, because both are in use.
"""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from orth.executor.context import JobContext

_ID, _PARAM, _LOG_ID = "ORTH_JOB_ID", "ORTH_JOB_PARAM", "ORTH_JOB_LOG_ID"
_LOG_TIME, _LOG_FILE = "ORTH_JOB_LOG_TIME", "ORTH_JOB_LOG_FILE"
_SCHEDULE_TIME, _TRIGGER_TIME = "ORTH_JOB_SCHEDULE_TIME", "ORTH_JOB_TRIGGER_TIME"
_SHARD_INDEX, _SHARD_TOTAL = "ORTH_JOB_SHARD_INDEX", "ORTH_JOB_SHARD_TOTAL"
_LOG_LEVEL = "ORTH_JOB_LOG_LEVEL"
_NAME, _RUN_KEY, _ATTEMPT = "ORTH_JOB_NAME", "ORTH_JOB_RUN_KEY", "ORTH_JOB_ATTEMPT"

LONGEST_VALUE = 128 * 1024 - len(f"{_PARAM}=") - 1
"""Bytes of one variable that Linux takes; above it no process could be started at all."""

SECOND_NAMES = {
    _LOG_ID: "ORTH_LOG_ID",
    _SCHEDULE_TIME: "ORTH_SCHEDULE_TIME",
    _TRIGGER_TIME: "ORTH_TRIGGER_TIME",
    _SHARD_INDEX: "ORTH_SHARD_INDEX",
    _SHARD_TOTAL: "ORTH_SHARD_TOTAL",
}


def variables_of(context: JobContext) -> dict[str, str]:
    """The variables of one execution. Times are ISO 8601; what is not known is empty.

    A NUL, which no variable can hold, becomes U+FFFD.
    """
    due = context.schedule_time
    variables = {
        _ID: str(context.job_id),
        _PARAM: context.param.replace("\0", "\ufffd"),
        _LOG_ID: str(context.log_id),
        _LOG_TIME: str(context.log_time),
        _LOG_FILE: context.log_file,
        _SCHEDULE_TIME: due.isoformat() if due is not None else "",
        _TRIGGER_TIME: context.trigger_time.isoformat(),
        _SHARD_INDEX: str(context.shard_index),
        _SHARD_TOTAL: str(context.shard_total),
        _NAME: context.job_name.replace("\0", "\ufffd"),
        _RUN_KEY: context.run_key,
        _ATTEMPT: "" if context.attempt is None else str(context.attempt),
        _LOG_LEVEL: "" if context.log_level is None else logging.getLevelName(context.log_level),
    }
    return variables | {second: variables[first] for first, second in SECOND_NAMES.items()}


def inheritable_variables(context: JobContext) -> dict[str, str]:
    """The same for a process that did not ask for them: a parameter too long for a variable is left out."""
    variables = variables_of(context)
    if len(os.fsencode(variables[_PARAM])) > LONGEST_VALUE:
        del variables[_PARAM]
    return variables


class Carried:
    """The variables on their way to a process that is started with a pickle: unpickled, they are in its environment."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = dict(variables)

    def __reduce__(self) -> tuple[Callable[..., None], tuple[str]]:
        # Of Python's own alone: the other process may be one that cannot import us, or would take long to.
        return exec, (f"import os; os.environ.update({self._variables!r})",)


@dataclass(frozen=True, slots=True)
class Inherited:
    """The execution of the process that started this one."""

    job_id: int
    param: str
    log_id: int
    log_time: int
    log_file: str | None
    schedule_time: datetime | None
    shard_index: int
    shard_total: int
    job_name: str
    run_key: str
    attempt: int | None

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Self | None:
        """What the variables say; ``None`` when they are not there, or not ours."""
        try:
            due = environ.get(_SCHEDULE_TIME)
            return cls(
                job_id=int(environ[_ID]),
                param=environ.get(_PARAM, ""),
                log_id=int(environ[_LOG_ID]),
                log_time=int(environ.get(_LOG_TIME, "-1")),
                log_file=environ.get(_LOG_FILE),
                schedule_time=datetime.fromisoformat(due) if due else None,
                shard_index=int(environ.get(_SHARD_INDEX, "0")),
                shard_total=int(environ.get(_SHARD_TOTAL, "1")),
                job_name=environ.get(_NAME, ""),
                run_key=environ.get(_RUN_KEY, ""),
                attempt=int(tries) if (tries := environ.get(_ATTEMPT)) else None,
            )
        except (KeyError, ValueError):
            return None
