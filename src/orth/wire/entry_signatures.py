"""Entries of queues and topics, signed: which coordinator's word an executor takes for work, and for its end.

Whoever can write to Redis can put an entry into a queue. So an entry that makes an executor do something carries a
member ``signature``:

    1;until;key:mac,key:mac…

It covers the name of the channel, everything else in the entry, and *until* when it is good, in epoch milliseconds. An
entry may lie in its queue for long and be handed out several times, so it has no nonce: it is good until then for its
own execution, which an executor that knows it does not begin twice.

There is a mac for each token that executors of the application may have at the moment, for whoever takes the entry is
not known beforehand, and tokens are changed one executor after the other. An executor looks at the mac of its own token
only: who knows another one can sign nothing for it.
"""

import hmac
import json
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from hashlib import sha256
from typing import Any

from orth.wire.signatures import Key

MEMBER = "signature"
KEYS_LIMIT = 16
"""Tokens one entry is signed with, at most."""
_FORM = re.compile(r"1;([0-9]{1,15});([0-9a-f]{16}:[0-9a-f]{64}(?:,[0-9a-f]{16}:[0-9a-f]{64}){0,63})", re.ASCII)


class EntryRefused(StrEnum):
    """Why an entry is not acted upon."""

    UNSIGNED = "unsigned"
    UNKNOWN_KEY = "unknown_key"  # signed for executors with another token
    WRONG = "wrong"  # changed, or taken from another channel
    STALE = "stale"


def signed_entry(message: Mapping[str, Any], channel: str, keys: Iterable[Key], *, until: int) -> dict[str, Any]:
    """``message`` as it may be put into ``channel``, for executors that have one of ``keys``."""
    told = _told(message, channel, until)
    macs = ",".join(f"{key.id}:{_mac(key, told)}" for key in list(keys)[:KEYS_LIMIT])
    return {**message, MEMBER: f"1;{until};{macs}"}


def refusal_of(message: Mapping[str, Any], channel: str, key: Key, now: int) -> EntryRefused | None:
    """Why whoever has ``key`` must not act upon what it found in ``channel``; None when it may."""
    text = message.get(MEMBER)
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return EntryRefused.UNSIGNED
    until = int(found[1])
    macs = dict(part.split(":", 1) for part in found[2].split(","))
    if key.id not in macs:
        return EntryRefused.UNKNOWN_KEY
    try:
        told = _told(message, channel, until)
    except (RecursionError, ValueError):  # nested deeper than anything of ours
        return EntryRefused.WRONG
    if not hmac.compare_digest(_mac(key, told), macs[key.id]):
        return EntryRefused.WRONG
    return EntryRefused.STALE if now > until else None


def _told(message: Mapping[str, Any], channel: str, until: int) -> bytes:
    """What is signed. Members in one order: a backend may hand out an entry with another than it was given."""
    rest = {name: value for name, value in message.items() if name != MEMBER}
    body = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    return f"entry\n{channel}\n1;{until}\n{sha256(body.encode()).hexdigest()}".encode()


def _mac(key: Key, told: bytes) -> str:
    return hmac.digest(key.secret, told, "sha256").hex()
