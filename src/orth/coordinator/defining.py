"""Defining jobs: what is checked before a definition is stored, started or triggered.

Each function is one unit of work. What is refused here changes nothing; what is accepted can be planned: the schedule
parses and fires at least once more, the calendar exists, and the handler is one that the group's executors announced.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import chain

from orth.coordinator.broadcasts import EVERYBODY, Avoid, is_broadcast
from orth.coordinator.due import restarted
from orth.coordinator.planning import given_up, schedule_of
from orth.coordinator.references import check_addresses, check_not_referred, check_references, source_of
from orth.coordinator.triggering import Request, open_requested, opened_before
from orth.coordinator.withdrawing import withdraw
from orth.domain import reasons
from orth.domain.enrolments import Admission
from orth.domain.jobs import GlueType, Group, Job, ScheduleType
from orth.domain.parameter_schema import misfit
from orth.domain.schedules import Schedule, parse_schedule
from orth.errors import Conflict, Invalid, NotFound, OrthError, quotable
from orth.store.ahead import decided_after
from orth.store.announced import announced_handlers, offered_handlers
from orth.store.calendars import calendars_by_id
from orth.store.database import Connection
from orth.store.enrolments import remove_unknown
from orth.store.fires import NO_TERM, record_fires
from orth.store.glue_versions import forget_glue_versions, leave_group
from orth.store.groups import create_group, get_group, set_group
from orth.store.jobs import create_job, delete_job, get_job, hold_job, replace_job
from orth.store.registry import refresh_addresses

_SAID = 200


def define_group(connection: Connection, group: Group, now: int) -> int:
    """Store a new group, which finds the executors that registered under its name before it existed; its id."""
    group_id = create_group(connection, group, now)
    refresh_addresses(connection, group.app_name, now)
    return group_id


def edit_group(connection: Connection, group: Group, now: int) -> None:
    """Write title and addresses of a group. Its app name is its identity."""
    stored = get_group(connection, group.id)
    if stored.app_name != group.app_name:
        raise Conflict.of("app_name_fixed", id=group.id, group=stored.app_name)
    set_group(connection, group, now)
    if group.admission is Admission.KNOWN and stored.admission is Admission.OPEN:
        remove_unknown(connection, group.app_name, now)
    refresh_addresses(connection, group.app_name, now)


def define(connection: Connection, job: Job, now: int, allow_unknown_handler: bool) -> int:
    """Store a new job, stopped; its id."""
    schedule_asked(connection, job, now)
    check_references(connection, job)
    if not allow_unknown_handler:
        _check_handler(connection, job)
        _check_parameter(connection, job)
    return create_job(connection, job, now)


def edit(connection: Connection, stored: Job, edited: Job, now: int, allow_unknown_handler: bool) -> None:
    """Write ``edited`` over ``stored``. A started job whose timing changed waits for the next fire of the new
    schedule; what was planned ahead by the old definition and not sent is planned again.
    """
    retimed = _timing(stored) != _timing(edited)
    schedule = _schedule(connection, replace(edited, trigger_next_time=0 if retimed else stored.trigger_next_time))
    if retimed:  # a job whose last fire is over may still be renamed
        schedule.check_future(now)
    check_references(connection, edited, stored)
    if not allow_unknown_handler and _performer(stored) != _performer(edited):
        _check_handler(connection, edited)
    if not allow_unknown_handler and _called(stored) != _called(edited):
        _check_parameter(connection, edited)
    again = _withdraw(connection, stored, schedule, now, reasons.JOB_CHANGED)
    started = stored.trigger_status or bool(again)
    if started and retimed:
        _give_up(connection, stored, now, "the schedule was changed before this fire was planned")
        edited = _stopped(edited)
        if edited.schedule_type is not ScheduleType.NONE:
            edited = restarted(edited, schedule, now, decided_after(connection, edited.id, now))
    elif again:
        edited = _waiting_for(edited, schedule, again[0])
    replace_job(connection, edited, now, standing=retimed or bool(again))
    if edited.job_group != stored.job_group:
        leave_group(connection, stored.id, stored.job_group, stored.glue_source)


def start_job(connection: Connection, job_id: int, now: int) -> None:
    """Let a job fire by its schedule; a started one is left as it is."""
    stored = hold_job(connection, job_id)
    if stored.trigger_status:
        return
    if stored.schedule_type is ScheduleType.NONE:
        raise Conflict.of("no_schedule", job=job_id)
    decided = decided_after(connection, job_id, now)
    started = restarted(stored, schedule_asked(connection, stored, now), now, decided)
    replace_job(connection, started, now, standing=True)


def stop_job(connection: Connection, job_id: int, now: int) -> None:
    """Plan no further fires of a job. What was due and not yet planned is written down as skipped; what was planned
    ahead is taken back.
    """
    stored = hold_job(connection, job_id)
    _withdraw(connection, stored, None, now, reasons.JOB_STOPPED)
    if stored.trigger_status:
        _give_up(connection, stored, now, "the job was stopped before this fire was planned")
        replace_job(connection, _stopped(stored), now, standing=True)


def remove_job(connection: Connection, job_id: int, now: int, seen: Collection[int] | None = None) -> None:
    """Delete a job that has no open executions and that no other job needs. Of those that do, the ones in the groups
    ``seen`` are named; None stands for all.
    """
    stored = hold_job(connection, job_id)
    check_not_referred(connection, stored, seen)
    _withdraw(connection, stored, None, now, reasons.DELETED)
    _give_up(connection, stored, now, "the job was deleted before this fire was planned")
    delete_job(connection, job_id)
    forget_glue_versions(connection, job_id)


def trigger_job(connection: Connection, job_id: int, asked: Request, now: int, avoid: Avoid = EVERYBODY) -> list[int]:
    """Open what was asked for; the ids, the same ones when it was asked for before."""
    return trigger_once(connection, job_id, asked, now, avoid)[0]


def trigger_once(
    connection: Connection, job_id: int, asked: Request, now: int, avoid: Avoid = EVERYBODY
) -> tuple[list[int], bool]:
    """Like ``trigger_job``, and whether it was asked for the first time."""
    stored = get_job(connection, job_id)
    if is_broadcast(stored):
        hold_job(connection, job_id)  # of two equal requests at once, the second must see the shards of the first
    opened = opened_before(connection, stored, asked)
    if opened:
        return opened, False
    check_addresses(connection, stored, asked.addresses)
    return open_requested(connection, stored, asked, now, avoid), True


def with_schedule(connection: Connection, job_id: int) -> tuple[Job, Schedule]:
    stored = get_job(connection, job_id)
    return stored, _schedule(connection, stored)


def schedule_asked(connection: Connection, job: Job, now: int) -> Schedule:
    """The schedule of ``job``, which need not be stored; refused when it has no fire left."""
    schedule = _schedule(connection, job)
    schedule.check_future(now)
    return schedule


def _withdraw(connection: Connection, stored: Job, following: Schedule | None, now: int, reason_code: str) -> list[int]:
    """Take back what was planned ahead; the fires to plan again, if the job goes on."""
    try:
        schedule = _schedule(connection, stored)
    except OrthError:
        schedule = None
    return withdraw(connection, stored, schedule, following, now, reason_code)


def _waiting_for(job: Job, schedule: Schedule, fire: int) -> Job:
    """``job`` as it was before ``fire`` and what follows was planned."""
    last = schedule.previous_before(fire) or 0
    due = schedule.due_at(fire)
    return replace(job, trigger_status=True, trigger_last_time=last, trigger_next_time=fire, due_time=due)


def _give_up(connection: Connection, stored: Job, now: int, reason: str) -> None:
    try:
        decision = given_up(stored, _schedule(connection, stored), now, reason)
    except OrthError:  # its schedule can no longer be computed: all the more reason to let it be stopped
        decision = given_up(stored, parse_schedule(ScheduleType.NONE, ""), now, reason)
    if decision is not None:
        record_fires(connection, [decision], NO_TERM, now)


def _timing(job: Job) -> tuple[object, ...]:
    """What says which fires there are. The calendar is not part of it: it says which of them run, and another one
    applies to whatever has not begun.
    """
    return (job.schedule_type, job.schedule_conf, job.timezone, job.dst_policy, job.jitter)


def _performer(job: Job) -> tuple[object, ...]:
    return (job.job_group, job.executor_handler, job.super_task_id, job.glue_type)


def _stopped(job: Job) -> Job:
    return replace(job, trigger_status=False, trigger_last_time=0, trigger_next_time=0, due_time=0)


def _schedule(connection: Connection, job: Job) -> Schedule:
    if job.calendar_id is None:
        return schedule_of(job)
    calendar = calendars_by_id(connection, {job.calendar_id}).get(job.calendar_id)
    if calendar is None:
        raise NotFound("calendar", job.calendar_id)
    return schedule_of(job, calendar)


def _check_handler(connection: Connection, job: Job) -> None:
    """Refuse a handler name that no executor of the group has, when all of them said what they have."""
    source = source_of(connection, job)
    if job.executor_queue or source.glue_type is not GlueType.BEAN:  # who will take it is not known; code has no name
        return
    group = get_group(connection, job.job_group)
    offered = offered_handlers(connection, group.app_name).get(group.app_name)
    wanted = source.executor_handler
    if offered is not None and wanted not in offered:
        raise _unknown_handler(group.app_name, wanted, sorted(offered))


def _check_parameter(connection: Connection, job: Job) -> None:
    """Refuse a parameter that no executor of the group would take for the handler."""
    source = source_of(connection, job)
    if source.glue_type is not GlueType.BEAN or not job.executor_param.strip():
        return
    group = get_group(connection, job.job_group)
    lists = announced_handlers(connection, group.app_name)
    schemas = [one.get("params_schema") for one in chain(*lists) if one.get("name") == source.executor_handler]
    found = [misfit(schema if isinstance(schema, dict) else None, job.executor_param) for schema in schemas]
    if found and None not in found:
        about = {"handler": source.executor_handler, "said": quotable(found[0], _SAID)}
        raise Invalid.of("parameter_unfit", **about, field="executor_param")


def _called(job: Job) -> tuple[object, ...]:
    return _performer(job), job.executor_param


def _unknown_handler(app_name: str, wanted: str, known: Sequence[str]) -> Invalid:
    about = {"group": app_name, "handler": wanted}
    near = get_close_matches(wanted, known, 1)
    if not known:
        return Invalid.of("unknown_handler_of_none", **about, field="executor_handler")
    if not near:
        return Invalid.of("unknown_handler", **about, names=", ".join(known), field="executor_handler")
    return Invalid.of("unknown_handler_like", **about, near=near[0], names=", ".join(known), field="executor_handler")
