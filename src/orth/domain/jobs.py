"""Jobs and groups, and the choices a job makes.

Enum values are the spellings of the database and of the wire. ``ALIASES`` accepts the shorter names people write.
"""

import re
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

from orth.domain.enrolments import Admission
from orth.domain.retries import RetryPolicy
from orth.errors import InvalidValue


class ScheduleType(StrEnum):
    """How the fires of a job are found; the meaning of ``schedule_conf`` depends on it."""

    NONE = "NONE"  # never by itself: only by hand, by API or by a parent
    CRON = "CRON"  # a cron expression, Quartz (6-7 fields) or Unix (5 fields)
    FIX_RATE = "FIX_RATE"  # every n seconds (or "500ms"), counted from fire to fire
    FIX_DELAY = "FIX_DELAY"  # n seconds after the previous execution ended
    AT = "AT"  # once, at an instant


class MisfireStrategy(StrEnum):
    """What happens to fires that were missed by more than the misfire threshold."""

    DO_NOTHING = "DO_NOTHING"  # skipped, with the reason in the ledger
    FIRE_ONCE_NOW = "FIRE_ONCE_NOW"  # the newest missed fire runs, the older ones are coalesced into it
    FIRE_ALL = "FIRE_ALL"  # each runs, up to the catch-up bounds; the rest is skipped


class RouteStrategy(StrEnum):
    """How an address is chosen from the group's list."""

    FIRST = "FIRST"
    LAST = "LAST"
    ROUND = "ROUND"
    RANDOM = "RANDOM"
    CONSISTENT_HASH = "CONSISTENT_HASH"
    LEAST_FREQUENTLY_USED = "LEAST_FREQUENTLY_USED"
    LEAST_RECENTLY_USED = "LEAST_RECENTLY_USED"
    FAILOVER = "FAILOVER"
    BUSYOVER = "BUSYOVER"
    LEAST_LOADED = "LEAST_LOADED"
    SHARDING_BROADCAST = "SHARDING_BROADCAST"


class BlockStrategy(StrEnum):
    """What an executor does with a trigger while the job is busy there."""

    SERIAL_EXECUTION = "SERIAL_EXECUTION"  # queue it
    DISCARD_LATER = "DISCARD_LATER"  # refuse it
    COVER_EARLY = "COVER_EARLY"  # end what runs, start this one
    CONCURRENT = "CONCURRENT"  # run beside it, up to executor_concurrency


class Overlap(StrEnum):
    """Where the block strategy of a job holds. CONCURRENT allows what the other strategies prevent, so there it has no
    effect.
    """

    CLUSTER = "cluster"  # executions of the job never overlap, whatever the executors
    EXECUTOR = "executor"  # on each executor for itself, as in xxl-job


CONCURRENCY_LIMIT = 64
"""Executions of one job at the same time on one executor, at most."""
LONGEST_TIMEOUT = 7 * 86_400
"""Seconds of a time limit."""


class GlueType(StrEnum):
    """What kind of handler runs: a function in the executor, or source text that travels with the job."""

    BEAN = "BEAN"
    GLUE = "GLUE"  # Python source, run inside the executor
    GLUE_GROOVY = "GLUE_GROOVY"
    GLUE_SHELL = "GLUE_SHELL"
    GLUE_PYTHON = "GLUE_PYTHON"
    GLUE_PYTHON2 = "GLUE_PYTHON2"
    GLUE_NODEJS = "GLUE_NODEJS"
    GLUE_POWERSHELL = "GLUE_POWERSHELL"
    GLUE_PHP = "GLUE_PHP"


class TriggerCause(StrEnum):
    """Why an execution was opened."""

    CRON = "cron"
    FIXED_RATE = "fixed_rate"
    FIXED_DELAY = "fixed_delay"
    AT = "at"
    MANUAL = "manual"
    API = "api"
    PARENT = "parent"
    RETRY = "retry"
    MISFIRE = "misfire"
    BATCH = "batch"


class DstPolicy(StrEnum):
    """What local times that do not exist, or exist twice, mean for a cron schedule."""

    AUTO = "auto"  # a rhythm if every hour is admitted, wall-clock times otherwise
    WALL = "wall"  # a missing time fires once after the gap; a double time fires at its first occurrence
    RHYTHM = "rhythm"  # follows real time: both passes of an overlap, nothing extra after a gap


class GroupDialect(StrEnum):
    """How the executors of a group are spoken to. Every choice but AUTO says that they are third-party executors."""

    AUTO = "auto"  # ours as they announced themselves, every other as xxl
    ORTH = "orth"  # the fork of xxl-job of the same name: concurrency and schedule time travel with a trigger
    XXL = "xxl"  # xxl-job 2.2 to 3.4
    XXL35 = "xxl35"  # xxl-job 3.5: another path, and the app name in a header


class AddressType(IntEnum):
    """Where a group's addresses come from."""

    AUTO = 0  # the registry
    MANUAL = 1  # a list somebody wrote


class ChildParam(StrEnum):
    """What the jobs that follow a job get as their parameter."""

    OWN = "own"  # each its own
    RESULT = "result"  # what the execution they follow returned


ALIASES = {
    "SERIAL": BlockStrategy.SERIAL_EXECUTION,
    "DISCARD": BlockStrategy.DISCARD_LATER,
    "COVER": BlockStrategy.COVER_EARLY,
    "ROUND_ROBIN": RouteStrategy.ROUND,
    "LFU": RouteStrategy.LEAST_FREQUENTLY_USED,
    "LRU": RouteStrategy.LEAST_RECENTLY_USED,
}

QUEUE_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9_-]{0,62}[A-Za-z0-9])?"
"""Of an application's queue. No dots: priorities and the application are told apart by them."""
PRIORITY_NAME = re.compile(r"p[0-9]")
"""What no queue may be called: it would be taken for a priority."""
HIGHEST_PRIORITY = 3
"""Low, normal, high, critical."""

PARAM_LIMIT = 65_535
"""Characters of a parameter."""

TAGS_LIMIT = 10
"""Tags that one job may have."""
TAG_LONGEST = 32
"""Characters of a tag."""

PLANNED_AHEAD = frozenset({ScheduleType.CRON, ScheduleType.FIX_RATE})
"""Schedules whose fires may be decided before they are due. A FIX_DELAY is known only when an execution has ended, and
an AT job must not be over before its instant.
"""

SENT_AHEAD = frozenset({BlockStrategy.SERIAL_EXECUTION, BlockStrategy.CONCURRENT})
"""Strategies of which a trigger may be sent before it is due. The others depend on what runs when it starts."""

CAUSE_OF_SCHEDULE = {
    ScheduleType.CRON: TriggerCause.CRON,
    ScheduleType.FIX_RATE: TriggerCause.FIXED_RATE,
    ScheduleType.FIX_DELAY: TriggerCause.FIXED_DELAY,
    ScheduleType.AT: TriggerCause.AT,
}


@dataclass(frozen=True, slots=True)
class Group:
    """Executors that share an app name."""

    id: int
    app_name: str
    title: str
    address_type: AddressType
    addresses: tuple[str, ...]
    dialect: GroupDialect = GroupDialect.AUTO
    unknown: tuple[tuple[str, object], ...] = ()
    """What its row holds and this version does not know, by column; the field has what does the least harm instead.
    Its executors can be watched and asked so, but nothing new may be sent to them.
    """
    scripts_allowed: bool = False
    """Whether code that travels with a job may be written and sent here."""
    admission: Admission = Admission.OPEN
    """Whom it lets in as an executor."""

    @property
    def unreadable(self) -> str:
        """What cannot be read of it, in words; empty when all can."""
        return ", ".join(f"{column} is {str(value)[:40]!r}" for column, value in self.unknown)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A definition: what to run, when, where. ``version`` grows with every edit; a fire names the version it used."""

    id: int
    job_group: int
    job_desc: str
    version: int = 1
    author: str = ""  # who answers for it, a person or a team
    tags: tuple[str, ...] = ()  # what people look for it by, each as ``tag_of`` has it
    schedule_type: ScheduleType = ScheduleType.NONE
    schedule_conf: str = ""
    timezone: str = "UTC"
    dst_policy: DstPolicy = DstPolicy.AUTO
    jitter: int = 0  # ms
    calendar_id: int | None = None
    misfire_strategy: MisfireStrategy = MisfireStrategy.DO_NOTHING
    executor_route_strategy: RouteStrategy = RouteStrategy.ROUND
    executor_handler: str = ""
    executor_param: str = ""
    executor_block_strategy: BlockStrategy = BlockStrategy.SERIAL_EXECUTION
    executor_concurrency: int = 1
    overlap: Overlap = Overlap.CLUSTER
    executor_timeout: int = 0  # seconds; 0 = none
    executor_fail_retry_count: int = 0
    retry_policy: RetryPolicy | None = None  # None = at once, and after whatever failure
    glue_type: GlueType = GlueType.BEAN
    glue_source: str = ""
    glue_remark: str = ""  # what whoever wrote this version of the source says about it
    glue_updatetime: int = 0  # its version
    child_job_ids: tuple[int, ...] = field(default=())
    child_param: ChildParam = ChildParam.OWN
    child_per_shard: bool = False  # children of a broadcast: one for each shard, instead of one when all have ended
    super_task_id: int = 0  # the job whose handler and source this one runs; 0 or itself = its own
    label_selector: str = ""  # which executors of the group may run it; empty = all
    executor_queue: str = ""  # offered to whoever takes from this queue; empty = sent to an address by routing
    priority: int = 1  # among what waits in that queue; higher is taken first
    lost_after: int = 0  # seconds; 0 = the setting
    secrets: tuple[str, ...] = ()  # names of those whose values its executions get
    alarm_email: str = ""  # who is told when it fails, with commas between
    alarm_policy: str | None = None  # a JSON object (orth.domain.alarms); None = as the settings say
    trigger_status: bool = False
    trigger_last_time: int = 0
    trigger_next_time: int = 0  # the next fire; 0 = none
    due_time: int = 0  # the next fire plus its jitter

    @property
    def super_id(self) -> int | None:
        """The job whose handler and source this one runs; None when it runs its own."""
        return None if self.super_task_id in (0, self.id) else self.super_task_id


def tag_of(text: str) -> str:
    """A tag as it is stored and compared: whoever looks for it need not know how it was written. ``InvalidValue`` for
    what cannot be one.
    """
    tag = text.strip().lower()
    if not tag or "," in tag or not tag.isprintable():
        raise InvalidValue.of("tag_form")
    if len(tag) > TAG_LONGEST:
        raise InvalidValue.of("tag_too_long", limit=TAG_LONGEST)
    return tag


def longest_silence(job: Job, lost_after: float) -> float:
    """Seconds for which an execution of ``job`` may run without a word before it is given up: its own patience or that
    of the setting, and never less than its handler may take.
    """
    return max(job.lost_after or lost_after, job.executor_timeout)
