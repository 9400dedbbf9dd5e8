"""Who is calling, and what every route asks of them.

A route that does not say which permission it needs is not part of the application: ``build_app`` refuses to start with
it. What belongs to a group is checked where it is found, by ``Caller.check``; what the caller may not see is answered
as if it were not there.
"""

from dataclasses import dataclass

from orth.domain.access import Permission, Rights
from orth.domain.audit import Actor, ActorKind
from orth.errors import Forbidden, NotFound


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request, from its credential alone."""

    name: str
    rights: Rights
    kind: ActorKind = ActorKind.USER
    address: str = ""
    session_id: str | None = None
    """The session it is part of, which sockets end with."""

    @property
    def actor(self) -> Actor:
        return Actor(self.kind, self.name, self.address)

    def check(self, permission: Permission, group_id: int | None, what: str, key: object) -> None:
        """Refuse what may not be done in that group; where it may not even be seen, as if it were not there."""
        if self.rights.allows(permission, group_id):
            return
        if group_id is not None and not self.rights.allows(Permission.VIEW, group_id):
            raise NotFound(what, key)
        raise Forbidden(
            f"{self.name} may not do this: it needs the permission {permission.value!r}.",
            hint="Ask an administrator for a role that has it.",
        )
