"""Writing jobs: those that are not here, and what an earlier import took over wrongly in those that are."""

import shlex
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from itertools import chain

from orth.coordinator.defining import define, edit, start_job
from orth.domain.jobs import GlueType, Job, ScheduleType
from orth.domain.scripts import runs_code
from orth.errors import OrthError
from orth.importing.edits import Edits, edits_of
from orth.importing.families import Notes, children, compare_children, compare_super_task, super_tasks
from orth.importing.mapping import MappedJob, Origin
from orth.importing.report import Entry, Fate, differs_in
from orth.store.database import Connection
from orth.store.glue_versions import GlueVersion, keep_glue_versions, list_glue_versions, set_glue_times
from orth.store.jobs import UnreadableJob, get_job, hold_job, jobs_by_id, list_jobs, replace_job
from orth.store.quotas import check_room_for_job

_NEEDS_ZONE = "its cron expression needs a time zone: repeat with --timezone ZONE, or --utc"
_OF_ZONE = frozenset({"timezone", "glue_updatetime"})
"""The fields that depend on the time zone of an import."""
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class GroupFinder:
    """The group here of a job over there."""

    groups: Mapping[int, int]
    apps: Mapping[str, int]
    app_names: Mapping[int, str]

    def find(self, job: MappedJob) -> int | str:
        """Its id, or why there is none."""
        if job.group in self.groups and job.group not in self.app_names:
            return self.groups[job.group]
        app_name = self.app_names.get(job.group) or job.app_name or self.app_names.get(0)
        if app_name is None:
            return f"its group {job.group} was not taken over; say where it belongs with --group {job.group}=APP_NAME"
        if app_name not in self.apps:
            return f"there is no group {app_name!r} here"
        return self.apps[app_name]


class _Known:
    """The jobs of one group that were here before, each found once at most."""

    def __init__(self, connection: Connection, group_id: int) -> None:
        self._left: dict[tuple[object, ...], list[Job]] = defaultdict(list)
        after = 0
        while page := list_jobs(connection, after, _PAGE, group_id):
            for job in page:
                if isinstance(job, UnreadableJob):
                    continue  # nothing can be said to be the same
                self._left[_namesake(job)].append(job)
            after = page[-1].id

    def same(self, job: Job, super_task: bool, followers: int) -> Job | None:
        """The one with this very definition; of several rather one with a super task as well, and as many children."""
        candidates = self._left[_namesake(job)]
        same = [one for one in candidates if _definition(one) == _definition(job)]
        if not same:
            return None
        found = max(
            same, key=lambda one: ((one.super_id is not None) == super_task, len(one.child_job_ids) == followers)
        )
        candidates.remove(found)
        return found

    def alike(self, job: Job, likeness: Callable[[Job], object]) -> Job | None:
        """The first one left of the same name and handler that has the same ``likeness``."""
        candidates = self._left[_namesake(job)]
        found = next((one for one in candidates if likeness(one) == likeness(job)), None)
        if found is not None:
            candidates.remove(found)
        return found


def _namesake(job: Job) -> tuple[object, ...]:
    return (job.job_desc, job.executor_handler, job.glue_type)


@dataclass(frozen=True, slots=True)
class _Present:
    """A job over there, which of those here it is, and in what they differ."""

    found: MappedJob
    here: Job
    named: list[str]


class JobWriter:
    """Writes jobs: first those that stand alone, then those that run the handler of another, then who follows whom."""

    def __init__(
        self, connection: Connection, finder: GroupFinder, now: int, jobs_per_group: int, timezone: str | None
    ) -> None:
        self._timezone = timezone
        self._connection = connection
        self._finder = finder
        self._now = now
        self._jobs_per_group = jobs_per_group
        self._entries: dict[Origin, Entry] = {}
        self._ids: dict[int, int] = {}
        self._notes: Notes = defaultdict(list)
        self._new: list[MappedJob] = []
        self._present: list[_Present] = []
        self._repairs: Notes = defaultdict(list)
        self.groups_with_code: set[int] = set()
        """Groups here whose jobs have code, of those that were found."""

    def write(self, jobs: Sequence[MappedJob]) -> list[Entry]:
        """Create the jobs that are not here; what became of each."""
        supers = super_tasks(jobs, self._notes)
        missing = self._recognised(jobs, supers)
        for found, job in sorted(missing, key=lambda pair: pair[0].origin.id in supers):
            self._create(found, job, supers.get(found.origin.id, 0))
        for one, followers in children(self._new, self._ids, self._notes).items():
            if followers:
                whole = replace(get_job(self._connection, self._ids[one]), child_job_ids=followers)
                replace_job(self._connection, whole, self._now)
        self._compare(supers)
        entries = [self._entries[found.origin] for found in jobs]
        return [replace(entry, notes=(*entry.notes, *self._notes[entry.origin.id])) for entry in entries]

    def start(self) -> int:
        """Start the new jobs that ran over there; how many. Their schedules were checked when they were created."""
        running = [self._ids[found.origin.id] for found in self._new if found.ran]
        for job_id in running:
            start_job(self._connection, job_id, self._now)
        return len(running)

    def _recognised(self, jobs: Sequence[MappedJob], supers: Mapping[int, int]) -> list[tuple[MappedJob, Job]]:
        """Find out which jobs have no group and which are here already; the others, in their group."""
        wanted: list[tuple[MappedJob, Job]] = []
        for found in jobs:
            group = self._finder.find(found)
            if isinstance(group, str):
                self._tell(found, Fate.REFUSED, notes=(group,))
            else:
                wanted.append((found, replace(found.job, job_group=group)))
                if runs_code(found.job):
                    self.groups_with_code.add(group)
        known = {job.job_group: _Known(self._connection, job.job_group) for _found, job in wanted}
        # First all that are the same, so that none of them is taken for a changed version of another.
        changed: list[tuple[MappedJob, Job]] = []
        for found, job in wanted:
            same = known[job.job_group].same(job, found.origin.id in supers, len(found.children))
            if same is None:
                changed.append((found, job))
            else:
                self._know(found, same, [])
        # Then from the most alike to the least: without the zone, with the same schedule, with the same name.
        for likeness in (_without_zone, _schedule, _namesake):
            missing: list[tuple[MappedJob, Job]] = []
            for found, job in changed:
                here = known[job.job_group].alike(job, likeness)
                if here is None:
                    missing.append((found, job))
                else:
                    self._know(found, here, self._repair_zone(found, here, job))
            changed = missing
        return changed

    def _repair_zone(self, found: MappedJob, here: Job, job: Job) -> list[str]:
        """Repair what an earlier import with another time zone got wrong; the names of the fields that differ after
        this. Edits of users stay. Without a time zone, fields that depend on the time zone are not compared.
        """
        if self._timezone is None:
            zone = job.timezone if found.own_zone else here.timezone
            job = replace(job, timezone=zone, glue_updatetime=here.glue_updatetime)
        if _OF_ZONE.isdisjoint(named := _differences(here, job)):
            return named
        here = hold_job(self._connection, here.id)
        repaired = _repaired(here, job, edits_of(self._connection, here))
        if repaired != here:
            try:
                edit(self._connection, here, repaired, self._now, True)
            except OrthError as error:
                self._notes[found.origin.id].append(error.message)
                repaired = here
        if repaired.timezone != here.timezone:
            repair = f"its time zone was {here.timezone} and is {repaired.timezone} now"
            self._repairs[found.origin.id].append(repair)
        elif repaired != here:
            self._repairs[found.origin.id].append("the time of its script was that of another time zone")
        if _fires_in_another_zone(repaired, job):
            self._notes[found.origin.id].append(_told_zone(repaired, job))
        return _differences(repaired, job)

    def _know(self, found: MappedJob, here: Job, named: list[str]) -> None:
        self._present.append(_Present(found, here, named))
        self._ids[found.origin.id] = here.id

    def _compare(self, supers: Mapping[int, int]) -> None:
        """Tell of each job that was here before whether it is the same, and give an unedited one the relations that it
        has over there; by now every job has its id. Jobs that only lose relations come first, so that a relation that
        was turned around closes no circle.
        """
        for one in sorted(self._present, key=lambda one: (self._gains(one, supers), one.found.origin.id)):
            found, here, named = one.found, one.here, list(one.named)
            leads_back = partial(self._leads, to=here.id)
            followers = compare_children(found, here.child_job_ids, self._ids, leads_back, self._notes)
            super_task = compare_super_task(found, here.super_id or 0, supers, self._ids, self._notes)
            others = [
                *(["child_jobid"] if followers != here.child_job_ids else []),
                *(["super_task_id"] if super_task != (here.super_id or 0) else []),
            ]
            self._repair_history(one)
            related = followers is not None and self._relate(one, tuple(followers), super_task) if others else True
            repairs = tuple(self._repairs[found.origin.id])
            differing = (differs_in([*named, *others]),) if named or not related else ()
            fate = Fate.REPAIRED if repairs else Fate.DIFFERS if differing else Fate.THERE
            self._tell(found, fate, here.id, (*repairs, *differing))

    def _repair_history(self, one: _Present) -> None:
        """Give the versions of a script the times that this import reads, unless a user has edited the script."""
        versions = one.found.versions
        if not versions or self._timezone is None:
            return
        times = _compare_times(list_glue_versions(self._connection, one.here.id), versions)
        if times and not edits_of(self._connection, one.here).script:
            set_glue_times(self._connection, times)
            told = f"{len(times)} versions of its script had the times of another time zone"
            self._repairs[one.found.origin.id].append(told)

    def _gains(self, one: _Present, supers: Mapping[int, int]) -> bool:
        """Whether a job has a relation over there that it does not have here."""
        children = {self._ids[child] for child in one.found.children if child in self._ids}
        above = self._ids.get(supers.get(one.found.origin.id, 0), 0)
        return not children <= set(one.here.child_job_ids) or above not in (0, one.here.super_id)

    def _relate(self, one: _Present, followers: tuple[int, ...], super_task: int) -> bool:
        """Give a job these relations; whether that was possible. An edited job keeps its own, and so does one that
        differs otherwise.
        """
        if one.named or edits_of(self._connection, one.here).job:
            return False
        stored = hold_job(self._connection, one.here.id)
        changed: dict[str, tuple[Sequence[int], Sequence[int]]] = {}
        whole = stored
        if followers != stored.child_job_ids:
            changed["child_jobid"] = stored.child_job_ids, followers
            whole = replace(whole, child_job_ids=followers)
        if super_task != (stored.super_id or 0):
            changed["super_task_id"] = [stored.super_id or 0], [super_task]
            whole = replace(whole, super_task_id=super_task)
        try:
            edit(self._connection, stored, whole, self._now, True)
        except OrthError as error:
            self._notes[one.found.origin.id].append(error.message)
            return False
        self._repairs[one.found.origin.id] += [
            f"its {name} was {_listed(before)} and is {_listed(after)} now" for name, (before, after) in changed.items()
        ]
        return True

    def _leads(self, job_id: int, to: int) -> bool:
        """Whether a job here is followed by that other one, however many are between them, or is it itself."""
        wave = passed = {job_id}
        while wave and to not in passed:
            followers = (job.child_job_ids for job in jobs_by_id(self._connection, wave).values())
            wave = set(chain.from_iterable(followers)) - passed
            passed = passed | wave
        return to in passed

    def _create(self, found: MappedJob, job: Job, super_task: int) -> None:
        if self._timezone is None and not found.own_zone and job.schedule_type is ScheduleType.CRON:
            self._tell(found, Fate.REFUSED, notes=(_NEEDS_ZONE,))
            return
        if super_task and super_task not in self._ids:
            self._notes[found.origin.id].append(f"its super task {super_task} was not taken over, so it runs its own")
        try:
            whole = replace(job, super_task_id=self._ids.get(super_task, 0))
            check_room_for_job(self._connection, whole.job_group, self._jobs_per_group)
            job_id = define(self._connection, whole, self._now, True)
        except OrthError as error:
            self._tell(found, Fate.REFUSED, notes=(error.message,))
            return
        keep_glue_versions(self._connection, job_id, found.versions)
        self._new.append(found)
        self._tell(found, Fate.CREATED, job_id, found.notes)

    def _tell(self, found: MappedJob, fate: Fate, job_id: int = 0, notes: tuple[str, ...] = ()) -> None:
        if fate is Fate.REFUSED and found.versions:
            notes = (*notes, f"nor was the history of its script ({len(found.versions)})")
        self._entries[found.origin] = Entry(found.origin, fate, job_id, notes)
        if job_id:
            self._ids[found.origin.id] = job_id


def _compare_times(here: Sequence[GlueVersion], there: Sequence[GlueVersion]) -> dict[int, int]:
    """When versions that came from over there were saved, by their ids here, where that is another time. Those here
    begin with the newest, and may be more: saved here, or by an import of an export that had more.
    """
    times: dict[int, int] = {}
    left = list(there)
    for one in here:
        content = (one.glue_type, one.source, one.remark)
        if left and content == (left[-1].glue_type, left[-1].source, left[-1].remark):
            saved_at = left.pop().saved_at
            if one.saved_at != saved_at:
                times[one.id] = saved_at
    return times


def _repaired(here: Job, there: Job, edits: Edits) -> Job:
    """``here`` with the time zone of ``there`` if the schedule was changed neither here since the import nor over
    there, and with the time of the script under the same condition.
    """
    if not edits.schedule and _schedule(here) == _schedule(there):
        here = replace(here, timezone=there.timezone)
    if not edits.script and here.glue_type is not GlueType.BEAN and _script(here) == _script(there):
        here = replace(here, glue_updatetime=there.glue_updatetime)
    return here


def _fires_in_another_zone(here: Job, there: Job) -> bool:
    return here.timezone != there.timezone and here.schedule_type is there.schedule_type is ScheduleType.CRON


def _told_zone(here: Job, there: Job) -> str:
    """In which time zone a job fires whose zone could not be repaired, and the command that changes the zone."""
    schedule = [] if _schedule(here) == _schedule(there) else ["--schedule", there.schedule_conf]
    command = shlex.join(["orth", "job", "edit", str(here.id), *schedule, "--timezone", there.timezone])
    fires = "still fires" if here.trigger_status else "will fire, once it is started,"
    return f"it {fires} in the time zone {here.timezone}, not in {there.timezone}; to change this: {command}"


def _definition(job: Job) -> Job:
    """``job`` without what an import does not decide (ids, where it stands in its schedule), and without its family:
    that is known only when every job has its id here, and compared then (``families``). A job without code has no
    version of it either.
    """
    return replace(
        job,
        id=0,
        version=1,
        child_job_ids=(),
        super_task_id=0,
        trigger_status=False,
        trigger_last_time=0,
        trigger_next_time=0,
        due_time=0,
        glue_updatetime=0 if job.glue_type is GlueType.BEAN else job.glue_updatetime,
    )


def _without_zone(job: Job) -> Job:
    """The definition without what depends on the time zone of an import."""
    return replace(_definition(job), timezone="", glue_updatetime=0)


def _schedule(job: Job) -> tuple[object, ...]:
    return (job.schedule_type, job.schedule_conf)


def _script(job: Job) -> tuple[object, ...]:
    return (job.glue_type, job.glue_source)


def _differences(here: Job, there: Job) -> list[str]:
    mine, theirs = _definition(here), _definition(there)
    return [item.name for item in fields(Job) if getattr(mine, item.name) != getattr(theirs, item.name)]


def _listed(ids: Sequence[int]) -> str:
    return ",".join(str(one) for one in ids if one) or "empty"
