"""What of the channels an executor may use: what is of the apps of its token, of its own process, and of the executions
that it was given.

Queues are named after the app. Whoever takes, beats or reads acknowledgements does so under the name of its process,
the incarnation. That is no secret: the work key is, from which the name is made. Boxes of executions are of those who
were given them, and these have a report key; so an executor's token alone neither reads nor writes anything of what
others run, be it of its own app. What only coordinators say, nobody says through this door.

An executor may honestly have a report key that fits no more: its execution was deleted, or the database was restored.
So that this keeps nothing else back, such a box takes nothing, and shows only what coordinators have withdrawn.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from orth.channels.names import Names
from orth.coordinator.executor_access import not_its_app
from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.http.channel_shares import Guest
from orth.coordinator.http.tools import Tools
from orth.coordinator.proving import Unproved
from orth.domain.audit import Deed
from orth.errors import Forbidden, Invalid
from orth.store.database import Connection
from orth.store.queue_executors import app_of_process
from orth.store.tokens import Home, apps_of_jobs, homes_of_executions
from orth.wire.channel_messages import SAID_BY_EXECUTORS, WorkerBeat
from orth.wire.fields import IDENTITY_LIMIT
from orth.wire.work_keys import is_process_of, work_key_of_process

OPEN_FOR = 3_600_000
"""Milliseconds after its end for which boxes of an execution take something; the rest of its log comes much sooner."""
_PRIORITY = re.compile(r"\.p[0-9]$")
_EXECUTION = re.compile(r"\.(?P<job>[1-9][0-9]{0,17})\.(?P<kind>status|logs)\.(?P<id>[1-9][0-9]{0,17})\Z")
_OF_BOXES = {"post": "boxes", "read": "after", "remove": "boxes"}
_OF_QUEUES = frozenset({"take", "done", "bury", "give_back"})
_HINT = "Use an executor of this version."

Said = Mapping[str, Any]


async def check_channel_use(tools: Tools, key: ExecutorKey, address: str, verb: str, said: Said) -> Guest:
    """Refuse what belongs to others; as whom the caller may use the rest. ``said`` has the form of its verb."""
    said = {**said, "work_key": _work_key(key, said.get("process"))}  # never what the body says of itself
    for queue in _texts(said.get("queues")) + _texts([said.get("queue")]):
        _check_queue(tools.door.names, key, queue)
    if verb in _OF_QUEUES and isinstance(said.get("consumer"), str):
        _check_process(said["consumer"], said)
    if verb == "announce" and said.get("topic") == tools.door.names.worker_heartbeat:
        await _check_beat(tools, key, said)
    boxes = said.get(_OF_BOXES.get(verb, ""))
    named = _texts(list(boxes) if isinstance(boxes, dict | list) else [])
    found = {box: one for box in named if (one := _EXECUTION.search(box)) is not None}
    for box in named:
        if box not in found:
            await _check_own_box(tools, key, box, said)
    closed, unproved = await _check_boxes(tools, key, verb, said, found)
    for box in unproved:
        told = {"reason": Unproved.WRONG, "box": box}
        deed = Deed("callback.refused", "execution", found[box]["id"], after=told)
        await tools.refusals.note_executor(key, address, deed, Unproved.WRONG)
    return Guest(key.token_id, closed | unproved, key.app_names, closed | unproved)


async def check_what_was_awaited(tools: Tools, key: ExecutorKey, address: str, verb: str, said: Said) -> None:
    """The same once more, after a wait: what was its own at the beginning may be another's by now."""
    if verb == "read" and said.get("wait"):
        await check_channel_use(tools, key, address, verb, said)


def _check_queue(names: Names, key: ExecutorKey, queue: str) -> None:
    """A queue has a name without dots after the app's, which is not that of a priority, and perhaps a priority."""
    rest = _PRIORITY.sub("", queue.removeprefix(names.dispatch("")))
    if not key.serves(rest.rpartition(".")[0]):
        raise Forbidden(f"The token {key.name!r} may not use the queue {queue[:160]!r}.")


def _check_app(key: ExecutorKey, app_name: str) -> None:
    if not key.serves(app_name):
        raise not_its_app(key, app_name)


# --- processes


def _work_key(key: ExecutorKey, process: object) -> str | None:
    """The work key of the process that asks, if its executor proved its key."""
    if key.executor_id is None or not isinstance(process, str) or len(process) > IDENTITY_LIMIT:
        return None
    return work_key_of_process(key.token, process)


def _check_process(incarnation: str, said: Said) -> None:
    """A process alone uses what bears its name."""
    if not is_process_of(incarnation, said.get("work_key")):
        raise Forbidden(
            f"Only the process {incarnation[:160]!r} itself may do that: it proves the key of its executor.", hint=_HINT
        )


async def _check_beat(tools: Tools, key: ExecutorKey, said: Said) -> None:
    """A beat is of the apps of the token, and of a process that has spoken for no other."""
    message = said.get("message")
    _check_app(key, str(message.get("appName") if isinstance(message, dict) else ""))
    try:
        beat = WorkerBeat.model_validate(message)
    except ValueError:
        raise Invalid("This is no beat of an executor.", field="message") from None
    _check_app(key, beat.app_name)
    _check_process(beat.incarnation, said)
    if (await _app_of(tools, beat.incarnation) or beat.app_name) != beat.app_name:
        raise Forbidden(f"The process {beat.incarnation!r} is not of {beat.app_name!r}.")


async def _app_of(tools: Tools, incarnation: str) -> str | None:
    known = tools.door.workers.process(incarnation)
    if known is not None:
        return known.beat.app_name
    sound = incarnation.isprintable() and len(incarnation) <= IDENTITY_LIMIT
    return await tools.db.read(app_of_process, incarnation) if sound else None


async def _check_own_box(tools: Tools, key: ExecutorKey, box: str, said: Said) -> None:
    """A process's own box is its own, and its app's. What is no such box either is refused where it is used, and here
    with the token of a group.
    """
    before, _, after = tools.door.names.acknowledged("\0").partition("\0")
    incarnation = box.removeprefix(before).removesuffix(after)
    app_name = await _app_of(tools, incarnation)
    own = app_name is None and is_process_of(incarnation, said.get("work_key"))
    if not own and not key.serves(app_name or ""):
        raise _not_its_box(key, box)
    if box.startswith(before) and box.endswith(after):
        _check_process(incarnation, said)


# --- boxes of executions


async def _check_boxes(
    tools: Tools, key: ExecutorKey, verb: str, said: Said, boxes: Mapping[str, re.Match[str]]
) -> tuple[frozenset[str], frozenset[str]]:
    """Refuse boxes of other apps, and whoever shows no report key. Which of the others are closed, because their
    executions are gone or ended long ago, and which are closed to who asks: the key does not fit.
    """
    if not boxes or verb == "remove":  # nobody but coordinators removes them
        return frozenset(), frozenset()
    homes, jobs = await tools.db.read(
        _look_up, {int(one["id"]) for one in boxes.values()}, {int(one["job"]) for one in boxes.values()}
    )
    closed, unproved = set(), set()
    for box, one in boxes.items():
        home, told = homes.get(int(one["id"])), _keys_shown(verb, said, box, one["kind"])
        if home is None:
            if not key.serves(jobs.get(int(one["job"]), "")) or said.get("wait"):
                raise _not_its_box(key, box)
            closed.add(box)
        elif home.job_id != int(one["job"]) or not key.serves(home.app_name):
            raise _not_its_box(key, box)
        elif not all(tools.door.report_keys.fits(shown, int(one["id"]), home.trigger_time) for shown in told):
            unproved.add(box)
        elif verb == "post" and home.ended_at is not None and home.ended_at < tools.clock.now() - OPEN_FOR:
            closed.add(box)
    return frozenset(closed), frozenset(unproved)


def _keys_shown(verb: str, said: Said, box: str, kind: str) -> set[str]:
    """The report keys that are shown for a box: one of them, or one in each message."""
    if verb == "post":
        messages = said["boxes"].get(box) if isinstance(said["boxes"], dict) else None
        words = [one for one in messages if isinstance(one, dict)] if isinstance(messages, list) else []
        if kind == "status" and any(one.get("status") not in SAID_BY_EXECUTORS for one in words):
            raise Forbidden(f"That is not an executor's to say, in the box {box[:160]!r}.")
        shown: Iterable[object] = [one.get("reportKey") for one in words]
    else:
        keys = said.get("keys")
        shown = [keys.get(box) if isinstance(keys, dict) else None]
    found = {one for one in shown if isinstance(one, str)}
    if not all(isinstance(one, str) for one in shown):
        raise Forbidden(f"The box {box[:160]!r} needs the report key of its execution.", hint=_HINT)
    return found


def _not_its_box(key: ExecutorKey, box: str) -> Forbidden:
    return Forbidden(f"The token {key.name!r} may not use the box {box[:160]!r}.")


def _look_up(
    connection: Connection, execution_ids: set[int], job_ids: set[int]
) -> tuple[dict[int, Home], dict[int, str]]:
    homes = homes_of_executions(connection, execution_ids)
    known = {home.job_id for home in homes.values()}
    return homes, apps_of_jobs(connection, job_ids) if execution_ids - homes.keys() or job_ids - known else {}


def _texts(value: Any) -> list[str]:  # Any: a member of what somebody sent
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
