"""Carries out one regular expression in a process of its own, which can be ended: some never come to an end by
themselves.

Run as a file, with the standard library only. The first line of standard input has the expression and is answered by
a line with ``null``, or with what is wrong with it. Each further line is a JSON list of texts and is answered by a line
with a JSON list of ``[index, start, end]`` for those that fit.
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
    for request in requests:
        found = ((index, expression.search(text)) for index, text in enumerate(json.loads(request)))
        _answer([(index, *match.span()) for index, match in found if match is not None])
    return 0


def _answer(message: object) -> None:
    sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
