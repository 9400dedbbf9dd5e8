"""Who may use which route: all routes times all kinds of callers, against one table. A route that is not in the table
fails a test, and so does one of the table that is gone.

Everybody asks for the things of one group, ``ours``. What is refused changes nothing. (A14, A15)
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from fastapi.routing import iter_route_contexts
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.coordinator.http.live import Site, but_refusals
from tests.coordinator.http.rights_site import PEOPLE, RightsSite

OK = "ok"

_ANSWERS = """
                    nobody idle other  other  viewer operator editor group overseer chief administrator
                                viewer editor                        admin
OPEN                ok     ok   ok     ok     ok     ok       ok     ok    ok       ok    ok
SIGNED_IN           401    ok   ok     ok     ok     ok       ok     ok    ok       ok    ok
LIST                401    403  ok     ok     ok     ok       ok     ok    ok       ok    ok
VIEW                401    403  404    404    ok     ok       ok     ok    ok       ok    ok
OPERATE             401    403  403    404    403    ok       ok     ok    403      ok    ok
OPERATE_MANY        401    403  403    ok     403    ok       ok     ok    403      ok    ok
EDIT                401    403  403    404    403    403      ok     ok    403      ok    ok
EDIT_MANY           401    403  403    ok     403    403      ok     ok    403      ok    ok
VIEW_EVERYWHERE     401    403  403    403    403    403      403    403   ok       ok    ok
EDIT_EVERYWHERE     401    403  403    403    403    403      403    403   403      ok    ok
ADMINISTER          401    403  403    403    403    403      403    403   403      403   ok
WATCH               401    404  404    404    ok     ok       ok     ok    ok       ok    ok
LIVE                ok     403  403    403    403    403      403    403   ok       ok    ok
ADMINISTER_GROUP    401    403  403    403    403    403      403    ok    403      403   ok
METRICS             ok     403  403    403    403    403      403    403   ok       ok    ok
EXECUTORS           401    401  401    401    401    401      401    401   401      401   401
"""
"""What each kind of route answers to whom. ``overseer``, ``chief`` and ``administrator`` have their role everywhere, as
viewer, editor and admin; ``idle`` has none; ``other`` ones have theirs in another group.
"""

ANSWERS: dict[str, dict[str, str]] = {
    words[0]: dict(zip(PEOPLE, words[1:], strict=True))
    for line in _ANSWERS.strip().splitlines()[2:]
    if (words := line.split())
}


@dataclass(frozen=True)
class Rule:
    """What a route is, and how it is called: what it answers who may, and with which body."""

    kind: str
    status: int = 200
    body: Callable[[RightsSite], object] | None = None
    query: str = ""
    of: str = "execution"
    """Which execution the path is about."""


def _job(prepared: RightsSite) -> dict[str, Any]:
    return {"job_group": prepared.ours.group, "job_desc": "another name", "executor_handler": "report"}


def _group(prepared: RightsSite) -> dict[str, Any]:
    return {"app_name": prepared.ours.app_name, "title": "another title"}


def _executor(prepared: RightsSite) -> dict[str, Any]:
    return {"app_name": prepared.ours.app_name, "address": "http://10.0.0.9:9999"}


def _channel(_: RightsSite) -> dict[str, Any]:
    return {"name": "another", "kind": "webhook", "definition": {"url": "https://alarms.example.org/other"}}


SPAN = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T03:00:00Z", "preview": True}

RULES: dict[str, Rule] = {
    "GET /health/live": Rule("OPEN"),
    "GET /health/ready": Rule("OPEN"),
    "GET /metrics": Rule("METRICS"),
    "GET /api/openapi.json": Rule("SIGNED_IN"),
    # signing in
    "POST /api/v1/auth/login": Rule("OPEN", 422, lambda _: {}),
    "POST /api/v1/auth/refresh": Rule("OPEN", 422, lambda _: {}),
    "GET /api/v1/auth/ways": Rule("OPEN"),
    "POST /api/v1/auth/session": Rule("OPEN", 422, lambda _: {}),
    "POST /api/v1/auth/link": Rule("OPEN", 422, lambda _: {}),
    "GET /api/v1/auth/oidc/start": Rule("OPEN", 404),
    "GET /api/v1/auth/oidc/callback": Rule("OPEN", 404),
    "GET /api/v1/auth/session": Rule("SIGNED_IN"),
    "POST /api/v1/auth/logout": Rule("SIGNED_IN", 204),
    "GET /api/v1/auth/sessions": Rule("SIGNED_IN"),
    "DELETE /api/v1/auth/sessions": Rule("SIGNED_IN"),
    "DELETE /api/v1/auth/sessions/{session_id}": Rule("SIGNED_IN", 404),
    "POST /api/v1/auth/password": Rule("SIGNED_IN", 422, lambda _: {}),
    "PATCH /api/v1/auth/preferences": Rule("SIGNED_IN", 422, lambda _: {}),
    # people
    "GET /api/v1/users/me": Rule("SIGNED_IN"),
    "GET /api/v1/users": Rule("ADMINISTER"),
    "POST /api/v1/users": Rule("ADMINISTER", 201, lambda _: {"username": "new"}),
    "GET /api/v1/users/{user_id}": Rule("ADMINISTER"),
    "PATCH /api/v1/users/{user_id}": Rule("ADMINISTER", 200, lambda _: {"role": "editor"}),
    "PUT /api/v1/users/{user_id}/grants/{group_id}": Rule("ADMINISTER", 200, lambda _: {"role": "admin"}),
    "DELETE /api/v1/users/{user_id}/grants/{group_id}": Rule("ADMINISTER"),
    "POST /api/v1/users/{user_id}/password": Rule("ADMINISTER", 200, lambda _: {}),
    "DELETE /api/v1/users/{user_id}": Rule("ADMINISTER", 204),
    "GET /api/v1/users/{user_id}/sessions": Rule("ADMINISTER"),
    "DELETE /api/v1/users/{user_id}/sessions": Rule("ADMINISTER"),
    "GET /api/v1/tokens": Rule("ADMINISTER"),
    "POST /api/v1/tokens": Rule("ADMINISTER", 201, lambda _: {"name": "for a program", "role": "viewer"}),
    "GET /api/v1/tokens/{token_id}": Rule("ADMINISTER", 404),
    "POST /api/v1/tokens/{token_id}/rotate": Rule("ADMINISTER", 404),
    "DELETE /api/v1/tokens/{token_id}": Rule("ADMINISTER", 404),
    # groups and executors
    "GET /api/v1/groups": Rule("LIST"),
    "POST /api/v1/groups": Rule("ADMINISTER", 201, lambda _: {"app_name": "brand-new"}),
    "GET /api/v1/groups/{group_id}": Rule("VIEW"),
    "GET /api/v1/groups/{group_id}/handlers": Rule("VIEW"),
    "PUT /api/v1/groups/{group_id}": Rule("ADMINISTER", 200, _group),
    "DELETE /api/v1/groups/{group_id}": Rule("ADMINISTER", 409),
    "GET /api/v1/executors": Rule("LIST"),
    "POST /api/v1/executors/ping": Rule("OPERATE", 404, _executor),
    "POST /api/v1/executors/drain": Rule("OPERATE", 404, _executor),
    "POST /api/v1/executors/resume": Rule("OPERATE", 404, _executor),
    "POST /api/v1/executors/remove": Rule("ADMINISTER", 404, _executor),
    "GET /api/v1/executor-keys": Rule("ADMINISTER"),
    "POST /api/v1/executor-keys/{executor_id}/admit": Rule("ADMINISTER", 404),
    "POST /api/v1/executor-keys/{executor_id}/revoke": Rule("ADMINISTER", 404),
    "GET /api/v1/executors/unclaimed": Rule("VIEW_EVERYWHERE"),
    "POST /api/v1/executors/unclaimed/{app_name:path}/adopt": Rule("ADMINISTER", 201),
    # jobs
    "GET /api/v1/jobs": Rule("LIST"),
    "POST /api/v1/jobs": Rule("EDIT", 201, _job),
    "GET /api/v1/jobs/{job_id}/history": Rule("VIEW"),
    "GET /api/v1/jobs/board": Rule("LIST"),
    "GET /api/v1/jobs/in-use": Rule("LIST"),
    "GET /api/v1/jobs/definitions": Rule("LIST"),
    "POST /api/v1/jobs/definitions": Rule("EDIT_MANY", 200, lambda made: {"jobs": [_job(made)]}),
    "POST /api/v1/jobs/bulk/start": Rule("OPERATE_MANY", query="?all=true"),
    "POST /api/v1/jobs/bulk/stop": Rule("OPERATE_MANY", query="?all=true"),
    "POST /api/v1/jobs/bulk/trigger": Rule("OPERATE_MANY", query="?all=true"),
    "POST /api/v1/jobs/bulk/delete": Rule("EDIT_MANY", query="?all=true"),
    "GET /api/v1/schedules/upcoming": Rule("LIST"),
    "GET /api/v1/schedules/zones": Rule("SIGNED_IN"),
    "POST /api/v1/schedules/preview": Rule("LIST", 200, lambda _: {"schedule_type": "FIX_RATE", "schedule_conf": "30"}),
    "GET /api/v1/jobs/{job_id}": Rule("VIEW"),
    "PUT /api/v1/jobs/{job_id}": Rule("EDIT", 200, _job),
    "PATCH /api/v1/jobs/{job_id}": Rule("EDIT", 200, lambda _: {"job_desc": "another name"}),
    "DELETE /api/v1/jobs/{job_id}": Rule("EDIT", 409),
    "POST /api/v1/jobs/{job_id}/start": Rule("OPERATE"),
    "POST /api/v1/jobs/{job_id}/stop": Rule("OPERATE"),
    "POST /api/v1/jobs/{job_id}/trigger": Rule("OPERATE", 202),
    "GET /api/v1/jobs/{job_id}/next": Rule("VIEW"),
    "GET /api/v1/jobs/{job_id}/fires": Rule("VIEW"),
    "GET /api/v1/jobs/{job_id}/stats": Rule("VIEW"),
    "GET /api/v1/calendars": Rule("LIST"),
    "POST /api/v1/calendars": Rule("EDIT_EVERYWHERE", 201, lambda _: {"name": "new", "definition": {"weekdays": [1]}}),
    # batches
    "POST /api/v1/jobs/{job_id}/trigger-batch": Rule("OPERATE", 200, lambda _: SPAN),
    "GET /api/v1/batches": Rule("LIST"),
    "GET /api/v1/batches/{batch_id}": Rule("VIEW"),
    "POST /api/v1/batches/{batch_id}/cancel": Rule("OPERATE"),
    # executions
    "GET /api/v1/executions": Rule("LIST"),
    "GET /api/v1/executions/{execution_id}": Rule("VIEW"),
    "GET /api/v1/executions/{execution_id}/why": Rule("VIEW"),
    "GET /api/v1/executions/{execution_id}/relatives": Rule("VIEW"),
    "POST /api/v1/executions/{execution_id}/kill": Rule("OPERATE", 202),
    "POST /api/v1/executions/{execution_id}/retry": Rule("OPERATE", 202, of="ended"),
    "POST /api/v1/executions/bulk/retry": Rule("OPERATE_MANY", 202, query="?status=failed"),
    "POST /api/v1/executions/bulk/kill": Rule("OPERATE_MANY", 202, query="?status=init"),
    "GET /api/v1/executions/{execution_id}/log": Rule("VIEW"),
    "GET /api/v1/executions/{execution_id}/log/place": Rule("VIEW"),
    "GET /api/v1/executions/{execution_id}/log/search": Rule("VIEW", query="?q=x"),
    "GET /api/v1/executions/{execution_id}/log/download": Rule("VIEW"),
    "GET /api/v1/executions/{execution_id}/log/stream": Rule("VIEW", of="ended"),
    "WS /api/v1/executions/{execution_id}/log/ws": Rule("WATCH", 101, of="ended"),
    "GET /api/v1/dead-letters": Rule("LIST"),
    "POST /api/v1/dead-letters/replay": Rule("OPERATE_MANY", 202, lambda made: {"ids": [made.ours.ended]}),
    "POST /api/v1/dead-letters/drop": Rule("OPERATE_MANY", 202, lambda made: {"ids": [made.ours.ended]}),
    # statistics
    "GET /api/v1/stats": Rule("LIST"),
    "GET /api/v1/stats/histogram": Rule("LIST"),
    "GET /api/v1/stats/overview": Rule("LIST"),
    "WS /api/v1/changes": Rule("SIGNED_IN", 101),  # tells where to look again, and nothing else
    # alarms
    "GET /api/v1/alarms": Rule("LIST"),
    "GET /api/v1/alarms/failing": Rule("LIST"),
    "GET /api/v1/alarms/rules": Rule("LIST"),
    "POST /api/v1/alarms/preview": Rule("EDIT_EVERYWHERE", 200, lambda _: {}),
    "GET /api/v1/alarms/channels": Rule("LIST"),
    "POST /api/v1/alarms/channels": Rule("EDIT_EVERYWHERE", 201, _channel),
    "GET /api/v1/alarms/channels/{channel_id}": Rule("LIST"),
    "PUT /api/v1/alarms/channels/{channel_id}": Rule("EDIT_EVERYWHERE", 200, _channel),
    "DELETE /api/v1/alarms/channels/{channel_id}": Rule("EDIT_EVERYWHERE", 204),
    "POST /api/v1/alarms/channels/{channel_id}/test": Rule("EDIT_EVERYWHERE"),
    "GET /api/v1/alarms/silences": Rule("LIST"),
    "POST /api/v1/alarms/silences": Rule(
        "OPERATE", 201, lambda made: {"job_group": made.ours.group, "lasts": "1h", "reason": "works"}
    ),
    "DELETE /api/v1/alarms/silences/{silence_id}": Rule("OPERATE"),
    # scripts
    "GET /api/v1/scripts": Rule("LIST"),
    "POST /api/v1/scripts/header": Rule("LIST", 200, lambda _: {"glue_type": "GLUE_SHELL", "glue_source": "echo"}),
    "GET /api/v1/scripts/{job_id}": Rule("VIEW", 409),
    "PUT /api/v1/scripts/{job_id}": Rule(
        "EDIT", 200, lambda _: {"glue_type": "GLUE_SHELL", "glue_source": "echo", "glue_remark": "a first version"}
    ),
    "GET /api/v1/scripts/{job_id}/versions": Rule("VIEW"),
    "GET /api/v1/scripts/{job_id}/versions/{version_id}": Rule("VIEW", 404),
    "GET /api/v1/scripts/{job_id}/diff": Rule("VIEW", 404, query="?from=1"),
    "POST /api/v1/scripts/{job_id}/rollback": Rule("EDIT", 404, lambda _: {"version_id": 1, "remark": "back to it"}),
    "POST /api/v1/scripts/{job_id}/test": Rule("EDIT", 409, lambda _: {"source": "echo"}),
    # secrets and the audit
    "GET /api/v1/secrets": Rule("ADMINISTER_GROUP"),
    "PUT /api/v1/secrets/{name}": Rule(
        "ADMINISTER_GROUP", 201, lambda _: {"value": "not to be seen"}, query="?job_group={group_id}"
    ),
    "DELETE /api/v1/secrets/{name}": Rule("ADMINISTER_GROUP", 404, query="?job_group={group_id}"),
    "GET /api/v1/audit": Rule("ADMINISTER"),
    "GET /api/v1/audit/head": Rule("ADMINISTER"),
    "GET /api/v1/settings": Rule("ADMINISTER"),
    # the cluster and its services
    "GET /api/v1/cluster": Rule("VIEW_EVERYWHERE"),
    "GET /api/v1/cluster/terms": Rule("VIEW_EVERYWHERE"),
    "GET /api/v1/cluster/handoffs": Rule("VIEW_EVERYWHERE"),
    "GET /api/v1/cluster/waiting": Rule("VIEW_EVERYWHERE"),
    "POST /api/v1/cluster/nodes/{node_id}/drain": Rule("ADMINISTER", 404),
    "POST /api/v1/cluster/step-down": Rule("ADMINISTER", 409),
    "GET /api/v1/processes": Rule("VIEW_EVERYWHERE"),
    "POST /api/v1/processes/{name}/start": Rule("ADMINISTER", 409),
    "POST /api/v1/processes/{name}/stop": Rule("ADMINISTER", 409),
    "POST /api/v1/processes/{name}/restart": Rule("ADMINISTER", 409),
    "GET /ws": Rule("OPEN", 400),
    "WS /ws": Rule("LIVE", 101),  # who comes without a credential has to show one over the socket
    **{
        f"{call} /api/{kind}{path}": Rule("VIEW_EVERYWHERE" if call == "GET" else "ADMINISTER", status, body)
        for kind in ("orchestrators", "agents")
        for call, path, status, body in (
            ("GET", "", 200, None),
            ("POST", "/register", 200, lambda _: {"url": "http://10.0.0.7:5080"}),
            ("POST", "/{service_id}/heartbeat", 404, None),
            ("POST", "/{service_id}/status", 400, None),
            ("POST", "/{service_id}/unregister", 404, None),
        )
    },
    "GET /api/agents/orchestrator/{orchestrator_id}": Rule("VIEW_EVERYWHERE"),
}

PATH = re.compile(r"\{(\w+)(?::path)?\}")


def every_route(site: Site) -> Iterator[str]:
    for route in iter_route_contexts(site.app.routes):
        yield from (f"{method} {route.path}" for method in route.methods or ("WS",))


def is_for_executors(route: str) -> bool:
    return (
        re.match(
            r"POST (/|//|/xxl-job-admin/|/orth-admin/)/?api/"
            r"(registry|registryRemove|callback|enrolment|begun|openOffers|(add|update|remove|start|stop|trigger)Job|channels/\w+)$",
            route,
        )
        is not None
    )


def filled(prepared: RightsSite, path: str, rule: Rule) -> str:
    ours = prepared.ours
    values: dict[str, object] = {
        "job_id": ours.job,
        "group_id": ours.group,
        "execution_id": getattr(ours, rule.of),
        "batch_id": ours.batch,
        "silence_id": ours.silence,
        "channel_id": prepared.channel,
        "user_id": prepared.users["viewer"],
        "version_id": 1,
        "token_id": 1,
        "executor_id": 999,
        "app_name": "unclaimed",
        "name": "PASSWORD",
    }
    return PATH.sub(lambda found: str(values.get(found[1], "0" * 32)), path + rule.query)


def asked(prepared: RightsSite, who: str, route: str, rule: Rule) -> int:
    """The status that somebody gets; 101 for a socket that opens."""
    caller = prepared.callers[who]
    method, path = route.split(" ")
    path = filled(prepared, path, rule)
    if method != "WS":
        answer = caller.call(method, path, rule.body(prepared) if rule.body else None)
        return 401 if answer.is_unauthenticated else answer.status
    url = caller.url.replace("http:", "ws:") + path
    try:
        with connect(url, additional_headers=caller.headers, open_timeout=10):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def test_every_route_is_in_the_table(rights: RightsSite) -> None:
    there_are = {route for route in every_route(rights.site) if not is_for_executors(route)}
    assert there_are == RULES.keys()


@pytest.mark.parametrize("route", RULES)
def test_everybody_gets_what_the_table_says(rights: RightsSite, route: str) -> None:
    rule = RULES[route]
    answers = ANSWERS[rule.kind]
    for who in (one for one in PEOPLE if answers[one] != OK):
        assert asked(rights, who, route, rule) == int(answers[who]), who
    assert rights.site.state() == but_refusals(rights.before)
    for who in (one for one in PEOPLE if answers[one] == OK):
        assert asked(rights, who, route, rule) == rule.status, who
        if not route.startswith("GET"):
            rights.restore()


def test_no_person_calls_what_executors_call(rights: RightsSite) -> None:
    routes = [route for route in every_route(rights.site) if is_for_executors(route)]
    assert len(routes) > 20
    for route in routes:
        for who, expected in ANSWERS["EXECUTORS"].items():
            assert asked(rights, who, route, Rule("EXECUTORS", body=lambda _: {})) == int(expected), (route, who)
    after = rights.site.contents()
    changed = {table for table, rows in after.items() if rows != rights.before[table]}
    assert changed <= {"orth_audit", "orth_audit_head"}, "what was refused is told there, and changed nothing else"


def test_a_refusal_says_where_a_permission_is_missing(rights: RightsSite) -> None:
    """Who has a role in a group is not told to get what they have."""
    viewer = rights.callers["viewer"]
    everywhere = viewer.get("/api/v1/cluster").problem(403)
    assert (everywhere["code"], everywhere["facts"]["permission"]) == ("needs_permission_everywhere", "view")
    assert "everywhere" in everywhere["detail"]
    here = viewer.post(f"/api/v1/jobs/{rights.ours.job}/stop").problem(403)
    assert (here["code"], here["facts"]["permission"]) == ("needs_permission", "operate")
    nowhere = rights.callers["idle"].get("/api/v1/jobs").problem(403)
    assert nowhere["code"] == "needs_permission"
