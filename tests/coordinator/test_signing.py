"""Tokens of strangers: whatever is in them, the answer is no and never an exception nobody expects."""

import time
from datetime import timedelta
from typing import Any

import pytest
from argon2 import PasswordHasher, extract_parameters
from argon2.exceptions import VerifyMismatchError
from hypothesis import assume, given
from hypothesis import strategies as st
from joserfc import jwt
from joserfc.jwk import OctKey

from orth.coordinator.signing import Claim, Refresh, Signing, hash_of_nothing, hash_password, password_fits
from orth.errors import Unauthenticated
from orth.testing import ManualClock
from tests.coordinator.http.tokens import unsigned

SECRET = "5" * 64
NOW = ManualClock().now() // 1000
GOOD = {"iss": "orth", "sub": "admin", "sid": "5e551", "use": "access", "iat": NOW, "exp": NOW + 60}
CLAIM = Claim("admin", "5e551")
REFRESH = Refresh("5e551", 3, "secret")


def signing(secret: str = SECRET) -> Signing:
    return Signing(secret, ManualClock(), access=timedelta(minutes=1))


def signed(claims: dict[str, Any], header: dict[str, Any] | None = None) -> str:
    return jwt.encode({"alg": "HS256", **(header or {})}, claims, OctKey.import_key(SECRET))


def test_what_was_signed_is_read_again() -> None:
    assert signing().read_access(signing().access_token(CLAIM)) == CLAIM
    assert signing().read_access(signed(GOOD)) == CLAIM
    assert signing().read_refresh(signing().refresh_token(REFRESH, (NOW + 60) * 1000)) == REFRESH


def test_what_is_for_one_purpose_is_nothing_for_another() -> None:
    with pytest.raises(Unauthenticated):
        signing().read_refresh(signing().access_token(CLAIM))
    with pytest.raises(Unauthenticated):
        signing().read_access(signing().refresh_token(REFRESH, (NOW + 60) * 1000))
    with pytest.raises(Unauthenticated):
        signing().read_access(signing().sign("oidc", {"sub": "admin", "sid": "5e551"}, NOW + 60))


def test_a_refresh_token_is_good_until_its_instant() -> None:
    clock = ManualClock()
    made = Signing(SECRET, clock, access=timedelta(minutes=1))
    token = made.refresh_token(REFRESH, clock.now() + 5_000)
    clock.move(4.9)
    assert made.read_refresh(token) == REFRESH
    clock.move(0.1)
    with pytest.raises(Unauthenticated, match="expired"):
        made.read_refresh(token)


@pytest.mark.parametrize("changed", [{"gen": "3"}, {"gen": True}, {"gen": None}, {"sid": 5}, {"sec": None}], ids=str)
def test_a_refresh_token_with_an_odd_claim_is_refused(changed: dict[str, Any]) -> None:
    claims = {"iss": "orth", "use": "refresh", "exp": NOW + 60, "sid": "5e551", "gen": 3, "sec": "secret", **changed}
    with pytest.raises(Unauthenticated):
        signing().read_refresh(signed(claims))


def test_the_csrf_token_belongs_to_the_session_and_to_the_cluster() -> None:
    first = signing().csrf_token("5e551")
    assert first == signing().csrf_token("5e551")
    assert first != signing().csrf_token("5e552")
    assert first != signing("6" * 64).csrf_token("5e551")


def test_two_tokens_are_never_the_same() -> None:
    assert signing().access_token(CLAIM) != signing().access_token(CLAIM)


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "other"},
        {"iss": None},
        {"use": "refresh"},
        {"use": None},
        {"exp": NOW},
        {"exp": NOW - 1},
        {"exp": None},
        {"exp": str(NOW + 60)},
        {"exp": float(NOW + 60)},
        {"exp": True},
        {"sid": 3},
        {"sid": None},
        {"sub": None},
        {"sub": ["admin"]},
    ],
    ids=str,
)
def test_a_claim_that_is_missing_or_odd_is_refused_though_the_signature_is_right(changed: dict[str, Any]) -> None:
    claims = {name: value for name, value in {**GOOD, **changed}.items() if value is not None}
    with pytest.raises(Unauthenticated):
        signing().read_access(signed(claims))


@pytest.mark.parametrize("algorithm", ["HS384", "HS512"])
def test_another_algorithm_is_refused_though_the_signature_is_right(algorithm: str) -> None:
    key = OctKey.import_key(SECRET)
    token = jwt.encode({"alg": algorithm}, GOOD, key, algorithms=[algorithm])
    assert jwt.decode(token, key, algorithms=[algorithm]).claims == GOOD, "it is well signed"
    with pytest.raises(Unauthenticated):
        signing().read_access(token)


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "none"},
        {"alg": "NONE"},
        {"alg": "HS512"},
        {"alg": "RS256"},
        {"alg": ["HS256"]},
        {"alg": None},
        {"alg": "HS256", "kid": "../../etc/passwd"},
        {"alg": "HS256", "jku": "http://evil.example/keys"},
        {"alg": "HS256", "crit": ["exp"]},
        {"alg": "HS256", "crit": 1},
        {"alg": "HS256", "b64": False, "crit": ["b64"]},
        {"alg": "HS256", "zip": "DEF"},
        {"alg": "dir", "enc": "A128GCM"},
        {},
        [],
        [1],
        1,
        None,
        "HS256",
        b"\xff\xfe",
        b"[" * 100_000,
        b"{",
        b"",
    ],
    ids=lambda header: str(header)[:40],
)
def test_no_header_gets_a_token_without_signature_in(header: object) -> None:
    for signature in (b"", b"x", b"\x00" * 32):
        with pytest.raises(Unauthenticated):
            signing().read_access(unsigned(header, GOOD, signature))


@given(
    st.text(max_size=200) | st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.=", max_size=300)
)
def test_no_text_at_all_is_more_than_refused(text: str) -> None:
    with pytest.raises(Unauthenticated):
        signing().read_access(text)


@given(st.integers(min_value=0), st.integers(min_value=0, max_value=255))
def test_a_token_with_one_byte_changed_is_refused(place: int, byte: int) -> None:
    raw = bytearray(signed(GOOD).encode())
    place %= len(raw)
    # The last character of a part also holds bits that stand for nothing: changing only those changes no byte.
    last_of_part = place + 1 == len(raw) or raw[place + 1 : place + 2] == b"."
    assume(raw[place] != byte and not last_of_part)
    raw[place] = byte
    with pytest.raises(Unauthenticated):
        signing().read_access(raw.decode("latin-1"))


def test_another_secret_signs_for_another_cluster() -> None:
    with pytest.raises(Unauthenticated):
        signing("6" * 64).read_access(signed(GOOD))


def test_a_password_fits_its_hash_and_no_other() -> None:
    stored = hash_password("right")
    assert "right" not in stored
    assert password_fits("right", stored)
    assert not password_fits("wrong", stored)
    assert not password_fits("right", None)
    assert not password_fits("right", "not a hash")


def test_a_name_nobody_has_costs_what_a_wrong_password_costs() -> None:
    assert extract_parameters(hash_of_nothing()) == extract_parameters(hash_password("right"))
    with pytest.raises(VerifyMismatchError):  # computed and compared, not refused at sight
        PasswordHasher().verify(hash_of_nothing(), "right")


def test_whose_password_fits_nothing_costs_as_much_to_refuse() -> None:
    def cost(stored: str | None) -> float:
        began = time.perf_counter()
        assert not password_fits("wrong", stored)
        return time.perf_counter() - began

    none_fits = [cost("!") for _ in range(3)]
    wrong = [cost(hash_password("right")) for _ in range(3)]
    assert min(none_fits) > min(wrong) / 3
