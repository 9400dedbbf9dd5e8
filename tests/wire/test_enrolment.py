"""The exchange by which an executor gives its key: both sides agree, and nobody who changes anything does."""

import secrets

import pytest

from orth.errors import OrthError
from orth.wire.enrolment import _PRIME, Exchange, Transcript, Wrapping, proof_of_offer, read_enrolment
from orth.wire.signatures import key_of

TOKEN, KEY = key_of("token-of-a-group"), secrets.token_hex(32)


def said(executor: Exchange, coordinator: Exchange, address: str = "http://10.0.0.7:9999") -> Transcript:
    return Transcript("reports", address, executor.public, coordinator.public)


def test_both_sides_have_the_same_and_the_key_is_not_in_it() -> None:
    executor, coordinator = Exchange(), Exchange()
    here = Wrapping.of(executor.shared(coordinator.public), TOKEN, said(executor, coordinator))
    there = Wrapping.of(coordinator.shared(executor.public), TOKEN, said(executor, coordinator))
    sealed = here.sealed(KEY)
    assert there.opened(sealed) == KEY
    assert KEY not in sealed
    assert here.proof_of_state("waiting") == there.proof_of_state("waiting") != there.proof_of_state("admitted")


def test_another_token_address_or_exchange_opens_nothing() -> None:
    executor, coordinator, other = Exchange(), Exchange(), Exchange()
    shared = coordinator.shared(executor.public)
    sealed = Wrapping.of(shared, TOKEN, said(executor, coordinator)).sealed(KEY)
    for wrapping in (
        Wrapping.of(shared, key_of("another"), said(executor, coordinator)),
        Wrapping.of(shared, TOKEN, said(executor, coordinator, "http://10.0.0.8:9999")),
        Wrapping.of(other.shared(executor.public), TOKEN, said(executor, coordinator)),
    ):
        with pytest.raises(OrthError, match="changed on its way"):
            wrapping.opened(sealed)
    changed = f"{int(sealed[0], 16) ^ 1:x}{sealed[1:]}"
    with pytest.raises(OrthError):
        Wrapping.of(shared, TOKEN, said(executor, coordinator)).opened(changed)


def test_the_offer_is_proved_over_both_public_values() -> None:
    executor, coordinator, other = Exchange(), Exchange(), Exchange()
    proof = proof_of_offer(TOKEN, said(executor, coordinator))
    assert proof == proof_of_offer(TOKEN, said(executor, coordinator))
    assert proof not in (
        proof_of_offer(TOKEN, said(other, coordinator)),
        proof_of_offer(TOKEN, said(executor, other)),
        proof_of_offer(key_of("another"), said(executor, coordinator)),
    )


@pytest.mark.parametrize("value", [0, 1, _PRIME - 1, _PRIME, _PRIME + 1])
def test_a_public_value_that_gives_the_secret_away_is_refused(value: int) -> None:
    with pytest.raises(OrthError, match="outside its group"):
        Exchange().shared(f"{value:0768x}")


def test_the_group_is_the_one_of_rfc_7919() -> None:
    """ffdhe3072: a safe prime that begins with e."""
    assert _PRIME.bit_length() == 3072
    assert f"{_PRIME:X}".startswith("FFFFFFFFFFFFFFFFADF85458A2BB4A9AAFDC5620273D3CF1")
    assert all(pow(base, number - 1, number) == 1 for number in (_PRIME, (_PRIME - 1) // 2) for base in (2, 3, 5))


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{}", b'{"registryKey":"a","registryValue":"http://a:1","public":"00"}', b"\xff"]
)
def test_what_is_no_enrolment_is_refused(body: bytes) -> None:
    with pytest.raises(OrthError):
        read_enrolment(body)
