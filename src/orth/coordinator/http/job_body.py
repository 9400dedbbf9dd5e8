"""A job as the API reads and shows it: every field with its default and its limits."""

import json
from dataclasses import asdict, replace
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    ValidationInfo,
    field_validator,
)

from orth.clock import iso
from orth.coordinator.http.texts import Line, Prose
from orth.domain.alarms import AlarmPolicy, mail_addresses
from orth.domain.job_secrets import SECRET_NAME, SECRETS_LIMIT
from orth.domain.jobs import (
    ALIASES,
    CONCURRENCY_LIMIT,
    HIGHEST_PRIORITY,
    LONGEST_TIMEOUT,
    PARAM_LIMIT,
    PRIORITY_NAME,
    QUEUE_NAME,
    TAGS_LIMIT,
    BlockStrategy,
    ChildParam,
    DstPolicy,
    GlueType,
    Job,
    MisfireStrategy,
    Overlap,
    RouteStrategy,
    ScheduleType,
    tag_of,
)
from orth.domain.retries import CODES_LIMIT, LARGEST_CODE, LARGEST_MULTIPLIER, LONGEST_PAUSE, policy_of, values_of
from orth.domain.selectors import SELECTOR_LIMIT, parse_selector
from orth.errors import InvalidValue
from orth.store.jobs import UnreadableJob
from orth.wire.fields import GLUE_SOURCE_LIMIT

E = TypeVar("E", bound=StrEnum)

_CHILDREN = 20  # each id may have ten digits, and the column holds 255 characters


def _by_alias(value: object) -> object:
    if not isinstance(value, str):
        return value
    return ALIASES.get(value.upper(), value.upper())


def _no_flag(value: object) -> object:
    if isinstance(value, bool | str):
        raise InvalidValue.of("field_not_decimal")
    return value


Number = Annotated[float, BeforeValidator(_no_flag), Field(allow_inf_nan=False)]
Schedule = Annotated[ScheduleType, BeforeValidator(_by_alias)]
Misfire = Annotated[MisfireStrategy, BeforeValidator(_by_alias)]
Route = Annotated[RouteStrategy, BeforeValidator(_by_alias)]
Block = Annotated[BlockStrategy, BeforeValidator(_by_alias)]
Glue = Annotated[GlueType, BeforeValidator(_by_alias)]
Tag = Annotated[Line, AfterValidator(tag_of)]
SecretName = Annotated[str, Field(pattern=f"^{SECRET_NAME}$")]


class RetryPolicyBody(BaseModel):
    """After which pauses a failed execution is tried again, and after which failures it is not."""

    model_config = ConfigDict(extra="forbid")

    delay: Number = Field(0.0, ge=0, le=LONGEST_PAUSE, description="Seconds before the second attempt.")
    multiplier: Number = Field(
        1.0, ge=1, le=LARGEST_MULTIPLIER, description="How much longer each further pause is than the one before."
    )
    cap: Number = Field(float(LONGEST_PAUSE), ge=0, le=LONGEST_PAUSE, description="Seconds; no pause is longer.")
    jitter: Number = Field(0.0, ge=0, le=1, description="The part of a pause that chance may take away.")
    give_up: list[Literal["failed", "timeout", "trigger_failed"]] = Field(
        default_factory=list, max_length=3, description="Ends after which there is no other attempt."
    )
    codes: list[Annotated[StrictInt, Field(ge=1, le=LARGEST_CODE)]] = Field(
        default_factory=list, max_length=CODES_LIMIT, description="Codes of results after which there is none."
    )


class JobBody(BaseModel):
    """A job as it is written; everything unsaid has a default."""

    model_config = ConfigDict(extra="forbid")

    job_group: StrictInt = Field(ge=1, le=2**31 - 1, description="Id of the group whose executors run it.")
    job_desc: Line = Field(min_length=1, max_length=255, description="What people call it.")
    author: Line = Field("", max_length=64, description="Who answers for it, a person or a team.")
    tags: list[Tag] = Field(
        default_factory=list, max_length=TAGS_LIMIT, description="What people look for it by; in small letters."
    )
    schedule_type: Schedule = ScheduleType.NONE
    schedule_conf: Line = Field("", max_length=255, description="Cron expression, rate, delay or instant.")
    timezone: str | None = Field(None, max_length=64, description="Zone of the schedule; unset: the server's default.")
    dst_policy: DstPolicy = DstPolicy.AUTO
    jitter: StrictInt = Field(0, ge=0, le=3_600_000, description="Spread of fires in milliseconds, by hash of the job.")
    calendar_id: StrictInt | None = Field(None, ge=1, le=2**31 - 1)
    misfire_strategy: Misfire = MisfireStrategy.DO_NOTHING
    executor_route_strategy: Route = RouteStrategy.ROUND
    label_selector: Line = Field(
        "", max_length=SELECTOR_LIMIT, description="Which executors of the group may run it: zone=eu,tier!=spot,gpu."
    )
    executor_queue: Line = Field(
        "",
        max_length=64,
        pattern=f"^({QUEUE_NAME})?$",
        description="Queue of the group's application from which executors take it; empty: it is sent to an address.",
    )
    priority: StrictInt = Field(1, ge=0, le=HIGHEST_PRIORITY, description="In its queue; what is higher goes first.")
    super_task_id: StrictInt = Field(
        0, ge=0, le=2**31 - 1, description="Id of a job whose handler this one runs; 0 or its own id: none."
    )
    glue_type: Glue = Field(GlueType.BEAN, description="BEAN: a handler in the executor; else the kind of its code.")
    glue_source: Prose | None = Field(
        None,
        max_length=GLUE_SOURCE_LIMIT,
        description="Its code, unless it is BEAN; unsaid in an edit: as it is. Needs the permission script.",
    )
    glue_remark: Line | None = Field(
        None, max_length=128, description="About this version of the code; code that is new needs 4 to 100 characters."
    )
    executor_handler: Line = Field(
        "", max_length=255, validate_default=True, description="Must be said of BEAN unless a super task has one."
    )
    executor_param: Prose = Field("", max_length=PARAM_LIMIT)
    executor_block_strategy: Block = BlockStrategy.SERIAL_EXECUTION
    executor_concurrency: StrictInt = Field(1, ge=1, le=CONCURRENCY_LIMIT)
    overlap: Overlap = Field(
        Overlap.CLUSTER,
        description="Where the block strategy holds: cluster, across all executors, or executor, on each for itself.",
    )
    executor_timeout: StrictInt = Field(0, ge=0, le=LONGEST_TIMEOUT, description="Seconds; 0 = no limit.")
    executor_fail_retry_count: StrictInt = Field(0, ge=0, le=100)
    retry_policy: RetryPolicyBody | None = Field(
        None, description="Pauses between attempts and what is not tried again; null: at once, whatever the failure."
    )
    lost_after: StrictInt = Field(
        0, ge=0, le=7 * 86_400, description="Seconds after which it is lost when its executor is; 0 = the setting."
    )
    child_jobid: list[StrictInt] = Field(
        default_factory=list,
        max_length=_CHILDREN,
        description="Ids of jobs that are triggered when this one has succeeded; also as a text with commas.",
    )
    child_param: ChildParam = Field(
        ChildParam.OWN, description="What they get as parameter: own, each its own, or result, what this one returned."
    )
    child_per_shard: StrictBool = Field(
        False, description="Of a broadcast: trigger them for each shard that succeeded, not once when all have."
    )
    secrets: list[SecretName] = Field(
        default_factory=list,
        max_length=SECRETS_LIMIT,
        description="Names of secrets whose values its executions get; see /api/v1/secrets. Not with a queue.",
    )
    alarm_email: Line = Field("", max_length=255, description="Who is told when it fails, with commas between.")
    alarm_policy: dict[str, Any] | None = Field(
        None, description="each (also failures that are tried again), repeat (seconds), resolved, channels (names)."
    )

    @field_validator("tags")
    @classmethod
    def _each_tag_once(cls, value: list[str]) -> list[str]:
        return list(dict.fromkeys(value))

    @field_validator("label_selector")
    @classmethod
    def _selector_readable(cls, value: str) -> str:
        parse_selector(value)
        return value

    @field_validator("executor_queue")
    @classmethod
    def _one_taker(cls, value: str, info: ValidationInfo) -> str:
        if PRIORITY_NAME.fullmatch(value):
            raise InvalidValue.of("queue_called_priority")
        if value and info.data.get("executor_route_strategy") is RouteStrategy.SHARDING_BROADCAST:
            raise InvalidValue.of("queue_with_broadcast")
        if value and info.data.get("label_selector"):
            raise InvalidValue.of("queue_with_selector")
        return value

    @field_validator("secrets")
    @classmethod
    def _secrets_not_queued(cls, value: list[str], info: ValidationInfo) -> list[str]:
        if value and info.data.get("executor_queue"):
            raise InvalidValue.of("secrets_with_queue")
        return list(dict.fromkeys(value))

    @field_validator("alarm_email")
    @classmethod
    def _mail_addresses(cls, value: str) -> str:
        return ",".join(mail_addresses(value))

    @field_validator("alarm_policy")
    @classmethod
    def _policy_readable(cls, value: dict[str, Any] | None) -> dict[str, Any] | None:
        return None if value is None else AlarmPolicy.parse(value).to_dict()

    @field_validator("executor_handler")
    @classmethod
    def _handler_named(cls, value: str, info: ValidationInfo) -> str:
        bean = info.data.get("glue_type", GlueType.BEAN) is GlueType.BEAN
        if not value and bean and not info.data.get("super_task_id"):
            raise InvalidValue.of("handler_needed")
        return value

    @field_validator("child_jobid", mode="before")
    @classmethod
    def _listed(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        parts = [part.strip() for part in value.split(",") if part.strip()]
        if not all(part.isascii() and part.isdigit() and len(part) < 11 for part in parts):
            raise InvalidValue.of("child_ids_with_commas")
        return [int(part) for part in parts]

    @field_validator("child_jobid")
    @classmethod
    def _each_once(cls, value: list[int]) -> list[int]:
        if not all(1 <= child <= 2**31 - 1 for child in value):
            raise InvalidValue.of("child_ids")
        return list(dict.fromkeys(value))

    @field_validator("glue_source")
    @classmethod
    def _of_code(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value and info.data.get("glue_type") is GlueType.BEAN:
            raise InvalidValue.of("code_with_bean")
        return value

    def job(self, default_timezone: str) -> Job:
        """The definition this describes, not started."""
        values = {**self.model_dump(), "timezone": self.timezone or default_timezone}
        values["alarm_policy"] = None if self.alarm_policy is None else json.dumps(self.alarm_policy)
        values["retry_policy"] = None if self.retry_policy is None else policy_of(values["retry_policy"])
        values |= {"glue_source": self.glue_source or "", "glue_remark": self.glue_remark or ""}
        values |= {"secrets": tuple(self.secrets), "tags": tuple(self.tags)}
        return Job(id=0, child_job_ids=tuple(values.pop("child_jobid")), **values)

    def edited(self, job: Job) -> Job:
        """``job`` with this written over it."""
        written = self.job(job.timezone)
        unsaid = self.glue_source is None and self.glue_type is job.glue_type
        source = job.glue_source if unsaid else written.glue_source
        same = (self.glue_type, source) == (job.glue_type, job.glue_source)
        return replace(
            written,
            id=job.id,
            version=job.version,
            glue_source=source,
            glue_remark=job.glue_remark if same else written.glue_remark,
            glue_updatetime=job.glue_updatetime,
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
    tags: list[str]
    schedule_type: ScheduleType
    schedule_conf: str
    timezone: str
    dst_policy: DstPolicy
    jitter: int
    calendar_id: int | None
    misfire_strategy: MisfireStrategy
    executor_route_strategy: RouteStrategy
    label_selector: str
    executor_queue: str
    priority: int
    super_task_id: int
    executor_handler: str
    executor_param: str
    executor_block_strategy: BlockStrategy
    executor_concurrency: int
    overlap: Overlap
    executor_timeout: int
    executor_fail_retry_count: int
    retry_policy: RetryPolicyBody | None
    lost_after: int
    glue_type: GlueType
    glue_source: str | None = Field(description="Its code; null in lists.")
    glue_remark: str
    child_jobid: list[int]
    child_param: ChildParam
    child_per_shard: bool
    secrets: list[str]
    alarm_email: str
    alarm_policy: dict[str, Any] | None
    trigger_status: int
    trigger_last_time: str | None
    trigger_next_time: str | None


class UnreadableShown(BaseModel):
    """A job whose row holds something this version does not know, as far as it can be shown."""

    id: int
    version: int
    job_group: int
    job_desc: str
    executor_handler: str
    schedule_type: str
    schedule_conf: str
    trigger_status: int
    trigger_last_time: str | None
    trigger_next_time: str | None
    unreadable: str = Field(description="What cannot be read.")


def shown(job: Job) -> dict[str, Any]:
    return _values(job, JobShown) | _standing(job)


def listed(job: Job) -> dict[str, Any]:
    """As lists show it: without its code."""
    return shown(job) | {"glue_source": None}


def unreadable_shown(job: UnreadableJob) -> dict[str, Any]:
    return asdict(job) | _standing(job) | {"unreadable": job.reason}


def _standing(job: Job | UnreadableJob) -> dict[str, Any]:
    return {
        "trigger_status": int(job.trigger_status),
        "trigger_last_time": iso(job.trigger_last_time) if job.trigger_last_time else None,
        "trigger_next_time": iso(job.trigger_next_time) if job.trigger_next_time else None,
    }


def body_of(job: Job) -> dict[str, Any]:
    """The writable fields of ``job``, for patching; its code stays unless it is said."""
    return _values(job, JobBody) | {"glue_source": None, "glue_remark": None}


def _values(job: Job, model: type[BaseModel]) -> dict[str, Any]:
    policy = None if job.alarm_policy is None else AlarmPolicy.read(job.alarm_policy).to_dict()
    renamed: dict[str, Any] = {
        "child_jobid": list(job.child_job_ids),
        "retry_policy": None if job.retry_policy is None else values_of(job.retry_policy),
        "alarm_policy": policy,
    }
    return {name: renamed[name] if name in renamed else getattr(job, name) for name in model.model_fields}
