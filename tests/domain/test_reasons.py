"""Reason codes: stable names, each explained, each in the documentation."""

import re
from pathlib import Path

from orth.domain import reasons
from orth.domain.reasons import REASONS

PAGE = Path(__file__).parents[2] / "docs" / "routing.md"
LONGEST = 32  # of the column


def test_every_code_is_explained_and_fits_its_column() -> None:
    constants = {value for name, value in vars(reasons).items() if name.isupper() and isinstance(value, str)}
    assert constants == set(REASONS)
    assert all(re.fullmatch(r"[a-z]+(_[a-z]+)*", code) and len(code) <= LONGEST for code in REASONS)
    assert all(text.endswith(".") for text in REASONS.values())


def test_the_documentation_has_the_same_table() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \| (.+?) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(rows) == dict(REASONS)
