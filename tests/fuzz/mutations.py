"""Strategies: noise, and valid inputs with something wrong in them.

Noise alone is refused at the first byte. What reaches further in is a valid message in which one member has another
type, a number is too large, a bracket is missing or a piece comes twice.
"""

import json
from collections.abc import Mapping, Sequence
from enum import Enum
from random import Random
from typing import Any

from hypothesis import strategies as st

LONG_TEXT = "x" * 70_000
DEEP_JSON = "[" * 3_000

ODD_VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 255, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**40,
    0.0, -0.0, 1.5, 1e308, float("nan"), float("inf"), float("-inf"),
    "", " ", "0", "-1", "1e9", "NaN", "१२", "0x10", "true", "null", "\0", "\ud800", "\udfff\ud800", "\u202e", "e\u0301",
    "../../etc/passwd", "http://127.0.0.1:1/", "http://a@b/", "a\r\nb: c", "{0.__class__}", "$(id)", LONG_TEXT,
    [], {}, [[]], [None], {"": None}, {"a": {"a": {"a": {}}}}, [1] * 2_000, ["a", 1, None, {}],
]  # fmt: skip
ODD_BYTES = [
    b"", b"\0", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\n", b"\r\n", b"\r", b" ", b'"', b"'", b"\\",
    b"\\u0000", b"\\ud800", b"{", b"}", b"[", b"]", b",", b":", b"=", b"-", b"*", b"?", b"/", b"#", b"L", b"W", b"e400",
    b"NaN", b"Infinity", b"null", b"true", b"0" * 50, b"9" * 5_000, b"9" * 20, b"-1", b"[" * 200, b"{\"a\":" * 200,
]  # fmt: skip

_text = st.one_of(st.text(max_size=20), st.text(alphabet=st.characters(), max_size=200))
_EDITS = ["cut", "drop", "put", "twice", "flip"]
_edits = st.lists(
    st.tuples(
        st.sampled_from(_EDITS),
        st.integers(0, 1_000_000),
        st.one_of(st.sampled_from(ODD_BYTES), st.binary(max_size=8)),
    ),
    min_size=1,
    max_size=4,
)

any_json: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.sampled_from(ODD_VALUES), st.integers(), st.floats(), _text),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(_text, inner, max_size=4)),
    max_leaves=8,
)


def edited(data: bytes, edits: Sequence[tuple[str, int, bytes]]) -> bytes:
    """``data`` with each edit done at its place; a place beyond the end counts from the beginning again."""
    for kind, where, piece in edits:
        place = where % (len(data) + 1)
        if kind == "cut":
            data = data[:place]
        elif kind == "drop":
            data = data[:place] + data[place + max(1, len(piece)) :]
        elif kind == "put":
            data = data[:place] + piece + data[place:]
        elif kind == "twice":
            data = data[:place] + data[place : place + 64] * 3 + data[place + 64 :]
        elif place < len(data):
            data = data[:place] + bytes([data[place] ^ (where % 255 + 1)]) + data[place + 1 :]
    return data


def varied(value: Any, chance: Random) -> Any:
    """``value`` with some bytes or characters of it changed; cheap, for the many that are tried around each input."""
    if isinstance(value, bytes):
        return edited(value, [_edit(value, chance) for _ in range(chance.choice((1, 1, 1, 2, 3)))])
    if isinstance(value, str) and not isinstance(value, Enum):
        return varied(value.encode("utf-8", "surrogatepass"), chance).decode("utf-8", "replace")
    if isinstance(value, list | tuple) and value:
        place = chance.randrange(len(value))
        return type(value)([*value[:place], varied(value[place], chance), *value[place + 1 :]])
    if isinstance(value, dict) and value:
        key = chance.choice(list(value))
        return {**value, key: varied(value[key], chance)}
    return value


def _edit(value: bytes, chance: Random) -> tuple[str, int, bytes]:
    """Something odd, or a piece of the value itself, which is more likely to fit."""
    own = chance.randrange(len(value) + 1)
    piece = value[own : own + chance.randint(1, 4)] if chance.random() < 0.6 else chance.choice(ODD_BYTES)
    return chance.choice(_EDITS[1:] if chance.random() < 0.9 else _EDITS), chance.randrange(1_000_000), piece


def mutated(valid: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """One of the valid inputs: as it is, edited, or two of them joined; and noise."""
    whole = st.sampled_from(list(valid))
    return st.one_of(
        whole,
        st.builds(edited, whole, _edits),
        st.builds(edited, st.builds(lambda one, other: one + other, whole, whole), _edits),
        st.binary(max_size=2_000),
    )


@st.composite
def misshapen(draw: st.DrawFn, valid: Sequence[Any]) -> Any:
    """A valid JSON value in which up to three members are missing, or are something else."""
    value = json.loads(json.dumps(draw(st.sampled_from(list(valid)))))
    for _ in range(draw(st.integers(0, 3))):
        value = _changed(draw, value)
    return value


def _changed(draw: st.DrawFn, value: Any) -> Any:
    """``value`` with one change somewhere in it."""
    if isinstance(value, dict) and value and draw(st.integers(0, 5)):
        key = draw(st.sampled_from(sorted(value)))
        if not draw(st.integers(0, 5)):
            return {name: member for name, member in value.items() if name != key}
        return {**value, key: _changed(draw, value[key])}
    if isinstance(value, list) and value and draw(st.booleans()):
        place = draw(st.integers(0, len(value) - 1))
        return [*value[:place], _changed(draw, value[place]), *value[place + 1 :]]
    if isinstance(value, Mapping) and draw(st.booleans()):
        return {**value, draw(_text): draw(any_json)}
    return draw(st.one_of(st.sampled_from(ODD_VALUES), any_json))


def as_bytes(value: Any, *, escaped: bool) -> bytes:
    """JSON as a careless sender writes it: ``NaN`` and halves of surrogate pairs included."""
    return json.dumps(value, ensure_ascii=escaped).encode("utf-8", "surrogatepass")


def json_bodies(valid: Sequence[Any]) -> st.SearchStrategy[bytes]:
    """Bodies around the ``valid`` values: misshapen ones, damaged bytes of good ones, and noise."""
    written = [as_bytes(value, escaped=True) for value in valid]
    return st.one_of(
        st.builds(lambda value, escaped: as_bytes(value, escaped=escaped), misshapen(valid), st.booleans()),
        mutated([*written, DEEP_JSON.encode(), b'{"a":' * 2_000]),
    )
