"""The three descriptors that every program takes for granted.

Whoever starts a process may have closed them: some supervisors and cron wrappers do. The next files that are opened get
the numbers then, and what is printed, or written by C code, or by a child, goes into a journal, a socket or a database.
"""

import os

_STANDARD = (0, 1, 2)


def occupy_standard_descriptors() -> None:
    """Open ``/dev/null`` where one of them is closed. Called before anything else is opened."""
    for descriptor in _STANDARD:
        try:
            os.fstat(descriptor)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free: this one
            os.set_inheritable(opened, True)
