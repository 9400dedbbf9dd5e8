"""What is refused when a job is saved is what its executor would refuse, and nothing that it takes."""

import json
from datetime import date, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BeforeValidator, ByteSize

from orth import Executor, JobContext, Param
from orth.domain.parameter_schema import misfit
from orth.errors import Invalid

app = Executor("fitting")


@app.job
def typed(
    ctx: JobContext,
    market: Literal["paris", "nyse"],
    symbols: Annotated[list[str] | None, Param(max_items=5)] = None,
    since: date | None = None,
    count: Annotated[int, Param(ge=1, le=9)] = 3,
    price: Decimal = Decimal(1),
    weights: dict[str, int] | None = None,
    loud: bool = False,
    wait: timedelta = timedelta(),
    share: Annotated[float, Param(gt=0, lt=1)] = 0.5,
    colour: Annotated[int, BeforeValidator(lambda value: int(str(value), 16))] = 0,
    either: int | str | None = None,
    size: ByteSize | None = None,
) -> None: ...


@app.job
def told(text: str) -> None: ...


@app.job
def bare() -> None: ...


def schema(name: str) -> dict[str, Any] | None:
    handler = app.get(name)
    assert handler is not None
    return handler.info.params_schema


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"market": "paris"}', None),
        ('{"market": "paris", "count": "5", "price": 1.5, "loud": "yes", "wait": "PT5S", "since": null}', None),
        ("", None),
        ("  ", None),
        ("paris", "it is not a JSON object"),
        ('["paris"]', "it is not a JSON object"),
        ("{}", "market: it is missing"),
        ('{"market": "tokyo"}', 'market: it is none of "paris", "nyse"'),
        ('{"market": "nyse", "simbols": []}', "simbols: there is no such argument; known: market, symbols"),
        ('{"market": "nyse", "symbols": "A,B"}', 'symbols: it should be a list, such as ["A", "B"]'),
        ('{"market": "nyse", "weights": [1]}', 'weights: it should be an object, such as {"A": 1}'),
        ('{"market": "nyse", "count": [1]}', "count: it should be an integer"),
        ('{"market": "nyse", "count": 10}', "count: 10 is more than 9"),
        ('{"market": "nyse", "count": 0}', "count: 0 is less than 1"),
        ('{"market": "nyse", "loud": null}', "loud: it should be a boolean"),
        ('{"market": "nyse", "count": "abc"}', 'count: it should be an integer, not "abc"'),
        ('{"market": "nyse", "count": 1.5}', "count: it should be an integer, not 1.5"),
        ('{"market": "nyse", "count": "1.5"}', 'count: it should be an integer, not "1.5"'),
        ('{"market": "nyse", "count": ""}', 'count: it should be an integer, not ""'),
        ('{"market": "nyse", "count": "10"}', "count: 10 is more than 9"),
        ('{"market": "nyse", "count": 4.0, "share": "5e-1", "loud": 1}', None),
        ('{"market": "nyse", "count": " 0_4.0 "}', None),
        ('{"market": "nyse", "count": true}', None),
        ('{"market": "nyse", "share": "half"}', 'share: it should be a number, not "half"'),
        ('{"market": "nyse", "share": "%s"}' % ("x" * 99), f'share: it should be a number, not "{"x" * 39}…'),
        ('{"market": "nyse", "share": 0}', "share: 0 is not more than 0"),
        ('{"market": "nyse", "share": "1.0"}', "share: 1.0 is not less than 1"),
        ('{"market": "nyse", "colour": "ff", "either": "ff", "size": "5MB"}', None),
    ],
)
def test_a_parameter_and_the_handler_s_schema(text: str, said: str | None) -> None:
    found = misfit(schema("typed"), text)
    assert found is None if said is None else found is not None and found.startswith(said), found


@pytest.mark.parametrize("name", ["told", "bare"])
def test_a_handler_of_a_text_or_of_nothing_takes_any(name: str) -> None:
    assert misfit(schema(name), "anything") is None


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-20, 20)
    | st.floats(allow_nan=False)
    | st.sampled_from(["paris", "7", "x"])
    | st.text("0159_+-.e \u00a0naif", max_size=6)
    | st.integers().map(str),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from(["market", "symbols", "since", "count", "price", "weights", "loud", "wait", "other"])
NUMBERS = st.dictionaries(st.sampled_from(["count", "share", "colour", "either", "size"]), VALUES, max_size=3)


@given(st.dictionaries(NAMES, VALUES, max_size=4), NUMBERS)
def test_nothing_is_refused_that_the_executor_takes(arguments: dict[str, Any], numbers: dict[str, Any]) -> None:
    handler = app.get("typed")
    assert handler is not None
    text = json.dumps({"market": "nyse"} | arguments | numbers)
    try:
        handler.parameters.read(text)
    except Invalid:
        return
    assert misfit(schema("typed"), text) is None, text
