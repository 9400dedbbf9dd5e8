"""From a row of xxl-job to a definition of ours.

The words are mostly the same, so most fields are copied. Where xxl-job allows what we do not, the definition is kept
and the difference noted: an expression that never fires again costs a job its schedule, not its existence. Only a job
that could not run at all (no group, no handler, a kind of source nobody knows) is refused.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain

from pydantic import ValidationError

from orth.coordinator.http.groups import GroupBody
from orth.domain.access import Role
from orth.domain.alarms import mail_addresses
from orth.domain.cron.zones import DAY, fixed_zone
from orth.domain.jobs import (
    ALIASES,
    CONCURRENCY_LIMIT,
    AddressType,
    BlockStrategy,
    GlueType,
    Group,
    GroupDialect,
    Job,
    MisfireStrategy,
    Overlap,
    RouteStrategy,
    ScheduleType,
)
from orth.domain.schedules import LONGEST_PERIOD, parse_schedule
from orth.errors import Invalid, InvalidSchedule
from orth.importing.exports import Export, Row
from orth.importing.expressions import translated, unreadable
from orth.importing.fields import Fields, Unusable, shown
from orth.store.glue_versions import GlueVersion
from orth.wire.fields import GLUE_SOURCE_LIMIT, HANDLER_NAME_LIMIT, PARAMS_LIMIT

_NAME_LIMIT = 255
_CONF_LIMIT = 255
_AUTHOR_LIMIT = 64
_REMARK_LIMIT = 128
_TITLE_LIMIT = 64
_USERNAME_LIMIT = 50
_MAILS_LIMIT = 255
_LONGEST_TIMEOUT = 7 * 86_400
_MOST_RETRIES = 100
_ADMINISTRATOR = 1
_LONGEST_RATE = LONGEST_PERIOD // (DAY * 1000)  # days
_SECONDS = re.compile(r"[0-9]{1,12}")
_FIRING = (ScheduleType.CRON, ScheduleType.FIX_RATE, ScheduleType.FIX_DELAY)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a thing is over there."""

    kind: str  # group | job | script | user
    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Refused:
    """Something that cannot be taken over."""

    origin: Origin
    reason: str


@dataclass(frozen=True, slots=True)
class MappedGroup:
    origin: Origin
    group: Group
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MappedJob:
    """A job with the ids of over there: of its group, its children and its super task (0: it runs its own)."""

    origin: Origin
    job: Job
    group: int
    app_name: str  # where the export itself says it; empty otherwise
    children: tuple[int, ...]
    super_task: int
    ran: bool
    versions: tuple[GlueVersion, ...]
    notes: tuple[str, ...]
    planned: int = 0  # its next fire as stored over there; 0 if it is not known
    own_zone: str = ""  # of its cron expression, where the export has one for each job; empty: that of the import


@dataclass(frozen=True, slots=True)
class MappedUser:
    origin: Origin
    username: str
    role: Role
    groups: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mapped:
    """Everything that can be taken over, and what cannot."""

    timezone: str | None = None
    """In which cron expressions were read; None if nobody said it."""
    groups: list[MappedGroup] = field(default_factory=list)
    jobs: list[MappedJob] = field(default_factory=list)
    users: list[MappedUser] = field(default_factory=list)
    refused: list[Refused] = field(default_factory=list)


def mapped(export: Export, given: str | None, now: int) -> Mapped:
    """``export`` in our words. Local times in it, and its cron expressions, are read in the time zone ``given``, or in
    UTC.
    """
    timezone = given or "UTC"
    result = Mapped(timezone=given)
    versions = _versions_by_job(export.scripts, timezone, result.refused)
    for origin, fields in _each(export.groups, "group", ("app_name", "title", "name"), timezone, result.refused):
        with _refusing(origin, result.refused):
            result.groups.append(_group(origin, fields, export.fork))
    for origin, fields in _each(export.jobs, "job", ("job_desc", "name"), timezone, result.refused):
        with _refusing(origin, result.refused):
            history = tuple(one.version for one in versions.get(origin.id, ()))
            result.jobs.append(_job(origin, fields, history, timezone, now))
    for origin, fields in _each(export.users, "user", ("username",), timezone, result.refused):
        with _refusing(origin, result.refused):
            result.users.append(_user(origin, fields))
    taken = {one.origin.id for one in result.jobs}
    result.refused.extend(
        Refused(one.origin, f"its job {one.job} was not found or not taken over")
        for one in chain.from_iterable(versions.values())
        if one.job not in taken
    )
    return result


@contextmanager
def _refusing(origin: Origin, refused: list[Refused]) -> Iterator[None]:
    try:
        yield
    except Unusable as why:
        refused.append(Refused(origin, str(why)))


def _each(
    rows: Iterable[Row], kind: str, names: Sequence[str], timezone: str, refused: list[Refused]
) -> Iterator[tuple[Origin, Fields]]:
    """Each row with what it is. One without an id gets a negative one, which no reference names; an id that was there
    before is refused.
    """
    seen: set[int] = set()
    for place, row in enumerate(rows, 1):
        fields = Fields(row, timezone)
        try:
            number, name = fields.number("id"), fields.line(*names, limit=_NAME_LIMIT)
        except Unusable:  # whoever reads the row next will say so
            number, name = 0, ""
        fields.notes.clear()
        origin = Origin(kind, number or -place, name or f"entry {place}")
        if origin.id in seen:
            refused.append(Refused(origin, f"another {kind} has the id {number}"))
        else:
            seen.add(origin.id)
            yield origin, fields


# --- groups and users -------------------------------------------------------------------------------------------------


def _group(origin: Origin, fields: Fields, fork: bool) -> MappedGroup:
    title = fields.line("title", "name", limit=_TITLE_LIMIT)
    manual = fields.number("address_type", 0, 1) == AddressType.MANUAL
    addresses = [part.strip() for part in fields.text("address_list").split(",") if part.strip()] if manual else []
    if manual and not addresses:
        fields.notes.append("it had manual addresses but none was written; they follow the registry now")
    # Executors that register say which generation they are of. Written addresses may never register, and are shown the
    # token only if the dialect says that they are of third-party executors.
    dialect = GroupDialect.XXL if addresses else GroupDialect.AUTO
    if "access_token" in fields:
        dialect = GroupDialect.XXL35 if addresses else GroupDialect.AUTO
        fields.notes.append("its own access token was not taken over: executors show that of this cluster")
    elif fork:
        dialect = GroupDialect.ORTH
    try:
        body = GroupBody(
            app_name=fields.text("app_name").strip(),
            title=title,
            address_type=AddressType.MANUAL if addresses else AddressType.AUTO,
            address_list=addresses,
            dialect=dialect,
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "group"
        raise Unusable(f"{where}: {first['msg'].removeprefix('Value error, ')}") from None
    return MappedGroup(origin, body.group(), tuple(fields.notes))


def _user(origin: Origin, fields: Fields) -> MappedUser:
    username = fields.exact("username", _USERNAME_LIMIT, one_line=True).strip()
    if not username:
        raise Unusable("username is empty")
    role = Role.ADMIN if fields.number("role") == _ADMINISTRATOR else Role.EDITOR
    return MappedUser(origin, username, role, fields.ids("permission"))


# --- jobs -------------------------------------------------------------------------------------------------------------


def _job(origin: Origin, fields: Fields, versions: tuple[GlueVersion, ...], timezone: str, now: int) -> MappedJob:
    glue_type = _glue_type(fields)
    handler = fields.exact("executor_handler", HANDLER_NAME_LIMIT, one_line=True).strip()
    super_task = fields.number("super_task_id")
    if glue_type is GlueType.BEAN and not handler and super_task in (0, origin.id):
        raise Unusable("it names no handler")
    zone_there = fields.text("schedule_timezone").strip()
    own_zone = fixed_zone(zone_there) or zone_there
    schedule_type, conf, kept = _schedule(fields, own_zone or timezone, now)
    if schedule_type is not ScheduleType.CRON:
        own_zone = ""
    elif own_zone != zone_there:
        fields.notes.append(
            f"its time zone {shown(zone_there)} was taken over as {shown(own_zone)}, which has this offset"
        )
    job = Job(
        id=0,
        job_group=0,
        job_desc=fields.line("job_desc", "name", limit=_NAME_LIMIT) or handler or origin.name,
        author=fields.line("author", limit=_AUTHOR_LIMIT),
        schedule_type=schedule_type,
        schedule_conf=conf,
        timezone=own_zone or timezone,
        misfire_strategy=fields.choice("misfire_strategy", MisfireStrategy, MisfireStrategy.DO_NOTHING, {}),
        executor_route_strategy=fields.choice("executor_route_strategy", RouteStrategy, RouteStrategy.FIRST, ALIASES),
        executor_handler=handler,
        executor_param=fields.exact("executor_param", PARAMS_LIMIT),
        executor_block_strategy=fields.choice(
            "executor_block_strategy", BlockStrategy, BlockStrategy.SERIAL_EXECUTION, ALIASES
        ),
        executor_concurrency=fields.number("executor_concurrency", 1, CONCURRENCY_LIMIT),
        overlap=Overlap.EXECUTOR,
        executor_timeout=fields.number("executor_timeout", 0, _LONGEST_TIMEOUT),
        executor_fail_retry_count=fields.number("executor_fail_retry_count", 0, _MOST_RETRIES),
        glue_type=glue_type,
        glue_source=fields.exact("glue_source", GLUE_SOURCE_LIMIT),
        glue_updatetime=fields.instant("glue_updatetime"),
        alarm_email=_alarm_email(fields),
    )
    return MappedJob(
        origin,
        job,
        group=fields.number("job_group"),
        app_name=fields.text("app_name").strip(),
        children=fields.ids("child_jobid"),
        super_task=0 if super_task == origin.id else super_task,
        ran=(running := fields.number("trigger_status", 0, 1) == 1) and kept,
        versions=versions,
        planned=_planned(fields) if running and kept else 0,
        own_zone=own_zone,
        notes=tuple(fields.notes),
    )


def _planned(fields: Fields) -> int:
    try:
        return fields.whole("trigger_next_time")
    except Unusable:
        return 0  # it only informs


def _alarm_email(fields: Fields) -> str:
    """Those of its addresses that are some. A job runs without them, so whatever is wrong with them is a note."""
    try:
        parts = [part.strip() for part in fields.text("alarm_email").split(",") if part.strip()]
    except Unusable as why:
        fields.notes.append(f"{why}; nobody is told when it fails")
        return ""
    kept: list[str] = []
    for part in dict.fromkeys(parts):
        try:
            (address,) = mail_addresses(part)
        except Invalid:
            fields.notes.append(f"alarm_email: {shown(part)} is not an e-mail address and was left out")
            continue
        if len(",".join([*kept, address])) > _MAILS_LIMIT:
            fields.notes.append(f"alarm_email: {shown(address)} does not fit and was left out")
            continue
        kept.append(address)
    return ",".join(kept)


def _glue_type(fields: Fields) -> GlueType:
    text = fields.text("glue_type").strip().upper() or GlueType.BEAN
    found = next((known for known in GlueType if known == text), None)
    if found is None or found is GlueType.GLUE:  # GLUE is ours: Python inside the executor
        raise Unusable(f"glue_type {shown(text)} is not known")
    if found is GlueType.GLUE_GROOVY:
        fields.notes.append("Groovy runs in executors of xxl-job only, not in Orth's, and if its group allows scripts")
    elif found is not GlueType.BEAN:
        fields.notes.append("its script runs only if its group allows scripts, on executors whose own settings do")
    return found


def _schedule(fields: Fields, timezone: str, now: int) -> tuple[ScheduleType, str, bool]:
    """Type and text of the schedule, and whether it fires here as it fired there."""
    if "schedule_type" in fields:
        text = fields.text("schedule_type").strip().upper() or ScheduleType.NONE
        conf = fields.text("schedule_conf").strip()
    else:  # before 2.3 every job had an expression
        text, conf = (ScheduleType.CRON, fields.text("job_cron").strip()) if "job_cron" in fields else ("NONE", "")
    if text == ScheduleType.NONE:
        return ScheduleType.NONE, "", False
    there, notes = conf, list[str]()
    if text == ScheduleType.CRON:
        conf, notes = translated(there)
    complaint = _complaint(text, conf, timezone, now)
    if complaint is not None:
        about = f"{text} {shown(there)}: " if text in _FIRING else ""
        reason, hint = complaint
        fields.notes.append(f"{about}{reason}; it was taken over without a schedule{hint}")
        return ScheduleType.NONE, "", False
    fields.notes += notes
    if text == ScheduleType.FIX_DELAY:
        fields.notes.append("FIX_DELAY never fires in xxl-job and does here, so it was left stopped")
        return ScheduleType.FIX_DELAY, conf, False
    return ScheduleType(text), conf, True


def _complaint(schedule_type: str, conf: str, timezone: str, now: int) -> tuple[str, str] | None:
    """Why a schedule cannot be kept, and a hint if the time zone is wrong; None if it can."""
    if schedule_type not in _FIRING:
        return f"schedule_type {shown(schedule_type)} is not known", ""
    if len(conf) > _CONF_LIMIT:
        return f"its schedule has {len(conf):,} characters", ""
    is_cron = schedule_type == ScheduleType.CRON
    if is_cron and len(conf.split()) == 5:
        # Five fields are Unix cron to us, with other numbers for the days; xxl-job cannot have meant that.
        return "it is not a Quartz expression", ""
    if not is_cron and _SECONDS.fullmatch(conf) and int(conf) > _LONGEST_RATE * DAY:
        days = f"{int(conf) / DAY:,.1f}"
        return f"a period of {days} days is longer than {_LONGEST_RATE} days, the longest period in Orth", ""
    try:
        parse_schedule(ScheduleType(schedule_type), conf, timezone=timezone if is_cron else "UTC").check_future(now)
    except InvalidSchedule as error:
        reason = error.message.rstrip(".")
        if error.field == "timezone" and error.hint:
            return reason, f". {error.hint.rstrip('.')}"
        return (is_cron and unreadable(conf)) or reason, ""
    return None


@dataclass(frozen=True, slots=True)
class _Script:
    """One version of the source of a job, which is named by its id over there."""

    origin: Origin
    job: int
    version: GlueVersion


def _versions_by_job(rows: Sequence[Row], timezone: str, refused: list[Refused]) -> Mapping[int, Sequence[_Script]]:
    """The history of scripts. One that cannot be read is refused by itself: the present one is with its job."""
    found: dict[int, list[_Script]] = defaultdict(list)
    for origin, fields in _each(rows, "script", ("glue_remark",), timezone, refused):
        with _refusing(origin, refused):
            script = _script(origin, fields)
            found[script.job].append(script)
    return found


def _script(origin: Origin, fields: Fields) -> _Script:
    job = fields.number("job_id")
    if not job:
        raise Unusable("it names no job")
    version = GlueVersion(
        _glue_type(fields),
        fields.exact("glue_source", GLUE_SOURCE_LIMIT),
        fields.line("glue_remark", limit=_REMARK_LIMIT),
        fields.instant("update_time", "add_time"),
    )
    return _Script(origin, job, version)
