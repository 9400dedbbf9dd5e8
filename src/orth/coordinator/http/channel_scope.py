"""What of the channels an executor may use with the token of its group: what is of its apps.

Queues are named after the app. Boxes are of executions, whose group the database knows, or of executor processes, and a
process is of the app it first spoke for: its name, the incarnation, is no secret. Nothing is kept for an execution that
does not exist: ids are counted up, so whoever may write ahead would speak for others.

What a body says otherwise is left to ``channels``, which reads it again and more closely.
"""

import re
from typing import Any

from orth.channels.names import Names
from orth.coordinator.executor_access import not_its_app
from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.http.channel_shares import Guest
from orth.coordinator.http.tools import Tools
from orth.errors import Forbidden, Invalid
from orth.store.database import Connection
from orth.store.queue_executors import app_of_process
from orth.store.tokens import Home, apps_of_jobs, homes_of_executions
from orth.wire.channel_messages import WorkerBeat
from orth.wire.messages import BODY_LIMIT, IDENTITY_LIMIT
from orth.wire.strict_json import read_json

OPEN_FOR = 3_600_000
"""Milliseconds after its end for which boxes of an execution take something; the rest of its log comes much sooner."""
_PRIORITY = re.compile(r"\.p[0-9]$")
_EXECUTION = re.compile(r"\.(?P<job>[1-9][0-9]{0,17})\.(?:status|logs)\.(?P<id>[1-9][0-9]{0,17})\Z")
_OF_BOXES = {"post": "boxes", "read": "after", "remove": "boxes"}


async def check_channel_use(tools: Tools, key: ExecutorKey, verb: str, body: bytes) -> Guest:
    """Refuse what belongs to others; as whom the caller may use the rest."""
    if key.app_names is None:
        return Guest()
    said = read_json(body, BODY_LIMIT)
    if not isinstance(said, dict):
        return Guest(key.token_id, app_names=key.app_names)  # refused where it is read
    for queue in _texts(said.get("queues")) + _texts([said.get("queue")]):
        _check_queue(tools.door.names, key, queue)
    if verb == "announce":
        await _check_beat(tools, key, said.get("message"))
    boxes = said.get(_OF_BOXES.get(verb, ""))
    named = _texts(list(boxes) if isinstance(boxes, dict | list) else [])
    closed = await _check_boxes(tools, key, named, of_gone=verb == "read" and not said.get("wait"))
    return Guest(key.token_id, closed, key.app_names)


async def check_what_was_awaited(tools: Tools, key: ExecutorKey, verb: str, body: bytes) -> None:
    """The same once more, after a wait: what was its own at the beginning may be another's by now."""
    said = read_json(body, BODY_LIMIT) if verb == "read" and key.app_names is not None else {}
    if isinstance(said, dict) and said.get("wait"):
        await check_channel_use(tools, key, verb, body)


def _check_queue(names: Names, key: ExecutorKey, queue: str) -> None:
    """A queue has a name without dots after the app's, which is not that of a priority, and perhaps a priority."""
    rest = _PRIORITY.sub("", queue.removeprefix(names.dispatch("")))
    if not key.serves(rest.rpartition(".")[0]):
        raise Forbidden(f"The token {key.name!r} may not use the queue {queue[:160]!r}.")


def _check_app(key: ExecutorKey, app_name: str) -> None:
    if not key.serves(app_name):
        raise not_its_app(key, app_name)


# --- processes


async def _check_beat(tools: Tools, key: ExecutorKey, message: object) -> None:
    """A beat is of the apps of the token, and of a process that nobody else has spoken for."""
    _check_app(key, str(message.get("appName") if isinstance(message, dict) else ""))
    try:
        beat = WorkerBeat.model_validate(message)
    except ValueError:
        raise Invalid("This is no beat of an executor.", field="message") from None
    _check_app(key, beat.app_name)
    if (await _app_of(tools, beat.incarnation) or beat.app_name) != beat.app_name:
        raise Forbidden(f"The process {beat.incarnation!r} is not of {beat.app_name!r}.")


async def _app_of(tools: Tools, incarnation: str) -> str | None:
    known = tools.door.workers.process(incarnation)
    if known is not None:
        return known.beat.app_name
    sound = incarnation.isprintable() and len(incarnation) <= IDENTITY_LIMIT
    return await tools.db.read(app_of_process, incarnation) if sound else None


# --- boxes


async def _check_boxes(tools: Tools, key: ExecutorKey, boxes: list[str], *, of_gone: bool) -> frozenset[str]:
    """Refuse boxes of others, and those of nothing; which of the others take nothing more.

    ``of_gone``: a box of its own job may be read though the execution is gone. Its offer may still wait in a queue, and
    whoever takes that reads in the box that it was withdrawn.
    """
    executions = {box: found for box in boxes if (found := _EXECUTION.search(box)) is not None}
    for box in boxes:
        if box not in executions:
            await _check_own_box(tools, key, box)
    if not executions:
        return frozenset()
    homes, jobs = await tools.db.read(
        _look_up, {int(one["id"]) for one in executions.values()}, {int(one["job"]) for one in executions.values()}
    )
    over = set()
    for box, one in executions.items():
        home = homes.get(int(one["id"]))
        if home is None and of_gone and key.serves(jobs.get(int(one["job"]), "")):
            continue
        if home is None or home.job_id != int(one["job"]) or not key.serves(home.app_name):
            raise Forbidden(f"The token {key.name!r} may not use the box {box[:160]!r}.")
        if home.ended_at is not None and home.ended_at < tools.clock.now() - OPEN_FOR:
            over.add(box)
    return frozenset(over)


def _look_up(
    connection: Connection, execution_ids: set[int], job_ids: set[int]
) -> tuple[dict[int, Home], dict[int, str]]:
    homes = homes_of_executions(connection, execution_ids)
    known = {home.job_id for home in homes.values()}
    return homes, apps_of_jobs(connection, job_ids) if execution_ids - homes.keys() or job_ids - known else {}


async def _check_own_box(tools: Tools, key: ExecutorKey, box: str) -> None:
    """A process's own box is its app's. What is no such box either is refused here as well."""
    before, _, after = tools.door.names.acknowledged("\0").partition("\0")
    app_name = await _app_of(tools, box.removeprefix(before).removesuffix(after))
    if not key.serves(app_name or ""):
        raise Forbidden(f"The token {key.name!r} may not use the box {box[:160]!r}.")


def _texts(value: Any) -> list[str]:  # Any: a member of what somebody sent
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
