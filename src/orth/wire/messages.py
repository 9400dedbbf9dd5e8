"""Every message between coordinators and executors, in its one canonical form.

A message is a frozen Pydantic model: snake_case in Python, camelCase on the wire, unknown keys ignored. What the wire
generations make of it is the business of ``dialects``; here a message has one shape and its limits.

Numbers are integers within the range of their column. Digits in a string are tolerated, because foreign clients send
them; a float never is, because an id that went through a float may be another id.

Text that names something (an app, a handler, an incarnation) is refused when it has characters nobody can see. Text
that reports something (a result message, a page of log) is repaired and cut instead: a result must not be lost because
of how it is worded.
"""

import json
import re
import unicodedata
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import to_json

from orth.domain.executions import EXECUTOR_MESSAGE_LIMIT, FAILURE, SUCCESS, cut
from orth.domain.job_secrets import SECRET_LONGEST, SECRET_NAME, SECRETS_LIMIT
from orth.domain.jobs import BlockStrategy, GlueType
from orth.domain.nodes import LABEL_KEY, LABEL_VALUE, LABELS_LIMIT, normal_address
from orth.errors import Invalid

# --- limits -----------------------------------------------------------------------------------------------------------

BODY_LIMIT = 5 * 1024 * 1024
"""Bytes of any request or reply; what foreign executors allow."""
REGISTRY_BODY_LIMIT = 1024 * 1024
"""Bytes of a registration, which may list many handlers with their schemas."""
SMALL_BODY_LIMIT = 64 * 1024
"""Bytes of a request that carries only ids."""

HANDLE_MSG_LIMIT = EXECUTOR_MESSAGE_LIMIT
PARAMS_LIMIT = 65_535
GLUE_SOURCE_LIMIT = 1024 * 1024
ADDRESS_LIMIT = 255
REGISTRY_GROUP_LIMIT = 50
HANDLER_NAME_LIMIT = 255
APP_NAME_SHORTEST = 4
"""Of a group's app name. A registration may bear a shorter one: then no group ever uses it."""
APP_NAME_LONGEST = 64
IDENTITY_LIMIT = 64
DESCRIPTION_LIMIT = 2_000
HANDLERS_LIMIT = 1_000
EXTENSIONS_LIMIT = 64
BATCH_LIMIT = 500
"""Triggers in one request."""
STANDING_LIMIT = 1_000
"""Executions named in a beat; how many there are is said beside it."""
TURNED_AWAY_LIMIT = 32
"""Kinds of callers turned away that a beat tells of."""
LOG_WAIT_LIMIT = 25
"""Seconds for which an executor holds back a page of log; a longer wait is cut to it."""

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


# --- what a field may hold --------------------------------------------------------------------------------------------

_DIGITS = re.compile(r"-?[0-9]{1,19}")


def whole_number(value: object) -> int:
    """``value`` as an integer; ``ValueError`` unless it is one, or a string of digits."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    raise ValueError("must be an integer")


def _visible(text: str) -> str:
    if not text.isprintable():
        raise ValueError("has characters that cannot be seen")
    return text


def _app_name(text: str) -> str:
    return unicodedata.normalize("NFC", _visible(text.strip()))


def _no_nul(text: str) -> str:
    if "\0" in text:
        raise ValueError("has a NUL character")
    return text


def as_text(value: object) -> str:
    """Any JSON value as text that can be stored: clients put numbers and objects where a message belongs.

    NUL and halves of surrogate pairs, which no database takes, become U+FFFD.
    """
    if value is None:
        return ""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _result_text(value: object) -> str:
    return cut(as_text(value), HANDLE_MSG_LIMIT)


def _block_strategy(value: object) -> BlockStrategy:
    # Executors have always queued when they did not know the strategy's name; a newer coordinator may rely on it.
    try:
        return BlockStrategy(str(value))
    except ValueError:
        return BlockStrategy.SERIAL_EXECUTION


def _first_named(value: object) -> object:
    # A longer list only says more than was asked for; the executor that sent it is no less alive.
    return value[:STANDING_LIMIT] if isinstance(value, list | tuple) else value


def _at_least(floor: int) -> AfterValidator:
    return AfterValidator(lambda number: max(floor, number))


# The bounds stand first: so they are checked in compiled code, many times for every trigger.
Int32 = Annotated[int, Field(ge=-INT32_MAX - 1, le=INT32_MAX), BeforeValidator(whole_number)]
JobId = Annotated[int, Field(ge=0, le=INT32_MAX), BeforeValidator(whole_number)]
LogId = Annotated[int, Field(ge=0, le=INT64_MAX), BeforeValidator(whole_number)]
Millis = Annotated[int, Field(ge=0, le=INT64_MAX), BeforeValidator(whole_number)]
ResultCode = Annotated[int, Field(ge=1, le=INT32_MAX), BeforeValidator(whole_number)]
HandlerName = Annotated[str, Field(max_length=HANDLER_NAME_LIMIT), AfterValidator(_visible)]
Interpreter = Annotated[str, Field(pattern=r"^[0-9A-Za-z.+ -]{0,32}$")]
"""Which Python an executor runs on."""
Identity = Annotated[str, Field(min_length=1, max_length=IDENTITY_LIMIT), AfterValidator(_visible)]
AppName = Annotated[str, AfterValidator(_app_name), Field(min_length=1, max_length=APP_NAME_LONGEST)]
Params = Annotated[str, BeforeValidator(as_text), Field(max_length=PARAMS_LIMIT)]
Source = Annotated[str, Field(max_length=GLUE_SOURCE_LIMIT), AfterValidator(_no_nul)]
ReportText = Annotated[str, BeforeValidator(as_text)]
Count = Annotated[int, Field(ge=0, le=INT64_MAX), BeforeValidator(whole_number)]
LogIds = Annotated[tuple[LogId, ...], BeforeValidator(_first_named)]
Labels = Annotated[
    dict[
        Annotated[str, Field(pattern=f"^{LABEL_KEY}$")],
        Annotated[str, Field(pattern=f"^{LABEL_VALUE}$")],
    ],
    Field(max_length=LABELS_LIMIT),
]
ResultText = Annotated[str, BeforeValidator(_result_text)]
Secrets = Annotated[
    dict[
        Annotated[str, Field(pattern=f"^{SECRET_NAME}$")],
        Annotated[str, Field(max_length=SECRET_LONGEST), AfterValidator(_no_nul)],
    ],
    Field(max_length=SECRETS_LIMIT),
]


# --- addresses --------------------------------------------------------------------------------------------------------

_ADDRESS = re.compile(
    r"https?://(?P<host>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::(?P<port>[0-9]{1,5}))?(?P<path>(?:/[a-z0-9._~!$&'()*+,;=:%-]*)*)",
    re.IGNORECASE,
)
_NUMERIC = re.compile(r"[0-9]+|0x[0-9a-f]*", re.IGNORECASE)
_ADDRESS_HINT = "It looks like http://10.0.0.7:9999, with https and a path if needed."


def checked_address(text: str) -> str:
    """``text`` as the base URL of a peer, in its normal spelling; ``Invalid`` when it cannot be one.

    A registered address is one this process will connect to, so it is matched as a whole against what an address may
    be: no credentials, no query, no character that a URL parser or a header could read differently.
    """
    if len(text) > ADDRESS_LIMIT:
        raise _bad_address(f"The address is longer than {ADDRESS_LIMIT} characters.")
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise _bad_address("The address is not an http or https base URL.")
    if match["port"] is not None and not 1 <= int(match["port"]) <= 65_535:
        raise _bad_address("The address has a port outside 1 to 65535.")
    if ".." in match["path"].split("/"):
        raise _bad_address("The address has a path that climbs.")
    _check_host(match["host"])
    return normal_address(text)


def _check_host(host: str) -> None:
    # Resolvers read 0x7f.1 and 2130706433 as addresses: whatever ends in a number must be one, written out.
    if host.startswith("[") or _NUMERIC.fullmatch(host.rsplit(".", 1)[-1]):
        try:
            ip = ip_address(host.strip("[]"))
        except ValueError:
            raise _bad_address("The address has a host that is not a valid IP address.") from None
        _check_ip(ip)
    elif any(not 1 <= len(label) <= 63 or label.startswith("-") or label.endswith("-") for label in host.split(".")):
        raise _bad_address("The address has a host that is not a valid name.")


def _check_ip(ip: IPv4Address | IPv6Address) -> None:
    if isinstance(ip, IPv6Address):
        ip = ip.ipv4_mapped or ip
    broadcast = isinstance(ip, IPv4Address) and ip.is_reserved
    if ip.is_unspecified or ip.is_multicast or broadcast:
        raise _bad_address("The address names no single machine.")


def _bad_address(message: str) -> Invalid:
    return Invalid(message, hint=_ADDRESS_HINT, field="registryValue")


Address = Annotated[str, AfterValidator(checked_address)]


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
    WORK_KEY = "work-key"  # asks for work are signed with the work key that it tells, too


NEVER_HAD = "which never had it"
"""What an executor says that is sent a repetition meant for another incarnation, and does not have the execution."""
NOT_ALLOWED_HERE = "is not allowed on this executor"
"""What it says of a kind of code that its own settings do not name."""
ENDED_WITH = "ended with"
"""What it says of one whose result a coordinator has taken, before the code."""


MISDIRECTED = 421
"""The code of an executor that was sent a trigger of another application: it has an address that was another's before.
"""


class RunRequest(Message):
    """Run this. Acceptance means queued, not started."""

    job_id: JobId
    executor_handler: HandlerName = ""
    executor_params: Params = ""
    executor_block_strategy: Annotated[BlockStrategy, BeforeValidator(_block_strategy)] = BlockStrategy.SERIAL_EXECUTION
    executor_timeout: Annotated[Int32, _at_least(0)] = 0  # seconds; 0 = none
    log_id: LogId
    log_date_time: Millis = 0  # when it was triggered; 0 = the coordinator did not say
    glue_type: GlueType = GlueType.BEAN
    glue_source: Source = ""
    glue_updatetime: Millis = 0
    broadcast_index: Annotated[Int32, _at_least(0)] = 0
    broadcast_total: Annotated[Int32, _at_least(1)] = 1
    executor_concurrency: Annotated[Int32, _at_least(1)] = 1
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

    secrets: Secrets | None = Field(None, repr=False)
    """The values of the secrets that its job names, by name. Never logged, and kept only as long as the request."""

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
    from_line_num: Annotated[Int32, _at_least(1)] = 1
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

    from_line: Annotated[Int32, _at_least(1)] = Field(alias="fromLineNum")
    to_line: Annotated[Int32, _at_least(0)] = Field(alias="toLineNum")
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
    schedule: Annotated[str, Field(max_length=128)] | None = None
    timezone: Identity | None = None
    params_schema: dict[str, Any] | None = None
    timeout: Annotated[Int32, _at_least(0)] | None = None  # seconds
    block: Annotated[BlockStrategy, BeforeValidator(_block_strategy)] | None = None
    concurrency: Annotated[Int32, _at_least(1)] | None = None
    retry: RetryInfo | None = None


class Load(Message):
    """How much an executor has to do."""

    running: Count = 0
    queued: Count = 0
    threads: Count = 0
    abandoned: Count = 0  # handlers past their limit that could not be ended
    unacknowledged: Count = 0  # results no coordinator has answered for


class TurnedAwayCaller(Message):
    """Somebody who asked something of an executor without a good credential, and how often since the last beat."""

    address: Identity
    path: Identity
    reason: Identity
    count: Count = 1


class Announcement(Message):
    """What our executors say of themselves with every beat."""

    incarnation: Identity
    version: Annotated[str, Field(max_length=IDENTITY_LIMIT), AfterValidator(_visible)] = ""
    python: Interpreter = ""
    extensions: Annotated[tuple[Identity, ...], Field(max_length=EXTENSIONS_LIMIT)] = ()
    handlers: Annotated[tuple[HandlerInfo, ...], Field(max_length=HANDLERS_LIMIT)] = ()
    running: LogIds = ()
    """What runs or waits there, oldest first. Complete when ``load`` counts no more than are named."""
    unacknowledged: LogIds = ()
    """What has ended there and is not yet acknowledged, oldest first; complete as above."""
    load: Load | None = None
    labels: Labels = Field(default_factory=dict)
    turned_away: Annotated[tuple[TurnedAwayCaller, ...], Field(max_length=TURNED_AWAY_LIMIT)] = ()
    work_key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = Field(None, repr=False)
    """What coordinators need beside the token to ask this process for work (``orth.wire.work_keys``)."""


class RegistryRequest(Message):
    """I am here: registration and heartbeat in one."""

    registry_group: Annotated[Identity, Field(max_length=REGISTRY_GROUP_LIMIT)] = "EXECUTOR"
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
    incarnation: Identity | None = None
    final: bool | None = None
    """True of a failure that another attempt would meet as well, as its handler says."""


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
