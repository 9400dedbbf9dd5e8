"""Nobody is anonymous: every route that exists is asked with every credential that is none."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey

from orth.coordinator.http.channel_requests import VERBS
from orth.coordinator.http.channels import CLOSED_VERBS
from orth.coordinator.http.from_executors import JOB_CALLS
from orth.coordinator.signing import Claim
from orth.store.users import set_password
from tests.coordinator.http.live import ACCESS_TOKEN, ADMIN_SESSION, Caller, Site
from tests.coordinator.http.tokens import unsigned

OPEN = {
    ("POST", "/api/v1/auth/login"),
    ("POST", "/api/v1/auth/refresh"),
    ("GET", "/api/v1/auth/ways"),
    ("POST", "/api/v1/auth/session"),
    ("POST", "/api/v1/auth/link"),
    ("GET", "/api/v1/auth/oidc/start"),
    ("GET", "/api/v1/auth/oidc/callback"),
    ("GET", "/health/live"),
    ("GET", "/health/ready"),
    ("GET", "/ws"),  # says that it is a socket; who may open that is tested in ``test_live_socket``
}
OPEN_ON_LOOPBACK = {("GET", "/metrics")}
"""Its own rule is tested in ``test_metrics``."""
CALLS = (
    *("registry", "registryRemove", "callback", "begun", "openOffers", "enrolment"),
    *JOB_CALLS,
    *(f"/channels/{verb}" for verb in (*VERBS, *CLOSED_VERBS)),
)
OF_SERVICES = ("/api/orchestrators", "/api/agents")
"""Who has the access token may call these as well."""


def filled(path: str, value: object) -> str:
    """A path with ``value`` in the place of each of its parameters."""
    return re.sub(r"\{\w+\}", str(value), path)


def every_route(routes: Sequence[Any]) -> Iterator[tuple[str, str]]:
    """Method and path of each route; what was included is looked into, whether or not the framework flattens it."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield from every_route(route.effective_candidates())
        else:
            yield from ((method, route.path) for method in getattr(route, "methods", ()))  # a WebSocket has none


def closed_routes(site: Site) -> list[tuple[str, str]]:
    """The routes for people; those for executors show another credential."""
    found = set(every_route(site.app.routes)) - OPEN - OPEN_ON_LOOPBACK
    return sorted(route for route in found if not route[1].endswith(CALLS))


def refused_everywhere(site: Site, caller: Caller) -> None:
    before = site.state()
    let_in = OF_SERVICES if any(ACCESS_TOKEN in value for value in caller.headers.values()) else ()
    for method, path in closed_routes(site):
        if path.startswith(let_in):
            continue
        body: object = {} if method in ("POST", "PUT", "PATCH") else None
        for ids in ("1", "nonsense"):
            answer = caller.call(method, filled(path, ids), body)
            assert answer.problem(401)["title"] == "Unauthenticated", (method, path)
            assert answer.headers["www-authenticate"] == "Bearer"
    assert site.state() == before


def test_the_walk_over_the_routes_sees_them_all(site: Site) -> None:
    documented = {
        (method.upper(), path)
        for path, operations in site.admin().get("/api/openapi.json").json["paths"].items()
        for method in operations
    }
    found = {(method, path.replace(":path}", "}")) for method, path in every_route(site.app.routes)}
    assert found >= documented
    assert found >= OPEN | {("GET", "/api/openapi.json"), ("POST", "/xxl-job-admin/api/callback")}
    assert len(closed_routes(site)) > 20


def test_what_is_open_is_these_routes_and_no_more(site: Site, stranger: Caller) -> None:
    unguarded = {
        (method, path)
        for method, path in every_route(site.app.routes)
        if not stranger.call(method, filled(path, 1)).is_unauthenticated
    }
    assert unguarded == OPEN | OPEN_ON_LOOPBACK


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer garbage"},
        {"Authorization": "Bearer a.b.c"},
        {"Authorization": "Bearer " + "a" * 50_000},
        {"Authorization": "Basic YWRtaW46d2hhdC1hZG1pbi10eXBlcw=="},
        {"Authorization": f"Bearer {ACCESS_TOKEN}"},
        {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN},
        {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN},
    ],
    ids=lambda headers: str(headers)[:50],
)
def test_without_a_session_nothing_is_read_or_changed(site: Site, headers: dict[str, str]) -> None:
    refused_everywhere(site, Caller(site.url, headers))


def test_an_expired_session_is_none(site: Site, admin: Caller) -> None:
    site.clock.move(3599)
    assert admin.get("/api/v1/jobs").status == 200
    site.clock.move(1)
    refused_everywhere(site, admin)


def test_a_refresh_token_opens_nothing(site: Site) -> None:
    refused_everywhere(site, site.bearer(site.refresh_token()))


def test_a_session_ends_with_the_password_it_was_begun_with(site: Site, admin: Caller) -> None:
    assert admin.get("/api/v1/jobs").status == 200
    site.tx(set_password, "admin", "another hash", site.clock.now())
    refused_everywhere(site, admin)


def test_a_session_of_somebody_who_does_not_exist_is_none(site: Site) -> None:
    refused_everywhere(site, site.bearer(site.signing.access_token(Claim("nobody", ADMIN_SESSION))))


@pytest.mark.parametrize("algorithm", ["none", "None", "HS256", "RS256"])
def test_a_token_that_is_not_signed_is_none(site: Site, algorithm: str) -> None:
    now = site.clock.now() // 1000
    claims = {"iss": "orth", "sub": "admin", "sid": ADMIN_SESSION, "use": "access", "iat": now, "exp": now + 1000}
    refused_everywhere(site, site.bearer(unsigned({"alg": algorithm}, claims)))


def test_a_token_signed_with_another_key_is_none(site: Site) -> None:
    now = site.clock.now() // 1000
    claims = {"iss": "orth", "sub": "admin", "sid": ADMIN_SESSION, "use": "access", "iat": now, "exp": now + 1000}
    refused_everywhere(site, site.bearer(jwt.encode({"alg": "HS256"}, claims, OctKey.import_key("0" * 64))))


def test_a_session_in_the_address_is_not_looked_at(site: Site, stranger: Caller) -> None:
    token = site.access_token()
    for parameter in ("access_token", "token", "authorization", "api_key"):
        stranger.get(f"/api/v1/jobs?{parameter}={token}").problem(401)


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/jobs/",
        "//api/v1/jobs",
        "/api//v1/jobs",
        "/api/v1/./jobs",
        "/health/../api/v1/jobs",
        "/health/live/../../api/v1/jobs",
        "/api/v1/jobs%2f",
        "/api/v1/%6aobs",
        "/api/v1/jobs%00",
        "/api/v1/jobs;x=1",
        "/API/V1/JOBS",
        "/api/v1/auth/login/../../jobs",
        "/api/v1/jobs%252f1",
        "/api/v1/jobs\u2025/1".encode().decode("latin-1"),
    ],
)
def test_no_spelling_of_a_path_gets_around_signing_in(site: Site, stranger: Caller, admin: Caller, path: str) -> None:
    site.job(job_desc="not for strangers")
    answer = stranger.call("GET", path)
    assert answer.status in (401, 404)
    answer.problem(answer.status)
    # Whoever may see it sees the canonical thing, or nothing: no redirect leads anywhere.
    assert admin.call("GET", path).status in (200, 404, 422)


@pytest.mark.parametrize("header", ["X-Original-URL", "X-Rewrite-URL", "X-HTTP-Method-Override", "X-Forwarded-For"])
def test_headers_that_rewrite_a_request_are_ignored(site: Site, stranger: Caller, header: str) -> None:
    job_id = site.job()
    value = "DELETE" if "Method" in header else "/health/live"
    stranger.call("GET", f"/api/v1/jobs/{job_id}", headers={header: value}).problem(401)
    assert site.admin().call("GET", f"/api/v1/jobs/{job_id}", headers={header: value}).json["id"] == job_id


@pytest.mark.parametrize("method", ["TRACE", "HEAD", "OPTIONS", "PROPFIND", "GET"])
def test_a_method_an_action_does_not_have_does_nothing(site: Site, admin: Caller, method: str) -> None:
    job_id = site.job()
    before = site.state()
    for action in ("start", "stop", "trigger"):
        answer = admin.call(method, f"/api/v1/jobs/{job_id}/{action}")
        assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert site.state() == before


def test_an_unknown_path_is_a_problem_too(admin: Caller) -> None:
    assert admin.get("/api/v1/nothing").problem(404)["type"] == "urn:orth:problem:not-found"


def test_health_says_whether_the_process_runs_and_the_database_answers(stranger: Caller, site: Site) -> None:
    assert stranger.get("/health/live").json == {"status": "alive", "now": site.clock.now()}
    assert stranger.get("/health/ready").json == {"status": "ready"}
