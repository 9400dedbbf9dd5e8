"""How an executor gives its key to a coordinator without showing it: an ephemeral Diffie-Hellman exchange.

Two requests to ``/api/enrolment``, each signed with the token of the executor:

1. The executor sends its public value; the coordinator answers with its own, and proves the token over both.
2. The executor sends its key, sealed with what only both of them can compute; the coordinator answers how it stands.

Who reads along learns nothing, also with the token, also when the token leaks later: both private values are forgotten
after the exchange. Who changes values needs the token, or is found out. Who has the token *and* changes values on a
wire without TLS learns the key; TLS is the answer to that.

The group is ffdhe3072 of RFC 7919. All of it is in the standard library: an executor has no other.
"""

import hmac
import secrets
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated

from pydantic import Field, ValidationError

from orth.errors import InvalidMessage, Unauthenticated
from orth.wire.addresses import Address
from orth.wire.fields import SMALL_BODY_LIMIT, AppName
from orth.wire.messages import Message
from orth.wire.signatures import Key
from orth.wire.strict_json import read_json

ENROLMENT_PATH = "/api/enrolment"
_PRIME = int(
    "FFFFFFFFFFFFFFFFADF85458A2BB4A9AAFDC5620273D3CF1D8B9C583CE2D3695"
    "A9E13641146433FBCC939DCE249B3EF97D2FE363630C75D8F681B202AEC4617A"
    "D3DF1ED5D5FD65612433F51F5F066ED0856365553DED1AF3B557135E7F57C935"
    "984F0C70E0E68B77E2A689DAF3EFE8721DF158A136ADE73530ACCA4F483A797A"
    "BC0AB182B324FB61D108A94BB2C8E3FBB96ADAB760D7F4681D4F42A3DE394DF4"
    "AE56EDE76372BB190B07A7C8EE0A6D709E02FCE1CDF7E2ECC03404CD28342F61"
    "9172FE9CE98583FF8E4F1232EEF28183C3FE3B1B4C6FAD733BB5FCBC2EC22005"
    "C58EF1837D1683B2C6F34A26C1B2EFFA886B4238611FCFDCDE355B3B6519035B"
    "BC34F4DEF99C023861B46FC9D6E6C9077AD91D2691F7F7EE598CB0FAC186D91C"
    "AEFE130985139270B4130C93BC437944F4FD4452E2D74DD364F2E21E71F54BFF"
    "5CAE82AB9C9DF69EE86D2BC522363A0DABC521979B0DEADA1DBF9A42D5C4484E"
    "0ABCD06BFA53DDEF3C1B20EE3FD59D7C25E41D2B66C62E37FFFFFFFFFFFFFFFF",
    16,
)
_BYTES = 384
_PRIVATE_BITS = 320
_KEY_BYTES = 32

Public = Annotated[str, Field(pattern=r"^[0-9a-f]{768}$")]
Sealed = Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]
Proof = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class EnrolmentRequest(Message):
    """Either step; only the second has ``sealed``."""

    registry_key: AppName
    registry_value: Address
    public: Public
    sealed: Sealed | None = None


class Offered(Message):
    """The answer to the first step."""

    public: Public
    proof: Proof


class Enrolled(Message):
    """The answer to the second step."""

    state: Annotated[str, Field(max_length=16)]
    proof: Proof


class Exchange:
    """One side of one exchange."""

    def __init__(self) -> None:
        self._private = secrets.randbits(_PRIVATE_BITS) | 1 << (_PRIVATE_BITS - 1)
        self.public = _written(pow(2, self._private, _PRIME))

    def shared(self, public: str) -> bytes:
        """What both sides know, and nobody who reads along."""
        other = int(public, 16)
        if not 1 < other < _PRIME - 1:
            raise InvalidMessage("The public value is outside its group.")
        return pow(other, self._private, _PRIME).to_bytes(_BYTES, "big")


@dataclass(frozen=True, slots=True)
class Transcript:
    """What was said: the app and the address that an executor claims, and both public values."""

    app_name: str
    address: str
    executor: str
    coordinator: str

    @property
    def digest(self) -> bytes:
        parts = (self.app_name, self.address, self.executor, self.coordinator)
        return sha256(
            b"orth enrolment" + b"".join(b"%d:%s" % (len(one), one) for one in map(str.encode, parts))
        ).digest()


def proof_of_offer(token: Key, said: Transcript) -> str:
    """How a coordinator proves the token over both public values."""
    return hmac.digest(token.secret, b"orth enrolment offer" + said.digest, "sha256").hex()


@dataclass(frozen=True, slots=True)
class Wrapping:
    """The keys of one exchange."""

    _mask: bytes
    _mac: bytes
    _stored: bytes

    @classmethod
    def of(cls, shared: bytes, token: Key, said: Transcript) -> "Wrapping":
        root = hmac.digest(said.digest, shared + token.secret, "sha256")
        return cls(*(hmac.digest(root, use, "sha256") for use in (b"orth mask", b"orth mac", b"orth stored")))

    def sealed(self, executor_key: str) -> str:
        """An executor key for the way. The mask is used once, for as many bytes as it has."""
        hidden = _masked(bytes.fromhex(executor_key), self._mask)
        return (hidden + hmac.digest(self._mac, hidden, "sha256")).hex()

    def opened(self, sealed: str) -> str:
        """The executor key; ``Unauthenticated`` if somebody changed anything."""
        found = bytes.fromhex(sealed)
        hidden, mac = found[:_KEY_BYTES], found[_KEY_BYTES:]
        if not hmac.compare_digest(mac, hmac.digest(self._mac, hidden, "sha256")):
            raise Unauthenticated("The enrolment was changed on its way.")
        return _masked(hidden, self._mask).hex()

    def proof_of_state(self, state: str) -> str:
        """How a coordinator proves that it opened the key, and what it says of it."""
        return hmac.digest(self._stored, state.encode(), "sha256").hex()


def read_enrolment(body: bytes) -> EnrolmentRequest:
    try:
        return EnrolmentRequest.model_validate(read_json(body, SMALL_BODY_LIMIT))
    except ValidationError as error:
        raise InvalidMessage(f"This is no enrolment: {error.error_count()} errors.") from None


def _masked(text: bytes, mask: bytes) -> bytes:
    return bytes(one ^ other for one, other in zip(text, mask, strict=True))


def _written(number: int) -> str:
    return number.to_bytes(_BYTES, "big").hex()
