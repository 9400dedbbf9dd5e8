"""One access token for all coordinators of a database, and the refusal of a node that has another one.

Executors show one token to all coordinators, so a coordinator with another one refuses all of them. The database keeps
digests of the token and of the one before it. Where no other coordinator runs, a node may change the token.

A node checks its token first when it starts, before it writes anything. The check that decides is part of the
transaction that enters the node among the others (``orth.cluster.membership``): it holds the row of the digests, so one
of two nodes that start at once sees the other. A node that was silent for so long that others may not have counted it
checks again with its next beat.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import scrypt
from typing import Self

from orth.coordinator.first_start import TOKEN_FILE
from orth.errors import CannotStart
from orth.settings import Settings
from orth.store.database import Connection
from orth.store.nodes import NodeState, list_nodes
from orth.store.users import find_secret, replace_secret, shared_secret

_TOKENS = "access-token-digests"
_RUNNING = (NodeState.ACTIVE, NodeState.DRAINING)
_MISSED = 2
"""Times ``cluster.dead_after`` without a beat: clocks of machines differ."""
_NAMED = 5


@dataclass(frozen=True, slots=True)
class TokenAgreement:
    """The tokens of this node, compared with those of the coordinators that run with the same database."""

    node_id: str
    own: tuple[str, ...]
    """Digests, the current token first."""
    silence: int
    """Milliseconds without a beat after which a coordinator is not taken to run."""

    @classmethod
    async def of(cls, settings: Settings, node_id: str, token: str) -> Self:
        previous = settings.security.access_token_previous
        tokens = [token, *([] if previous is None else [previous.get_secret_value()])]
        own = [await asyncio.to_thread(_digest, one) for one in tokens]
        silence = _MISSED * int(settings.cluster.dead_after.total_seconds() * 1000)
        return cls(node_id, tuple(own), silence)

    def check(self, connection: Connection, now: int) -> None:
        """Raise ``CannotStart`` if coordinators with other tokens run. Nothing is written."""
        stored = find_secret(connection, _TOKENS)
        if stored is not None:
            self._agreed(connection, stored, now)

    def settle(self, connection: Connection, now: int) -> None:
        """Do the same, and store the tokens of this node; until the transaction ends, no other node can."""
        stored = shared_secret(connection, _TOKENS, " ".join(self.own), now, hold=True)
        replace_secret(connection, _TOKENS, stored, " ".join(self._agreed(connection, stored, now)))

    def _agreed(self, connection: Connection, stored: str, now: int) -> Sequence[str]:
        others = [
            row.said.node_id
            for row in list_nodes(connection)
            if row.said.node_id != self.node_id and row.said.state in _RUNNING and row.last_beat >= now - self.silence
        ]
        agreed = agreed_tokens(stored.split(), self.own, alone=not others)
        if agreed is None:
            raise CannotStart(
                "This node has another access token than the coordinators that run with this database "
                f"({', '.join(others[:_NAMED])}), so it would refuse their executors.",
                hint="Give all nodes the same token: set security.access_token (ORTH_SECURITY__ACCESS_TOKEN), or copy "
                f"the file {TOKEN_FILE} of the first node. To change the token, name the old one in "
                "security.access_token_previous.",
            )
        return agreed


def agreed_tokens(known: Sequence[str], own: Sequence[str], *, alone: bool) -> Sequence[str] | None:
    """The tokens that are stored once a node with its ``own`` has joined; None if the node may not join."""
    if own[0] in known[1:]:
        return known  # a change is on its way: this node has the token before it
    return own if alone or set(own) & set(known) else None


def _digest(token: str) -> str:
    """Slow to make, so that a weak token is not found by trying."""
    return scrypt(token.encode(), salt=b"orth access token", n=2**14, r=8, p=1, dklen=16).hex()
