"""A coordinator answers to its own names, and to no name a stranger has let lead to it."""

import shutil
import socket
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from orth.coordinator.http.hosts import is_known, own_names
from orth.settings import Settings
from orth.settings.sections import ConsoleSection, CoordinatorSection, SecuritySection
from tests.coordinator.http.live import ACCESS_TOKEN, PASSWORD, Caller, Site, but_refusals

LOGIN = {"username": "admin", "password": PASSWORD}


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:5080", "127.0.0.1.evil.example", "localhost.evil", "", "["]
)
def test_a_name_that_is_none_of_ours_is_misdirected(site: Site, stranger: Caller, host: str) -> None:
    before = but_refusals(site.state())
    for method, path, body in (
        ("POST", "/api/v1/auth/login", LOGIN),
        ("POST", "/api/v1/auth/session", LOGIN),
        ("GET", "/api/v1/jobs", None),
        ("GET", "/", None),
        ("DELETE", "/api/v1/jobs/1", None),
    ):
        told = stranger.call(method, path, body, headers={"Host": host}).problem(421)
        assert "security.allowed_hosts" in told["hint"]
    assert but_refusals(site.state()) == before


def test_a_cookie_does_not_help_a_false_name(site: Site) -> None:
    caller = Caller(site.url, {"Host": "evil.example", "Cookie": "orth-session=a.b"})
    caller.get("/api/v1/jobs").problem(421)


@pytest.mark.parametrize("name", ["Authorization", "ORTH-ACCESS-TOKEN", "ORTH-SIGNATURE"])
@pytest.mark.parametrize("value", ["x", "Bearer x", f"Bearer {ACCESS_TOKEN}"])
def test_a_header_that_a_page_can_write_does_not_help_a_false_name(site: Site, name: str, value: str) -> None:
    """Also with a good credential nobody signs in under such a name."""
    before = but_refusals(site.state())
    page = Caller(site.url, {"Host": "evil.example", "Origin": "http://evil.example", name: value})
    for method, path, body in (
        ("POST", "/api/v1/auth/session", LOGIN),
        ("POST", "/api/v1/auth/login", LOGIN),
        ("POST", "/api/v1/auth/refresh", {"refresh_token": "x"}),
        ("POST", "/api/v1/auth/link", {"code": "x"}),
        ("GET", "/api/v1/auth/ways", None),
        ("GET", "/api/v1/auth/oidc/start", None),
        ("GET", "/", None),
    ):
        answer = page.call(method, path, body)
        assert "set-cookie" not in answer.headers
        answer.problem(421)
    assert but_refusals(site.state()) == before


def test_a_cookie_is_no_credential_under_a_false_name(site: Site, stranger: Caller) -> None:
    cookie = stranger.post("/api/v1/auth/session", LOGIN).headers["set-cookie"].partition(";")[0]
    assert Caller(site.url, {"Cookie": cookie}).get("/api/v1/jobs").status == 200
    shown = {"Cookie": cookie, "Host": "evil.example", "Authorization": "x"}
    Caller(site.url, shown).get("/api/v1/jobs").problem(401)


def test_a_socket_is_refused_as_well(site: Site) -> None:
    with (
        pytest.raises(InvalidStatus) as refused,
        connect(f"ws://evil.example:{site.port}/ws", sock=socket.create_connection(("127.0.0.1", site.port))),
    ):
        pass
    assert refused.value.response.status_code == 421


@pytest.mark.parametrize("host", ["evil@127.0.0.1", "127.0.0.1/evil", "127.0.0.1:80.evil", "127.0.0.1%.evil", "::1"])
def test_what_is_no_host_is_not_ours(host: str) -> None:
    assert not is_known(host, frozenset())


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:5080", "a.localhost", "127.0.0.1:1", "[::1]:5080", "10.0.0.7"]
)
def test_an_address_and_this_machine_itself_are_ours(site: Site, stranger: Caller, host: str) -> None:
    assert stranger.get("/api/v1/auth/ways", Host=host).status == 200


def test_who_shows_a_credential_may_call_us_what_it_likes(site: Site, admin: Caller, executor: Caller) -> None:
    assert admin.get("/api/v1/jobs", Host="orth.internal").status == 200
    assert executor.get("/api/agents", Host="orth.internal").status == 200
    assert (
        Caller(site.url, {"Authorization": f"Bearer {ACCESS_TOKEN}"}).get("/metrics", Host="orth.internal").status
        == 200
    )
    Caller(site.url, {"Authorization": "Bearer wrong"}).get("/api/v1/jobs", Host="orth.internal").problem(401)
    Caller(site.url, {"Authorization": ""}).get("/api/v1/jobs", Host="orth.internal").problem(421)


def test_health_is_told_under_any_name(stranger: Caller) -> None:
    assert stranger.get("/health/live", Host="orth.internal").status == 200
    assert stranger.get("/health/ready", Host="orth.internal").status == 200


def test_names_that_are_set_are_ours(prepared: Path, tmp_path: Path) -> None:
    settings = Settings(
        security=SecuritySection(allowed_hosts=("orth.internal",)),
        console=ConsoleSection(base_url="https://orth.example/console"),
    )
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), settings) as site:
        for host in ("orth.internal", "Orth.Internal.:5080", "orth.example"):
            assert site.stranger().get("/api/v1/auth/ways", Host=host).status == 200
        site.stranger().get("/api/v1/auth/ways", Host="other.example").problem(421)


def test_a_coordinator_for_all_knows_the_name_it_tells_others() -> None:
    everywhere = Settings(
        coordinator=CoordinatorSection(listen="0.0.0.0:5080"), security=SecuritySection(access_token="x" * 20)
    )
    assert is_known(socket.gethostname(), own_names(everywhere))
    assert not is_known(f"{socket.gethostname()}.evil.example", own_names(everywhere))
