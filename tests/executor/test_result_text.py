"""What handlers return, as it is reported: structure as JSON, everything else as ``str`` says."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from orth.executor.result_text import result_text


@dataclass
class Row:
    name: str
    at: datetime


class Model(BaseModel):
    count: int = Field(alias="Count")
    rows: list[Row] = []


class Own:
    def __str__(self) -> str:
        return "own"


NOON = datetime(2026, 1, 30, 12, tzinfo=UTC)
KNOT: list[object] = []
KNOT.append(KNOT)


@pytest.mark.parametrize(
    ("returned", "text"),
    [
        (None, ""),
        ("{'a': 1}", "{'a': 1}"),
        (7, "7"),
        (True, "True"),
        (1.5, "1.5"),
        (Own(), "own"),
        ({"a": [1, None, True, "é"]}, '{"a":[1,null,true,"é"]}'),
        ([Own(), Decimal("1.50")], '["own","1.50"]'),
        ((1, {"b"}), '[1,["b"]]'),
        (MappingProxyType({"a": MappingProxyType({})}), '{"a":{}}'),
        ({"x": float("nan")}, '{"x":"NaN"}'),
        (Row("a", NOON), '{"name":"a","at":"2026-01-30T12:00:00Z"}'),
        (
            Model(Count=1, rows=[Row("a", NOON)]),
            '{"Count":1,"rows":[{"name":"a","at":"2026-01-30T12:00:00Z"}]}',
        ),
        (Row, str(Row)),
        (KNOT, "[[...]]"),
        ({"a": b"\xff"}, "{'a': b'\\xff'}"),
    ],
)
def test_the_text_of_a_result(returned: object, text: str) -> None:
    assert result_text(returned) == text


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(st.lists(VALUES) | st.dictionaries(st.text(), VALUES))
def test_what_json_knows_comes_back(value: object) -> None:
    assert json.loads(result_text(value)) == value
