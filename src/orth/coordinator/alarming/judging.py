"""Judges the signs of jobs and stores what is to be said, in one transaction: a sign is never lost between the two."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from orth.clock import iso
from orth.coordinator.alarming.texts import Alarm, content_of, shortened
from orth.domain.alarms import (
    MAIL_CHANNEL,
    AlarmPolicy,
    Sign,
    SignKind,
    Silence,
    Standing,
    Telling,
    Timing,
    decide,
    is_silenced,
    mail_addresses,
)
from orth.domain.executions import Status
from orth.domain.jobs import Group, Job
from orth.errors import Invalid
from orth.store.alarm_channels import Channel, enabled_channels
from orth.store.alarms import (
    Message,
    abandon_signs,
    drop_signs,
    extend_locks,
    forgotten_signs,
    jobs_with_messages,
    keep_standings,
    lock_signs,
    noted_signs,
    put_off,
    standings_of,
    store_messages,
)
from orth.store.database import Connection
from orth.store.executions import find_readable
from orth.store.groups import groups_by_id
from orth.store.jobs import jobs_by_id
from orth.store.silences import silences_at

_SIGNS_LIMIT = 1_000  # of a job, in one transaction: SQLite has one writer, and planning waits for it
_SILENCES_LIMIT = 10_000
_NOT_SAID = 0  # by coordinators of an earlier version, while some are still there


@dataclass(frozen=True, slots=True)
class Rules:
    """How this coordinator judges."""

    enabled: bool
    timing: Timing
    mail: bool
    """Whether the addresses that jobs name can be written to."""
    base_url: str
    node_id: str
    lease: int


@dataclass(frozen=True, slots=True)
class Judged:
    """What became of the signs of a job: looked at again later, or settled so that ``said`` messages are under way.
    ``withheld`` is why nothing is said.
    """

    job_id: int
    failures: int
    look_again: int | None = None
    said: int = 0
    withheld: str = ""


@dataclass(frozen=True, slots=True)
class _Scene:
    """What is known when signs are judged."""

    rules: Rules
    jobs: Mapping[int, Job]
    groups: Mapping[int, Group]
    standings: Mapping[int, Standing]
    channels: Mapping[str, Channel]
    silences: Sequence[Silence]
    now: int


def judge(connection: Connection, ids: Collection[int], rules: Rules, now: int) -> list[Judged]:
    """Judge the signs of these jobs."""
    jobs = jobs_by_id(connection, ids)
    scene = _Scene(
        rules,
        jobs,
        groups_by_id(connection, {job.job_group for job in jobs.values()}),
        standings_of(connection, ids),
        enabled_channels(connection),
        silences_at(connection, now, _SILENCES_LIMIT),
        now,
    )
    found = [(job_id, _signs(connection, job_id, jobs.get(job_id))) for job_id in sorted(ids)]
    return [_judge_one(connection, scene, job_id, signs) for job_id, signs in found if signs]


def _signs(connection: Connection, job_id: int, job: Job | None) -> Sequence[Sign]:
    """What is to be judged of a job. What it left in a group from which it was moved is nobody's business where it is
    now, and dropped.
    """
    signs = noted_signs(connection, job_id, _SIGNS_LIMIT)
    if job is None:
        return signs
    elsewhere = [sign for sign in signs if sign.job_group not in (_NOT_SAID, job.job_group)]
    if elsewhere:
        drop_signs(connection, elsewhere)
    return [replace(sign, job_group=job.job_group) for sign in signs if sign not in elsewhere]


def unstick(connection: Connection, rules: Rules, now: int, limit: int) -> None:
    """Look at locked signs whose lease has run out: their message is still under way, or they are settled now."""
    forgotten = forgotten_signs(connection, now, limit)
    if not forgotten:
        return
    busy = jobs_with_messages(connection, {sign.job_id for sign in forgotten})
    extend_locks(connection, [sign for sign in forgotten if sign.job_id in busy], now + rules.lease)
    abandon_signs(connection, [sign for sign in forgotten if sign.job_id not in busy])


def _judge_one(connection: Connection, scene: _Scene, job_id: int, signs: Sequence[Sign]) -> Judged:
    failures = sum(sign.kind is SignKind.FAILURE for sign in signs)
    job = scene.jobs.get(job_id)
    channels = (
        channels_of(job, scene.channels, mail=scene.rules.mail) if job is not None and scene.rules.enabled else ()
    )
    if job is None:
        drop_signs(connection, signs)
        keep_standings(connection, {job_id: None})
        return Judged(job_id, failures, withheld="no_job")
    if not channels:
        _count_untold(connection, scene, job_id, signs)
        return Judged(job_id, failures, withheld="no_channel")
    timing, now = scene.rules.timing, scene.now
    if len(signs) == _SIGNS_LIMIT:  # enough for one message
        timing = Timing(0, 0, timing.repeat)
    silenced = is_silenced(scene.silences, job_id, job.job_group, now)
    policy = AlarmPolicy.read(job.alarm_policy)
    verdict = decide(scene.standings.get(job_id), signs, policy, timing, silenced=silenced, now=now)
    if verdict.look_again is not None:
        put_off(connection, job_id, now, signs[0].at + timing.gather)
        return Judged(job_id, failures, look_again=verdict.look_again)
    keep_standings(connection, {job_id: verdict.standing})
    if not verdict.tell:
        drop_signs(connection, signs)
        return Judged(job_id, failures, withheld="silence" if silenced else "repeat")
    _settle_into_messages(connection, scene, job, signs, verdict.tell, channels)
    return Judged(job_id, failures, said=len(verdict.tell) * len(channels))


def _count_untold(connection: Connection, scene: _Scene, job_id: int, signs: Sequence[Sign]) -> None:
    """Where nobody can be told a job that fails stands as failing all the same, so that it is seen; the first failure
    after it got a channel is told.
    """
    before = scene.standings.get(job_id)
    standing = decide(before, signs, AlarmPolicy(), scene.rules.timing, silenced=True, now=scene.now).standing
    drop_signs(connection, signs)
    keep_standings(connection, {job_id: standing and replace(standing, told_at=0)})


def _settle_into_messages(
    connection: Connection,
    scene: _Scene,
    job: Job,
    signs: Sequence[Sign],
    tellings: Sequence[Telling],
    channels: Sequence[str],
) -> None:
    failures = [sign for sign in signs if sign.kind is SignKind.FAILURE]
    drop_signs(connection, [sign for sign in signs if sign.kind is SignKind.RESOLVED])
    messages = []
    for telling in tellings:
        content = content_of(_alarm(connection, scene, job, telling), _recipients(job))
        messages += [
            Message(telling.execution_id, job.id, telling.kind, name, content, job_group=job.job_group)
            for name in channels
        ]
    # The first thing that is said tells of the failures; that the job is well again tells of them only alone.
    subject, until = messages[0].subject, scene.now + scene.rules.lease
    lock_signs(connection, failures, subject, scene.rules.node_id, until)
    store_messages(connection, messages, scene.now)


def channels_of(job: Job, channels: Mapping[str, Channel], *, mail: bool) -> tuple[str, ...]:
    """Names of those of the enabled ``channels`` a job's messages go through, and that of mail if the settings have a
    server for it.
    """
    wanted = AlarmPolicy.read(job.alarm_policy).channels
    names = [name for name in channels if wanted is None or name in wanted]
    if mail and job.alarm_email and MAIL_CHANNEL not in names:
        names.append(MAIL_CHANNEL)
    return tuple(name for name in names if _reaches_somebody(channels.get(name), job))


def _reaches_somebody(channel: Channel | None, job: Job) -> bool:
    """A channel of mail without addresses of its own is for jobs that name some."""
    return channel is None or channel.kind != "mail" or bool(channel.definition.get("to") or job.alarm_email)


def _recipients(job: Job) -> tuple[str, ...]:
    try:
        return mail_addresses(job.alarm_email)
    except Invalid:  # written by hand, past the API
        return ()


def _alarm(connection: Connection, scene: _Scene, job: Job, telling: Telling) -> Alarm:
    execution = find_readable(connection, telling.execution_id)
    group = scene.groups.get(job.job_group)
    reason, status, executor, ended = "", "-", "", scene.now
    if execution is not None:
        trigger_failed = execution.status is Status.TRIGGER_FAILED
        reason = shortened(execution.trigger_msg if trigger_failed else execution.handle_msg)
        status = execution.tag
        executor, ended = execution.executor_address or "", execution.handle_time or scene.now
    base = scene.rules.base_url
    return Alarm(
        kind=telling.kind,
        job_id=job.id,
        job=job.job_desc,
        group=group.app_name if group else str(job.job_group),
        execution_id=telling.execution_id,
        status=status,
        reason=reason,
        executor=executor,
        failures=telling.failures,
        since=iso(telling.since),
        at=iso(ended),
        url=f"{base}/executions/{telling.execution_id}" if base else "",
    )
