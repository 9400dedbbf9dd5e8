"""``docs/troubleshooting.md`` names the checks there are, and ``docs/lifecycle.md`` the types of events."""

import re
from pathlib import Path

from orth.cli.events import TYPES
from orth.doctor import CHECKS
from orth.domain.services import EVENT_TYPES

DOCS = Path(__file__).parents[2] / "docs"


def test_every_check_is_explained_in_its_order() -> None:
    page = (DOCS / "troubleshooting.md").read_text()
    assert re.findall(r"^\| `([a-z-]+)` \|", page, re.MULTILINE) == list(CHECKS)
    assert set(re.findall(r"`([a-z-]+): …", page)) <= CHECKS.keys()


def test_the_types_of_events_are_those_the_registry_tells() -> None:
    assert TYPES == EVENT_TYPES
    page = (DOCS / "lifecycle.md").read_text()
    assert set(re.findall(r"`((?:agent|orchestrator)_\w+)`", page)) == set(EVENT_TYPES)
