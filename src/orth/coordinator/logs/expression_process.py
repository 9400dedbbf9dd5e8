"""Carries out one regular expression in a process of its own, which can be ended: some never come to an end by
themselves.

Run as a file, with the standard library only. The first line of standard input has the expression and is answered by
a line with ``null``, or with what is wrong with it. Each further line is a JSON list of texts and is answered by a line
with a JSON list of ``[index, start, end]`` for those that fit. An expression about the beginning of a text is tried on
the whole of it, and then on what is behind its time.
"""

import json
import os
import re
import resource
import sys

_MEMORY = 1024 * 1024 * 1024
_SECONDS = 60


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    os.nice(10)  # the coordinator has more urgent things to do
    requests = sys.stdin.buffer
    asked = json.loads(requests.readline())
    try:
        expression = re.compile(asked["expression"], re.IGNORECASE if asked["ignore_case"] else 0)
    except (re.error, RecursionError, OverflowError) as error:
        _answer(str(error))
        return 1
    _answer(None)
    anchored = "^" in asked["expression"] or r"\A" in asked["expression"]
    stamp = re.compile(asked["stamp"]) if anchored else None
    for request in requests:
        found = ((index, _span(expression, stamp, text)) for index, text in enumerate(json.loads(request)))
        _answer([(index, *span) for index, span in found if span is not None])
    return 0


def _span(expression: re.Pattern[str], stamp: re.Pattern[str] | None, text: str) -> tuple[int, int] | None:
    """Where in ``text`` the expression matches. ``stamp`` is what may stand before its beginning."""
    match = expression.search(text)
    if match is not None:
        return match.span()
    before = stamp.match(text) if stamp is not None else None
    if before is None or (match := expression.search(text[before.end() :])) is None:
        return None
    return before.end() + match.start(), before.end() + match.end()


def _answer(message: object) -> None:
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
