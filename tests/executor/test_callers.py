"""Whom an executor listens to, before and after a coordinator has its work key."""

from contextlib import suppress

import pytest

from orth.errors import OrthError, Unauthenticated
from orth.executor.callers import TOKEN_PATHS, Callers
from orth.executor.turned_away import NotRegistered, TokenAlone, Unsigned, reason_of
from orth.testing import ManualClock
from orth.wire.signatures import RECEIVER_HEADER, BadSignature, Key, Refused, Signer, Verifier
from orth.wire.work_keys import new_work_key, work_key_of

TOKEN, WORK_KEY, ADDRESS = "token-of-a-group", new_work_key(), "http://10.0.0.7:9999"
KEY = work_key_of(TOKEN, WORK_KEY)
WORK_PATHS = ("/run", "/runs", "/trigger", "/kill", "/log", "/idleBeat")
BARE = {"ORTH-ACCESS-TOKEN": TOKEN}


def callers(**more: bool) -> Callers:
    return Callers(TOKEN, Verifier("incarnation-a", ManualClock()), work_key=WORK_KEY, **more)


def signed(proof: str | Key, path: str, receiver: str = "incarnation-a") -> dict[str, str]:
    signer = Signer("node-1", ManualClock())
    signer.expect(ADDRESS, receiver)
    return signer.header(proof, ADDRESS, "POST", path, b"")


def accepted(judge: Callers, path: str) -> list[str]:
    """Who is let in."""
    tries = {"bare": BARE, "token": signed(TOKEN, path), "work key": signed(KEY, path)}
    found = []
    for name, headers in tries.items():
        with suppress(Unauthenticated):
            judge.check("POST", path, headers)
            found.append(name)
    return found


@pytest.mark.parametrize("path", WORK_PATHS)
def test_before_any_coordinator_knows_of_it_no_token_is_enough(path: str) -> None:
    judge = callers()
    assert accepted(judge, path) == ["work key"]
    for headers in (BARE, signed(TOKEN, path)):
        with pytest.raises(NotRegistered) as refused:
            judge.check("POST", path, headers)
        assert reason_of(refused.value) == "early"
        assert judge.correction(refused.value, headers)[RECEIVER_HEADER] == "incarnation-a"
    judge.acknowledge(KEY.id)
    assert accepted(judge, path) == ["work key"]


def test_the_token_may_be_enough_from_the_first_moment() -> None:
    judge = callers(token_until_registered=True)
    assert accepted(judge, "/run") == ["bare", "token", "work key"]
    judge.acknowledge(KEY.id)
    assert accepted(judge, "/run") == ["work key"]


@pytest.mark.parametrize("path", sorted(TOKEN_PATHS))
def test_what_asks_for_no_work_is_open_from_the_first_moment(path: str) -> None:
    assert accepted(callers(), path) == ["bare", "token", "work key"]


@pytest.mark.parametrize("path", WORK_PATHS)
def test_a_token_is_enough_for_coordinators_that_know_no_work_keys_until_one_does(path: str) -> None:
    judge = callers()
    judge.acknowledge(None)
    assert accepted(judge, path) == ["bare", "token", "work key"]
    for other in (None, "", "0" * 16, work_key_of(TOKEN, new_work_key()).id):
        judge.acknowledge(other)
        assert accepted(judge, path) == ["bare", "token", "work key"]
    judge.acknowledge(KEY.id)
    assert accepted(judge, path) == ["work key"]
    judge.acknowledge(None)  # a coordinator that knows nothing of work keys takes over
    assert accepted(judge, path) == ["work key"]


@pytest.mark.parametrize("path", sorted(TOKEN_PATHS))
def test_what_asks_for_no_work_needs_no_work_key(path: str) -> None:
    judge = callers()
    judge.acknowledge(KEY.id)
    assert accepted(judge, path) == ["bare", "token", "work key"]


def test_who_must_sign_must_have_the_work_key_from_the_first_moment() -> None:
    judge = callers(must_sign=True, work_key_alone=True)
    for path in WORK_PATHS:
        assert accepted(judge, path) == ["work key"]
    for path in sorted(TOKEN_PATHS):
        assert accepted(judge, path) == ["token", "work key"]


def test_a_work_key_is_good_for_its_own_token_and_process_alone() -> None:
    judge = callers()
    judge.acknowledge(KEY.id)
    for other in (work_key_of("another token", WORK_KEY), work_key_of(TOKEN, new_work_key())):
        with pytest.raises(BadSignature) as refused:
            judge.check("POST", "/run", signed(other, "/run"))
        assert refused.value.why is Refused.UNKNOWN_KEY
    with pytest.raises(BadSignature) as refused:
        judge.check("POST", "/run", signed(KEY, "/run", receiver="incarnation-b"))
    assert refused.value.why is Refused.OTHER_RECEIVER


def test_a_coordinator_that_means_the_process_before_this_one_is_no_stranger() -> None:
    """It has another work key, of which this process knows nothing."""
    with pytest.raises(BadSignature) as refused:
        callers().check("POST", "/run", signed(work_key_of(TOKEN, new_work_key()), "/run", receiver="the one before"))
    assert refused.value.why is Refused.OTHER_RECEIVER
    assert reason_of(refused.value) == "receiver"


@pytest.mark.parametrize("headers", [BARE, signed(TOKEN, "/run")], ids=["bare", "signed"])
def test_a_thief_of_the_token_is_told_why_and_counted(headers: dict[str, str]) -> None:
    judge = callers()
    judge.acknowledge(KEY.id)
    with pytest.raises(TokenAlone) as refused:
        judge.check("POST", "/run", headers)
    assert reason_of(refused.value) == "work_key"
    assert "work key" in refused.value.message
    assert judge.correction(refused.value, headers)[RECEIVER_HEADER] == "incarnation-a"


def test_without_signatures_there_is_no_work_key() -> None:
    judge = Callers(TOKEN, work_key=WORK_KEY, work_key_alone=True)
    judge.acknowledge(KEY.id)
    judge.check("POST", "/run", BARE)
    assert judge.correction(OrthError("x"), {}) == {}


def test_a_bare_token_where_all_must_sign_is_another_matter() -> None:
    with pytest.raises(Unsigned):
        callers(must_sign=True).check("POST", "/beat", BARE)
