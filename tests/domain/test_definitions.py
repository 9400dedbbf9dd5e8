"""Files of definitions that are too large for one request: in parts, none before what it names."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.domain.definitions import AT_ONCE, PART_BYTES, in_order, parts_of, told_twice


def a_definition(name: str, *children: str, **more: object) -> dict[str, Any]:
    return {"job_group": "demo", "job_desc": name, "child_jobid": [f"demo/{one}" for one in children], **more}


def test_what_fits_stays_together_as_it_is() -> None:
    assert parts_of([a_definition("parent", "child"), a_definition("child")]) == [[0, 1]]
    assert len(parts_of([a_definition(str(number)) for number in range(AT_ONCE)])) == 1


@given(st.permutations(range(40)), st.integers(1, 7))
def test_no_part_comes_before_what_it_names(order: list[int], at_once: int) -> None:
    """Every job but the last is followed by the next."""
    definitions = [a_definition(str(one), *([str(one + 1)] if one < 39 else [])) for one in order]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("orth.domain.definitions.AT_ONCE", at_once)
        parts = parts_of(definitions)
    assert all(0 < len(part) <= at_once for part in parts)
    assert [order[place] for part in parts for place in part] == list(range(39, -1, -1))


def test_parts_are_bounded_by_their_size_too() -> None:
    large = "x" * (PART_BYTES // 3)
    definitions = [a_definition(str(number), glue_source=large) for number in range(7)]
    assert [len(part) for part in parts_of(definitions)] == [2, 2, 2, 1]
    huge = a_definition("huge", glue_source="x" * 2 * PART_BYTES)
    assert parts_of([huge, a_definition("small")]) == [[0], [1]], "by itself, so that the server can say so"


def test_a_ring_is_sent_as_it_is() -> None:
    ring = [a_definition("a", "b"), a_definition("b", "a")]
    assert sorted(in_order(ring)) == [0, 1]


def test_two_about_one_job_are_found() -> None:
    assert told_twice([a_definition("a"), a_definition("b"), a_definition(" b ")]) == (1, 2)
    assert told_twice([a_definition("a"), {**a_definition("a"), "job_group": "shop"}, {"job_desc": "a"}, {}]) is None
