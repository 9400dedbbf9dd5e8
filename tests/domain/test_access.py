"""Roles: each may what the one below it may and more, and nobody may what no role grants."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from orth.domain.access import Permission, Rights, Role, granted, known_role, narrowed

ROLES = st.sampled_from(list(Role))
GROUPS = st.integers(1, 5)
RIGHTS = st.builds(Rights, st.none() | ROLES, st.dictionaries(GROUPS, ROLES, max_size=4))
ALLOWED = st.none() | st.frozensets(GROUPS)


def test_each_role_may_more_than_the_one_before() -> None:
    for lower, higher in itertools.pairwise(Role):
        assert granted(lower) < granted(higher)
    assert granted(Role.ADMIN) == frozenset(Permission)


def test_a_role_nobody_knows_is_none() -> None:
    assert known_role("editor") is Role.EDITOR
    for text in ("", "Editor", "owner", None):
        assert known_role(text) is None


@given(RIGHTS, st.sampled_from(list(Permission)), GROUPS)
def test_rights_are_what_the_roles_say_and_no_more(rights: Rights, permission: Permission, group: int) -> None:
    roles = {rights.everywhere, rights.in_groups.get(group)} - {None}
    assert rights.allows(permission, group) == any(permission in granted(role) for role in roles if role)
    assert rights.allows(permission) == (rights.everywhere is not None and permission in granted(rights.everywhere))
    groups = rights.groups(permission)
    assert (groups is None or group in groups) == rights.allows(permission, group)
    assert rights.allows_somewhere(permission) == (groups is None or bool(groups))


@given(RIGHTS, RIGHTS, st.sampled_from(list(Permission)), st.none() | GROUPS)
def test_rights_within_others_are_what_both_allow(
    one: Rights, other: Rights, permission: Permission, group: int | None
) -> None:
    both = one.allows(permission, group) and other.allows(permission, group)
    assert one.within(other).allows(permission, group) == both


@given(st.none() | GROUPS, ALLOWED, GROUPS)
def test_what_is_left_is_what_was_asked_for_and_is_allowed(
    asked: int | None, allowed: frozenset[int] | None, group: int
) -> None:
    one, several = narrowed(asked, allowed)
    assert one is None or several is None
    left = (one is None or group == one) and (several is None or group in several)
    assert left == ((asked is None or group == asked) and (allowed is None or group in allowed))
