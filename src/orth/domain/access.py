"""Who may do what: roles, what each may, and the groups it holds for.

A role holds everywhere, or for one group. Whoever has several may what any of them may. Nobody may anything that no
role grants: there is no other way to be allowed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType


class Permission(StrEnum):
    """What a route may ask of its caller."""

    VIEW = "view"  # see jobs, executions, logs, executors
    OPERATE = "operate"  # start, stop, trigger, kill, retry, silence
    EDIT = "edit"  # make, change and remove jobs and alarm channels
    SCRIPT = "script"  # change code that executors run; the group must allow it too
    ADMINISTER = "administer"  # groups, people, tokens, secrets, the cluster, the audit


class Role(StrEnum):
    VIEWER = "viewer"
    OPERATOR = "operator"
    EDITOR = "editor"
    ADMIN = "admin"


_GRANTED: Mapping[Role, frozenset[Permission]] = MappingProxyType(
    {
        Role.VIEWER: frozenset({Permission.VIEW}),
        Role.OPERATOR: frozenset({Permission.VIEW, Permission.OPERATE}),
        Role.EDITOR: frozenset({Permission.VIEW, Permission.OPERATE, Permission.EDIT, Permission.SCRIPT}),
        Role.ADMIN: frozenset(Permission),
    }
)


def known_role(text: str | None) -> Role | None:
    """The role that is stored under this name; a name nobody knows is no role, and grants nothing."""
    return Role(text) if text in _ROLES else None


_ROLES = frozenset(Role)


def narrowed(asked: int | None, allowed: frozenset[int] | None) -> tuple[int | None, frozenset[int] | None]:
    """What is left of the group that is asked for (None: any) where only some are allowed (None: all).

    One group, or several of which any will do; one is given alone, because every index knows what to do with it.
    """
    if allowed is None:
        return asked, None
    left = allowed if asked is None else allowed & {asked}
    return (next(iter(left)), None) if len(left) == 1 else (None, left)


_RANKS = tuple(Role)
"""Each may what those before it may."""


def _lesser(one: Role | None, other: Role | None) -> Role | None:
    return None if one is None or other is None else min(one, other, key=_RANKS.index)


def granted(role: Role) -> frozenset[Permission]:
    """What a role may."""
    return _GRANTED[role]


@dataclass(frozen=True, slots=True)
class Rights:
    """The roles somebody has: one that holds for every group, and more for single ones."""

    everywhere: Role | None = None
    in_groups: Mapping[int, Role] = field(default_factory=dict)

    def allows(self, permission: Permission, group_id: int | None = None) -> bool:
        """Whether it may be done in that group; without one, whether it may be done to what belongs to no group."""
        if self.everywhere is not None and permission in granted(self.everywhere):
            return True
        role = None if group_id is None else self.in_groups.get(group_id)
        return role is not None and permission in granted(role)

    def allows_somewhere(self, permission: Permission) -> bool:
        return self.allows(permission) or any(self.allows(permission, group) for group in self.in_groups)

    def within(self, bound: "Rights") -> "Rights":
        """What both allow."""
        everywhere = _lesser(self.everywhere, bound.everywhere)
        shared = {group: _lesser(self._in(group), bound._in(group)) for group in {*self.in_groups, *bound.in_groups}}
        return Rights(everywhere, {group: role for group, role in shared.items() if role and role != everywhere})

    def _in(self, group_id: int) -> Role | None:
        """The role that counts in a group."""
        roles = [role for role in (self.everywhere, self.in_groups.get(group_id)) if role is not None]
        return max(roles, key=_RANKS.index, default=None)

    def groups(self, permission: Permission) -> frozenset[int] | None:
        """The groups in which it may be done; None = in every group, also those yet to come."""
        if self.allows(permission):
            return None
        return frozenset(group for group in self.in_groups if self.allows(permission, group))
