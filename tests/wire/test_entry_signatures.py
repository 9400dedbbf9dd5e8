"""What an executor takes for a coordinator's word, and what it does not."""

import json
from typing import Any

import pytest

from orth.wire.entry_signatures import KEYS_LIMIT, MEMBER, EntryRefused, refusal_of, signed_entry
from orth.wire.signatures import key_of

OURS, THEIRS = key_of("ours"), key_of("theirs")
LINE = "orchestrix.job.dispatch.reports.default"
ENTRY: dict[str, Any] = {"executionId": 7, "trigger": {"executorHandler": "report", "executorParams": "½ «x»"}}
UNTIL = 1_000


def signed(*tokens: str) -> dict[str, Any]:
    return signed_entry(ENTRY, LINE, map(key_of, tokens), until=UNTIL)


def test_it_is_good_for_whoever_has_one_of_the_tokens() -> None:
    entry = signed("ours", "theirs")
    assert {name: value for name, value in entry.items() if name != MEMBER} == ENTRY
    assert refusal_of(entry, LINE, OURS, UNTIL) is refusal_of(entry, LINE, THEIRS, UNTIL) is None
    assert refusal_of(entry, LINE, key_of("another"), UNTIL) is EntryRefused.UNKNOWN_KEY


def test_it_survives_the_way_through_json_in_any_order() -> None:
    backwards = dict(reversed(json.loads(json.dumps(signed("ours"), ensure_ascii=False)).items()))
    assert refusal_of(backwards, LINE, OURS, 0) is None


@pytest.mark.parametrize("text", [None, 7, "", "1;5;", "2;1000;" + OURS.id + ":" + "0" * 64, ["1;5;x"]])
def test_what_has_no_signature_is_unsigned(text: object) -> None:
    assert refusal_of({**ENTRY, MEMBER: text}, LINE, OURS, 0) is EntryRefused.UNSIGNED
    assert refusal_of(ENTRY, LINE, OURS, 0) is EntryRefused.UNSIGNED


@pytest.mark.parametrize(
    "change",
    [
        {"executionId": 8},
        {"trigger": {"executorHandler": "another"}},
        {"added": None},
        {MEMBER: signed("ours")[MEMBER].replace("1;1000;", "1;2000;")},
        {MEMBER: f"1;{UNTIL};{OURS.id}:{'0' * 64}"},
        {MEMBER: signed("theirs")[MEMBER].replace(THEIRS.id, OURS.id)},
    ],
)
def test_nothing_of_it_can_be_changed(change: dict[str, Any]) -> None:
    assert refusal_of(signed("ours") | change, LINE, OURS, 0) is EntryRefused.WRONG


def test_it_is_good_in_its_own_channel_and_for_its_time() -> None:
    entry = signed("ours")
    assert refusal_of(entry, f"{LINE}.p3", OURS, 0) is EntryRefused.WRONG
    assert refusal_of(entry, LINE, OURS, UNTIL + 1) is EntryRefused.STALE


def test_what_is_nested_without_end_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"deeper": deep}
    entry = ENTRY | {MEMBER: signed("ours")[MEMBER], "deep": deep}
    assert refusal_of(entry, LINE, OURS, 0) is EntryRefused.WRONG


def test_the_tokens_of_one_entry_are_bounded() -> None:
    entry = signed(*map(str, range(100)))
    assert entry[MEMBER].count(":") == KEYS_LIMIT
    assert refusal_of(entry, LINE, key_of("0"), 0) is None
