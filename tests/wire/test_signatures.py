"""Signed requests: what is accepted once, and everything that is not (A04)."""

from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.errors import TooBusy
from orth.testing import ManualClock
from orth.wire.signatures import (
    PROOF_HEADER,
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
    is_answer_proved,
    is_refusal_proved,
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

    def refused(self) -> tuple[dict[str, str], dict[str, str]]:
        """The headers of a request, and of its refusal."""
        sent = self.signer.header(TOKEN, ADDRESS, "POST", "/run", BODY)
        assert self.judged(read_signature(sent[SIGNATURE_HEADER])) is not None
        return sent, self.correction(sent)

    def correction(self, sent: dict[str, str]) -> dict[str, str]:
        return self.verifier.correction(read_signature(sent[SIGNATURE_HEADER]), key_of(TOKEN))

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
    sent, refusal = pair.refused()
    assert pair.signer.learns(ADDRESS, sent, True, refusal, TOKEN)
    again = pair.signer.header(TOKEN, ADDRESS, "POST", "/run", BODY)
    assert pair.judged(read_signature(again[SIGNATURE_HEADER])) is None
    assert not pair.signer.learns(ADDRESS, again, True, pair.correction(again), TOKEN)


def test_a_new_process_is_learned_from_its_refusal() -> None:
    pair = Pair()
    pair.verifier = Verifier("incarnation b; of another", pair.there)
    sent, refusal = pair.refused()
    assert pair.signer.learns(ADDRESS, sent, True, refusal, TOKEN)
    assert pair.judged(pair.signed()) is None
    # Another request that was under way at the same time is worth another try as well.
    assert pair.signer.learns(ADDRESS, sent, True, pair.correction(sent), TOKEN)


def test_no_correction_is_believed_without_its_proof() -> None:
    """A87: whoever can change an answer would otherwise say for when, and for whom, the next request is signed."""
    pair = Pair()
    pair.verifier = Verifier("incarnation-b", pair.there)
    sent, refusal = pair.refused()
    another = pair.signer.header(TOKEN, ADDRESS, "POST", "/run", BODY)
    later = str(int(refusal[TIME_HEADER]) + 200_000)
    for forged in (
        {name: value for name, value in refusal.items() if name != PROOF_HEADER},
        refusal | {TIME_HEADER: later},
        refusal | {RECEIVER_HEADER: "incarnation-c"},
        refusal | {PROOF_HEADER: "nonsense"},
        pair.correction(another),
        refusal | pair.verifier.proof(read_signature(sent[SIGNATURE_HEADER]), key_of(TOKEN), 401, b""),
    ):
        assert not pair.signer.learns(ADDRESS, sent, True, forged, TOKEN)
        assert not is_refusal_proved(sent, forged, TOKEN)
    assert not pair.signer.learns(ADDRESS, sent, True, refusal, "another token")
    assert pair.signed().receiver == "incarnation-a"
    assert pair.signed().time == pair.here.now()
    assert pair.signer.learns(ADDRESS, sent, True, refusal, "another token", TOKEN)


@pytest.mark.parametrize("ahead", [0, 200, 3_600, -200])
def test_what_was_refused_with_a_proof_is_never_accepted(ahead: int) -> None:
    """A87: who keeps it cannot use it later, also if it was signed for then."""
    pair = Pair()
    pair.here.jump(ahead)
    signed = pair.signed()
    pair.here.jump(-ahead)
    assert pair.judged(signed, body=b"other") in (Refused.OTHER_BODY, Refused.STALE)
    assert PROOF_HEADER in pair.verifier.correction(signed, key_of(TOKEN))
    for _step in range(max(1, ahead // 20 + 10)):
        assert pair.judged(signed) in (Refused.REPLAYED, Refused.STALE)
        pair.there.move(20)


def test_what_was_accepted_is_not_refused_with_a_proof() -> None:
    """A87: a copy is sent first, and the refusal of the second one shown."""
    pair = Pair()
    signed = pair.signed()
    assert pair.judged(signed) is None
    assert pair.judged(signed) is Refused.REPLAYED
    assert PROOF_HEADER not in pair.verifier.correction(signed, key_of(TOKEN))


def test_an_answer_is_proved_for_its_request_alone() -> None:
    pair = Pair()
    sent = pair.signer.header(TOKEN, ADDRESS, "POST", "/run", BODY)
    other = pair.signer.header(TOKEN, ADDRESS, "POST", "/run", BODY)
    told = pair.verifier.proof(read_signature(sent[SIGNATURE_HEADER]), key_of(TOKEN), 200, b"yes")
    assert is_answer_proved(sent, 200, b"yes", told, TOKEN)
    for request, status, body, headers, key in (
        (other, 200, b"yes", told, TOKEN),
        (sent, 401, b"yes", told, TOKEN),
        (sent, 200, b"no", told, TOKEN),
        (sent, 200, b"yes", told, "another token"),
        (sent, 200, b"yes", {}, TOKEN),
        ({}, 200, b"yes", told, TOKEN),
        (sent, 200, b"yes", pair.correction(sent), TOKEN),
    ):
        assert not is_answer_proved(request, status, body, headers, key)


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
