import json
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from orth.errors import Invalid
from orth.executor.context import JobContext
from orth.executor.parameters import Param, parameters_of


def typed(
    ctx: JobContext,
    market: Literal["paris", "nyse"],
    copy: int = 3,
    since: date | None = None,
    symbols: Annotated[list[str] | None, Field(max_length=2, description="empty means all")] = None,
) -> None: ...


def test_an_object_becomes_validated_arguments_and_defaults_stay_the_functions() -> None:
    read = parameters_of(typed, "typed").read('{"market": "paris", "since": "2026-01-30", "copy": 4}')
    assert read == {"market": "paris", "since": date(2026, 1, 30), "copy": 4}


def test_everything_that_does_not_fit_is_listed() -> None:
    with pytest.raises(Invalid) as refused:
        parameters_of(typed, "typed").read('{"market": "tokyo", "symbols": ["a", "b", "c"], "surprise": 1}')
    for field in ("market: Input should be 'paris' or 'nyse'", "symbols:", "surprise: Extra inputs"):
        assert field in str(refused.value)


@pytest.mark.parametrize("text", ["", "  ", "{}"])
def test_nothing_sent_misses_what_is_required(text: str) -> None:
    with pytest.raises(Invalid, match="market: Field required"):
        parameters_of(typed, "typed").read(text)


@pytest.mark.parametrize("text", ["[1]", '"text"', "{", "null", "[" * 100_000, "plain words"])
def test_what_is_no_object_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="do not fit"):
        parameters_of(typed, "typed").read(text)


@given(st.text())
def test_one_str_receives_the_text_as_it_is(text: str) -> None:
    def raw(ctx: JobContext, name: str) -> None: ...

    assert parameters_of(raw, "raw").read(text) == {"name": text}


def test_one_str_with_a_default_keeps_it_when_nothing_is_sent() -> None:
    def raw(name: str = "world") -> None: ...

    parameters = parameters_of(raw, "raw")
    assert parameters.read("") == {}
    assert parameters.read('{"name": "x"}') == {"name": '{"name": "x"}'}
    assert parameters.schema == {"type": "string", "title": "name", "default": "world"}


def test_no_parameter_gets_nothing_whatever_is_sent() -> None:
    def bare(ctx) -> None: ...  # type: ignore[no-untyped-def]  # an author without annotations

    parameters = parameters_of(bare, "bare")
    assert (parameters.read("whatever"), parameters.schema, parameters.context_name) == ({}, None, "ctx")


def test_one_str_with_rules_receives_the_text_too_and_keeps_to_them() -> None:
    def collect(market: Annotated[str, Param(help="which one", pattern="^[a-z]+$")] = "all") -> None: ...

    parameters = parameters_of(collect, "collect")
    assert parameters.read("stuttgart") == {"market": "stuttgart"}
    assert parameters.read("") == {}
    with pytest.raises(Invalid, match="The parameters do not fit: market: String should match"):
        parameters.read('{"market": "berlin"}')
    assert parameters.schema == {
        "type": "string",
        "title": "market",
        "description": "which one",
        "pattern": "^[a-z]+$",
        "default": "all",
    }


def test_a_list_that_is_no_list_says_how_to_write_one() -> None:
    with pytest.raises(Invalid, match=r'symbols: Input should be a valid (list|array), such as \["A", "B"\]'):
        parameters_of(typed, "typed").read('{"market": "paris", "symbols": "A,B"}')


def test_keyword_arguments_take_any_member_but_never_the_context() -> None:
    def rest(ctx: JobContext, **others: Any) -> None: ...

    parameters = parameters_of(rest, "rest")
    assert parameters.read('{"a": 1, "b": [2]}') == {"a": 1, "b": [2]}
    context = JobContext.__new__(JobContext)
    assert parameters.with_context({"ctx": "mine now", "a": 1}, context) == {"ctx": context, "a": 1}


def test_the_schema_draws_the_form() -> None:
    schema = parameters_of(typed, "typed").schema
    assert schema is not None
    assert schema["required"] == ["market"]
    assert schema["additionalProperties"] is False
    assert set(schema["properties"]) == {"market", "copy", "since", "symbols"}
    assert schema["properties"]["copy"] == {"default": 3, "title": "Copy", "type": "integer"}
    assert schema["properties"]["symbols"]["description"] == "empty means all"


def test_annotations_written_as_text_are_resolved() -> None:
    def later(ctx: "JobContext", count: "int") -> None: ...

    assert parameters_of(later, "later").read('{"count": 2}') == {"count": 2}


def unresolvable(count: "Nowhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821  # the point of the test


def by_position(count: int, /) -> None: ...


def many(*counts: int) -> None: ...


def takes_object(thing: socket.socket, count: int) -> None: ...


def takes_function(call: Callable[[], int], count: int) -> None: ...


@pytest.mark.parametrize(
    ("function", "complaint"),
    [
        (unresolvable, "cannot be resolved"),
        (by_position, "only be given by position"),
        (many, "only be given by position"),
        (takes_object, "JSON cannot carry"),
        (takes_function, "JSON cannot carry"),
    ],
)
def test_a_signature_that_json_cannot_fill_is_refused_when_written(
    function: Callable[..., Any], complaint: str
) -> None:
    with pytest.raises(Invalid, match=complaint):
        parameters_of(function, "it")


def described(
    market: Annotated[str, Param(help="which one", title="Market", pattern="^[a-z]+$", max_length=9)],
    symbols: Annotated[list[str] | None, Param(help="empty = all", min_items=1, max_items=2)] = None,
    share: Annotated[float, Param(gt=0, le=1)] = 1.0,
    count: Annotated[int, Param(ge=1, lt=10), "a note of somebody else"] = 1,
) -> None: ...


def test_a_param_describes_and_limits_its_argument() -> None:
    parameters = parameters_of(described, "described")
    assert parameters.schema is not None
    shown = parameters.schema["properties"]
    assert (shown["market"]["title"], shown["market"]["description"]) == ("Market", "which one")
    assert shown["symbols"]["description"] == "empty = all"
    assert (shown["share"]["exclusiveMinimum"], shown["share"]["maximum"]) == (0, 1)
    assert parameters.read('{"market": "paris", "symbols": ["A"]}') == {"market": "paris", "symbols": ["A"]}
    with pytest.raises(Invalid) as refused:
        parameters.read('{"market": "PARIS", "symbols": ["a", "b", "c"], "share": 2, "count": 10}')
    for field in ("market: ", "symbols: ", "share: ", "count: "):
        assert field in str(refused.value)


Small = Annotated[int, Param(le=9, help="a digit")]


class Order(BaseModel):
    count: Small = 1


@dataclass
class Parcel:
    weight: Small = 1


def nested(
    perhaps: Small | None = None,
    several: list[Small] = [],  # noqa: B006  # never changed
    by_name: dict[str, Small | None] = {},  # noqa: B006  # never changed
    order: Order | None = None,
    parcel: Parcel | None = None,
) -> None: ...


@pytest.mark.parametrize(
    ("fits", "not_so", "place"),
    [
        ({"perhaps": 9}, {"perhaps": 10}, "perhaps"),
        ({"several": [9]}, {"several": [9, 10]}, "several.1"),
        ({"by_name": {"a": 9, "b": None}}, {"by_name": {"a": 10}}, "by_name.a"),
        ({"order": {"count": 9}}, {"order": {"count": 10}}, "order.count"),
        ({"parcel": {"weight": 9}}, {"parcel": {"weight": 10}}, "parcel.weight"),
    ],
)
def test_a_param_holds_wherever_in_a_type_it_stands(fits: object, not_so: object, place: str) -> None:
    parameters = parameters_of(nested, "nested")
    parameters.read(json.dumps(fits))
    with pytest.raises(Invalid, match=re.escape(f"{place}: Input should be less than or equal to 9.")):
        parameters.read(json.dumps(not_so))
    digit = {"type": "integer", "maximum": 9, "description": "a digit"}
    assert parameters.schema is not None
    shown = parameters.schema["properties"]
    assert shown["perhaps"]["anyOf"] == [digit, {"type": "null"}]
    assert shown["several"]["items"] == digit
    assert json.dumps(parameters.schema).count('"maximum": 9') == 5


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["market=paris"], {"market": "paris"}),
        (["market=5"], {"market": "5"}),
        (['symbols=["A","B"]', "market=x", "share=0.5"], {"market": "x", "symbols": ["A", "B"], "share": 0.5}),
        (["market=a=b"], {"market": "a=b"}),
        (["market=null", "symbols=null"], {"market": "null", "symbols": None}),
        (["count=three"], {"count": "three"}),
        (["unknown=1"], {"unknown": 1}),
    ],
)
def test_words_of_a_command_line_become_json(words: list[str], arguments: dict[str, Any]) -> None:
    parameters = parameters_of(described, "described")
    assert json.loads(parameters.text_of_words(words)) == arguments
    with pytest.raises(Invalid, match="is given twice"):
        parameters.text_of_words([*words, words[-1]])


@pytest.mark.parametrize(
    ("word", "complaint"),
    [
        ("several=[1,10]", "several.1: Input should be less than or equal to 9"),
        ("perhaps=10", "perhaps: Input should be less than or equal to 9"),
        ('order={"count": 10}', "order.count: Input should be less than or equal to 9"),
    ],
)
def test_a_word_that_does_not_fit_is_complained_about_as_what_it_is(word: str, complaint: str) -> None:
    parameters = parameters_of(nested, "nested")
    with pytest.raises(Invalid, match=re.escape(f"do not fit: {complaint}.")):
        parameters.read(parameters.text_of_words([word]))


@pytest.mark.parametrize("digits", ["12345678901234567890.123456789", "0.10", "1e-30", "7"])
def test_no_digit_of_a_decimal_is_lost(digits: str) -> None:
    def pay(amount: Decimal, tip: Decimal | None = None, share: float = 0) -> None: ...

    parameters = parameters_of(pay, "pay")
    text = parameters.text_of_words([f"amount={digits}", f"tip={digits}", "share=0.5"])
    read = parameters.read(text)
    assert (str(read["amount"]), str(read["tip"]), read["share"]) == (str(Decimal(digits)), str(Decimal(digits)), 0.5)
    assert json.loads(text)["share"] == 0.5, "a float is a number"
    assert parameters.read(parameters.text_of({"amount": Decimal(digits)})) == {"amount": Decimal(digits)}


def test_words_for_one_text_are_the_text() -> None:
    def raw(ctx: JobContext, text: str) -> None: ...

    assert parameters_of(raw, "raw").text_of_words(["text=5 {}"]) == "5 {}"
    with pytest.raises(Invalid, match="takes only text, and was given other"):
        parameters_of(raw, "raw").text_of_words(["other=5"])


def test_a_word_needs_a_name() -> None:
    with pytest.raises(Invalid, match=r"'paris' is not a parameter\. Write name=value"):
        parameters_of(described, "described").text_of_words(["paris"])


def test_what_cannot_be_sent_is_refused() -> None:
    parameters = parameters_of(described, "described")
    with pytest.raises(Invalid, match="cannot be written as JSON"):
        parameters.text_of({"market": socket.socket})
    with pytest.raises(Invalid, match="takes no parameters, and was given a, b"):
        parameters_of(lambda: None, "nothing").text_of({"a": 1, "b": 2})


@settings(deadline=None)  # the first call imports what it needs
@given(st.fixed_dictionaries({"market": st.from_regex("[a-z]{1,9}", fullmatch=True), "count": st.integers(1, 9)}))
def test_arguments_survive_the_way_through_the_text(arguments: dict[str, Any]) -> None:
    parameters = parameters_of(described, "described")
    assert parameters.read(parameters.text_of(arguments)) == arguments
    words = [f"{name}={value}" for name, value in arguments.items()]
    assert parameters.read(parameters.text_of_words(words)) == arguments


def test_what_is_taken_by_any_name_is_checked_too() -> None:
    def handler(first: int, **more: Annotated[int, Param(le=9)]) -> None: ...

    taken = parameters_of(handler, "h")
    assert taken.schema is not None
    assert taken.schema["additionalProperties"] == {"type": "integer", "maximum": 9}
    assert taken.read('{"first": 1, "second": 2}') == {"first": 1, "second": 2}
    with pytest.raises(Invalid, match=r"second: .*integer; third: .*less than or equal to 9"):
        taken.read('{"first": 1, "second": "x", "third": 10}')


@pytest.mark.parametrize("annotation", [Annotated[int | str, Param(le=9)], Annotated[str, Param(le=9)]])
def test_a_bound_of_numbers_at_something_else_is_refused_at_once(annotation: Any) -> None:
    def handler(value: Any, other: int) -> None: ...

    handler.__annotations__["value"] = annotation
    with pytest.raises(Invalid, match=r"Param\(le=…\) of argument value of handler h is of no number"):
        parameters_of(handler, "h")


def test_arguments_may_be_called_like_bounds() -> None:
    def handler(le: int, ge: dict[str, int] = {"gt": 1}) -> None: ...  # noqa: B006

    assert parameters_of(handler, "h").read('{"le": 1, "ge": {"lt": 2}}') == {"le": 1, "ge": {"lt": 2}}
