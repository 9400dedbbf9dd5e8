"""What an executor is shown by whoever asks it: its token, or, where it understands that, a signature.

Which key is signed with depends on the process that is asked: one that has told its work key is asked with that. Who is
at an address may be known late. A process that was restarted there tells its incarnation with its refusal, and then its
own key is looked for; if it has not registered yet, the token has to do, which it accepts until a coordinator has its
work key. The same helps where an address that was written by hand leads to a process that registered under another one.

Whoever can change answers on the wire can refuse a request, keep it, and use it while it is good. So after each refusal
it is said whether the request is *settled*: whether no process will ever accept it. It is if it was addressed to no
process, if the process to which it was addressed proves the refusal, or if that process is gone: its successor proves
the key of the same executor, or has registered its address, for whichever app, since it was last heard of.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from orth.errors import Unauthenticated
from orth.wire.signatures import (
    RECEIVER_HEADER,
    Key,
    Signer,
    is_refusal_proved,
    key_of,
    receiver_name,
    signature_from,
)


@dataclass(frozen=True, slots=True)
class Credential:
    """What an executor is shown."""

    token: str
    signed: bool = False
    receiver: str = ""
    """The incarnation that is thought to be there."""
    work_key: Key | None = None
    """What that process is asked with, if it has told a work key."""
    proves: bool = False
    """Whether that process proves its answers to triggers."""
    hidden: str = ""
    """The code of the reason why a process that reads no signatures is not shown the token, if it may be one."""

    @property
    def key(self) -> Key:
        return self.work_key or key_of(self.token)


class Refusal(NamedTuple):
    """What follows from a refusal."""

    better: Credential | None
    """What to show instead; None when nothing else is known."""
    settled: bool
    """Whether the refused request will surely never be accepted."""


class Credentials(Protocol):
    """Who knows what to show to whom."""

    async def credential(self, address: str, app_name: str, receiver: str = "") -> Credential:
        """What to show in a call for an app; ``receiver``, if the process there has said who it is."""
        ...

    async def another(self, address: str, app_name: str, receiver: str, refused: Key) -> Credential | None:
        """What to show to a process that does not accept a key, if there is something by now."""
        ...

    async def successor(self, address: str, app_name: str, receiver: str) -> Refusal:
        """What follows from a refusal of another process than the one that was asked: whether the process ``receiver``
        has registered ``address`` instead of it, and what that is shown. One of another app is shown nothing.
        """
        ...


class Proofs:
    """Makes what is shown to executors, and learns from their refusals."""

    def __init__(self, credentials: Credentials, signer: Signer) -> None:
        self._credentials = credentials
        self._signer = signer

    async def first(self, address: str, app_name: str) -> Credential:
        """What to show to whoever is at ``address``, by what is known there."""
        found = await self._credentials.credential(address, app_name)
        receiver = self._signer.expect(address, found.receiver)
        if receiver in ("", receiver_name(found.receiver)):
            return found
        return await self._credentials.credential(address, app_name, receiver)

    def header(self, shown: Credential, address: str, method: str, path: str, body: bytes) -> dict[str, str]:
        """The header that proves what is to be ``shown`` signed."""
        return self._signer.header(shown.key, address, method, path, body)

    async def better(
        self, shown: Credential, address: str, app_name: str, sent: Mapping[str, str], told: Mapping[str, str]
    ) -> Refusal:
        """What to make of a refusal that tells which process refuses."""
        receiver, signed = told[RECEIVER_HEADER], signature_from(sent)
        if signed is None:  # whoever tells its incarnation reads signatures
            return Refusal(await self._met(address, app_name, receiver), True)
        by = next((key for key in (shown.key, key_of(shown.token)) if is_refusal_proved(sent, told, key)), None)
        learned = by is not None and self._signer.learns(address, sent, True, told, by)
        if not signed.receiver and by is None:  # it may not know the key, and the registry may know it
            found = await self._met(address, app_name, receiver)
            return Refusal(found if found.receiver else None, True)
        # A process that proves the key of its executor, beside which there are work keys, is the successor of another.
        settled = not signed.receiver or (by is not None and (signed.receiver == receiver or by != shown.key))
        if not settled:
            if signed.receiver == receiver:
                return Refusal(None, False)
            replaced = await self._credentials.successor(address, app_name, receiver)
            if replaced.better is not None:
                self._signer.expect(address, replaced.better.receiver)
            return replaced
        if learned:
            found = await self._credentials.credential(address, app_name, receiver)
            return Refusal(replace(found, signed=True), True)
        return Refusal(await self._credentials.another(address, app_name, receiver, shown.key), True)

    async def _met(self, address: str, app_name: str, receiver: str) -> Credential:
        """What to show to a process that names itself, addressed to that process if it is registered."""
        found = await self._credentials.credential(address, app_name, receiver)
        if found.receiver and receiver_name(found.receiver) == receiver:
            self._signer.expect(address, found.receiver)
        return replace(found, signed=True)


def not_let_in(status: int, ok: bool, told: Mapping[str, str]) -> bool:
    """Whether a process that reads signatures did not accept what it was shown. To a caller that looks like one of
    another make it says so in the envelope alone.
    """
    return RECEIVER_HEADER in told and (status == Unauthenticated.status or not ok)
