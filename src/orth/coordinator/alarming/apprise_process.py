"""Sends one message by apprise, in a process of its own, which can be ended.

Run as a file. Apprise connects in threads, with libraries that read informational answers, headers and chunk sizes for
as long as a server sends them. No timeout of theirs ends that, and a thread cannot be ended from outside.

Standard input is a JSON object with ``urls``, ``title`` and ``body``. The exit code says whether all receivers took it.
"""

import json
import os
import resource
import sys

_MEMORY = 1024 * 1024 * 1024
_SECONDS = 60


def main() -> int:
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_SECONDS, _SECONDS))
    os.nice(10)  # the coordinator has more urgent things to do
    import apprise

    asked = json.load(sys.stdin)
    to_all = apprise.Apprise()
    for url in asked["urls"]:
        to_all.add(url)
    return 0 if to_all.notify(body=asked["body"], title=asked["title"]) else 1


if __name__ == "__main__":
    sys.exit(main())
