"""Browsers: a cookie scripts cannot read, changes that need more than a cookie, and one-time links."""

import shutil
from http.cookies import Morsel, SimpleCookie
from pathlib import Path

import pytest

from orth.coordinator.http.credentials import CSRF_HEADER
from orth.coordinator.signing_in.links import GOOD_FOR_MS, make_link
from orth.domain.audit import Actor, ActorKind
from orth.domain.sessions import SessionKind
from orth.settings import Settings
from orth.settings.sections import ConsoleSection, SecuritySection
from orth.store.users import find_user, set_disabled
from tests.coordinator.http.live import PASSWORD, Answer, Caller, Site
from tests.coordinator.http.test_users import USERS, added

SESSION, LINK = "/api/v1/auth/session", "/api/v1/auth/link"
BODY = {"username": "admin", "password": PASSWORD}
AT_MACHINE = Actor(ActorKind.COMMAND, "tests")


def morsel(answer: Answer) -> Morsel[str]:
    (found,) = SimpleCookie(answer.headers["set-cookie"]).values()
    return found


def browser(site: Site, **headers: str) -> tuple[Caller, str]:
    """A signed-in browser, and its CSRF token."""
    begun = site.session(kind=SessionKind.BROWSER)
    cookie = f"orth-session={begun.session.id}.{begun.secret}"
    return Caller(site.url, {"Cookie": cookie, **headers}), site.signing.csrf_token(begun.session.id)


def test_signing_in_sets_a_cookie_that_no_script_can_read(site: Site, stranger: Caller) -> None:
    answer = stranger.post(SESSION, BODY)
    assert answer.status == 200
    assert answer.headers["cache-control"] == "no-store"
    cookie = morsel(answer)
    assert (cookie.key, cookie["httponly"], cookie["samesite"], cookie["path"]) == ("orth-session", True, "strict", "/")
    assert not cookie["secure"]  # there is no TLS here
    assert not cookie["domain"]
    assert answer.json["rights"] == {"everywhere": "admin", "in_groups": {}}
    assert answer.json["username"] == "admin"
    assert cookie.value not in answer.body.decode()
    caller = Caller(site.url, {"Cookie": f"{cookie.key}={cookie.value}"})
    assert caller.get("/api/v1/jobs").status == 200
    assert caller.get(SESSION).json == answer.json


@pytest.mark.parametrize(
    ("console", "sent", "name", "path"),
    [
        (None, {"X-Forwarded-Proto": "https"}, "__Host-orth-session", "/"),
        ("https://orth.example", {"Host": "orth.example"}, "__Host-orth-session", "/"),
        ("https://example.com/orth", {"Host": "example.com"}, "__Secure-orth-session", "/orth"),
    ],
)
def test_behind_tls_the_cookie_is_for_tls_alone(
    prepared: Path, tmp_path: Path, console: str | None, sent: dict[str, str], name: str, path: str
) -> None:
    security = SecuritySection(trusted_proxies=("127.0.0.1/32",))
    settings = Settings(security=security, console=ConsoleSection(base_url=console))
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), settings) as site:
        cookie = morsel(Caller(site.url, sent).post(SESSION, BODY))
        assert (cookie.key, cookie["path"], cookie["secure"]) == (name, path, True)
        shown = {"Cookie": f"{name}={cookie.value}"}
        assert Caller(site.url, {**sent, **shown}).get("/api/v1/jobs").status == 200
        # One that was set without TLS, by whoever is between, is none.
        plain = {"Cookie": f"orth-session={cookie.value}"}
        Caller(site.url, {**sent, **plain}).get("/api/v1/jobs").problem(401)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_a_change_needs_the_csrf_token(site: Site, method: str) -> None:
    job = site.job()
    before = site.state()
    caller, token = browser(site)
    path = "/api/v1/groups" if method == "POST" else f"/api/v1/jobs/{job}"
    body = None if method == "DELETE" else {}
    added = site.state()
    for wrong in ({}, {CSRF_HEADER: ""}, {CSRF_HEADER: "0" * 64}, {CSRF_HEADER: "é"}):
        refused = caller.call(method, path, body, headers=wrong)
        assert CSRF_HEADER in refused.problem(403)["detail"]
    assert site.state() == added
    assert added != before  # the session itself
    told = site.admin().get("/api/v1/audit?action=api.refused").json["items"]
    assert {(one["actor_kind"], one["actor"]) for one in told} == {("user", "admin")}, "whose session it was"
    assert caller.call(method, path, body, headers={CSRF_HEADER: token}).status in (200, 204, 422)


def test_the_csrf_token_of_another_session_is_none(site: Site) -> None:
    caller, _ = browser(site)
    _, other = browser(site)
    caller.post("/api/v1/groups", {"app_name": "demo"}, **{CSRF_HEADER: other}).problem(403)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "garbage"])
def test_no_page_of_another_site_changes_anything_or_signs_anybody_in(site: Site, origin: str) -> None:
    caller, token = browser(site)
    caller.post("/api/v1/groups", {"app_name": "demo"}, Origin=origin, **{CSRF_HEADER: token}).problem(403)
    site.stranger().post(SESSION, BODY, Origin=origin).problem(403)
    site.stranger().post(LINK, {"token": "x"}, Origin=origin).problem(403)


def test_a_page_of_ours_does(site: Site) -> None:
    caller, token = browser(site, Origin=site.url)
    assert caller.post("/api/v1/groups", {"app_name": "demo"}, **{CSRF_HEADER: token}).status == 201


def test_a_form_of_another_site_is_not_even_read(site: Site) -> None:
    caller, token = browser(site)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        raw = b'{"app_name": "demo"}'
        sent = {"Content-Type": kind, CSRF_HEADER: token}
        caller.call("POST", "/api/v1/groups", raw=raw, headers=sent).problem(415)


def test_a_bearer_needs_no_csrf_token(site: Site, admin: Caller) -> None:
    cookie, _ = browser(site)
    both = Caller(site.url, {**admin.headers, **cookie.headers})
    assert both.post("/api/v1/groups", {"app_name": "demo"}).status == 201


def test_signing_out_takes_the_cookie_and_ends_the_session(site: Site) -> None:
    caller, token = browser(site)
    answer = caller.post("/api/v1/auth/logout", **{CSRF_HEADER: token})
    assert answer.status == 204
    assert morsel(answer).value == ""
    caller.get("/api/v1/jobs").problem(401)


def test_a_browser_that_is_not_used_is_signed_out(site: Site) -> None:
    caller, _ = browser(site)
    for _ in range(3):
        site.clock.move(12 * 3600 - 1)
        assert caller.get("/api/v1/jobs").status == 200
    site.clock.move(12 * 3600)
    caller.get("/api/v1/jobs").problem(401)


def test_a_browser_is_signed_out_in_the_end_however_much_it_is_used(site: Site) -> None:
    caller, _ = browser(site)
    for _ in range(2 * 30 * 2 - 1):
        site.clock.move(6 * 3600)
        assert caller.get("/api/v1/jobs").status == 200
    site.clock.move(6 * 3600)
    caller.get("/api/v1/jobs").problem(401)


def test_use_is_written_down_once_a_minute_at_most(site: Site) -> None:
    caller, _ = browser(site)
    before = site.state()
    site.clock.move(59)
    caller.get("/api/v1/jobs")
    assert site.state() == before
    site.clock.move(1)
    caller.get("/api/v1/jobs")
    assert site.state() != before


@pytest.mark.parametrize("value", ["", "x", ".", "a.b", "{id}.", "{id}.{other}", "{id}", "{tokens}"])
def test_what_is_no_cookie_of_ours_opens_nothing(site: Site, value: str) -> None:
    one, tokens = site.session(kind=SessionKind.BROWSER), site.session()
    filled = value.format(id=one.session.id, other="0" * 64, tokens=f"{tokens.session.id}.{tokens.secret}")
    Caller(site.url, {"Cookie": f"orth-session={filled}"}).get("/api/v1/jobs").problem(401)


def test_the_id_is_new_whatever_a_browser_brought_along(site: Site) -> None:
    begun = site.session(kind=SessionKind.BROWSER)
    brought = Caller(site.url, {"Cookie": f"orth-session={begun.session.id}.{begun.secret}"})
    assert morsel(brought.post(SESSION, BODY)).value.partition(".")[0] != begun.session.id


def test_a_link_signs_a_browser_in_once(site: Site, stranger: Caller) -> None:
    token = site.tx(make_link, "admin", AT_MACHINE, site.clock.now())
    assert token not in str(site.contents())
    answer = stranger.post(LINK, {"token": token})
    assert answer.json["username"] == "admin"
    cookie = morsel(answer)
    assert Caller(site.url, {"Cookie": f"{cookie.key}={cookie.value}"}).get("/api/v1/jobs").status == 200
    stranger.post(LINK, {"token": token}).problem(401)


def test_a_link_is_good_for_a_quarter_of_an_hour(site: Site, stranger: Caller) -> None:
    early, late = (site.tx(make_link, "admin", AT_MACHINE, site.clock.now()) for _ in range(2))
    site.clock.move(GOOD_FOR_MS / 1000 - 1)
    assert stranger.post(LINK, {"token": early}).status == 200
    site.clock.move(1)
    stranger.post(LINK, {"token": late}).problem(401)


def test_a_link_of_somebody_who_was_disabled_since_is_none(site: Site, stranger: Caller) -> None:
    token = site.tx(make_link, "admin", AT_MACHINE, site.clock.now())
    admin = site.tx(find_user, "admin")
    assert admin is not None
    site.tx(set_disabled, admin.id, 1, 1)
    stranger.post(LINK, {"token": token}).problem(401)


@pytest.mark.parametrize("how", ["password", "sessions"])
def test_a_link_ends_with_the_sessions_of_its_owner(site: Site, admin: Caller, stranger: Caller, how: str) -> None:
    ada = added(admin)
    token = site.tx(make_link, "ada", AT_MACHINE, site.clock.now())
    path = f"{USERS}/{ada['id']}/{how}"
    assert admin.call(*(("POST", path, {}) if how == "password" else ("DELETE", path))).status == 200
    stranger.post(LINK, {"token": token}).problem(401)


@pytest.mark.parametrize("name", ["access_token", "token", "api_key", "authorization"])
def test_a_token_in_an_address_is_refused_even_beside_a_good_one(site: Site, admin: Caller, name: str) -> None:
    told = admin.get(f"/api/v1/jobs?{name}=anything").problem(401)
    assert "address" in told["detail"]
    assert "anything" not in str(told)


def test_how_people_may_sign_in_is_told_to_everybody(stranger: Caller) -> None:
    assert stranger.get("/api/v1/auth/ways").json == {"ways": ["password", "link"]}


STREAMS = ("/api/v1/executions/{}/log/stream", "/api/v1/executions/{}/log/download", "/api/v1/audit?format=csv")
ELSEWHERE = [
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Origin": "https://evil.example", "Sec-Fetch-Site": "same-origin"},
]


@pytest.mark.parametrize("headers", ELSEWHERE, ids=str)
def test_a_page_of_another_site_opens_no_stream_with_the_cookie(site: Site, headers: dict[str, str]) -> None:
    """A55, as for sockets."""
    execution = site.execution(site.job())
    for path in STREAMS:
        caller, _csrf = browser(site, **headers)
        caller.get(path.format(execution)).problem(403)


def test_such_a_page_is_told_of(own_site: Site) -> None:
    execution = own_site.execution(own_site.job())
    caller, _csrf = browser(own_site, Origin="https://evil.example")
    caller.get(STREAMS[0].format(execution)).problem(403)
    entries = own_site.admin().get("/api/v1/audit").json["items"]
    assert ["log/stream" in one["object_id"] for one in entries if one["action"] == "api.refused"] == [True]


@pytest.mark.parametrize("headers", [{}, {"Sec-Fetch-Site": "same-origin"}, {"Sec-Fetch-Site": "none"}], ids=str)
def test_our_own_pages_read_streams(site: Site, headers: dict[str, str]) -> None:
    own = {"Origin": site.url} if headers.get("Sec-Fetch-Site") == "same-origin" else {}
    caller, _csrf = browser(site, **headers, **own)
    assert caller.get(STREAMS[2]).status == 200
    execution = site.execution(site.job())
    assert caller.get(STREAMS[1].format(execution)).status == 200
