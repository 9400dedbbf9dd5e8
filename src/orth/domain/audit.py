"""What the audit says: who did what to what, and how it was before and after.

Only what changed is told, a long value by its beginning and its digest, and what looks like a credential not at all:
callers leave secrets out, and ``told`` makes sure.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

LONGEST_VALUE = 2000
"""Characters of one value that are told; a longer one is cut, and its digest says what it was."""

HIDDEN = "***"
_CREDENTIALS = ("password", "secret", "token", "authorization", "private_key", "master_key")


AT_DOOR, TURNED_AWAY = "executor.unauthenticated", "executor.turned_away"
"""What strangers do at the doors that coordinators have for executors, and at those of executors: it is kept room for,
whatever else strangers do."""


class ActorKind(StrEnum):
    USER = "user"
    TOKEN = "token"  # noqa: S105  # a program with an API token
    EXECUTOR = "executor"
    NODE = "node"  # a coordinator by itself
    COMMAND = "command"  # somebody at the machine, such as with `orth db` or `orth user`
    STRANGER = "stranger"  # nobody we know: what was refused


@dataclass(frozen=True, slots=True)
class Actor:
    """Who did it, known from the credential alone, and the address the request came from."""

    kind: ActorKind
    name: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class Deed:
    """What was done: ``job.update`` to the job 7 of group 2. Secrets are never part of before and after."""

    action: str
    object_kind: str
    object_id: str
    group_id: int | None = None
    before: Mapping[str, object] | None = None
    after: Mapping[str, object] | None = None


def told(deed: Deed) -> tuple[str | None, str | None]:
    """Before and after as JSON: of two only what differs, of one all of it."""
    before, after = deed.before, deed.after
    if before is not None and after is not None:
        names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
        before = {name: before[name] for name in names if name in before}
        after = {name: after[name] for name in names if name in after}
    return _json(before), _json(after)


def _json(fields: Mapping[str, object] | None) -> str | None:
    if fields is None:
        return None
    return json.dumps({name: _value(name, value) for name, value in fields.items()}, sort_keys=True, default=str)


def _value(name: str, value: object) -> object:
    if value not in (None, "") and name.lower().endswith(_CREDENTIALS):
        return HIDDEN
    if isinstance(value, Mapping):
        value = {str(key): _value(str(key), inner) for key, inner in value.items()}
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
    if len(text) <= LONGEST_VALUE:
        return value
    digest = sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
    return f"{text[:LONGEST_VALUE]}… ({len(text)} characters, sha256 {digest})"
