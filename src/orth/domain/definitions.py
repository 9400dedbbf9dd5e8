"""Definitions of jobs as they stand in a file: which job each is about, whom it names, and how many go at once.

One job is named by the app name of its group and its own name with a slash between. An app name has no slash, so the
first one parts them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

AT_ONCE = 500
"""Definitions in one request: nobody else writes to an SQLite file while they are looked at."""
PART_BYTES = 900_000
"""Of one request, as JSON: below what a coordinator accepts as a body unless told otherwise."""

Definition = Mapping[str, Any]


class JobName(NamedTuple):
    """What a job is called in a file: ids differ from place to place."""

    app_name: str
    job_desc: str


def name_of(definition: Definition) -> JobName | None:
    """Which job a definition is about; None where it says that by an id, or not at all."""
    group, name = definition.get("job_group"), definition.get("job_desc")
    return JobName(group.strip(), name.strip()) if isinstance(group, str) and isinstance(name, str) else None


def parted(reference: str) -> JobName:
    """The job that a reference names."""
    app_name, _, name = reference.partition("/")
    return JobName(app_name.strip(), name.strip())


def in_order(definitions: Sequence[Definition]) -> list[int]:
    """The places of ``definitions``, those first that others name. Of a ring any may be the first: it is refused where
    it closes.
    """
    places = {name: place for place, one in reversed(list(enumerate(definitions))) if (name := name_of(one))}
    ordered: dict[int, None] = {}
    entered: set[int] = set()
    for first in range(len(definitions)):
        stack = [first]
        while stack:
            place = stack[-1]
            entered.add(place)
            ahead = [places[name] for name in _named_in(definitions[place]) if name in places]
            waiting = [one for one in ahead if one not in entered]
            if waiting:
                stack.append(waiting[0])
            else:
                ordered.setdefault(stack.pop())
    return list(ordered)


def parts_of(definitions: Sequence[Definition]) -> list[list[int]]:
    """The places of ``definitions`` in parts that can be sent one after the other, those first that others name. What
    fits into one request stays together, in its own order.
    """
    sizes = [len(json.dumps(one).encode()) for one in definitions]
    if len(definitions) <= AT_ONCE and sum(sizes) <= PART_BYTES:
        return [list(range(len(definitions)))]
    parts: list[list[int]] = []
    filled = 0
    for place in in_order(definitions):
        if not parts or len(parts[-1]) == AT_ONCE or filled + sizes[place] > PART_BYTES:
            parts.append([])
            filled = 0
        parts[-1].append(place)
        filled += sizes[place]
    return parts


def told_twice(definitions: Sequence[Definition]) -> tuple[int, int] | None:
    """The places of two definitions of one job. Within a request they are refused; of two requests the second would
    undo the first.
    """
    seen: dict[JobName, int] = {}
    for place, one in enumerate(definitions):
        name = name_of(one)
        if name is not None and seen.setdefault(name, place) != place:
            return seen[name], place
    return None


def _named_in(definition: Definition) -> list[JobName]:
    children = definition.get("child_jobid")
    mentioned = [*(children if isinstance(children, list) else []), definition.get("super_task_id")]
    return [parted(one) for one in mentioned if isinstance(one, str)]
