"""The current execution, for code that was not handed a ``JobContext``.

Each function asks whichever job is being carried out here. Outside a job there is none: numbers are -1, texts and times
``None``, and what would write or decide something does nothing and returns false.

In a process that a job started, a script for instance, the questions are answered from the environment and ``log``
writes to standard output, which the executor reads. How such an execution ends is said by the exit code of its process,
so the functions that decide do nothing there.
"""

import os
import sys
import traceback
from datetime import datetime

from orth.executor.context import JobContext, current, filled_in
from orth.executor.environment import Inherited


def _here() -> JobContext | Inherited | None:
    return current() or Inherited.read(os.environ)


def get_job_id() -> int:
    context = _here()
    return context.job_id if context else -1


def get_job_param() -> str | None:
    """The parameter as it was sent."""
    context = _here()
    return context.param if context else None


def get_log_id() -> int:
    context = _here()
    return context.log_id if context else -1


def get_log_date_time() -> int:
    """When the execution was triggered, in epoch milliseconds."""
    context = _here()
    return context.log_time if context else -1


def get_log_file_name() -> str | None:
    context = _here()
    return context.log_file if context else None


def get_schedule_time() -> datetime | None:
    """The instant the schedule meant; also ``None`` in a job that was triggered by hand."""
    context = _here()
    return context.schedule_time if context else None


def get_shard_index() -> int:
    context = _here()
    return context.shard_index if context else -1


def get_shard_total() -> int:
    context = _here()
    return context.shard_total if context else -1


def get_job_name() -> str | None:
    context = _here()
    return context.job_name if context else None


def get_attempt() -> int:
    """1 for the first attempt; also -1 where the coordinator does not say."""
    context = _here()
    return -1 if context is None or context.attempt is None else context.attempt


def get_run_key() -> str | None:
    """The same for every attempt at one fire and shard."""
    context = _here()
    return context.run_key if context else None


def get_secret(name: str) -> str | None:
    """The value of a secret that the job names; ``None`` when it does not name it."""
    context = _here()
    if isinstance(context, Inherited):
        return os.environ.get(name)
    return context.secrets.get(name) if context else None


def log(pattern: str | BaseException, *values: object) -> bool:
    """Write to the execution's log; each ``{}`` stands for the next value, an exception for its traceback."""
    context = _here()
    if isinstance(context, JobContext):
        context.log(pattern, *values)
    elif context is not None:
        if isinstance(pattern, BaseException):
            text = "".join(traceback.format_exception(pattern))
        else:
            text = f"{filled_in(pattern, values)}\n"
        sys.stdout.write(text)
        sys.stdout.flush()  # a pipe would keep it until the process ends
    return context is not None


def handle_success(message: str = "") -> bool:
    """End as a success when the handler returns."""
    context = current()
    if context is None:
        return False
    context.ok(message)
    return True


def handle_fail(message: str = "") -> bool:
    """End as failed when the handler returns."""
    context = current()
    if context is None:
        return False
    context.fail(message)
    return True


def handle_timeout(message: str = "") -> bool:
    """End as out of time when the handler returns."""
    context = current()
    if context is None:
        return False
    context.timed_out(message)
    return True


def handle_result(code: int, message: str = "") -> bool:
    """End with this code when the handler returns."""
    context = current()
    if context is None:
        return False
    context.result(code, message)
    return True
