"""What coordinators write to each other about ownership, and how it is read.

A message is a hint from somebody who may have been wrong, old or broken: one that cannot be read is passed over, and
whoever acts on one asks the database first.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from orth.channels.interface import Message
from orth.clock import iso
from orth.domain.handoffs import Reason
from orth.store.ownership import Adoptable, Owned


@dataclass(frozen=True, slots=True)
class Assignment:
    """A dispatched execution that wants an owner. ``queue`` is empty when it was pushed: its executor then speaks to
    any coordinator by HTTP, and nobody need follow its channels at once.
    """

    execution_id: int
    job_id: int
    queue: str = ""
    job_type: str = ""


@dataclass(frozen=True, slots=True)
class Handoff:
    """An execution that may be adopted, in the generation its giver saw."""

    execution_id: int
    job_id: int
    generation: int
    from_node: str
    orphan: bool = False
    """Whether nobody looks after it: the orphan check offers it."""


def assigned(one: Assignment, now: int) -> Message:
    return {**_ids(one), "queue": one.queue, "jobType": one.job_type, "timestamp": iso(now)}


def handoff(one: Owned | Adoptable, from_node: str, reason: Reason, now: int) -> Message:
    told = {"fromNodeId": from_node, "generation": one.generation, "reason": reason.value, "timestamp": iso(now)}
    return {**_ids(one), **told}


def ack(adopted: Sequence[Owned], new_owner: str) -> Message:
    """One message for all that was adopted together: many would be a burst for nothing."""
    each = [{**_ids(one), "generation": one.generation} for one in adopted]
    if len(each) == 1:
        return {**each[0], "newOwner": new_owner}
    return {"newOwner": new_owner, "executions": each}


def read_assigned(messages: Iterable[Message]) -> list[Assignment]:
    found: list[Assignment] = []
    for message in messages:
        execution_id, job_id = _id_of(message), _number(message, "jobId")
        if execution_id is not None and job_id is not None:
            queue, job_type = message.get("queue"), message.get("jobType")
            found.append(Assignment(execution_id, job_id, str(queue or ""), str(job_type or "")))
    return found


def read_handoffs(messages: Iterable[Message]) -> list[Handoff]:
    found: list[Handoff] = []
    for message in messages:
        execution_id, job_id = _id_of(message), _number(message, "jobId")
        generation = _number(message, "generation")
        if execution_id is not None and job_id is not None and generation is not None:
            orphan = message.get("reason") in (Reason.NODE_CRASH, Reason.ORPHAN)
            found.append(Handoff(execution_id, job_id, generation, str(message.get("fromNodeId") or ""), orphan))
    return found


def read_acks(messages: Iterable[Message]) -> set[int]:
    """The executions that somebody says to have adopted."""
    found: set[int] = set()
    for message in messages:
        many = message.get("executions")
        for one in many if isinstance(many, list) else (message,):
            execution_id = _id_of(one) if isinstance(one, dict) else None
            if execution_id is not None:
                found.add(execution_id)
    return found


def _ids(one: Assignment | Owned | Adoptable) -> dict[str, Any]:
    return {"jobId": one.job_id, "executionId": one.execution_id, "historyId": one.execution_id}


def _id_of(message: Message) -> int | None:
    found = _number(message, "executionId")
    return found if found is not None else _number(message, "historyId")


def _number(message: Message, name: str) -> int | None:
    value = message.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
