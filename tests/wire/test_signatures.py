"""Signed requests: what is accepted once, and everything that is not (A04)."""

from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.errors import TooBusy
from orth.testing import ManualClock
from orth.wire.signatures import (
    RECEIVER_HEADER,
    SIGNATURE_HEADER,
    TIME_HEADER,
    WINDOW,
    BadSignature,
    Nonces,
    Refused,
    Signed,
    Signer,
    Verifier,
    key_of,
    read_signature,
    signature_from,
)

TOKEN, ADDRESS, BODY = "token-of-a-group", "http://10.0.0.7:9999", b'{"jobId":1}'


class Pair:
    """Somebody who asks and somebody who is asked, with a clock each."""

    def __init__(self) -> None:
        self.here, self.there = ManualClock(), ManualClock()
        self.signer = Signer("node-1", self.here)
        self.verifier = Verifier("incarnation-a", self.there)
        self.signer.expect(ADDRESS, "incarnation-a")

    def signed(self, path: str = "/run", body: bytes = BODY) -> Signed:
        found = signature_from(self.signer.header(TOKEN, ADDRESS, "POST", path, body))
        assert found is not None
        return found

    def judged(self, signed: Signed, path: str = "/run", body: bytes = BODY, method: str = "POST") -> Refused | None:
        try:
            self.verifier.check(signed, key_of(TOKEN), method, path)
            self.verifier.admit(signed, body)
        except BadSignature as bad:
            return bad.why
        return None


def test_a_request_is_good_once() -> None:
    """A04: the same request again is a replay."""
    pair = Pair()
    signed = pair.signed()
    assert pair.judged(signed) is None
    assert pair.judged(signed) is Refused.REPLAYED
    assert pair.judged(pair.signed()) is None


def test_a_replay_is_known_for_as_long_as_it_would_be_good() -> None:
    pair = Pair()
    signed = pair.signed()
    assert pair.judged(signed) is None
    for _ in range(12):
        pair.there.move(10)
        assert pair.judged(signed) in (Refused.REPLAYED, Refused.STALE)


def test_nothing_of_it_can_be_changed() -> None:
    pair = Pair()
    signed = pair.signed()
    assert pair.judged(signed, path="/kill") is Refused.WRONG
    assert pair.judged(signed, method="GET") is Refused.WRONG
    assert pair.judged(signed, body=b"{}") is Refused.OTHER_BODY
    other = sha256(b"{}").hexdigest()
    for changed in (
        replace(signed, time=signed.time + 1),
        replace(signed, nonce="n" * 20),
        replace(signed, sender="node-2"),
        replace(signed, receiver="incarnation-b"),
        replace(signed, digest=other),
        replace(signed, mac="0" * 64),
    ):
        assert pair.judged(changed, body=b"{}" if changed.digest == other else BODY) is Refused.WRONG
    assert pair.judged(signed) is None


def test_another_key_proves_nothing() -> None:
    pair = Pair()
    with pytest.raises(BadSignature) as unknown:
        pair.verifier.check(pair.signed(), None, "POST", "/run")
    with pytest.raises(BadSignature) as wrong:
        pair.verifier.check(pair.signed(), key_of("another token"), "POST", "/run")
    assert (unknown.value.why, wrong.value.why) == (Refused.UNKNOWN_KEY, Refused.WRONG)
    assert str(unknown.value) == str(wrong.value)


def test_it_is_good_for_one_process_only() -> None:
    """A04: captured on its way to one executor, of no use at another, nor at its successor."""
    pair = Pair()
    signed = pair.signed()
    pair.verifier = Verifier("incarnation-b", pair.there)
    assert pair.judged(signed) is Refused.OTHER_RECEIVER


@pytest.mark.parametrize(("seconds", "good"), [(59, True), (61, False), (-59, True), (-61, False)])
def test_it_is_good_for_a_minute(seconds: int, good: bool) -> None:
    """A04: stale, or from the future."""
    pair = Pair()
    pair.there.jump(seconds)
    assert pair.judged(pair.signed()) is (None if good else Refused.STALE)


def test_a_wrong_clock_is_corrected_once() -> None:
    pair = Pair()
    pair.there.jump(3_600)
    sent = pair.signer.header(TOKEN, ADDRESS, "POST", "/run", BODY)
    assert pair.judged(read_signature(sent[SIGNATURE_HEADER])) is Refused.STALE
    assert pair.signer.learns(ADDRESS, sent, True, pair.verifier.correction())
    again = pair.signer.header(TOKEN, ADDRESS, "POST", "/run", BODY)
    assert pair.judged(read_signature(again[SIGNATURE_HEADER])) is None
    assert not pair.signer.learns(ADDRESS, again, True, pair.verifier.correction())


def test_a_new_process_is_learned_from_its_refusal() -> None:
    pair = Pair()
    pair.verifier = Verifier("incarnation b; of another", pair.there)
    sent = pair.signer.header(TOKEN, ADDRESS, "POST", "/run", BODY)
    assert pair.signer.learns(ADDRESS, sent, True, pair.verifier.correction())
    assert pair.judged(pair.signed()) is None
    # Another request that was under way at the same time is worth another try as well.
    assert pair.signer.learns(ADDRESS, sent, True, pair.verifier.correction())


def test_who_knows_nothing_of_signatures_is_shown_the_token_only_if_that_is_allowed() -> None:
    for allowed in (False, True):
        signer = Signer("executor", ManualClock(), shows_token=allowed)
        sent = signer.header(TOKEN, ADDRESS, "POST", "/api/registry", BODY)
        assert signer.learns(ADDRESS, sent, True, {}) is allowed
        assert signer.speaks_plainly(ADDRESS) is allowed
    signer = Signer("executor", ManualClock(), shows_token=True)
    signer.learns(ADDRESS, signer.header(TOKEN, ADDRESS, "POST", "/", b""), True, {})
    signer.met(ADDRESS, {RECEIVER_HEADER: "upgraded"})
    for _again in range(2):
        assert not signer.speaks_plainly(ADDRESS)
        assert not signer.learns(ADDRESS, sent, True, {}), "one that signed once is not believed to have forgotten"


def test_other_answers_teach_nothing() -> None:
    signer = Signer("executor", ManualClock())
    sent = signer.header(TOKEN, ADDRESS, "POST", "/api/registry", BODY)
    assert not signer.learns(ADDRESS, sent, False, {RECEIVER_HEADER: "x", TIME_HEADER: "5"})
    assert not signer.learns(ADDRESS, sent, False, {})
    assert not signer.learns(ADDRESS, sent, True, {RECEIVER_HEADER: "x"})
    assert not signer.learns(ADDRESS, sent, True, {RECEIVER_HEADER: "x", TIME_HEADER: "soon"})
    assert signature_from(signer.header(TOKEN, ADDRESS, "POST", "/", b"")).receiver == ""  # type: ignore[union-attr]


def test_what_is_remembered_is_bounded() -> None:
    nonces = Nonces(limit=3)
    assert [nonces.add(f"n{i}", 0.0) for i in range(3)] == [True, True, True]
    with pytest.raises(TooBusy):
        nonces.add("n3", 1.0)
    assert not nonces.add("n0", WINDOW / 1000)
    assert nonces.add("n3", 2 * WINDOW / 1000 + 1)
    assert not nonces.add("n1", 2 * WINDOW / 1000 + 2)
    assert nonces.add("n1", 6 * WINDOW / 1000)


def test_the_name_of_a_key_tells_nothing_of_it() -> None:
    key = key_of(TOKEN)
    assert key.id not in (key.secret.hex(), sha256(TOKEN.encode()).hexdigest())
    assert not key.secret.hex().startswith(key.id)


@given(st.text(max_size=400))
def test_no_header_makes_the_reader_stumble(text: str) -> None:
    with pytest.raises(BadSignature):
        read_signature(text)
