"""Whether the parameter of a job can fit what its handler announced: the JSON schema of its arguments.

The executor validates each trigger, leniently: a number may be written as text. Here only what it surely refuses is
refused, so that a mistake shows when the job is saved and not at its first run. What is not understood fits, and so
does any value of an argument that code of its author converts.
"""

import json
import math
import operator
import re
from collections.abc import Mapping
from typing import Any

CONVERTED = "x-converted"
"""What an executor writes into the schema of an argument that code of its author converts before it is checked."""

_NAMED = 5
_WHOLE = re.compile(r"[+-]?[0-9_]+(\.0*)?")
_PARTS = {"array": list, "object": dict}
_ARTICLE = {"integer": "an"}
_BOUNDS = (
    ("minimum", operator.lt, "less than"),
    ("maximum", operator.gt, "more than"),
    ("exclusiveMinimum", operator.le, "not more than"),
    ("exclusiveMaximum", operator.ge, "not less than"),
)
_SHOWN = 40
_SCALARS = ("string", "number", "integer", "boolean")


def misfit(schema: Mapping[str, Any] | None, text: str) -> str | None:
    """Why ``text`` does not fit ``schema``; None if it may fit. A blank one may be given with each trigger."""
    if schema is None or schema.get("type") != "object" or not text.strip():
        return None
    try:
        given = json.loads(text)
    except ValueError:
        return "it is not a JSON object"
    if not isinstance(given, dict):
        return "it is not a JSON object"
    known = schema.get("properties")
    known = known if isinstance(known, dict) else {}
    if schema.get("additionalProperties") is False:
        for name in given:
            if name not in known:
                return f"{name}: there is no such argument; known: {', '.join([*known][:_NAMED]) or 'none'}"
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in given:
            return f"{name}: it is missing"
    for name, value in given.items():
        if name in known and (said := _misfit_of_value(known[name], value)) is not None:
            return f"{name}: {said}"
    return None


def _misfit_of_value(schema: Any, value: Any) -> str | None:
    if not isinstance(schema, dict) or schema.get(CONVERTED):
        return None
    choices = schema.get("anyOf")
    if isinstance(choices, list) and choices:
        found = [_misfit_of_value(one, value) for one in choices]
        return next((said for said in found if said is not None), None) if None not in found else None
    allowed = schema.get("enum")
    if isinstance(allowed, list) and schema.get("type") == "string" and value not in allowed:
        return f"it is none of {', '.join(json.dumps(one) for one in allowed[:_NAMED])}"
    kind = schema.get("type")
    if kind in _PARTS:
        return None if isinstance(value, _PARTS[kind]) else f"it should be {_with_example(kind)}"
    if kind == "null":
        return None if value is None else "it should be null"
    if kind in _SCALARS and (value is None or isinstance(value, list | dict)):
        return f"it should be {_ARTICLE.get(kind, 'a')} {kind}"
    if kind == "string" and not isinstance(value, str) and "format" not in schema:
        return "it should be a string"
    if kind not in ("number", "integer") or isinstance(value, bool):
        return None
    number = _number_of(value, whole=kind == "integer")
    if number is None:
        return f"it should be {_ARTICLE.get(kind, 'a')} {kind}, not {_quoted(value)}"
    return _outside(schema, number)


def _number_of(value: float | str, *, whole: bool) -> int | float | None:
    """The number that an executor may read from a number or a text; None if there is none."""
    if isinstance(value, str):
        text = value.strip()
        if whole:
            return _read_number(text.partition(".")[0], int) if _WHOLE.fullmatch(text) else None
        return _read_number(text.replace("_", ""), float)
    return None if whole and isinstance(value, float) and not value.is_integer() else value


def _read_number(text: str, kind: type[int] | type[float]) -> int | float | None:
    try:
        return kind(text)
    except ValueError:
        return None


def _outside(schema: Mapping[str, Any], value: float) -> str | None:
    if math.isnan(value):
        return None
    for bound, is_beyond, said in _BOUNDS:
        limit = schema.get(bound)
        if isinstance(limit, int | float) and is_beyond(value, limit):
            return f"{value} is {said} {limit}"
    return None


def _quoted(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _with_example(kind: str) -> str:
    return 'a list, such as ["A", "B"]' if kind == "array" else 'an object, such as {"A": 1}'
