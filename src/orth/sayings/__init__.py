"""What is said to people who meet an expected failure, by its code; ``orth.errors`` makes the failures.

The console has the same words, letter for letter, and two other languages. Each module has those about one subject.
``{name}`` stands for a fact, ``{name:,}`` for a number that each language writes in its own way.
"""

from collections.abc import Mapping
from types import MappingProxyType

from orth.sayings import access, alarms, cluster, code, executions, fields, jobs, requests, schedules

SAYINGS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        **requests.SAYINGS,
        **fields.SAYINGS,
        **access.SAYINGS,
        **jobs.SAYINGS,
        **code.SAYINGS,
        **schedules.SAYINGS,
        **executions.SAYINGS,
        **alarms.SAYINGS,
        **cluster.SAYINGS,
    }
)
"""By code: what is wrong, and what to do next."""
