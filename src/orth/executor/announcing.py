"""What a registration says of the handlers, within what a coordinator reads.

Every beat carries it. What is too much is left out, the largest first: schemas of parameters, without which the forms
of the console have a plain field, then descriptions. A job runs without either.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from orth.errors import Invalid
from orth.wire.fields import HANDLERS_LIMIT, REGISTRY_BODY_LIMIT, as_text
from orth.wire.messages import HandlerInfo

ROOM = REGISTRY_BODY_LIMIT - 256 * 1024
"""Bytes for all handlers; the rest is for what a beat says besides."""


def announced_handlers(infos: Sequence[HandlerInfo], room: int = ROOM) -> tuple[tuple[HandlerInfo, ...], list[str]]:
    """The handlers as they are announced, and the names of those of which something is left out."""
    if len(infos) > HANDLERS_LIMIT:
        raise Invalid(
            f"An executor has at most {HANDLERS_LIMIT} handlers, not {len(infos)}.",
            hint="Start several executors, each with a part of them.",
        )
    announced = list(infos)
    sizes = [_size(info) for info in announced]
    shortened: dict[str, None] = {}
    for less in ({"params_schema": None}, {"description": ""}):
        for index in _largest_first(sizes):
            if sum(sizes) <= room:
                return tuple(announced), list(shortened)
            announced[index] = announced[index].model_copy(update=less)
            size = _size(announced[index])
            if size < sizes[index]:
                sizes[index], shortened[announced[index].name] = size, None
    if sum(sizes) > room:
        raise Invalid(
            f"The names of the handlers have {sum(sizes)} bytes; a registration has room for {room}.",
            hint="Shorten them, or start several executors, each with a part of them.",
        )
    return tuple(announced), list(shortened)


def storable(value: Any) -> Any:
    """A schema with texts that can be sent and stored: defaults and help texts may be anything."""
    if isinstance(value, str):
        return as_text(value)
    if isinstance(value, dict):
        return {storable(key): storable(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [storable(member) for member in value]
    return value


def _largest_first(sizes: Iterable[int]) -> list[int]:
    return [index for index, _size in sorted(enumerate(sizes), key=lambda one: -one[1])]


def _size(info: HandlerInfo) -> int:
    return len(info.model_dump_json(by_alias=True, exclude_none=True).encode()) + 1
