"""A job as the API reads and shows it: every field with its default and its limits."""

from dataclasses import replace
from enum import StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictInt, field_validator

from orth.clock import iso
from orth.coordinator.http.texts import Line, Prose
from orth.coordinator.routing import available
from orth.domain.jobs import (
    ALIASES,
    BlockStrategy,
    DstPolicy,
    GlueType,
    Job,
    MisfireStrategy,
    RouteStrategy,
    ScheduleType,
)

E = TypeVar("E", bound=StrEnum)


def _by_alias(value: object) -> object:
    if not isinstance(value, str):
        return value
    return ALIASES.get(value.upper(), value.upper())


Schedule = Annotated[ScheduleType, BeforeValidator(_by_alias)]
Misfire = Annotated[MisfireStrategy, BeforeValidator(_by_alias)]
Route = Annotated[RouteStrategy, BeforeValidator(_by_alias)]
Block = Annotated[BlockStrategy, BeforeValidator(_by_alias)]
Glue = Annotated[GlueType, BeforeValidator(_by_alias)]


class JobBody(BaseModel):
    """A job as it is written; everything unsaid has a default."""

    model_config = ConfigDict(extra="forbid")

    job_group: StrictInt = Field(ge=1, le=2**31 - 1, description="Id of the group whose executors run it.")
    job_desc: Line = Field(min_length=1, max_length=255, description="What people call it.")
    author: Line = Field("", max_length=64)
    schedule_type: Schedule = ScheduleType.NONE
    schedule_conf: Line = Field("", max_length=255, description="Cron expression, rate, delay or instant.")
    timezone: str | None = Field(None, max_length=64, description="Zone of the schedule; unset: the server's default.")
    dst_policy: DstPolicy = DstPolicy.AUTO
    jitter: StrictInt = Field(0, ge=0, le=3_600_000, description="Spread of fires in milliseconds, by hash of the job.")
    calendar_id: StrictInt | None = Field(None, ge=1, le=2**31 - 1)
    misfire_strategy: Misfire = MisfireStrategy.DO_NOTHING
    executor_route_strategy: Route = RouteStrategy.ROUND
    executor_handler: Line = Field(min_length=1, max_length=255)
    executor_param: Prose = Field("", max_length=65_535)
    executor_block_strategy: Block = BlockStrategy.SERIAL_EXECUTION
    executor_concurrency: StrictInt = Field(1, ge=1, le=64)
    executor_timeout: StrictInt = Field(0, ge=0, le=7 * 86_400, description="Seconds; 0 = no limit.")
    executor_fail_retry_count: StrictInt = Field(0, ge=0, le=100)
    glue_type: Glue = GlueType.BEAN

    @field_validator("executor_route_strategy")
    @classmethod
    def _route_known(cls, value: RouteStrategy) -> RouteStrategy:
        if not available(value):
            known = ", ".join(strategy for strategy in RouteStrategy if available(strategy))
            raise ValueError(f"{value} is not available in this version; use one of {known}")
        return value

    @field_validator("glue_type")
    @classmethod
    def _functions_only(cls, value: GlueType) -> GlueType:
        if value is not GlueType.BEAN:
            raise ValueError(f"{value} is not available in this version; use BEAN, a handler in the executor")
        return value

    def job(self, default_timezone: str) -> Job:
        """The definition this describes, not started."""
        values = {**self.model_dump(), "timezone": self.timezone or default_timezone}
        return Job(id=0, **values)

    def edited(self, job: Job) -> Job:
        """``job`` with this written over it."""
        written = self.job(job.timezone)
        return replace(
            written,
            id=job.id,
            version=job.version,
            glue_source=job.glue_source,
            glue_updatetime=job.glue_updatetime,
            child_job_ids=job.child_job_ids,
            child_per_shard=job.child_per_shard,
            super_task_id=job.super_task_id,
            label_selector=job.label_selector,
            lost_after=job.lost_after,
            trigger_status=job.trigger_status,
            trigger_last_time=job.trigger_last_time,
            trigger_next_time=job.trigger_next_time,
            due_time=job.due_time,
        )


class JobShown(BaseModel):
    """A job as it is read."""

    id: int
    version: int
    job_group: int
    job_desc: str
    author: str
    schedule_type: ScheduleType
    schedule_conf: str
    timezone: str
    dst_policy: DstPolicy
    jitter: int
    calendar_id: int | None
    misfire_strategy: MisfireStrategy
    executor_route_strategy: RouteStrategy
    executor_handler: str
    executor_param: str
    executor_block_strategy: BlockStrategy
    executor_concurrency: int
    executor_timeout: int
    executor_fail_retry_count: int
    glue_type: GlueType
    trigger_status: int
    trigger_last_time: str | None
    trigger_next_time: str | None


def shown(job: Job) -> dict[str, Any]:
    values = {name: getattr(job, name) for name in JobShown.model_fields}
    return values | {
        "trigger_status": int(job.trigger_status),
        "trigger_last_time": iso(job.trigger_last_time) if job.trigger_last_time else None,
        "trigger_next_time": iso(job.trigger_next_time) if job.trigger_next_time else None,
    }


def body_of(job: Job) -> dict[str, Any]:
    """The writable fields of ``job``, for patching."""
    return {name: getattr(job, name) for name in JobBody.model_fields}
