"""What of the channels an executor may use with the token of its group: what carries the names of its apps.

Queues are named after the app, a beat says whose it is, and boxes are of executions, whose group the database knows.
What a body says otherwise is left to ``channels``, which reads it again and more closely.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from orth.channels.names import Names
from orth.coordinator.executor_access import not_its_app
from orth.coordinator.executor_keys import ExecutorKey
from orth.coordinator.http.tools import Tools
from orth.errors import Forbidden
from orth.store.tokens import apps_of_executions
from orth.wire.messages import BODY_LIMIT
from orth.wire.strict_json import read_json

_PRIORITY = re.compile(r"\.p[0-9]$")
_OF_BOXES = {"post": "boxes", "read": "after"}


async def check_channel_use(tools: Tools, key: ExecutorKey, verb: str, body: bytes) -> None:
    """Refuse what belongs to others. Processes' own boxes are named after their incarnation, which nobody guesses."""
    if key.app_names is None:
        return
    said = read_json(body, BODY_LIMIT)
    if not isinstance(said, dict):
        return  # refused where it is read
    for queue in _texts(said.get("queues")) + _texts([said.get("queue")]):
        _check_queue(tools.door.names, key, queue)
    if verb == "announce":
        message = said.get("message")
        _check_app(key, str(message.get("appName") if isinstance(message, dict) else ""))
    boxes = said.get(_OF_BOXES.get(verb, ""))
    if isinstance(boxes, Mapping):
        await _check_boxes(tools, key, boxes)


def _check_queue(names: Names, key: ExecutorKey, queue: str) -> None:
    """A queue has a name without dots after the app's, and perhaps a priority."""
    rest = queue.removeprefix(names.dispatch(""))
    of_apps = {rest.rpartition(".")[0]}
    if _PRIORITY.search(rest):
        of_apps.add(rest[: -len(".p0")].rpartition(".")[0])
    if of_apps.isdisjoint(key.app_names or ()):
        raise Forbidden(f"The token {key.name!r} may not use the queue {queue[:160]!r}.")


def _check_app(key: ExecutorKey, app_name: str) -> None:
    if not key.serves(app_name):
        raise not_its_app(key, app_name)


async def _check_boxes(tools: Tools, key: ExecutorKey, boxes: Iterable[str]) -> None:
    ids = {int(last) for box in boxes if (last := str(box).rpartition(".")[2]).isdecimal() and len(last) < 19}
    apps = await tools.db.read(apps_of_executions, ids) if ids else {}
    for app_name in set(apps.values()):
        _check_app(key, app_name)


def _texts(value: Any) -> list[str]:  # Any: a member of what somebody sent
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
