"""Every message between coordinators and executors, in its one canonical form.

A message is a frozen Pydantic model: snake_case in Python, camelCase on the wire, unknown keys ignored. What the wire
generations make of it is the business of ``dialects``; here a message has one shape and its limits.
"""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from orth.domain.executions import FAILURE, SUCCESS
from orth.domain.jobs import BlockStrategy, GlueType, Overlap
from orth.domain.reasons import ReportedReason
from orth.wire.addresses import Address
from orth.wire.fields import (
    DESCRIPTION_LIMIT,
    EXECUTOR_GROUP,
    EXTENSIONS_LIMIT,
    HANDLER_NAME_LIMIT,
    HANDLERS_LIMIT,
    IDENTITY_LIMIT,
    LEFT_BEHIND_LIMIT,
    SCHEDULE_LIMIT,
    TURNED_AWAY_LIMIT,
    AppName,
    Concurrency,
    Count,
    ExecutorGroup,
    HandlerName,
    Identity,
    Int32,
    Interpreter,
    JobId,
    JobName,
    Labels,
    LogId,
    LogIds,
    Millis,
    Params,
    ReportKey,
    ReportText,
    ResultCode,
    ResultText,
    RunLogLevel,
    Secrets,
    ShardIndex,
    ShardTotal,
    Source,
    at_least,
    block_strategy,
    known_overlap,
    known_reason,
    visible,
)

# --- coordinator to executor ------------------------------------------------------------------------------------------


class Message(BaseModel):
    """Base of all messages."""

    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Extension(StrEnum):
    """What an executor may announce beyond the base protocol. Nothing of it is sent to an executor that has not."""

    RESEND = "resend"  # /run takes resendTo and answers a repeated request without running it twice
    KILL_EXECUTION = "kill-execution"  # /kill takes logId and ends that execution only
    BATCH_RUN = "batch-run"  # /runs takes many triggers at once and answers each
    FOLLOW_LOG = "follow-log"  # /log takes tail and wait
    NOT_BEFORE = "not-before"  # /run takes startIn, for the strategies SERIAL_EXECUTION and CONCURRENT
    APP_NAME = "app-name"  # /run takes appName and answers MISDIRECTED when it is another application's
    TICKS = "ticks"  # /health tells the process's tick, and /run takes startTick beside startIn
    PROGRESS = "progress"  # /log takes progress and tells how far an execution is
    SIGNED = "signed"  # everything may be signed instead of showing the token
    SOURCE_DIGEST = "source-digest"  # /run takes sourceDigest and refuses a source that it is not the digest of
    DRAFTS = "drafts"  # /run takes draft and carries it out beside the job
    SECRETS = "secrets"  # /run takes secrets and hides them in what the execution writes
    LONG_PAGES = "long-pages"  # /log takes lines
    RUN_KEY = "run-key"  # /run takes runKey, attempt and jobName
    WORK_KEY = "work-key"  # asks for work are signed with the work key that it tells, too
    REPORT_KEY = "report-key"  # /run takes reportKey, which comes back with every word about the execution
    LOG_LEVEL = "log-level"  # /run takes logLevel
    PROOFS = "proofs"  # answers to signed triggers are proved
    OVERLAP = "overlap"  # /run takes overlap and starts nothing beside a handler that could not be ended


NEVER_HAD = "which never had it"
"""What an executor says that is sent a repetition meant for another incarnation, and does not have the execution."""
NOT_ALLOWED_HERE = "is not allowed on this executor"
"""What it says of a kind of code that its own settings do not name."""
ENDED_WITH = "ended with"
"""What it says of one whose result a coordinator has taken, before the code."""


MISDIRECTED = 421
"""The code of an executor that was sent a trigger of another application: it has an address that was another's before.
"""


UNAVAILABLE = 603
"""The code of an executor that takes no work at the moment, whatever the job: it is leaving, or cannot record results.
It did not queue the trigger and says nothing about the job, so the trigger may go to another executor. No status of
HTTP, so that nothing between the two can have said it.
"""


class RunRequest(Message):
    """Run this. Acceptance means queued, not started."""

    job_id: JobId
    executor_handler: HandlerName = ""
    executor_params: Params = ""
    executor_block_strategy: Annotated[BlockStrategy, BeforeValidator(block_strategy)] = BlockStrategy.SERIAL_EXECUTION
    executor_timeout: Annotated[Int32, at_least(0)] = 0  # seconds; 0 = none
    log_id: LogId
    log_date_time: Millis = 0  # when it was triggered; 0 = the coordinator did not say
    glue_type: GlueType = GlueType.BEAN
    glue_source: Source = ""
    glue_updatetime: Millis = 0
    broadcast_index: ShardIndex = 0
    broadcast_total: ShardTotal = 1
    executor_concurrency: Concurrency = 1
    schedule_time: Millis | None = None  # the logical time; None when triggered by hand
    resend_to: Identity | None = None
    """Set on a repetition after an answer was lost: the incarnation that may already have it. Any other must refuse."""
    start_in: Annotated[Int32, Field(ge=0)] | None = None
    """Milliseconds, counted from the arrival, before which it must not start. A span and not an instant, because the
    clocks of two machines differ: the sender says how long it still is at the moment of sending, and what the network
    takes makes the start late, never early."""
    start_tick: Millis | None = None
    """What the tick of the process ``tick_of`` shows when it may start, as the sender has measured that clock: if that
    is sooner than ``start_in`` after the arrival, it counts. The time on the way is then not added to the wait."""
    tick_of: Identity | None = None
    app_name: AppName | None = None
    """Whose trigger it is. Addresses are used again, and the application there now may have a handler of that name."""
    source_digest: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    """The SHA-256 of ``glue_source`` as the coordinator has it."""
    draft: bool | None = None
    """True of a test of code that is not the job's: it replaces nothing of the job, waits for nothing of it, and is no
    obstacle to it."""

    run_key: Identity | None = None
    """The same in every attempt at one fire, and in nothing else."""
    attempt: Annotated[Int32, Field(ge=1)] | None = None
    job_name: JobName | None = None
    log_level: RunLogLevel = None
    """From which level on the log of this execution has what is logged; None: as its handler has it."""
    overlap: Annotated[Overlap | None, BeforeValidator(known_overlap)] = None
    """Where the block strategy of its job holds. With ``cluster`` the job waits for a handler that could not be ended,
    however long that works."""

    secrets: Secrets | None = Field(None, repr=False)
    """The values of the secrets that its job names, by name. Never logged, and kept only as long as the request."""
    report_key: ReportKey | None = Field(None, repr=False)
    """What proves that a word about this execution comes from where it was sent (``orth.wire.report_keys``)."""

    @property
    def thread_key(self) -> int:
        """Whose thread carries it out: that of its job, or of the tests of its job."""
        return ~self.job_id if self.draft else self.job_id


class RunAnswer(Message):
    """What became of one trigger of a batch. Without a ``log_id`` it was one that could not be read."""

    log_id: LogId | None = None
    code: Int32
    msg: ReportText | None = None


class IdleBeatRequest(Message):
    """Is this job idle there?"""

    job_id: JobId


class KillRequest(Message):
    """End what runs and waits of this job, or only ``log_id`` where that is understood."""

    job_id: JobId
    log_id: LogId | None = None


class LogRequest(Message):
    """Lines of an execution's log, from a 1-based line on."""

    log_id: LogId
    log_date_time: Millis = 0
    from_line_num: Annotated[Int32, at_least(1)] = 1
    tail: Annotated[Int32, Field(ge=1)] | None = None
    """The last lines, so many of them, wherever they begin."""
    wait: Annotated[Int32, Field(ge=0)] | None = None
    """Seconds for which the answer may be held back while there is nothing at that line yet."""
    progress: bool | None = None
    """Whether to be told how far the execution is."""
    lines: Annotated[Int32, Field(ge=1)] | None = None
    """How many lines a page may have, where that is more than usual: for whoever reads a whole log."""


Finite = Annotated[float, Field(allow_inf_nan=False)]


class ProgressTold(Message):
    """How far an execution is, as it says itself; ``total`` and ``eta`` are missing when nobody knows."""

    done: Finite
    total: Finite | None = None
    message: ReportText = ""
    eta: Finite | None = None
    """Seconds that are left if it goes on as it has gone."""

    @classmethod
    def read(cls, said: object) -> Self | None:
        """What an executor says of progress; None when it is nothing of the kind, which spoils nothing else."""
        try:
            return cls.model_validate(said)
        except ValidationError:
            return None


class LogPage(Message):
    """Lines ``from_line`` to ``to_line``, both included; ``to_line == from_line - 1`` when there are none yet."""

    from_line: Annotated[Int32, at_least(1)] = Field(alias="fromLineNum")
    to_line: Annotated[Int32, at_least(0)] = Field(alias="toLineNum")
    content: ReportText = Field(default="", alias="logContent")
    end: bool = Field(default=False, alias="isEnd")
    progress: ProgressTold | None = None
    """How far the execution is, if that was asked and it has said so."""


# --- executor to coordinator ------------------------------------------------------------------------------------------


class RetryInfo(Message):
    """How often, and after which pauses, a handler's author would have it tried."""

    attempts: Annotated[Int32, Field(ge=1)]
    delay: Millis = 0  # before the second attempt
    backoff: Annotated[float, Field(ge=1, allow_inf_nan=False)] = 1.0
    jitter: bool = False
    give_up_on: Annotated[tuple[Annotated[str, Field(max_length=HANDLER_NAME_LIMIT)], ...], Field(max_length=64)] = ()


class HandlerInfo(Message):
    """A handler as its executor describes it. All but its name and parameters are proposals; the job decides."""

    name: Annotated[HandlerName, Field(min_length=1)]
    description: Annotated[ReportText, Field(max_length=DESCRIPTION_LIMIT)] = ""
    schedule: Annotated[str, Field(max_length=SCHEDULE_LIMIT)] | None = None
    timezone: Identity | None = None
    params_schema: dict[str, Any] | None = None
    timeout: Annotated[Int32, at_least(0)] | None = None  # seconds
    block: Annotated[BlockStrategy, BeforeValidator(block_strategy)] | None = None
    concurrency: Annotated[Int32, at_least(1)] | None = None
    overlap: Annotated[Overlap | None, BeforeValidator(known_overlap)] = None
    retry: RetryInfo | None = None


class Load(Message):
    """How much an executor has to do."""

    running: Count = 0
    queued: Count = 0
    threads: Count = 0
    abandoned: Count = 0  # handlers past their limit that could not be ended
    unacknowledged: Count = 0  # results no coordinator has answered for


class LeftBehind(Message):
    """An execution whose handler could not be ended: it has its result, and the handler works on."""

    log_id: LogId
    since: Millis


def _newest_named(value: object) -> object:
    return value[-LEFT_BEHIND_LIMIT:] if isinstance(value, list | tuple) else value


LeftBehinds = Annotated[tuple[LeftBehind, ...], BeforeValidator(_newest_named)]


class TurnedAwayCaller(Message):
    """Somebody who asked something of an executor without a good credential, and how often since the last beat."""

    address: Identity
    path: Identity
    reason: Identity
    count: Count = 1


class Announcement(Message):
    """What our executors say of themselves with every beat."""

    incarnation: Identity
    version: Annotated[str, Field(max_length=IDENTITY_LIMIT), AfterValidator(visible)] = ""
    python: Interpreter = ""
    extensions: Annotated[tuple[Identity, ...], Field(max_length=EXTENSIONS_LIMIT)] = ()
    handlers: Annotated[tuple[HandlerInfo, ...], Field(max_length=HANDLERS_LIMIT)] = ()
    running: LogIds = ()
    """What runs or waits there, oldest first. Complete when ``load`` counts no more than are named."""
    unacknowledged: LogIds = ()
    """What has ended there and is not yet acknowledged, oldest first; complete as above."""
    left_behind: LeftBehinds = ()
    """Whose handlers could not be ended and still work, oldest first."""
    load: Load | None = None
    labels: Labels = Field(default_factory=dict)
    unavailable: Annotated[str, Field(pattern=r"^[a-z_]{1,32}$")] | None = None
    """Why it takes no new executions (``Unavailability``); missing: it takes some."""
    turned_away: Annotated[tuple[TurnedAwayCaller, ...], Field(max_length=TURNED_AWAY_LIMIT)] = ()
    process: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    """Makes the work key of this process from the key of its executor (``orth.wire.work_keys``)."""
    work_key: str | None = Field(None, repr=False, exclude=True)
    """That work key, where the coordinator has made it. It never crosses the wire."""


class RegistryRequest(Message):
    """I am here: registration and heartbeat in one."""

    registry_group: ExecutorGroup = EXECUTOR_GROUP
    registry_key: AppName
    registry_value: Address
    orth: Announcement | None = None


class CallbackItem(Message):
    """How one execution ended."""

    log_id: LogId
    log_date_time: Millis = 0
    handle_code: ResultCode
    handle_msg: ResultText = ""
    start_time: Millis | None = None
    duration_ms: Millis | None = None
    """How long the handler ran, by the monotonic clock of the executor."""
    incarnation: Identity | None = None
    final: bool | None = None
    """True of a failure that another attempt would meet as well, as its handler says."""
    reason: Annotated[ReportedReason | None, BeforeValidator(known_reason)] = None
    """Why the executor ended it, or could not carry it out; missing if the handler returned or failed by itself."""
    still_inside: bool | None = None
    """True where the handler had not returned when this was reported: the execution may still be running."""
    report_key: ReportKey | None = Field(None, repr=False)
    """As its trigger said."""


class Verdict(StrEnum):
    """What became of one reported result. Only ``retry`` asks for it again."""

    STORED = "stored"
    DUPLICATE = "duplicate"  # the same result was stored before
    SUPERSEDED = "superseded"  # the execution had ended otherwise; the first result stands
    UNKNOWN = "unknown"  # no such execution
    RETRY = "retry"  # not now
    MALFORMED = "malformed"  # can never be stored


class CallbackVerdict(Message):
    """The acknowledgement of one item."""

    log_id: LogId
    verdict: Verdict


# --- the envelope -----------------------------------------------------------------------------------------------------


class Reply(Message):
    """The envelope of every answer. Any code but 200 is a failure."""

    code: Int32
    msg: ReportText | None = None
    payload: Any = None

    @classmethod
    def success(cls, payload: object = None) -> Self:
        return cls(code=SUCCESS, payload=payload)

    @classmethod
    def failure(cls, msg: str, code: int = FAILURE) -> Self:
        return cls(code=code, msg=msg)

    @property
    def ok(self) -> bool:
        return self.code == SUCCESS

    def to_bytes(self) -> bytes:
        """JSON with the payload under both keys the generations look for."""
        return to_json({"code": self.code, "msg": self.msg, "content": self.payload, "data": self.payload})
