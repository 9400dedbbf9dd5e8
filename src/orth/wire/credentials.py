"""What an executor is shown by whoever asks it: its token, or, where it understands that, a signature.

Which key is signed with depends on the process that is asked: one that has told its work key is asked with that. Who is
at an address may be known late. A process that was restarted there tells its incarnation with its refusal, and then its
own key is looked for; if it has not registered yet, the token has to do, which it accepts until a coordinator has its
work key. The same helps where an address that was written by hand leads to a process that registered under another one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from orth.errors import Unauthenticated
from orth.wire.signatures import RECEIVER_HEADER, Key, Signer, key_of, receiver_name


@dataclass(frozen=True, slots=True)
class Credential:
    """What an executor is shown."""

    token: str
    signed: bool = False
    receiver: str = ""
    """The incarnation that is thought to be there."""
    work_key: Key | None = None
    """What that process is asked with, if it has told a work key."""
    hidden: str = ""
    """The code of the reason why a process that reads no signatures is not shown the token, if it may be one."""

    @property
    def key(self) -> Key:
        return self.work_key or key_of(self.token)


class Credentials(Protocol):
    """Who knows what to show to whom."""

    async def credential(self, address: str, app_name: str, receiver: str = "") -> Credential:
        """What to show in a call for an app; ``receiver``, if the process there has said who it is."""
        ...

    async def another(self, address: str, app_name: str, receiver: str, refused: Key) -> Credential | None:
        """What to show to a process that does not accept a key, if there is something by now."""
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
    ) -> Credential | None:
        """What to show instead of what was refused; None when nothing else is known."""
        receiver = told.get(RECEIVER_HEADER)
        if receiver is None:  # one that announced signatures is not asked plainly: that would show it the token
            return None
        if self._signer.learns(address, sent, True, told):
            # Whoever tells its incarnation reads signatures.
            return replace(await self._credentials.credential(address, app_name, receiver), signed=True)
        return await self._credentials.another(address, app_name, receiver, shown.key)


def not_let_in(status: int, ok: bool, told: Mapping[str, str]) -> bool:
    """Whether a process that reads signatures did not accept what it was shown. To a caller that looks like one of
    another make it says so in the envelope alone.
    """
    return RECEIVER_HEADER in told and (status == Unauthenticated.status or not ok)
