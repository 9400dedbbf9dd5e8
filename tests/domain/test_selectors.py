"""Label selectors: what they admit, and what is said about those that cannot be read."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.domain.selectors import SELECTOR_LIMIT, Condition, Selector, parse_selector
from orth.errors import Invalid

KEYS = st.from_regex(r"[a-z]([a-z0-9._/-]{0,8}[a-z0-9])?", fullmatch=True)
VALUES = st.from_regex(r"[A-Za-z0-9._/:+-]{0,8}", fullmatch=True)
CONDITIONS = st.one_of(
    st.builds(Condition, KEYS), st.builds(Condition, KEYS, VALUES), st.builds(Condition, KEYS, VALUES, st.just(False))
)


def written(condition: Condition) -> str:
    if condition.value is None:
        return condition.key
    return f"{condition.key}{'=' if condition.wanted else '!='}{condition.value}"


@pytest.mark.parametrize(
    ("selector", "labels", "admitted"),
    [
        ("", {}, True),
        ("  ", {"zone": "eu"}, True),
        ("zone=eu", {"zone": "eu"}, True),
        ("zone=eu", {"zone": "us"}, False),
        ("zone=eu", {}, False),
        ("zone!=eu", {"zone": "us"}, True),
        ("zone!=eu", {}, True),
        ("zone!=eu", {"zone": "eu"}, False),
        ("gpu", {"gpu": ""}, True),
        ("gpu", {"cpu": "x"}, False),
        ("zone = eu , tier != spot,gpu", {"zone": "eu", "gpu": "a100"}, True),
        ("zone=eu,tier!=spot,gpu", {"zone": "eu", "gpu": "a100", "tier": "spot"}, False),
        ("team/name=a.b:c", {"team/name": "a.b:c"}, True),
        ("empty=", {"empty": ""}, True),
    ],
)
def test_all_conditions_must_hold(selector: str, labels: dict[str, str], admitted: bool) -> None:
    assert parse_selector(selector).admits(labels) is admitted


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("zone=eu,,gpu", "missing between two commas"),
        ("zone=eu,", "missing between two commas"),
        ("=eu", "'=eu' is not a condition"),
        ("zone==eu", "'zone==eu' is not a condition"),
        ("zone in (eu, us)", "'zone in (eu' is not a condition"),
        ("zone=e u", "'zone=e u' is not a condition"),
        ("-zone=eu", "'-zone=eu' is not a condition"),
        ("a" * (SELECTOR_LIMIT + 1), f"longer than {SELECTOR_LIMIT} characters"),
    ],
)
def test_what_cannot_be_read_is_named(selector: str, said: str) -> None:
    with pytest.raises(Invalid) as raised:
        parse_selector(selector)
    assert said in raised.value.message
    assert raised.value.field == "label_selector"
    assert "zone=eu" in (raised.value.hint or "")


@given(st.lists(CONDITIONS, min_size=1, max_size=4))
def test_what_is_written_is_read(conditions: list[Condition]) -> None:
    assert parse_selector(",".join(map(written, conditions))) == Selector(tuple(conditions))


@given(KEYS, VALUES, st.dictionaries(KEYS, VALUES))
def test_a_condition_and_its_opposite_share_nobody(key: str, value: str, labels: dict[str, str]) -> None:
    assert parse_selector(f"{key}={value}").admits(labels) != parse_selector(f"{key}!={value}").admits(labels)
