"""How an error ends a command: a line for people, and an exit code for scripts.

0 done, 1 error, 2 wrong usage or settings, 3 not found, 4 not allowed, 5 conflict, 6 unreachable.
"""

import sys
import traceback

from orth.errors import ApiProblem, BadSettings, Conflict, Forbidden, NotFound, OrthError, Unauthenticated, Unavailable

_EXIT_CODES: tuple[tuple[type[OrthError], int], ...] = (
    (BadSettings, 2),
    (NotFound, 3),
    (Unauthenticated, 4),
    (Forbidden, 4),
    (Conflict, 5),
    (Unavailable, 6),
)
_EXIT_CODES_OF_ANSWERS = {404: 3, 401: 4, 403: 4, 409: 5, 412: 5, 502: 6, 503: 6, 504: 6}


def report(error: Exception, *, debug: bool) -> int:
    """Tell ``error`` on standard error and return the exit code; with ``debug``, the traceback first."""
    if debug:
        traceback.print_exception(error)
    for line in _lines(error):
        print(f"orth: {_on_one_line(line)}", file=sys.stderr)
    return exit_code(error)


def exit_code(error: Exception) -> int:
    if isinstance(error, ApiProblem):
        return _EXIT_CODES_OF_ANSWERS.get(error.status, 1)
    return next((code for kind, code in _EXIT_CODES if isinstance(error, kind)), 1)


def _lines(error: Exception) -> list[str]:
    if isinstance(error, BadSettings):
        return error.problems
    if isinstance(error, OrthError):
        return [str(error)]
    return [f"unexpected {type(error).__name__}: {error} (this is a bug; ORTH_DEBUG=1 shows where)"]


def _on_one_line(text: str) -> str:
    return " ".join(text.split())
