"""The OpenAPI document is valid, complete, and kept: requests made from it, good and bad, are answered as it says,
whoever sends them, and nobody is told what is not theirs.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis

from tests.coordinator.http.asked_by_all import OPEN_OPERATIONS, AskedByAll, Tally, operations_of
from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.marked_site import THEIR_MARKS, MarkedSite

EXAMPLES = 2
"""Requests of each of four kinds for each operation, the first of them sent by everybody; ``make fuzz`` makes more."""


@pytest.fixture
def document(admin: Caller) -> dict[str, Any]:
    answer = admin.get("/api/openapi.json")
    assert answer.status == 200
    found: dict[str, Any] = answer.json
    return found


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method.upper()} {path}", operation


def references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for member in value.values():
            yield from references(member)
    elif isinstance(value, list):
        for member in value:
            yield from references(member)


def test_the_document_is_valid(document: dict[str, Any]) -> None:
    schemathesis.openapi.from_dict(document).validate()
    assert {operation.label for operation in operations_of(document)} == dict(operations(document)).keys()


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    found = set(references(document))
    assert "#/components/schemas/Problem" in found
    for reference in found:
        place: Any = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]
        assert isinstance(place, dict), reference


def test_every_operation_says_who_may_call_it_and_how_it_fails(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        needs_session = name not in OPEN_OPERATIONS
        assert bool(operation.get("security")) == needs_session, name
        assert {"4XX", "5XX"} <= set(operation["responses"]), name
        assert "422" not in operation["responses"], name  # the framework's own form, which is never sent


def test_no_two_operations_share_an_id(document: dict[str, Any]) -> None:
    ids = Counter(operation["operationId"] for _, operation in operations(document))
    assert ids.most_common(1)[0][1] == 1


@pytest.fixture
def marked(prepared: Path, tmp_path: Path) -> Iterator[MarkedSite]:
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db"))) as site:
        yield MarkedSite(site)


def test_whoever_asks_is_answered_as_the_document_says_and_told_only_what_is_theirs(
    marked: MarkedSite, document: dict[str, Any]
) -> None:
    tally = Tally()
    asked = AskedByAll(marked, tally)
    for operation in operations_of(document):
        asked.exercise(operation, EXAMPLES, by_all=1)
    assert tally.seen == THEIR_MARKS  # what others must not see is there to be seen
    for who, answered in tally.by_caller.items():
        assert answered[5] == 0, who
        assert answered[4] > 50, who
        assert answered[2] > (30 if who not in ("nobody", "executor") else 2), (who, answered)
