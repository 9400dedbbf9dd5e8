"""Requests between our own processes, signed: who asks whom for what, and when.

A signature is one header, ``ORTH-SIGNATURE``. It proves the token without showing it: whoever listens learns nothing
that is good for another request. It covers the method, the path, the digest of the body, the time, a nonce, the sender
and the receiver, so that a captured request is good once, for a minute, and for one process only.

    1;key;time;nonce;sender;receiver;digest;mac

*key* names the token, or the key made from it and a work key (``work_keys``), without telling it; *time* is in epoch
milliseconds, *receiver* is the incarnation of the process that is asked. A caller that cannot know that, or whose clock
is wrong, is told with the refusal (``ORTH-RECEIVER``, ``ORTH-TIME``) and asks once more. A peer that knows nothing of
signatures tells neither. It is shown the token itself only if that is allowed, and never if it has once told
``ORTH-RECEIVER``: whoever can change an answer on the wire could otherwise ask for the token by leaving the header out.

Answers are proved, too, in one header, ``ORTH-PROOF: <key>:<mac>``. The proof of a refusal covers the signature of the
request, the receiver and the time, and says that this process will never accept that request: it remembers the nonce.
The proof of any other answer covers the signature of the request, the status and the body. A correction without a
proof is not believed: who can change an answer on the wire could otherwise have a request signed for another process
or for a later time, keep it and use it then.

``Signer`` writes for all peers of a process, ``Verifier`` judges what arrives at it. Neither does I/O.
"""

import hmac
import re
import secrets
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple, Protocol, Self
from urllib.parse import quote

from orth.clock import Clock
from orth.errors import TooBusy, Unauthenticated

SIGNATURE_HEADER = "ORTH-SIGNATURE"
RECEIVER_HEADER = "ORTH-RECEIVER"
TIME_HEADER = "ORTH-TIME"
PROOF_HEADER = "ORTH-PROOF"
WINDOW = 60_000
"""Milliseconds by which the time of a request may differ from the receiver's."""
NONCES_LIMIT = 500_000
"""Requests remembered of one window; a sender beyond that is told to wait."""
TRIES = 3
"""Requests made for one answer: behind a balancer the next one may meet another process."""

_VERSION = "1"
_FORM = re.compile(
    r"1;(?P<key>[0-9a-f]{16});(?P<time>[0-9]{1,15});(?P<nonce>[\w-]{16,32});"
    r"(?P<sender>[\w.%~-]{0,200});(?P<receiver>[\w.%~-]{0,200});(?P<digest>[0-9a-f]{64});(?P<mac>[0-9a-f]{64})",
    re.ASCII,
)
_PROOF = re.compile(r"(?P<key>[0-9a-f]{16}):(?P<mac>[0-9a-f]{64})", re.ASCII)
_REFUSAL, _ANSWER = "refusal", "answer"
_PEERS_LIMIT = 20_000
_CLOCK_SLACK = 1_000  # milliseconds a clock may be off before it is minded


class Key(NamedTuple):
    """What a token signs with, and the name under which others look for it."""

    id: str
    secret: bytes


@lru_cache(maxsize=4096)
def key_of(token: str) -> Key:
    """The key of a token. Neither the token nor the secret can be computed from its name."""
    name = sha256(b"orth key id:" + token.encode()).hexdigest()[:16]
    return Key(name, hmac.digest(token.encode(), b"orth signing key", "sha256"))


def receiver_name(incarnation: str) -> str:
    """A process as signatures name it."""
    return quote(incarnation[:60], safe="")


class Refused(StrEnum):
    """Why a signature is not accepted."""

    MALFORMED = "malformed"
    UNKNOWN_KEY = "unknown key"
    WRONG = "wrong"
    OTHER_RECEIVER = "other receiver"
    UNADDRESSED = "unaddressed"  # a first request: its sender does not know yet whom it asks
    STALE = "stale"
    OTHER_BODY = "other body"
    REPLAYED = "replayed"


_SENTENCES = {
    Refused.OTHER_RECEIVER: "The request was signed for another process.",
    Refused.UNADDRESSED: "The request was signed for another process.",
    Refused.STALE: "The request was signed too long ago, or its sender's clock is wrong.",
    Refused.OTHER_BODY: "The body is not the one that was signed.",
    Refused.REPLAYED: "The request was made before.",
}


_NOT_ACCEPTED = "The request is not signed with an access token that this process accepts."
_NEXT_STEP = "Give all coordinators and executors the same token: security.access_token (ORTH_SECURITY__ACCESS_TOKEN)."


class BadSignature(Unauthenticated):
    """A signature that proves nothing here. Why a wrong one is wrong is not told."""

    def __init__(self, why: Refused, key_id: str = "") -> None:
        """``key_id`` names the key that has signed, where that is certain, or the unknown one that is said to have."""
        known = _SENTENCES.get(why)
        super().__init__(known or _NOT_ACCEPTED, hint=None if known else _NEXT_STEP)
        self.why = why
        self.key_id = key_id
        self.signed: Signed | None = None
        """The signature, if it was not only malformed."""
        self.key: Key | None = None
        """The key that has made it, where that is certain."""
        self.headers: dict[str, str] = {}
        """What goes with the answer (``Verifier.correction``)."""

    def about(self, signed: "Signed", key: Key | None = None) -> Self:
        """The same, of this signature, which was made with ``key``."""
        self.signed, self.key = signed, key
        return self


@dataclass(frozen=True, slots=True)
class Signed:
    """What a signature says."""

    key_id: str
    time: int
    nonce: str
    sender: str
    receiver: str
    digest: str
    mac: str

    @property
    def told(self) -> str:
        """What is signed, beside the method and the path."""
        return f"{_VERSION};{self.key_id};{self.time};{self.nonce};{self.sender};{self.receiver};{self.digest}"

    @property
    def text(self) -> str:
        """The whole header."""
        return f"{self.told};{self.mac}"


def read_signature(text: str) -> Signed:
    found = _FORM.fullmatch(text)
    if found is None:
        raise BadSignature(Refused.MALFORMED)
    key, time, nonce, sender, receiver, digest, mac = found.groups()
    return Signed(key, int(time), nonce, sender, receiver, digest, mac)


def signature_from(headers: Mapping[str, str]) -> Signed | None:
    """The signature of a request, if it has one."""
    text = headers.get(SIGNATURE_HEADER) or headers.get(SIGNATURE_HEADER.lower())
    return None if text is None else read_signature(text)


def _mac(secret: bytes, method: str, path: str, told: str) -> str:
    return hmac.digest(secret, f"{method}\n{path}\n{told}".encode(), "sha256").hex()


def _proof(key: Key, kind: str, signed: str, *said: str) -> dict[str, str]:
    """The header that proves an answer to what was ``signed``. No method is named like a ``kind``, and no path begins
    like a signature, so that no proof is good for a request.
    """
    text = "\n".join((kind, signed, *said))
    return {PROOF_HEADER: f"{key.id}:{hmac.digest(key.secret, text.encode(), 'sha256').hex()}"}


def _is_proved(
    sent: Mapping[str, str], told: Mapping[str, str], kind: str, said: Sequence[str], keys: Sequence[str | Key]
) -> bool:
    signed, found = sent.get(SIGNATURE_HEADER), _PROOF.fullmatch(told.get(PROOF_HEADER, ""))
    if signed is None or found is None:
        return False
    for key in map(_key, keys):
        if key.id == found["key"]:
            return hmac.compare_digest(_proof(key, kind, signed, *said)[PROOF_HEADER], found[0])
    return False


def _key(proof: str | Key) -> Key:
    return proof if isinstance(proof, Key) else key_of(proof)


def is_refusal_proved(sent: Mapping[str, str], told: Mapping[str, str], *keys: str | Key) -> bool:
    """Whether the headers ``told`` prove, with one of these keys, that the process which they name refused the signed
    request with the headers ``sent``, will never accept it, and that its time was the one that they tell.
    """
    return _is_proved(sent, told, _REFUSAL, (told.get(RECEIVER_HEADER, ""), told.get(TIME_HEADER, "")), keys)


def is_answer_proved(
    sent: Mapping[str, str], status: int, body: bytes, told: Mapping[str, str], *keys: str | Key
) -> bool:
    """Whether the headers ``told`` prove, with one of these keys, that the process to which the signed request with the
    headers ``sent`` was addressed has answered it with this status and body.
    """
    return PROOF_HEADER in told and _is_proved(sent, told, _ANSWER, (str(status), sha256(body).hexdigest()), keys)


# --- those who ask ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Peer:
    """What is known of a process at an address."""

    receiver: str = ""
    ahead: int = 0
    """Milliseconds its clock is ahead of ours, if that is worth minding."""
    plain: bool = False
    """It knows nothing of signatures."""
    expected: str = ""
    """The process that others say is there."""


class SigningPeers(Protocol):
    """Remembers the addresses whose peers read signatures."""

    def __contains__(self, address: str, /) -> bool: ...

    def add(self, address: str, /) -> None: ...


class Signer:
    """Signs what one process asks of others. Safe to share between threads."""

    def __init__(
        self, sender: str, clock: Clock, *, shows_token: bool = False, signing: SigningPeers | None = None
    ) -> None:
        """With ``shows_token``, a peer that knows nothing of signatures is shown the token instead, unless ``signing``
        remembers that it read signatures before.
        """
        self._sender = receiver_name(sender)
        self._clock = clock
        self._shows_token = shows_token
        self._signing: SigningPeers = set[str]() if signing is None else signing
        self._peers: dict[str, _Peer] = {}

    def speaks_plainly(self, address: str) -> bool:
        """Whether whoever is at ``address`` is shown the token itself."""
        peer = self._peers.get(address)
        return peer is not None and peer.plain and self.may_show_token(address)

    def may_show_token(self, address: str) -> bool:
        """Whether the peer at ``address`` may be shown the token if it does not read signatures."""
        return self._shows_token and not self.has_signed(address)

    def has_signed(self, address: str) -> bool:
        """Whether the peer at ``address`` once read signatures."""
        return address in self._signing

    def header(
        self, proof: str | Key, address: str, method: str, path: str, body: bytes, *, receiver: str | None = None
    ) -> dict[str, str]:
        """The header that proves a token, or a key made from one, to whoever is at ``address``, or to no other process
        there than ``receiver``; ``path`` comes after that address.
        """
        key = _key(proof)
        peer = self._peer(address)
        named = peer.receiver if receiver is None else receiver
        time = self._clock.now() + peer.ahead
        nonce, digest = secrets.token_urlsafe(15), sha256(body).hexdigest()
        told = f"{_VERSION};{key.id};{time};{nonce};{self._sender};{named};{digest}"
        return {SIGNATURE_HEADER: f"{told};{_mac(key.secret, method, path, told)}"}

    def expect(self, address: str, incarnation: str) -> str:
        """Which process is asked at ``address``, when others say that it is ``incarnation``. They are believed until
        it says otherwise itself, and again as soon as they say something new.
        """
        expected, peer = receiver_name(incarnation), self._peer(address)
        if expected and peer.expected != expected:
            peer = _Peer(expected, peer.ahead, expected=expected)
            self._remember(address, peer)
        return peer.receiver

    def met(self, address: str, headers: Mapping[str, str]) -> None:
        """Read any answer: whoever tells its incarnation reads signatures, and is never shown the token again."""
        if RECEIVER_HEADER not in headers:
            return
        if address not in self._signing:
            self._signing.add(address)
        peer = self._peers.get(address)
        if peer is not None and peer.plain:
            self._peers.pop(address, None)

    def learns(
        self, address: str, sent: Mapping[str, str], refused: bool, headers: Mapping[str, str], *keys: str | Key
    ) -> bool:
        """Read the answer to what was ``sent``; whether it tells something that makes another try worth while.

        ``refused`` says that the answer may mean that we were not let in. Of our own, whoever is asked tells its
        incarnation with that; those who do not know what a signature is tell nothing. What it tells is believed if it
        is proved with one of these keys. Who was shown the token and tells its incarnation is signed to from then on.
        """
        if not refused:
            return False
        signed = signature_from(sent)
        receiver, time = headers.get(RECEIVER_HEADER), headers.get(TIME_HEADER, "")
        if receiver is None:
            shown = self.may_show_token(address)
            if shown:
                self._remember(address, _Peer(plain=True))
            return signed is not None and shown
        if signed is None:
            return True
        if not time.isdecimal() or len(time) > 15 or not is_refusal_proved(sent, headers, *keys):
            return False
        there = int(time)
        stale = abs(there - signed.time) > WINDOW - _CLOCK_SLACK
        ahead = there - self._clock.now() if stale else self._peer(address).ahead
        self._remember(address, _Peer(receiver[:200], ahead, expected=self._peer(address).expected))
        return stale or signed.receiver != receiver

    def _peer(self, address: str) -> _Peer:
        return self._peers.get(address) or _Peer()

    def _remember(self, address: str, peer: _Peer) -> None:
        if len(self._peers) >= _PEERS_LIMIT and address not in self._peers:
            self._peers.clear()  # each is learned again by one more request
        self._peers[address] = peer


# --- those who are asked ----------------------------------------------------------------------------------------------


class Nonces:
    """Remembers what was asked, for as long as it could be asked again. Two halves, of which the older one goes."""

    def __init__(self, limit: int = NONCES_LIMIT) -> None:
        self._limit = limit
        self._new: set[str] = set()
        self._old: set[str] = set()
        self._since = float("-inf")
        self._later: dict[str, int] = {}
        """Requests from the future that were refused, and until when they would be good."""

    def refuse(self, nonce: str, good_until: int, time: int, now: float) -> bool:
        """Remember one that was refused, so that it is never taken; False if it was known, or cannot be remembered.
        ``good_until`` and ``time`` are in epoch milliseconds.
        """
        with suppress(TooBusy):
            if nonce in self._later or not self.add(nonce, now):
                return False
            if good_until <= time + 2 * WINDOW:
                return True
            if len(self._later) >= self._limit:
                self._later = {one: until for one, until in self._later.items() if until > time}
            if len(self._later) < self._limit:
                self._later[nonce] = good_until
                return True
        return False

    def add(self, nonce: str, now: float) -> bool:
        """Remember one, at ``now`` seconds; False when it is known already, ``TooBusy`` when there is no room."""
        if now - self._since >= 2 * WINDOW / 1000:
            self._old = self._new if now - self._since < 4 * WINDOW / 1000 else set()
            self._new, self._since = set(), now
        if nonce in self._new or nonce in self._old or nonce in self._later:
            return False
        if len(self._new) >= self._limit:
            raise TooBusy("More signed requests came than can be told apart.", hint="Ask again in a minute.")
        self._new.add(nonce)
        return True


class Verifier:
    """Judges what is asked of the process ``receiver``. Not to be shared between threads."""

    def __init__(self, receiver: str, clock: Clock) -> None:
        self.receiver = receiver_name(receiver)
        self._clock = clock
        self._nonces = Nonces()

    def check(self, signed: Signed, key: Key | None, method: str, path: str) -> None:
        """``BadSignature`` unless whoever has ``key`` has signed this, for us and now. The body is another matter."""
        mac = _mac(key.secret if key else b"", method, path, signed.told)
        if not hmac.compare_digest(mac, signed.mac) or key is None:
            bad = BadSignature(Refused.WRONG) if key is not None else BadSignature(Refused.UNKNOWN_KEY, signed.key_id)
            raise bad.about(signed)
        if signed.receiver != self.receiver:
            why = Refused.OTHER_RECEIVER if signed.receiver else Refused.UNADDRESSED
            raise BadSignature(why, signed.key_id).about(signed, key)
        if abs(signed.time - self._clock.now()) > WINDOW:
            raise BadSignature(Refused.STALE, signed.key_id).about(signed, key)

    def admit(self, signed: Signed, body: bytes, key: Key | None = None) -> None:
        """Take a request that was checked, once. ``key`` has signed it."""
        if not hmac.compare_digest(sha256(body).hexdigest(), signed.digest):
            raise BadSignature(Refused.OTHER_BODY).about(signed, key)
        if not self._nonces.add(signed.nonce, self._clock.monotonic()):
            raise BadSignature(Refused.REPLAYED).about(signed)

    def correction(self, signed: Signed | None = None, key: Key | None = None) -> dict[str, str]:
        """The headers that tell a caller what it could not know. With ``key``, which has ``signed`` the request, or
        with our own where we do not know that one, they prove that we refuse it: from then on we never accept it.
        """
        told = {RECEIVER_HEADER: self.receiver, TIME_HEADER: str(self._clock.now())}
        if signed is None or key is None or not self.refuses(signed, key):
            return told
        return told | _proof(key, _REFUSAL, signed.text, told[RECEIVER_HEADER], told[TIME_HEADER])

    def proof(self, signed: Signed, key: Key, status: int, body: bytes) -> dict[str, str]:
        """The header that proves the answer to a request that was taken."""
        return _proof(key, _ANSWER, signed.text, str(status), sha256(body).hexdigest())

    def refuses(self, signed: Signed, key: Key) -> bool:
        """Whether a request will surely not be accepted from now on. One for another process never is."""
        if signed.key_id != key.id or signed.receiver != self.receiver:
            return True
        now = self._clock.now()
        return self._nonces.refuse(signed.nonce, signed.time + WINDOW, now, self._clock.monotonic())
