"""What is wrong with a field has a code and the facts of it, so that a page can say it in another language."""

from collections.abc import Iterator
from typing import Any

import pytest
from fastapi._compat import ModelField
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import TypeAdapter

from orth.coordinator.field_troubles import KINDS, kind_of
from orth.coordinator.http.app import assembled
from orth.sayings import SAYINGS
from orth.settings import Settings
from tests.coordinator.http.live import Caller, Site


def told(caller: Caller, method: str, path: str, body: object = None) -> dict[str, Any]:
    answer = caller.call(method, path, body).problem(422)
    assert answer["code"] == "invalid_request"
    (one,) = answer["errors"]
    for text in SAYINGS[one["code"]]:
        text.format(**one["facts"])  # it can be said by its facts
    found: dict[str, Any] = one
    return found


@pytest.mark.parametrize(
    ("fields", "field", "code", "facts"),
    [
        ({"job_desc": "x" * 300}, "job_desc", "field_too_long", {"limit": 255}),
        ({"job_desc": ""}, "job_desc", "field_too_short", {"limit": 1}),
        ({"executor_timeout": -1}, "executor_timeout", "field_at_least", {"limit": 0}),
        ({"executor_timeout": "soon"}, "executor_timeout", "field_not_number", {}),
        ({"schedule_type": "SOMETIMES"}, "schedule_type", "field_not_one_of", None),
        ({"nonsense": 1}, "nonsense", "field_unknown", {}),
        ({"job_desc": 7}, "job_desc", "field_not_text", {}),
        ({"job_desc": "two\nlines"}, "job_desc", "field_one_line", {}),
        ({"tags": ["a,b"]}, "tags.0", "tag_form", {}),
        ({"label_selector": "zone=eu,!"}, "label_selector", "selector_condition", {"said": "!"}),
        ({"executor_queue": "p1"}, "executor_queue", "queue_called_priority", {}),
        ({"executor_handler": ""}, "executor_handler", "handler_needed", {}),
        ({"child_jobid": "1,x"}, "child_jobid", "child_ids_with_commas", {}),
        ({"alarm_email": "nobody"}, "alarm_email", "not_an_email", {"address": "nobody"}),
        ({"alarm_policy": {"repeat": -1}}, "alarm_policy", "alarm_policy_repeat", {"limit": 31_536_000}),
        ({"retry_policy": {"delay": True}}, "retry_policy.delay", "field_not_decimal", {}),
    ],
)
def test_the_common_kinds(
    site: Site, admin: Caller, fields: dict[str, Any], field: str, code: str, facts: dict[str, Any] | None
) -> None:
    body = {"job_group": site.group(), "job_desc": "job", "executor_handler": "report", **fields}
    one = told(admin, "POST", "/api/v1/jobs", body)
    assert (one["field"], one["code"]) == (field, code)
    if facts is not None:
        assert one["facts"] == facts


def test_what_is_wrong_with_a_channel_is_told_of_its_field(admin: Caller) -> None:
    body = {"name": "hook", "kind": "webhook", "definition": {"url": "ftp://there"}}
    answer = admin.post("/api/v1/alarms/channels", body).problem(422)
    assert (answer["code"], answer["detail"]) == (
        "invalid_request",
        "definition.url: This must be an http or https URL.",
    )
    (one,) = answer["errors"]
    assert (one["field"], one["code"], one["facts"]) == ("definition.url", "channel_url", {})


BOUNDS = {"greater_than_equal", "less_than_equal", "greater_than", "less_than"}
REFUSED_AS: dict[str, set[str]] = {
    "str": {"string_type", "string_unicode", "string_too_long", "string_too_short", "string_pattern_mismatch"},
    "int": {"int_type", "int_parsing", "int_parsing_size", "int_from_float", *BOUNDS},
    "float": {"float_type", "float_parsing", "finite_number", *BOUNDS},
    "bool": {"bool_type", "bool_parsing"},
    "enum": {"enum"},
    "literal": {"literal_error"},
    "list": {"list_type", "too_long", "too_short"},
    "dict": {"dict_type", "too_long", "too_short"},
    "model": {"model_type", "model_attributes_type", "missing", "extra_forbidden"},
}
"""By what Pydantic makes of a type: what it can refuse."""
REFUSE_NOTHING = {
    *("default", "nullable", "model-fields", "model-field", "definitions", "definition-ref"),
    *("function-before", "function-after", "no-info", "with-info"),  # our own say InvalidValue
    *("any", "union", "lax-or-strict", "json-or-python", "tagged-union", "none"),  # made of others, or any JSON
    *("is-instance", "function-plain"),  # of a secret, which is a text
}


def kinds_in(schema: object) -> set[str]:
    if isinstance(schema, dict):
        own = {schema["type"]} if isinstance(schema.get("type"), str) else set()
        return own.union(*map(kinds_in, schema.values()))
    return set().union(*map(kinds_in, schema)) if isinstance(schema, list | tuple) else set()


def fields_of(dependant: Dependant) -> Iterator[ModelField]:
    yield from (*dependant.query_params, *dependant.path_params, *dependant.header_params, *dependant.body_params)
    for one in dependant.dependencies:
        yield from fields_of(one)


def test_whatever_a_field_can_be_refused_as_has_a_code() -> None:
    routes = [route for route in assembled(Settings()).routes if isinstance(route, APIRoute)]
    fields = [field for route in routes for field in fields_of(route.dependant)]
    kinds = set().union(*(kinds_in(TypeAdapter(one.field_info.annotation).core_schema) for one in fields))
    assert {"str", "int", "model", "enum"} < kinds
    assert kinds - REFUSED_AS.keys() - REFUSE_NOTHING == set(), "say what Pydantic can refuse about these"
    assert set().union(*(REFUSED_AS.get(kind, set()) for kind in kinds)) - KINDS.keys() == set()


def test_what_is_of_no_kind_of_ours_is_told_in_the_words_of_pydantic() -> None:
    one = {"type": "url_scheme", "msg": "URL scheme should be 'http'.", "ctx": {}}
    assert kind_of(one) == {"code": "field_refused", "facts": {"said": "URL scheme should be 'http'"}}


def test_what_is_missing_and_what_a_query_may_be(admin: Caller) -> None:
    assert admin.post("/api/v1/groups", {}).problem(422)["errors"][0]["code"] == "field_missing"
    assert told(admin, "GET", "/api/v1/jobs?limit=9000")["facts"] == {"limit": 200}
    assert "bogus" not in told(admin, "GET", "/api/v1/executions?status=bogus")["facts"]["expected"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/api/v1/executions?since=yesterday", "not_an_instant"),
        ("/api/v1/executions?since=1h&until=2h", "since_after_until"),
        ("/api/v1/executions?cursor=x", "cursor_strange"),
    ],
)
def test_filters_that_mean_nothing(admin: Caller, path: str, code: str) -> None:
    answer = admin.get(path).problem(422)
    assert (answer["code"], answer["errors"][0]["code"]) == (code, code)


@pytest.mark.parametrize(
    ("conf", "code", "facts"),
    [
        ("0 0 25 * * ?", "cron_outside", {"part": "hour", "number": "25", "low": 0, "high": 23}),
        ("0 0 * *", "cron_field_count", {"count": 4}),
        ("0 0 0 30 2 ?", "cron_never", {"first": 1970, "last": 2199}),
        ("@reboot", "cron_reboot", {"name": "@reboot"}),
    ],
)
def test_schedules_are_refused_by_a_code(admin: Caller, conf: str, code: str, facts: dict[str, Any]) -> None:
    answer = admin.post("/api/v1/schedules/preview", {"schedule_type": "CRON", "schedule_conf": conf}).problem(422)
    assert (answer["code"], answer["facts"]) == (code, facts)
    assert answer["errors"][0]["position"] is not None
