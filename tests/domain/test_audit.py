"""What the audit tells of a change, and what it never tells."""

import json
from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from orth.domain.audit import HIDDEN, LONGEST_VALUE, Deed, told

SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
FIELDS = st.dictionaries(st.text("abc_xyz", min_size=1, max_size=6), SCALARS, max_size=6)


def of(before: dict[str, object] | None, after: dict[str, object] | None) -> tuple[object, object]:
    texts = told(Deed("job.update", "job", "7", 2, before, after))
    return tuple(None if text is None else json.loads(text) for text in texts)  # type: ignore[return-value]


@given(before=FIELDS, after=FIELDS)
def test_of_before_and_after_only_what_differs_is_told(before: dict[str, object], after: dict[str, object]) -> None:
    old, new = of(before, after)
    assert old == {name: value for name, value in before.items() if after.get(name) != value}
    assert new == {name: value for name, value in after.items() if before.get(name) != value}


def test_what_was_made_or_removed_is_told_whole() -> None:
    assert of(None, {"title": "t", "n": 1}) == (None, {"title": "t", "n": 1})
    assert of({"title": "t"}, None) == ({"title": "t"}, None)
    assert of(None, None) == (None, None)


def test_a_long_value_is_cut_and_known_by_its_digest() -> None:
    source = "x" * (LONGEST_VALUE + 1)
    assert of(None, {"param": source[:-1]}) == (None, {"param": source[:-1]})
    _, after = of(None, {"param": source})
    assert isinstance(after, dict)
    digest = sha256(source.encode()).hexdigest()
    assert after["param"] == f"{source[:-1]}… ({LONGEST_VALUE + 1} characters, sha256 {digest})"
    _, listed = of(None, {"many": ["y" * 100] * 30})
    assert isinstance(listed, dict)
    assert "sha256" in listed["many"]


def test_what_is_named_like_a_credential_is_never_told() -> None:
    fields: dict[str, object] = {
        "smtp_password": "canary-1",
        "access_token": "canary-2",
        "definition": {"secret": "canary-3", "headers": {"Authorization": "canary-4"}, "url": "https://x"},
        "secrets": ["DB_PASSWORD"],
        "trigger_key": "k",
        "password": "",
    }
    before, after = told(Deed("x", "y", "z", before=fields, after=None))
    assert after is None
    assert before is not None
    assert "canary" not in before
    said = json.loads(before)
    assert said["smtp_password"] == HIDDEN
    assert said["secrets"] == ["DB_PASSWORD"]
    assert said["trigger_key"] == "k"
    assert said["password"] == ""
