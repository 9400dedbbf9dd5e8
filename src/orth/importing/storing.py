"""Writing what was mapped: one unit of work, everything or nothing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from getpass import getuser

from orth.coordinator.defining import define_group
from orth.coordinator.first_start import ADMIN
from orth.domain.access import Role
from orth.domain.audit import Actor, ActorKind, Deed
from orth.domain.jobs import AddressType, Group
from orth.domain.nodes import normal_address
from orth.importing.jobs import GroupFinder, JobWriter
from orth.importing.mapping import Mapped, MappedGroup, MappedUser, Origin
from orth.importing.report import Entry, Fate, Report, differs_in
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.groups import groups_by_id, list_groups
from orth.store.users import add_user, find_user, set_grants

NO_PASSWORD = "!"  # noqa: S105  # no hash looks like this, so nobody can sign in with it
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the caller decides: to which app the jobs of a group belong, by its id over there (0: every other), and
    whether jobs that ran go on running. ``jobs_per_group`` 0: any number.
    """

    app_names: Mapping[int, str] = field(default_factory=dict)
    keep_running: bool = False
    jobs_per_group: int = 0


def store(connection: Connection, found: Mapped, wishes: Wishes, now: int) -> Report:
    """Write everything; what became of each thing."""
    entries = [Entry(one.origin, Fate.REFUSED, notes=(one.reason,)) for one in found.refused]
    here = {group.app_name: group for group in _every_group(connection)}
    groups: dict[int, int] = {}
    exported = {one.group.app_name for one in found.groups}
    entries += _store_named_groups(connection, set(wishes.app_names.values()) - exported, here, now)
    for group in found.groups:
        entry = _store_group(connection, group, here, now)
        entries.append(entry)
        groups[group.origin.id] = entry.id
    apps = {name: group.id for name, group in here.items()}
    finder = GroupFinder(groups, apps, wishes.app_names)
    jobs = JobWriter(connection, finder, now, wishes.jobs_per_group, found.timezone)
    entries += jobs.write(found.jobs)
    started = jobs.start() if wishes.keep_running else 0
    entries += [_store_user(connection, user, groups, now) for user in found.users]
    _tell(connection, entries, started, now)
    return Report(entries, started, to_allow=_to_allow(connection, jobs.groups_with_code))


def _tell(connection: Connection, entries: Sequence[Entry], started: int, now: int) -> None:
    """One entry in the audit for all that is new or repaired here."""
    made = Counter(f"{one.origin.kind}s" for one in entries if one.fate is Fate.CREATED)
    repaired = sum(one.fate is Fate.REPAIRED for one in entries)
    if made or started or repaired:
        after = {**made, "started": started, "repaired": repaired}
        record(connection, Actor(ActorKind.COMMAND, getuser()), Deed("store.import", "store", "", after=after), now)


# --- groups -----------------------------------------------------------------------------------------------------------


def _to_allow(connection: Connection, with_code: Iterable[int]) -> tuple[tuple[int, str], ...]:
    """Groups, each an id and an app name, that must allow scripts before the code that came runs."""
    groups = groups_by_id(connection, set(with_code))
    return tuple((group.id, group.app_name) for _id, group in sorted(groups.items()) if not group.scripts_allowed)


def _every_group(connection: Connection) -> Iterator[Group]:
    after = 0
    while page := list_groups(connection, after, _PAGE):
        yield from page
        after = page[-1].id


def _store_named_groups(
    connection: Connection, app_names: Iterable[str], here: dict[str, Group], now: int
) -> list[Entry]:
    """Create the groups that the caller named, if neither the store nor the export has them. Their addresses follow the
    registry.
    """
    entries: list[Entry] = []
    for place, app_name in enumerate(sorted(set(app_names) - set(here)), 1):
        group = Group(0, app_name, app_name, AddressType.AUTO, ())
        group_id = define_group(connection, group, now)
        here[app_name] = replace(group, id=group_id)
        entries.append(Entry(Origin("group", -place, app_name), Fate.CREATED, group_id))
    return entries


def _store_group(connection: Connection, found: MappedGroup, here: dict[str, Group], now: int) -> Entry:
    """Create a group unless its app name is taken, and add it to ``here``."""
    group = found.group
    if (present := here.get(group.app_name)) is None:
        group_id = define_group(connection, group, now)
        here[group.app_name] = replace(group, id=group_id)
        return Entry(found.origin, Fate.CREATED, group_id, found.notes)
    if named := _group_differences(present, group):
        return Entry(found.origin, Fate.DIFFERS, present.id, (differs_in(named),))
    return Entry(found.origin, Fate.THERE, present.id)


def _group_differences(here: Group, there: Group) -> list[str]:
    named = [name for name in ("address_type", "dialect") if getattr(here, name) != getattr(there, name)]
    manual = here.address_type is there.address_type is AddressType.MANUAL  # others follow the registry
    if manual and list(map(normal_address, here.addresses)) != list(map(normal_address, there.addresses)):
        named.append("address_list")
    return named


# --- users ------------------------------------------------------------------------------------------------------------


def _store_user(connection: Connection, found: MappedUser, groups: Mapping[int, int], now: int) -> Entry:
    """Create a user who cannot sign in until somebody gives them a password."""
    if found.username == ADMIN or find_user(connection, found.username) is not None:
        return Entry(found.origin, Fate.THERE)  # every Orth has its own administrator, with a password of its own
    allowed = [groups[group] for group in found.groups if groups.get(group)]
    lost = len(found.groups) - len(allowed)
    notes = [f"{lost} of the groups they may use were not taken over"] if lost else []
    everywhere = found.role is Role.ADMIN
    add_user(connection, found.username, NO_PASSWORD, Role.ADMIN if everywhere else "", now)
    created = find_user(connection, found.username)
    if created is not None and not everywhere:
        set_grants(connection, created.id, dict.fromkeys(allowed, found.role))
    return Entry(found.origin, Fate.CREATED, notes=(*notes, "has no password yet"))
