"""Signing in through an issuer: a real one on a real socket, honest and otherwise."""

import hmac
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import urllib3
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from orth.coordinator.http.oidc import local_path
from orth.domain.access import Role
from orth.settings import Settings
from orth.settings.sections import SecuritySection
from orth.store.users import add_user, find_user, set_disabled
from tests.coordinator.http.issuer import CLIENT_ID, CLIENT_SECRET, SYMMETRIC, Issuer
from tests.coordinator.http.live import Answer, Caller, Site
from tests.coordinator.http.tokens import unsigned

START = "/api/v1/auth/oidc/start"

Serve = Callable[..., tuple[Site, Issuer]]


@pytest.fixture
def serve(prepared: Path, tmp_path: Path) -> Iterator[Serve]:
    """``serve(oidc_create_users=True, …)``: a coordinator and its issuer."""
    with ExitStack() as stack:

        def begin(**security: Any) -> tuple[Site, Issuer]:
            now: list[Callable[[], int]] = []
            issuer = stack.enter_context(Issuer(lambda: now[0]()))
            given = {"oidc_client_id": CLIENT_ID, "oidc_client_secret": CLIENT_SECRET, **security}
            settings = Settings(security=SecuritySection(oidc_issuer=issuer.url, **given))
            site = stack.enter_context(Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), settings))
            now.append(site.clock.now)
            return site, issuer

        yield begin


class Browser:
    """Follows the flow by hand, so that each step can be tampered with."""

    def __init__(self, site: Site, *, shows_pages: bool = False) -> None:
        self.site = site
        self.headers = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"} if shows_pages else {}
        self.cookies: dict[str, str] = {}
        self.attributes: dict[str, dict[str, Any]] = {}

    def get(self, path: str) -> Answer:
        cookies = {"Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items())}
        answer = Caller(self.site.url, self.headers | (cookies if self.cookies else {})).get(path)
        for header in answer.headers.getlist("set-cookie"):  # type: ignore[attr-defined]  # urllib3's own headers
            for name, morsel in SimpleCookie(header).items():
                self.attributes[name] = dict(morsel)
                if morsel.value:
                    self.cookies[name] = morsel.value
                else:
                    self.cookies.pop(name, None)
        return answer

    def at_issuer(self, path: str = START) -> str:
        """Begin, let the issuer do its part, and say where it sends the browser."""
        begun = self.get(path)
        assert begun.status == 303, begun.body
        sent = urllib3.request("GET", begun.headers["location"], redirect=False)
        assert sent.status == 302
        back = sent.headers["location"]
        assert back.startswith(f"{self.site.url}/api/v1/auth/oidc/callback?")
        return back.removeprefix(self.site.url)

    def signs_in(self, path: str = START) -> Answer:
        return self.get(self.at_issuer(path))


def known(site: Site, name: str = "ada", role: str = "viewer") -> None:
    """A user whom an administrator has made for the issuer: without a password."""
    site.tx(add_user, name, "!", role, 0)


def test_somebody_who_is_known_is_signed_in(serve: Serve) -> None:
    site, _ = serve()
    known(site)
    browser = Browser(site)
    answer = browser.signs_in(f"{START}?next=/jobs/7%3Ftab%3Dlog")
    assert (answer.status, answer.headers["location"]) == (303, "/jobs/7?tab=log")
    assert set(browser.cookies) == {"orth-session"}  # what waited for this is gone
    session = browser.get("/api/v1/auth/session").json
    assert (session["username"], session["rights"]["everywhere"]) == ("ada", "viewer")
    assert site.stranger().get("/api/v1/auth/ways").json == {"ways": ["password", "link", "oidc"]}


def test_what_waits_in_the_browser_is_for_it_alone(serve: Serve) -> None:
    site, _ = serve()
    browser = Browser(site)
    asked = {
        name: values[0] for name, values in parse_qs(urlsplit(browser.get(START).headers["location"]).query).items()
    }
    attributes = browser.attributes["orth-oidc"]
    assert (attributes["httponly"], attributes["samesite"], attributes["max-age"]) == (True, "lax", "600")
    assert attributes["path"] == "/api/v1/auth/oidc"
    again = Browser(site)
    other = parse_qs(urlsplit(again.get(START).headers["location"]).query)
    for name in ("state", "nonce", "code_challenge"):
        assert len(asked[name]) >= 43
        assert asked[name] != other[name][0]


def test_somebody_nobody_knows_is_let_in_only_if_users_are_made(serve: Serve) -> None:
    site, _ = serve()
    Browser(site).signs_in().problem(403)
    assert site.tx(find_user, "ada") is None


def test_users_are_made_if_that_is_set(serve: Serve) -> None:
    site, _ = serve(oidc_create_users=True)
    browser = Browser(site)
    assert browser.signs_in().status == 303
    assert browser.get("/api/v1/auth/session").json["rights"] == {"everywhere": None, "in_groups": {}}
    site.stranger().post("/api/v1/auth/login", {"username": "ada", "password": "!"}).problem(401)


def test_roles_follow_from_what_the_issuer_says_each_time(serve: Serve) -> None:
    site, issuer = serve(
        oidc_create_users=True,
        oidc_role_claim="groups",
        oidc_roles=("all=viewer", "ops=operator", "team=editor@demo", "team=viewer@other", "ghost=admin@nowhere"),
    )
    demo, other = site.group("demo"), site.group("other")
    issuer.person["groups"] = ["ops", "all", "team", "ghost", 7]
    browser = Browser(site)
    browser.signs_in()
    rights = browser.get("/api/v1/auth/session").json["rights"]
    assert rights == {"everywhere": "operator", "in_groups": {str(demo): "editor", str(other): "viewer"}}
    issuer.person["groups"] = "all"
    browser.signs_in()
    assert browser.get("/api/v1/auth/session").json["rights"] == {"everywhere": "viewer", "in_groups": {}}
    issuer.person["groups"] = ["nothing"]
    browser.signs_in().problem(403)
    ada = site.tx(find_user, "ada")
    assert ada is not None
    assert ada.rights.everywhere is Role.VIEWER  # what was refused changed nothing


def test_the_last_administrator_stays_one_whatever_the_issuer_says(serve: Serve) -> None:
    site, issuer = serve(oidc_role_claim="groups", oidc_roles=("boss=admin", "all=viewer"))
    known(site, role="admin")
    admin = site.tx(find_user, "admin")
    assert admin is not None
    site.tx(set_disabled, admin.id, 1, 1)  # who is disabled does not count
    issuer.person["groups"] = "all"
    browser = Browser(site)
    for _ in range(2):
        assert browser.signs_in().status == 303
        assert browser.get("/api/v1/auth/session").json["rights"]["everywhere"] == "admin"
    kept = [one for one in browser.get("/api/v1/audit").json["items"] if one["action"] == "user.kept"]
    assert [(one["object_id"], one["before"]["role"], one["after"]["role"]) for one in kept] == 2 * [
        ("ada", "admin", "viewer")
    ]
    site.tx(set_disabled, admin.id, None, 2)
    browser.signs_in()
    assert browser.get("/api/v1/auth/session").json["rights"]["everywhere"] == "viewer", "now there is another one"


def test_a_name_alone_makes_nobody_a_user_with_a_password(serve: Serve) -> None:
    site, issuer = serve(oidc_create_users=True, oidc_role_claim="groups", oidc_roles=("x=viewer",))
    issuer.person |= {"preferred_username": "admin", "groups": ["x"]}
    Browser(site).signs_in().problem(403)
    admin = site.tx(find_user, "admin")
    assert admin is not None
    assert admin.rights.everywhere is Role.ADMIN


def test_a_name_that_changed_hands_does_not_take_the_user_along(serve: Serve) -> None:
    site, issuer = serve()
    known(site)
    assert Browser(site).signs_in().status == 303
    issuer.person = {"sub": "2002", "preferred_username": "ada"}
    Browser(site).signs_in().problem(403)
    issuer.person = {"sub": "1001", "preferred_username": "ada-married"}
    browser = Browser(site)
    assert browser.signs_in().status == 303
    assert browser.get("/api/v1/auth/session").json["username"] == "ada"


def test_who_is_disabled_here_is_not_let_in(serve: Serve) -> None:
    site, _ = serve()
    known(site)
    ada = site.tx(find_user, "ada")
    assert ada is not None
    site.tx(set_disabled, ada.id, 1, 1)
    Browser(site).signs_in().problem(403)


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.example"},
        {"iss": None},
        {"aud": "another-client"},
        {"aud": None},
        {"aud": ["orth", "another-client"]},
        {"aud": ["orth", "another-client"], "azp": "another-client"},
        {"exp": 1},
        {"exp": None},
        {"exp": "tomorrow"},
        {"iat": 2**40},
        {"iat": None},
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"sub": "half of a pair \ud800"},
        {"sub": "two\nlines"},
        {"sub": None},
        {"sub": ""},
        {"sub": 1001},
    ],
    ids=str,
)
def test_a_token_that_is_not_for_us_now_is_not_believed(serve: Serve, changed: dict[str, Any]) -> None:
    site, issuer = serve(oidc_create_users=True)
    issuer.changed = changed
    Browser(site).signs_in().problem(401)
    assert site.tx(find_user, "ada") is None


@pytest.mark.parametrize("name", [None, "", " ", "x" * 51, 7, "a\nb", ["ada"]], ids=str)
def test_a_name_that_is_none_is_refused(serve: Serve, name: object) -> None:
    site, issuer = serve(oidc_create_users=True)
    issuer.changed = {"preferred_username": name}
    Browser(site).signs_in().problem(403)


def test_several_audiences_are_fine_if_it_was_made_for_us(serve: Serve) -> None:
    site, issuer = serve(oidc_create_users=True)
    issuer.changed = {"aud": ["another-client", CLIENT_ID], "azp": CLIENT_ID}
    assert Browser(site).signs_in().status == 303


FORGED = (
    "none",
    "none with kid",
    "another key of the same name",
    "a key it brings along",
    "public key as secret",
    "symmetric key of the set",
    "unknown key",
    "weak algorithm",
    "no token",
    "head that is none",
)


def forgeries(issuer: Issuer) -> dict[str, Callable[[dict[str, Any]], str]]:
    """Tokens as those write them who do not have the issuer's key."""
    other = RSAKey.generate_key(2048, {"kid": "first"})
    public = issuer.key.as_pem(private=False)

    def confused(claims: dict[str, Any]) -> str:
        """Signed with HMAC, by the public key as if it were a secret."""
        text = unsigned({"alg": "HS256", "kid": "first"}, claims).rpartition(".")[0]
        return unsigned({"alg": "HS256", "kid": "first"}, claims, hmac.digest(public, text.encode(), sha256))

    return {
        "none": lambda claims: unsigned({"alg": "none"}, claims),
        "none with kid": lambda claims: unsigned({"alg": "none", "kid": "first"}, claims),
        "another key of the same name": lambda claims: jwt.encode({"alg": "RS256", "kid": "first"}, claims, other),
        "a key it brings along": lambda claims: jwt.encode(
            {"alg": "RS256", "kid": "first", "jwk": other.as_dict(private=False)}, claims, other
        ),
        "public key as secret": confused,
        "symmetric key of the set": lambda claims: jwt.encode(
            {"alg": "HS256", "kid": "symmetric"}, claims, OctKey.import_key(SYMMETRIC)
        ),
        "unknown key": lambda claims: jwt.encode({"alg": "RS256", "kid": "../../etc/passwd"}, claims, other),
        "weak algorithm": lambda claims: unsigned({"alg": "RS1", "kid": "first"}, claims, b"x"),
        "no token": lambda _: "garbage",
        "head that is none": lambda claims: unsigned(b"[" * 5000, claims, b"x"),
    }


@pytest.mark.parametrize("kind", FORGED)
def test_a_token_that_the_issuer_did_not_sign_is_not_believed(serve: Serve, kind: str) -> None:
    site, issuer = serve(oidc_create_users=True)
    issuer.sign = forgeries(issuer)[kind]
    Browser(site).signs_in().problem(401)
    assert site.tx(find_user, "ada") is None


def test_a_new_key_of_the_issuer_is_learned(serve: Serve) -> None:
    site, issuer = serve(oidc_create_users=True)
    assert Browser(site).signs_in().status == 303
    issuer.key = RSAKey.generate_key(2048, {"kid": "second"})
    Browser(site).signs_in().problem(401)  # it was asked a moment ago, and strangers must not make us ask for ever
    site.clock.move(31)
    assert Browser(site).signs_in().status == 303
    assert issuer.asked.count("/jwks") == 2


def test_who_did_not_begin_here_is_not_signed_in(serve: Serve) -> None:
    site, _ = serve(oidc_create_users=True)
    victim, attacker = Browser(site), Browser(site)
    Browser(site).get("/api/v1/auth/oidc/callback?code=x&state=y").problem(401)
    told = site.admin().get("/api/v1/audit?action=api.unauthenticated").json["items"]
    assert [one["object_id"] for one in told] == ["GET /api/v1/auth/oidc/callback"]
    back = attacker.at_issuer()
    victim.get(back).problem(401)  # it has begun nothing
    victim.get(START)
    victim.get(back).problem(401)  # it has begun something else
    assert attacker.get(back).status == 303


def test_a_code_is_good_once_and_for_the_verifier_alone(serve: Serve) -> None:
    site, _ = serve(oidc_create_users=True)
    browser = Browser(site)
    back = browser.at_issuer()
    waiting = dict(browser.cookies)
    assert browser.get(back).status == 303
    browser.cookies = waiting
    assert browser.get(back).problem(401)["code"] == "issuer_refused", "the issuer is well, and says no"


def test_a_sign_in_that_took_too_long_begins_again(serve: Serve) -> None:
    site, _ = serve(oidc_create_users=True)
    browser = Browser(site)
    back = browser.at_issuer()
    site.clock.move(600)
    browser.get(back).problem(401)


def test_a_cookie_that_was_changed_is_none(serve: Serve) -> None:
    site, _ = serve(oidc_create_users=True)
    browser = Browser(site)
    back = browser.at_issuer()
    browser.cookies["orth-oidc"] = browser.cookies["orth-oidc"][:-4] + "AAAA"
    browser.get(back).problem(401)


def test_who_is_refused_by_the_issuer_is_told(serve: Serve) -> None:
    site, _ = serve()
    browser = Browser(site)
    state = parse_qs(urlsplit(browser.get(START).headers["location"]).query)["state"][0]
    refused = browser.get(f"/api/v1/auth/oidc/callback?state={state}&error=access_denied").problem(401)
    assert "refused" in refused["detail"]


@pytest.mark.parametrize(
    "described",
    [
        {"issuer": "https://other.example"},
        {"authorization_endpoint": "http://evil.example/authorize"},
        {"token_endpoint": "file:///etc/passwd"},
        {"jwks_uri": None},
        {"jwks_uri": "http://["},
        {"padding": "x" * 300_000},
    ],
    ids=lambda one: str(one)[:40],
)
def test_an_issuer_that_describes_itself_oddly_is_not_used(serve: Serve, described: dict[str, Any]) -> None:
    site, issuer = serve()
    issuer.described = described
    Browser(site).get(START).problem(503)


def test_without_an_issuer_there_is_no_such_way(site: Site, stranger: Caller) -> None:
    stranger.get(START).problem(404)
    stranger.get("/api/v1/auth/oidc/callback?code=x&state=y").problem(404)


def test_an_issuer_that_is_away_is_said_so(serve: Serve) -> None:
    site, issuer = serve()
    issuer.__exit__()
    Browser(site).get(START).problem(503)


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "\\\\evil.example",
        "evil.example",
        "javascript:alert(1)",
        "/\t/evil.example",
        "/\n/evil.example",
        "/é",
        "",
    ],
)
def test_no_next_leads_to_another_site(elsewhere: str) -> None:
    assert local_path(elsewhere) == "/"


def test_paths_of_ours_stay() -> None:
    assert local_path("/jobs/7?tab=log#end") == "/jobs/7?tab=log#end"


def test_a_browser_is_led_to_the_page_that_says_why(serve: Serve) -> None:
    site, issuer = serve()
    browser = Browser(site, shows_pages=True)
    refused = browser.signs_in()
    assert (refused.status, refused.headers["location"]) == (303, "/login?refused=nobody_here")
    assert "orth-session" not in browser.cookies
    lost = Browser(site, shows_pages=True).get("/api/v1/auth/oidc/callback?code=x&state=y")
    assert lost.headers["location"] == "/login?refused=sign_in_not_begun"
    site, issuer = serve()
    issuer.described = {"jwks_uri": None}
    odd = Browser(site, shows_pages=True).get(START)
    assert odd.headers["location"] == "/login?refused=issuer_trouble", "what the issuer says is not put into an address"
