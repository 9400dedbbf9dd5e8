"""Hostile JSON: refused, and refused in time."""

import time

import pytest

from orth.errors import InvalidMessage, TooLarge
from orth.wire.fields import BODY_LIMIT
from orth.wire.strict_json import DEPTH_LIMIT, VALUES_LIMIT, has_more_values, parse, read_json

# Generous, for a busy machine; each of these took milliseconds, the widest about a second.
QUICK = 1.0
BOUNDED = 10.0

HOSTILE = {
    "arrays 100,000 deep": b"[" * 100_000,
    "arrays 100,000 deep, closed": b"[" * 100_000 + b"]" * 100_000,
    "arrays 900 deep, closed": b"[" * 900 + b"]" * 900,
    "objects 100,000 deep": b'{"a":' * 100_000,
    "one level too many": b"[" * (DEPTH_LIMIT + 1) + b"]" * (DEPTH_LIMIT + 1),
    "the same key twice": b'{"logId":1,"logId":2}',
    "the same key twice, inside": b'[{"a":{"b":1,"b":1}}]',
    "NaN": b'{"a":NaN}',
    "Infinity": b"[Infinity]",
    "minus Infinity": b"[-Infinity]",
    "a float beyond floats": b"[1e400]",
    "a float of five million digits": b"[1." + b"1" * (BODY_LIMIT - 5) + b"]",
    "an integer of 4301 digits": b"[" + b"9" * 4301 + b"]",
    "an integer of five million digits": b"9" * BODY_LIMIT,
    "a byte order mark": b'\xef\xbb\xbf{"a":1}',
    "invalid UTF-8": b'{"a":"\xff"}',
    "an encoded surrogate": b'"\xed\xa0\x80"',
    "half of a surrogate pair": b'{"a":"\\ud83d"}',
    "the other half, as a key": b'{"\\ude00":1}',
    "UTF-16": '{"a":1}'.encode("utf-16"),
    "nothing": b"",
    "white space": b" " * BODY_LIMIT,
    "half an object": b'{"a":',
    "two values": b"{}{}",
    "a control character in a string": b'"a\nb"',
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_json_is_refused_quickly(body: bytes) -> None:
    started = time.perf_counter()
    with pytest.raises(InvalidMessage) as refused:
        read_json(body, BODY_LIMIT)
    assert time.perf_counter() - started < QUICK
    assert refused.value.status == 400
    assert len(str(refused.value)) < 200, "the answer does not repeat what was sent"


def test_a_body_over_the_limit_is_not_looked_at() -> None:
    with pytest.raises(TooLarge) as refused:
        read_json(b" " * 101, 100)
    assert refused.value.status == 413
    assert read_json(b"[]" + b" " * 98, 100) == []


WIDE = {
    "many keys": b"{" + b",".join(b'"%x":1' % n for n in range(400_000)) + b"}",
    "as many brackets as fit": b"[" * BODY_LIMIT,
    "many objects": b"[" + b",".join([b"{}"] * 1_500_000) + b"]",
    "many strings": b"[" + b",".join([b'"\\""'] * 800_000) + b"]",
}


@pytest.mark.parametrize("body", WIDE.values(), ids=WIDE.keys())
def test_a_wide_body_is_refused_before_anything_is_made_of_it(body: bytes) -> None:
    assert len(body) <= BODY_LIMIT
    started = time.process_time()
    with pytest.raises(TooLarge) as refused:
        read_json(body, BODY_LIMIT)
    assert time.process_time() - started < QUICK
    assert (refused.value.code, refused.value.facts) == ("too_many_values", {"limit": VALUES_LIMIT})


def test_long_integers_cost_bounded_time() -> None:
    body = b"[" + b",".join([b"9" * 4_000] * 1_200) + b"]"
    started = time.perf_counter()
    read_json(body, BODY_LIMIT)
    assert time.perf_counter() - started < BOUNDED


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1", 0),
        ("[]", 1),
        ("[1,2,3]", 3),
        ('{"a":1,"b":[{}]}', 4),
        ('[",,,[[[{{{","\\",\\"["]', 2),
        ('["\\\\",",,"]', 2),
        ('"' + "[,{" * 1_000 + '"', 0),
        ('["","",""]', 3),
    ],
)
def test_values_are_counted_in_the_text(text: str, values: int) -> None:
    assert not has_more_values(text, values)
    assert values == 0 or has_more_values(text, values - 1)
    assert read_json(text.encode(), len(text.encode()), values=values) is not None


def test_members_of_one_object_are_bounded() -> None:
    assert read_json(b'[{"a":1,"b":2},{"c":3}]', 100, members=2)
    with pytest.raises(TooLarge):
        read_json(b'[{"a":1,"b":2,"c":3}]', 100, members=2)


def test_ordinary_json_passes() -> None:
    assert read_json('{"a":[1,-2.5,true,null,"é\\ud83d\\ude00"]}'.encode(), 100) == {
        "a": [1, -2.5, True, None, "é\U0001f600"]
    }
    assert read_json(b"[" * DEPTH_LIMIT + b"]" * DEPTH_LIMIT, 1000)


def test_brackets_inside_strings_are_not_depth() -> None:
    assert parse('"' + "[{" * 10_000 + '"') == "[{" * 10_000


def test_parse_leaves_halves_of_pairs_to_the_caller() -> None:
    assert parse('"\\ud83d"') == "\ud83d"
