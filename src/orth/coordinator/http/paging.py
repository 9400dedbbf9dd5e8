"""Lists by keyset: stable while rows are added, and as fast at the end as at the beginning."""

import base64
import binascii
import json
import re
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Generic, TypeVar

from fastapi import Query
from pydantic import BaseModel

from orth.errors import Invalid

Item = TypeVar("Item")
T = TypeVar("T")

Limit = Annotated[int, Query(ge=1, le=200, description="How many items at most.")]
Cursor = Annotated[str | None, Query(max_length=100, description="next_cursor of the page before.")]
LongCursor = Annotated[str | None, Query(max_length=1000, description="next_cursor of the page before.")]

_NUMBER = re.compile(r"-?[0-9]{1,19}")
_LARGEST_KEY = 2**63 - 1  # what a database can compare with


class Page(BaseModel, Generic[Item]):
    """Part of a list. ``next_cursor`` is null on the last page."""

    items: list[Item]
    next_cursor: str | None


def position(cursor: str | None) -> int | None:
    """The key a cursor stands for."""
    if cursor is None:
        return None
    try:
        text = base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode()
    except (ValueError, binascii.Error):
        return _refuse()
    if text.isascii() and text.isdigit() and len(text) < 20 and int(text) <= _LARGEST_KEY:
        return int(text)
    return _refuse()


def cursor_at(key: int) -> str:
    """A cursor that stands for a key."""
    return base64.urlsafe_b64encode(str(key).encode()).decode().rstrip("=")


def cursor_of(*texts: str) -> str:
    """A cursor that stands for ``texts``."""
    return base64.urlsafe_b64encode(json.dumps(texts, ensure_ascii=False).encode()).decode().rstrip("=")


def after_text(cursor: str | None, count: int) -> list[str] | None:
    """The texts that a cursor made by ``cursor_of`` stands for; there must be ``count`` of them."""
    if cursor is None:
        return None
    try:
        texts = json.loads(base64.urlsafe_b64decode(cursor.encode() + b"=" * (-len(cursor) % 4)).decode())
    except (ValueError, binascii.Error, RecursionError):
        texts = None
    storable = isinstance(texts, list) and all(isinstance(text, str) and text.isprintable() for text in texts)
    if not storable or len(texts) != count:
        _refuse()
    return list(texts)


def numbers(cursor: str, count: int) -> list[int]:
    """The numbers that a cursor stands for, whose texts they were; there must be ``count`` of them."""
    texts = after_text(cursor, count) or []
    if not all(_NUMBER.fullmatch(text) and abs(int(text)) <= _LARGEST_KEY for text in texts):
        _refuse()
    return [int(text) for text in texts]


def page(rows: Sequence[T], limit: int, key: Callable[[T], int], shown: Callable[[T], Any]) -> dict[str, Any]:
    """A page of ``rows``, which hold one more than ``limit`` when there is more to come."""
    more = len(rows) > limit
    kept = rows[:limit]
    return {"items": [shown(row) for row in kept], "next_cursor": cursor_at(key(kept[-1])) if more else None}


def _refuse() -> int:
    raise Invalid.of("cursor_strange", field="cursor")
