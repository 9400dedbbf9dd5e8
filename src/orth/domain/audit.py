"""What the audit says: who did what to what, and how it was before and after."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class ActorKind(StrEnum):
    USER = "user"
    TOKEN = "token"  # a program with an API token
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
