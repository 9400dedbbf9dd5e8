"""Which names a group can have."""

import pytest

from orth.domain.app_names import LONGEST, trouble_with


@pytest.mark.parametrize("name", ["demo", "shop-executor", "a.b_c-1", "a" * LONGEST])
def test_names_a_group_can_have(name: str) -> None:
    assert trouble_with(name) is None


@pytest.mark.parametrize(
    ("name", "trouble"),
    [
        ("", "It must have 4 to 64 characters and has 0."),
        ("abc", "It must have 4 to 64 characters and has 3."),
        ("a" * (LONGEST + 1), "It must have 4 to 64 characters and has 65."),
        ("two words", "It may have letters, digits, dots, hyphens and underscores only."),
        ("a/b-app", "It may have letters, digits, dots, hyphens and underscores only."),
        ("äpp-app", "It may have letters, digits, dots, hyphens and underscores only."),
    ],
)
def test_what_is_wrong_with_others(name: str, trouble: str) -> None:
    found = trouble_with(name)
    assert found is not None
    assert found.message == trouble
