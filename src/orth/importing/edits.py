"""Find out from the audit log which parts of a job users have edited since an import created the job.

An import repairs a part only if no user has edited this part. Imports add no entries about single jobs, so each entry
is about a user.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from orth.domain.audit_chain import Entry
from orth.domain.jobs import Job
from orth.store.audit import Wanted, entries_after
from orth.store.database import Connection

_SCHEDULE = ("schedule_type", "schedule_conf", "timezone")
_SAVE = "script.save"
_ACTIONS = ("job.create", "job.update", _SAVE)
_ENTRIES_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Edits:
    """Which parts of a job users have edited. A job that a user created has all of these."""

    job: bool
    """Any part."""
    schedule: bool
    """The schedule or the time zone has another value than the import gave."""
    script: bool


def edits_of(connection: Connection, job: Job) -> Edits:
    wanted = Wanted(actions=_ACTIONS, object_kind="job", object_id=str(job.id))
    return edits_among(entries_after(connection, wanted, 0, _ENTRIES_LIMIT), job)


def edits_among(entries: Sequence[Entry], job: Job) -> Edits:
    """The edits that ``entries`` report. The entries begin with the oldest one. If an entry does not contain the former
    values, or if entries may be missing, every part counts as edited.
    """
    if len(entries) >= _ENTRIES_LIMIT or any(one.before is None for one in entries):
        return Edits(job=True, schedule=True, script=True)
    original: dict[str, object] = {}
    for entry in entries:
        if entry.action != _SAVE:
            original = {**json.loads(entry.before or "{}"), **original}
    return Edits(
        job=bool(entries),
        schedule=any(original.get(name, getattr(job, name)) != getattr(job, name) for name in _SCHEDULE),
        script=any(entry.action == _SAVE for entry in entries),
    )
