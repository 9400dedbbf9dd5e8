"""Signing in: the same answer and the same cost whatever is wrong, and sessions that end when they should."""

import statistics
import time

import pytest

from orth.coordinator.signing import hash_password
from orth.store.users import set_password
from tests.coordinator.http.live import PASSWORD, Caller, Site

LOGIN, REFRESH = "/api/v1/auth/login", "/api/v1/auth/refresh"


def test_name_and_password_give_a_session(site: Site, stranger: Caller) -> None:
    answer = stranger.post(LOGIN, {"username": "admin", "password": PASSWORD})
    assert answer.status == 200
    session = answer.json
    assert set(session) == {"access_token", "refresh_token", "token_type", "expires_in"}
    assert (session["token_type"], session["expires_in"]) == ("Bearer", 3600)
    assert site.bearer(session["access_token"]).get("/api/v1/jobs").status == 200


def test_a_wrong_name_and_a_wrong_password_are_answered_alike(stranger: Caller) -> None:
    wrong = [
        stranger.post(LOGIN, {"username": name, "password": password})
        for name, password in [("admin", "wrong"), ("nobody", PASSWORD), ("Admin", PASSWORD), ("admin", "")]
    ]
    assert {answer.body for answer in wrong} == {wrong[0].body}
    assert wrong[0].problem(401)["detail"] == "The user name or the password is wrong."


@pytest.mark.usefixtures("costly_passwords")
def test_a_wrong_name_costs_what_a_wrong_password_costs(stranger: Caller) -> None:
    def cost(name: str) -> float:
        began = time.perf_counter()
        stranger.post(LOGIN, {"username": name, "password": "wrong"}).problem(401)
        return time.perf_counter() - began

    known, unknown = [], []
    for _ in range(5):  # in turns, so that a busy machine is busy for both
        known.append(cost("admin"))
        unknown.append(cost("nobody"))
    # Without the comparison in vain, an unknown name would be answered some fifty times as fast.
    assert statistics.median(unknown) > statistics.median(known) / 3


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"username": "admin"},
        {"username": "admin", "password": None},
        {"username": "admin", "password": {"$ne": ""}},
        {"username": ["admin"], "password": PASSWORD},
        {"username": "admin", "password": PASSWORD, "role": "admin"},
        {"username": "a" * 51, "password": "x"},
        {"username": "admin", "password": "x" * 1001},
        {"username": "admin\x00", "password": "x"},
        [],
        None,
    ],
    ids=str,
)
def test_what_is_not_a_name_and_a_password_is_refused_without_repeating_it(stranger: Caller, body: object) -> None:
    answer = stranger.post(LOGIN, body)
    answer.problem(422)
    assert PASSWORD.encode() not in answer.body


def test_a_refresh_token_gives_a_new_session(site: Site, stranger: Caller) -> None:
    first = stranger.post(LOGIN, {"username": "admin", "password": PASSWORD}).json
    site.clock.move(6 * 86_400)
    site.bearer(first["access_token"]).get("/api/v1/jobs").problem(401)
    second = stranger.post(REFRESH, {"refresh_token": first["refresh_token"]}).json
    assert second["access_token"] != first["access_token"]
    assert site.bearer(second["access_token"]).get("/api/v1/jobs").status == 200


def test_a_refresh_token_expires(site: Site, stranger: Caller) -> None:
    good, late = site.refresh_token(), site.refresh_token()
    site.clock.move(7 * 86_400 - 1)
    assert stranger.post(REFRESH, {"refresh_token": good}).status == 200
    site.clock.move(1)
    stranger.post(REFRESH, {"refresh_token": late}).problem(401)


def test_no_refreshing_outlives_the_longest_session(site: Site, stranger: Caller) -> None:
    token = site.refresh_token()
    for _ in range(5):
        site.clock.move(5 * 86_400)
        token = stranger.post(REFRESH, {"refresh_token": token}).json["refresh_token"]
    site.clock.move(5 * 86_400 - 1)
    last = stranger.post(REFRESH, {"refresh_token": token}).json
    site.clock.move(1)
    site.bearer(last["access_token"]).get("/api/v1/jobs").problem(401)
    stranger.post(REFRESH, {"refresh_token": last["refresh_token"]}).problem(401)


@pytest.mark.parametrize("token", ["", "garbage", "a.b.c", "\x00", "é"])
def test_what_is_not_a_refresh_token_gives_nothing(stranger: Caller, token: str) -> None:
    stranger.post(REFRESH, {"refresh_token": token}).problem(401)


def test_an_access_token_does_not_refresh(site: Site, stranger: Caller) -> None:
    token = site.access_token()
    stranger.post(REFRESH, {"refresh_token": token}).problem(401)


def test_a_changed_password_ends_sessions_and_their_refreshing(site: Site, stranger: Caller) -> None:
    session = stranger.post(LOGIN, {"username": "admin", "password": PASSWORD}).json
    site.tx(set_password, "admin", hash_password("a new one"), site.clock.now())
    site.bearer(session["access_token"]).get("/api/v1/jobs").problem(401)
    stranger.post(REFRESH, {"refresh_token": session["refresh_token"]}).problem(401)
    stranger.post(LOGIN, {"username": "admin", "password": PASSWORD}).problem(401)
    assert stranger.post(LOGIN, {"username": "admin", "password": "a new one"}).status == 200


def test_the_scheme_may_be_written_in_any_case(site: Site) -> None:
    token = site.access_token()
    for scheme in ("Bearer", "bearer", "BEARER"):
        caller = Caller(site.url, {"Authorization": f"{scheme} {token}"})
        assert caller.get("/api/v1/jobs").status == 200
