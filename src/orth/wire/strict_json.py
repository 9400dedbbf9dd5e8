"""JSON from strangers: what the standard parser accepts and we do not.

The parser of the standard library is generous: it takes ``NaN``, lets the last of two equal keys win, turns ``1e400``
into infinity and hands out halves of surrogate pairs that no database stores. Each of these is a way for two readers of
the same bytes to see different messages, so all are refused. Only in reported results are odd numbers read as text,
because a result must not be lost for how it is worded. Depth and the length of numbers are bounded, so that a small
body cannot cost much time; the size of the body itself is the caller's limit.

Every value costs time and memory, in the parser and in whatever checks it afterwards: a megabyte of ``{}`` is 350,000
objects. So values are counted in the text, before any of them is made. Strings are stepped over by a regular expression
that cannot go back.
"""

import json
import math
import re
from functools import partial

from orth.errors import InvalidMessage, TooLarge

DEPTH_LIMIT = 64
FLOAT_LENGTH_LIMIT = 1_000

VALUES_LIMIT = 100_000
"""Values of one JSON text, unless the caller knows a better limit."""

_STRING = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


class _Refused(ValueError):
    """Something the standard parser would have taken."""


def read_json(body: bytes, limit: int, *, values: int | None = VALUES_LIMIT, members: int | None = None) -> object:
    """The value ``body`` stands for, with every string fit to be stored.

    ``TooLarge`` if there are more than so many ``values`` in all, or ``members`` in one object.
    """
    text = read_text(body, limit)
    value = parse(text, values=values, members=members)
    if has_surrogates(text) and not is_storable(value):
        raise InvalidMessage("The JSON has half of a surrogate pair.")
    return value


def has_surrogates(text: str) -> bool:
    """Whether ``text`` writes any; most are pairs, and fine."""
    return _SURROGATE_ESCAPE.search(text) is not None


def is_storable(value: object) -> bool:
    """Whether every string of ``value`` can be encoded again, which half of a pair cannot."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def read_text(body: bytes, limit: int) -> str:
    """``body`` as the UTF-8 text it must be."""
    if len(body) > limit:
        raise TooLarge(f"The body has {len(body)} bytes; the limit is {limit}.")
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidMessage(f"The body is not UTF-8 (at byte {error.start}).") from None


def parse(
    text: str, *, odd_numbers_as_text: bool = False, values: int | None = VALUES_LIMIT, members: int | None = None
) -> object:
    """The value ``text`` stands for; its strings may still hold halves of surrogate pairs.

    ``odd_numbers_as_text``: ``NaN``, ``Infinity`` and ``1e400`` become what was written instead of being refused.
    """
    if values is not None and has_more_values(text, values):
        raise TooLarge.of("too_many_values", limit=values)
    hook = _object if members is None else partial(_object, limit=members)
    constant, decimal = (str, _float_or_text) if odd_numbers_as_text else (_constant, _float)
    try:
        # Integers need no hook: int() itself refuses more than 4300 digits.
        value: object = json.loads(text, object_pairs_hook=hook, parse_constant=constant, parse_float=decimal)
    except RecursionError:
        raise InvalidMessage("The JSON is nested too deeply.") from None
    except (json.JSONDecodeError, _Refused) as error:
        raise InvalidMessage(f"The body is not JSON: {error}.") from None
    except ValueError:
        raise InvalidMessage("The body is not JSON: an integer has too many digits.") from None
    if text.count("[") + text.count("{") > DEPTH_LIMIT and _depth_exceeds(value, DEPTH_LIMIT):
        raise InvalidMessage(f"The JSON is nested more than {DEPTH_LIMIT} deep.")
    return value


def has_more_values(text: str, limit: int) -> bool:
    """Whether the JSON in ``text`` has more values than ``limit``: each but the first follows a comma or a bracket."""
    if values_at_most(text) <= limit:
        return False
    strings_limit = 2 * (limit + 1)  # names and values
    rest, strings = _STRING.subn("", text, count=strings_limit)
    return strings == strings_limit or values_at_most(rest) > limit


def values_at_most(text: str | bytes) -> int:
    """How many values the JSON in ``text`` has at most: commas and brackets of its strings count, too."""
    if isinstance(text, bytes):
        return text.count(b",") + text.count(b"[") + text.count(b"{")
    return text.count(",") + text.count("[") + text.count("{")


def _object(pairs: list[tuple[str, object]], limit: int | None = None) -> dict[str, object]:
    if limit is not None and len(pairs) > limit:
        raise TooLarge.of("too_many_members", limit=limit)
    members = dict(pairs)
    if len(members) != len(pairs):
        raise _Refused("an object has the same key twice")
    return members


def _constant(name: str) -> object:
    raise _Refused(f"{name} is not a number")


def _float(digits: str) -> float:
    number = float(digits) if len(digits) <= FLOAT_LENGTH_LIMIT else math.inf
    if math.isinf(number):
        raise _Refused("a number is too large")
    return number


def _float_or_text(digits: str) -> float | str:
    try:
        return _float(digits)
    except _Refused:
        return digits


def _depth_exceeds(value: object, limit: int) -> bool:
    level = [value] if isinstance(value, dict | list) else []
    for _ in range(limit):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list  # the parser makes no others; and most are neither
        ]
        if not level:
            return False
    return True
