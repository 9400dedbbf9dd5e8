"""What is told of which job, and by which channels: what it says itself, and what it inherits from the settings.

And what a message looks like, before a channel that sends it so is stored.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from orth.clock import iso
from orth.coordinator.alarming.judging import channels_of
from orth.coordinator.alarming.templates import PRESETS, check_template, fill
from orth.coordinator.alarming.texts import Alarm
from orth.coordinator.http.callers import CallerHere, needs
from orth.coordinator.http.paging import Cursor, Limit, Page, page, position
from orth.coordinator.http.tools import Tools, ToolsHere
from orth.domain.access import Permission, narrowed
from orth.domain.alarms import AlarmKind, AlarmPolicy, Silence, is_silenced
from orth.domain.jobs import Job
from orth.errors import Invalid
from orth.store.alarm_channels import Channel, enabled_channels
from orth.store.database import Connection
from orth.store.jobs import UnreadableJob, list_jobs
from orth.store.silences import silences_at

router = APIRouter(prefix="/api/v1/alarms", tags=["alarms"])

_SILENCES_LIMIT = 10_000
_LARGEST_PREVIEW = 262_144


class RuleShown(BaseModel):
    """What holds for one job. What ``own`` does not name it inherits: ``repeat`` from the settings, the rest from what
    always holds.
    """

    job_id: int
    job_desc: str
    job_group: int
    each: bool = Field(description="Whether failures that are tried again are told as well.")
    repeat: int = Field(description="Seconds between messages while it goes on failing; 0: none but the first.")
    resolved: bool = Field(description="Whether it is told that it is well again.")
    channels: list[str] = Field(description="Those by which it is told now; none: nobody hears of it.")
    own: list[Literal["each", "repeat", "resolved", "channels", "mail"]]
    silenced: bool


class PreviewBody(BaseModel):
    """A message by its preset, or by a template of one's own."""

    model_config = ConfigDict(extra="forbid")

    preset: Literal["plain", "slack", "teams", "dingtalk", "wecom", "feishu"] = "plain"
    template: JsonValue = None
    kind: Literal["first", "repeat", "resolved"] = "first"


class PreviewShown(BaseModel):
    title: str
    text: str
    body: JsonValue = Field(description="What would be sent.")


@dataclass(frozen=True, slots=True)
class _Scene:
    jobs: Sequence[Job | UnreadableJob]
    channels: Mapping[str, Channel]
    silences: Sequence[Silence]


@router.get("/rules", dependencies=[needs(Permission.VIEW)])
async def rules(
    tools: ToolsHere,
    caller: CallerHere,
    limit: Limit = 50,
    cursor: Cursor = None,
    job_group: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    job_id: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
) -> Page[RuleShown]:
    """What is told of each job, in order of id. Jobs that this version cannot read are left out."""
    group, groups = narrowed(job_group, caller.rights.groups(Permission.VIEW))
    now = tools.clock.now()

    def look(connection: Connection) -> _Scene:
        after, many = (position(cursor) or 0, limit + 1) if job_id is None else (job_id - 1, 1)
        found = list_jobs(connection, after, many, group, groups=groups)
        found = [job for job in found if job_id in (None, job.id)]
        return _Scene(found, enabled_channels(connection), silences_at(connection, now, _SILENCES_LIMIT))

    scene = await tools.db.read(look)
    paged = page(scene.jobs, limit, lambda job: job.id, lambda job: job)
    items = [_rule(tools, scene, job, now) for job in paged["items"] if isinstance(job, Job)]
    return Page[RuleShown](items=items, next_cursor=paged["next_cursor"])


@router.post("/preview", dependencies=[needs(Permission.EDIT, everywhere=True)])
async def preview(body: PreviewBody, tools: ToolsHere) -> PreviewShown:
    """What a webhook would be sent about an execution that nobody ever had."""
    alarm = _sample(AlarmKind(body.kind), tools.clock.now())
    if body.template is not None:
        check_template(body.template)
    sent = PRESETS[body.preset](alarm) if body.template is None else fill(body.template, alarm.facts())
    if len(json.dumps(sent)) > _LARGEST_PREVIEW:
        raise Invalid.of("preview_too_long", limit=_LARGEST_PREVIEW, field="template")
    return PreviewShown(title=alarm.title, text=alarm.text, body=sent)


def _rule(tools: Tools, scene: _Scene, job: Job, now: int) -> RuleShown:
    alarms = tools.settings.alarms
    policy = AlarmPolicy.read(job.alarm_policy)
    own: list[Any] = [*policy.to_dict(), *(["mail"] if job.alarm_email else [])]
    told_by = channels_of(job, scene.channels, mail=alarms.smtp_host is not None) if alarms.enabled else ()
    return RuleShown(
        job_id=job.id,
        job_desc=job.job_desc,
        job_group=job.job_group,
        each=policy.each,
        repeat=int(alarms.repeat.total_seconds()) if policy.repeat is None else policy.repeat,
        resolved=policy.resolved,
        channels=list(told_by),
        own=own,
        silenced=is_silenced(scene.silences, job.id, job.job_group, now),
    )


def _sample(kind: AlarmKind, now: int) -> Alarm:
    failed = kind is not AlarmKind.RESOLVED
    return Alarm(
        message_id="orth-alarm-4711",
        kind=kind,
        job_id=7,
        job="Collect prices",
        group="data-collector",
        execution_id=4711,
        status="Failed 200/500" if failed else "Success 200/200",
        reason="ConnectionError: suppliers.example.com did not answer" if failed else "",
        executor="http://10.0.0.7:9999",
        failures=1 if kind is AlarmKind.FIRST else 3,
        since=iso(now - 3_600_000),
        at=iso(now),
        url="https://orth.example.com/executions/4711",
    )
