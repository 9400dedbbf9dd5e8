"""Code that is edited centrally: who may write it, what is kept of it, and trying it before it is the job's.

Three must agree before code runs anywhere: whoever writes it has the permission ``script`` in the group whose executors
will run it, that group allows scripts, and the executor's own settings name the kind of code. The first two are asked
here, whenever what a job runs changes: its code, the job whose code it runs, or the group that runs it. The group is
asked again by dispatch (``claiming``), for it may have changed its mind since, and the executor whenever it is sent
something.

What a built-in handler is told is code too (``orth.domain.scripts``): writing it needs the permission, also for one
execution, and ``orth.command`` the group's switch as well.

Every save is a version, with its author from the credential, and an entry of the audit with the difference. A test
runs code that is not saved, once, beside the job; nothing follows from how it ends.
"""

from dataclasses import dataclass, replace

from orth.coordinator.defining import define, edit
from orth.coordinator.references import check_addresses, source_of
from orth.coordinator.triggering import Request, open_test
from orth.domain.access import Permission, Rights
from orth.domain.audit import Actor, Deed
from orth.domain.jobs import GlueType, Job
from orth.domain.scripts import COMMAND, check_code, check_source, difference, digest_of, reads_code
from orth.errors import Conflict, Forbidden
from orth.store.audit import record
from orth.store.database import Connection
from orth.store.glue_versions import (
    GlueVersion,
    get_glue_version,
    keep_glue_versions,
    newest_glue_version,
    trim_glue_versions,
)
from orth.store.groups import get_group
from orth.store.script_drafts import Draft

_UNTOLD = "as it was before its versions were kept"


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large code may be, in bytes, and how many versions of it are kept."""

    size: int
    versions: int


@dataclass(frozen=True, slots=True)
class Writer:
    """Who changes jobs, as the credential says, and the bounds that hold for code."""

    actor: Actor
    rights: Rights
    bounds: Bounds


@dataclass(frozen=True, slots=True)
class Code:
    """What a job is to run, and what its writer says about it."""

    glue_type: GlueType
    source: str
    remark: str


def define_with_code(connection: Connection, job: Job, writer: Writer, now: int, allow_unknown_handler: bool) -> int:
    """Store a new job, stopped, with the first version of its code if it has any; its id."""
    job = _admitted(connection, None, job, writer, now)
    job_id = define(connection, job, now, allow_unknown_handler)
    _keep(connection, None, replace(job, id=job_id), writer, now)
    return job_id


def edit_with_code(
    connection: Connection, stored: Job, edited: Job, writer: Writer, now: int, *, allow_unknown_handler: bool
) -> None:
    """Write ``edited`` over ``stored``; other code is another version."""
    edited = _admitted(connection, stored, edited, writer, now)
    edit(connection, stored, edited, now, allow_unknown_handler)
    _keep(connection, stored, edited, writer, now)


def save_code(connection: Connection, stored: Job, code: Code, writer: Writer, now: int) -> None:
    """Let the job run other code from now on. Saving what it runs already changes nothing."""
    check_code(code.glue_type, code.source, code.remark, writer.bounds.size)
    _check_writer(stored.job_group, writer)
    edited = replace(stored, glue_type=code.glue_type, glue_source=code.source, glue_remark=code.remark)
    if _code(stored) == _code(edited):
        return
    edit_with_code(connection, stored, edited, writer, now, allow_unknown_handler=True)


def roll_back(connection: Connection, stored: Job, version_id: int, remark: str, writer: Writer, now: int) -> None:
    """Let the job run an earlier version again, as a new one."""
    version = get_glue_version(connection, stored.id, version_id)
    code = Code(version.glue_type, version.source, remark)
    if _code(stored) == (code.glue_type, code.source):
        raise Conflict.of("version_runs_already", version=version_id, job=stored.id)
    save_code(connection, stored, code, writer, now)


def try_code(
    connection: Connection, job: Job, source: str | None, asked: Request, writer: Writer, now: int
) -> tuple[int, bool]:
    """Open a test of ``source``, or of the code as it is saved; its id, and whether it was asked for the first time."""
    if job.super_id is not None:
        raise Conflict.of("code_of_other_job", job=job.id, other=job.super_id)
    check_has_code(job)
    _check_writer(job.job_group, writer)
    _check_group(connection, job.job_group)
    tried = job.glue_source if source is None else source
    check_source(tried, writer.bounds.size)
    check_addresses(connection, job, asked.addresses)
    execution_id, new = open_test(connection, job, asked, Draft(job.glue_type, tried, now), now)
    if new:
        after = {"execution": execution_id, "sha256": digest_of(tried), "diff": _diff(job, tried, "the draft")}
        record(connection, writer.actor, Deed("script.test", "job", str(job.id), job.job_group, after=after), now)
    return execution_id, new


def check_param(connection: Connection, job: Job, param: str | None, actor: Actor, rights: Rights) -> None:
    """Refuse another parameter than the job's own for one execution (None: its own) where that would be code."""
    if param is None or param == job.executor_param or rights.allows(Permission.SCRIPT, job.job_group):
        return
    handler = source_of(connection, job).executor_handler
    if reads_code(handler):
        raise Forbidden.of("param_is_code", name=actor.name, handler=handler, permission=Permission.SCRIPT.value)


def check_has_code(job: Job) -> None:
    if job.glue_type is GlueType.BEAN:
        raise Conflict.of("job_has_no_code", job=job.id)


def _admitted(connection: Connection, before: Job | None, after: Job, writer: Writer, now: int) -> Job:
    """``after`` as it may be stored, its code dated if it is new; refused if this writer may not, or not there."""
    _check_builtin(connection, before, after, writer)
    if before is not None and _what_runs(before) == _what_runs(after):
        return after
    rewritten = before is None or _code(before) != _code(after)
    if rewritten and before is not None and before.glue_type is not GlueType.BEAN:
        _check_writer(before.job_group, writer)
    if source_of(connection, after).glue_type is not GlueType.BEAN or after.glue_type is not GlueType.BEAN:
        _check_writer(after.job_group, writer)
        _check_group(connection, after.job_group)
    if rewritten and after.glue_type is not GlueType.BEAN:
        check_code(after.glue_type, after.glue_source, after.glue_remark, writer.bounds.size)
        # Executors know a version by its time, so two within a millisecond must differ too.
        return replace(after, glue_updatetime=max(now, before.glue_updatetime + 1 if before else 0))
    return replace(after, glue_source="", glue_remark="") if after.glue_type is GlueType.BEAN else after


def _check_builtin(connection: Connection, before: Job | None, after: Job, writer: Writer) -> None:
    """Refuse another parameter of a built-in handler, or another job to give it to, if this writer may not."""
    if before is not None and _told_to_handler(before) == _told_to_handler(after):
        return
    handler = source_of(connection, after).executor_handler
    if before is not None and reads_code(before.executor_handler):
        _check_writer(before.job_group, writer)
    if reads_code(handler):
        _check_writer(after.job_group, writer)
    if handler == COMMAND:
        _check_group(connection, after.job_group)


def _keep(connection: Connection, before: Job | None, job: Job, writer: Writer, now: int) -> None:
    """Keep the version that ``job`` begins to run, and tell the audit; nothing if it is the code it was."""
    old = before or replace(job, glue_type=GlueType.BEAN, glue_source="")
    if _code(old) == _code(job):
        return
    if job.glue_type is not GlueType.BEAN:
        versions = [GlueVersion(job.glue_type, job.glue_source, job.glue_remark, now, writer.actor.name)]
        if old.glue_type is not GlueType.BEAN and newest_glue_version(connection, job.id) is None:
            untold = GlueVersion(old.glue_type, old.glue_source, old.glue_remark or _UNTOLD, old.glue_updatetime)
            versions.insert(0, untold)
        keep_glue_versions(connection, job.id, versions)
        trim_glue_versions(connection, job.id, writer.bounds.versions)
    told = {
        "glue_type": job.glue_type,
        "sha256": digest_of(job.glue_source),
        "remark": job.glue_remark,
        "diff": _diff(old, job.glue_source, "after"),
    }
    former = {"glue_type": old.glue_type, "sha256": digest_of(old.glue_source), "remark": old.glue_remark}
    deed = Deed("script.save", "job", str(job.id), job.job_group, before=former if before else None, after=told)
    record(connection, writer.actor, deed, now)


def _check_writer(group_id: int, writer: Writer) -> None:
    if not writer.rights.allows(Permission.SCRIPT, group_id):
        raise Forbidden.of(
            "code_not_allowed", name=writer.actor.name, group=group_id, permission=Permission.SCRIPT.value
        )


def _check_group(connection: Connection, group_id: int) -> None:
    group = get_group(connection, group_id)
    if not group.scripts_allowed:
        raise Forbidden.of("scripts_not_allowed", group=group.app_name, id=group.id)


def _what_runs(job: Job) -> tuple[object, ...]:
    return (job.job_group, job.super_id, *_code(job))


def _told_to_handler(job: Job) -> tuple[object, ...]:
    return (job.job_group, job.super_id, job.glue_type, job.executor_handler, job.executor_param)


def _code(job: Job) -> tuple[GlueType, str]:
    """Kind and source of what a job may run itself. What else is stored with a handler's job is no code."""
    return job.glue_type, "" if job.glue_type is GlueType.BEAN else job.glue_source


def _diff(before: Job, source: str, after_name: str) -> str:
    return difference(before.glue_source, source, "before", after_name)
