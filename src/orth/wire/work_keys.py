"""Work keys: what a coordinator needs, beside the token, to ask an executor process for work.

A token is known to every executor of its group and to all coordinators. If it alone proved a coordinator, whoever
stole it from one executor could give work to all of them. So each executor process makes a random *work key* when it
starts and tells it to the coordinators with its beats, and to nobody else. What they ask of it is signed with a key
made from both: a thief of the token has no work key, and who has listened to a beat has no token.

The name of a process, its incarnation, is made from its work key as well. So a process that reaches the channels
through a coordinator proves which one it is by telling the key, without anybody having had to keep it before.

A coordinator that has stored a work key says so in its answer to the beat, by the name of the key made from it
(``acknowledgement``). Coordinators that know nothing of work keys never do.
"""

import hmac
import re
import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256

from orth.wire.signatures import Key, key_of

_BYTES = 32
_NAME_DIGITS = 32
_MEMBER = "workKey"
_FORM = re.compile(r"[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class OwnKey:
    """The key of an executor and what tells its processes apart, both in hex. The second is no secret."""

    executor_key: str = field(repr=False)
    process: str

    @property
    def work_key(self) -> str:
        return work_key_of_process(self.executor_key, self.process)


def new_process() -> str:
    """What tells a process of an executor apart from its other processes."""
    return secrets.token_hex(16)


def work_key_of_process(executor_key: str, process: str) -> str:
    """The work key of a process, in hex: from the key of its executor and what tells its processes apart."""
    return hmac.digest(bytes.fromhex(executor_key), b"orth work key of " + process.encode(), "sha256").hex()


def new_work_key() -> str:
    """A work key, in hex."""
    return secrets.token_hex(_BYTES)


def incarnation_of(work_key: str) -> str:
    """The name of the process that has this work key. It tells nothing about the key."""
    return sha256(b"orth incarnation:" + bytes.fromhex(work_key)).hexdigest()[:_NAME_DIGITS]


def is_process_of(incarnation: str, told: object) -> bool:
    """Whether ``told`` is the work key of the process with this name."""
    sound = isinstance(told, str) and _FORM.fullmatch(told) is not None
    return sound and hmac.compare_digest(incarnation_of(str(told)).encode(), incarnation.encode("utf-8", "replace"))


@lru_cache(maxsize=20_000)
def work_key_of(token: str, work_key: str) -> Key:
    """What a process with this token and this work key is asked with. Its name tells nothing about either."""
    secret = hmac.digest(key_of(token).secret, b"orth work key:" + bytes.fromhex(work_key), "sha256")
    return Key(sha256(b"orth work key id:" + secret).hexdigest()[:16], secret)


def is_same_key(known: str, told: str | None) -> bool:
    """Whether somebody has told the work key that is known. How long it takes tells nothing."""
    return hmac.compare_digest(known.encode(), (told or "").encode())


def acknowledgement(key: Key) -> dict[str, str]:
    """The payload of an answer that says that whoever gives it has the work key."""
    return {_MEMBER: key.id}


def acknowledged(payload: object) -> str | None:
    """The name of the key that an answer says is known; None if it says nothing of the kind."""
    name = payload.get(_MEMBER) if isinstance(payload, dict) else None
    return name if isinstance(name, str) else None
