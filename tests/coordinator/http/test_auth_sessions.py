"""Sessions: refresh tokens that are good once, signing out here and elsewhere, and passwords that change."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import Connection, select

from orth.coordinator.signing import Claim, Refresh, hash_password
from orth.coordinator.signing_in.sessions import GRACE_MS
from orth.domain.sessions import SessionKind
from orth.store.audit_tables import audit
from orth.store.sign_in_tables import sessions
from orth.store.users import add_user, find_user, remove_user, set_disabled
from tests.coordinator.http.live import PASSWORD, Answer, Caller, Site

LOGIN, REFRESH = "/api/v1/auth/login", "/api/v1/auth/refresh"
GRACE = GRACE_MS / 1000
JOBS = "/api/v1/jobs"
NEW = "another good one"


def refreshed(site: Site, token: str) -> Answer:
    return site.stranger().post(REFRESH, {"refresh_token": token})


def audited(site: Site, action: str) -> list[Any]:
    def read(connection: Connection) -> list[Any]:
        return list(connection.execute(select(audit).where(audit.c.action == action).order_by(audit.c.seq)))

    return site.tx(read)


def test_each_use_of_a_refresh_token_gives_another(site: Site) -> None:
    first = site.refresh_token()
    second = refreshed(site, first).json
    third = refreshed(site, second["refresh_token"]).json
    assert len({first, second["refresh_token"], third["refresh_token"]}) == 3
    assert site.bearer(third["access_token"]).get(JOBS).status == 200


def test_a_refresh_token_that_comes_again_ends_the_session_for_all(site: Site) -> None:
    stolen = site.refresh_token()
    honest = refreshed(site, stolen).json
    site.clock.move(GRACE)
    refreshed(site, stolen).problem(401)
    refreshed(site, honest["refresh_token"]).problem(401)
    site.bearer(honest["access_token"]).get(JOBS).problem(401)
    (entry,) = audited(site, "session.reuse")
    assert (entry.actor_kind, entry.address) == ("stranger", "127.0.0.1")
    assert '"username":"admin"' in entry.before.replace(" ", "")


def test_an_older_one_than_the_last_is_not_forgiven_for_a_moment(site: Site) -> None:
    first = site.refresh_token()
    second = refreshed(site, first).json["refresh_token"]
    third = refreshed(site, second).json
    refreshed(site, first).problem(401)
    refreshed(site, third["refresh_token"]).problem(401)


def test_who_refreshes_twice_at_the_same_moment_gets_the_same_successor(site: Site) -> None:
    token = site.refresh_token()
    with ThreadPoolExecutor(8) as pool:
        answers = [one.json for one in pool.map(lambda _: refreshed(site, token), range(8))]
    assert len({site.signing.read_refresh(one["refresh_token"]) for one in answers}) == 1
    for one in answers:
        assert site.bearer(one["access_token"]).get(JOBS).status == 200
    site.clock.move(GRACE)
    after = refreshed(site, answers[3]["refresh_token"])
    assert after.status == 200
    assert site.signing.read_refresh(after.json["refresh_token"]).generation == 3


def test_what_was_forgiven_makes_no_second_line(site: Site) -> None:
    token = site.refresh_token()
    one, other = refreshed(site, token).json, refreshed(site, token).json
    refreshed(site, one["refresh_token"])
    site.clock.move(GRACE)
    refreshed(site, other["refresh_token"]).problem(401)


def test_the_store_has_no_secret_of_a_session(site: Site) -> None:
    token = site.refresh_token()
    after = refreshed(site, token).json["refresh_token"]
    secrets = {site.signing.read_refresh(one).secret for one in (token, after)}
    stored = str(site.contents())
    assert len(secrets) == 2
    assert not any(secret in stored for secret in secrets)
    assert PASSWORD not in stored


def test_signing_out_ends_access_and_refreshing_at_once(site: Site, stranger: Caller) -> None:
    session = stranger.post(LOGIN, {"username": "admin", "password": PASSWORD}).json
    caller = site.bearer(session["access_token"])
    assert caller.post("/api/v1/auth/logout").status == 204
    caller.get(JOBS).problem(401)
    refreshed(site, session["refresh_token"]).problem(401)
    assert [entry.actor for entry in audited(site, "session.end")] == ["admin"]


def test_every_sign_in_is_a_session_of_its_own(site: Site, stranger: Caller) -> None:
    body = {"username": "admin", "password": PASSWORD}
    one, other = (stranger.post(LOGIN, body, User_Agent="curl/8 \x85").json for _ in range(2))
    site.bearer(one["access_token"]).post("/api/v1/auth/logout")
    found = site.bearer(other["access_token"]).get("/api/v1/auth/sessions").json
    assert found["next_cursor"] is None
    assert len(found["items"]) == 2  # with the one tests have from the start
    (current,) = [item for item in found["items"] if item["current"]]
    assert (current["kind"], current["way"], current["address"], current["agent"]) == (
        "tokens",
        "password",
        "127.0.0.1",
        "curl/8 ",
    )
    assert not {"digest", "successor", "secret"} & set(current)


def test_one_ends_ones_own_sessions_and_nobody_elses(site: Site) -> None:
    site.tx(add_user, "ada", "!", "admin", 0)
    mine, hers = site.session("admin").session.id, site.session("ada").session.id
    admin = site.admin()
    admin.call("DELETE", f"/api/v1/auth/sessions/{hers}").problem(404)
    admin.call("DELETE", f"/api/v1/auth/sessions/{'0' * 32}").problem(404)
    admin.call("DELETE", "/api/v1/auth/sessions/nonsense").problem(422)
    assert admin.call("DELETE", f"/api/v1/auth/sessions/{mine}").status == 204
    admin.call("DELETE", f"/api/v1/auth/sessions/{mine}").problem(404)
    ada = site.bearer(site.access_token("ada"))
    assert ada.call("DELETE", "/api/v1/auth/sessions").json == {"ended": 1}
    assert ada.get(JOBS).status == 200
    assert admin.get(JOBS).status == 200


def test_a_new_password_ends_all_other_sessions_and_not_this_one(site: Site, stranger: Caller) -> None:
    here = stranger.post(LOGIN, {"username": "admin", "password": PASSWORD}).json
    elsewhere, browser = site.refresh_token(), site.session(kind=SessionKind.BROWSER)
    caller = site.bearer(here["access_token"])
    changed = caller.post("/api/v1/auth/password", {"old_password": PASSWORD, "new_password": NEW})
    assert changed.json == {"ended": 3}  # with the one tests have from the start
    assert caller.get(JOBS).status == 200
    assert refreshed(site, here["refresh_token"]).status == 200
    refreshed(site, elsewhere).problem(401)
    cookie = {"Cookie": f"orth-session={browser.session.id}.{browser.secret}"}
    Caller(site.url, cookie).get(JOBS).problem(401)
    stranger.post(LOGIN, {"username": "admin", "password": PASSWORD}).problem(401)
    assert stranger.post(LOGIN, {"username": "admin", "password": NEW}).status == 200
    (entry,) = audited(site, "user.password")
    assert (entry.actor, PASSWORD in str(entry), NEW in str(entry)) == ("admin", False, False)


def test_a_password_is_not_changed_without_the_old_one(site: Site, admin: Caller) -> None:
    body = {"old_password": "wrong", "new_password": NEW}
    assert admin.post("/api/v1/auth/password", body).problem(403)["detail"] == "The old password is wrong."
    admin.post("/api/v1/auth/password", {"old_password": PASSWORD, "new_password": "short"}).problem(422)
    admin.post("/api/v1/auth/password", {**body, "username": "ada"}).problem(422)
    assert site.stranger().post(LOGIN, {"username": "admin", "password": PASSWORD}).status == 200


def test_who_is_signed_in_cannot_try_old_passwords_without_end(site: Site, admin: Caller) -> None:
    body = {"old_password": "wrong", "new_password": NEW}
    for _ in range(5):
        admin.post("/api/v1/auth/password", body).problem(403)
    admin.post("/api/v1/auth/password", body).problem(429)


@pytest.mark.parametrize("way", ["disabled", "removed"])
def test_who_is_disabled_or_removed_is_out_at_once(site: Site, stranger: Caller, way: str) -> None:
    site.tx(add_user, "ada", hash_password("ada's own password"), "admin", 0)
    session = stranger.post(LOGIN, {"username": "ada", "password": "ada's own password"}).json
    ada = site.tx(find_user, "ada")
    assert ada is not None
    if way == "disabled":
        site.tx(set_disabled, ada.id, site.clock.now(), site.clock.now())
    else:
        site.tx(remove_user, ada.id)
    site.bearer(session["access_token"]).get(JOBS).problem(401)
    refreshed(site, session["refresh_token"]).problem(401)
    refused = stranger.post(LOGIN, {"username": "ada", "password": "ada's own password"})
    assert refused.problem(401)["detail"] == "The user name or the password is wrong."


def test_a_token_of_one_session_does_not_serve_for_another_user_or_kind(site: Site) -> None:
    browser = site.session(kind=SessionKind.BROWSER).session.id
    token = site.refresh_token()
    shown = site.signing.read_refresh(token)
    assert shown.session_id != browser
    site.bearer(site.signing.access_token(Claim("admin", browser))).get(JOBS).problem(401)
    forged = site.signing.refresh_token(Refresh(browser, 1, shown.secret), site.clock.now() + 60_000)
    refreshed(site, forged).problem(401)
    assert site.tx(lambda c: c.execute(select(sessions.c.id).where(sessions.c.id == browser)).first()) is not None


def test_what_is_answered_with_tokens_is_kept_by_no_cache(site: Site, stranger: Caller) -> None:
    login = stranger.post(LOGIN, {"username": "admin", "password": PASSWORD})
    again = refreshed(site, login.json["refresh_token"])
    assert {login.headers["cache-control"], again.headers["cache-control"]} == {"no-store"}
