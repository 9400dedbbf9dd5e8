"""The OpenAPI document is valid, complete, and kept: requests made from it, good and bad, are answered as it says."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode

from orth.coordinator.signing import Claim
from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.test_app import OPEN

CONFORMANCE = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


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


def callable_operations(document: dict[str, Any]) -> list[schemathesis.APIOperation[Any, Any, Any, Any]]:
    """The operations a client could be made from: those that are understood."""
    results = schemathesis.openapi.from_dict(document).get_all_operations()
    return [result.ok() for result in results if isinstance(result, Ok)]


def own_session(site: Site) -> Caller:
    """The administrator in a session that nobody else has."""
    return site.bearer(site.signing.access_token(Claim("admin", site.session().session.id)))


def exercised(
    operation: schemathesis.APIOperation[Any, Any, Any, Any], mode: GenerationMode, url: str, headers: dict[str, str]
) -> Counter[int]:
    """Call an operation some times, as its document says; how often it answered with what kind of status."""
    answered: Counter[int] = Counter()
    slow = operation.path.endswith(("/login", "/auth/session", "/password"))  # each try costs a password hash

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=3 if slow else 10,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def conforms(case: schemathesis.Case[Any]) -> None:
        response = case.call_and_validate(base_url=url, headers=headers, checks=CONFORMANCE)
        answered[response.status_code // 100] += 1

    conforms()
    return answered


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
    assert {operation.label for operation in callable_operations(document)} == dict(operations(document)).keys()


def test_every_reference_leads_somewhere(document: dict[str, Any]) -> None:
    found = set(references(document))
    assert "#/components/schemas/Problem" in found
    for reference in found:
        place: Any = document
        for part in reference.removeprefix("#/").split("/"):
            place = place[part]
        assert place


def test_every_operation_says_who_may_call_it_and_how_it_fails(document: dict[str, Any]) -> None:
    for name, operation in operations(document):
        needs_session = name not in {f"{method} {path}" for method, path in OPEN}
        assert bool(operation.get("security")) == needs_session, name
        assert {"4XX", "5XX"} <= set(operation["responses"]), name
        assert "422" not in operation["responses"], name  # the framework's own form, which is never sent


def test_no_two_operations_share_an_id(document: dict[str, Any]) -> None:
    ids = Counter(operation["operationId"] for _, operation in operations(document))
    assert ids.most_common(1)[0][1] == 1


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["good", "bad"])
def test_requests_made_from_the_document_are_answered_as_it_says(
    site: Site, document: dict[str, Any], mode: GenerationMode
) -> None:
    site.execution(site.job(schedule_type="CRON", schedule_conf="0 2 * * *"))
    answered: Counter[int] = Counter()
    said = dict(operations(document))
    for operation in callable_operations(document):
        if mode is GenerationMode.NEGATIVE and not {"parameters", "requestBody"} & said[operation.label].keys():
            continue  # nothing is asked of the caller, so nothing can be wrong
        headers = own_session(site).headers  # some operations end the one they are called in
        answered += exercised(operation, mode, site.url, headers)
    assert answered[5] == 0
    assert answered[4] > 50
    assert mode is GenerationMode.NEGATIVE or answered[2] > 30
