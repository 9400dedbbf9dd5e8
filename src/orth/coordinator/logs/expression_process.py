"""Carries out one regular expression in a process of its own, which can be ended: some never come to an end by
themselves.

Run as a file, with the standard library only. The first line of standard input has the expression; each further line is
a JSON list of texts and is answered by a line with a JSON list of ``[index, start, end]`` for those that fit.
"""

import json
import re
import resource
import sys

_MEMORY = 1024 * 1024 * 1024
_SECONDS = 60


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    asked = json.loads(requests.readline())
    expression = re.compile(asked["expression"], re.IGNORECASE if asked["ignore_case"] else 0)
    for request in requests:
        found = ((index, expression.search(text)) for index, text in enumerate(json.loads(request)))
        fits = [(index, *match.span()) for index, match in found if match is not None]
        answers.write(json.dumps(fits).encode() + b"\n")
        answers.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
