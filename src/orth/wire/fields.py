"""What a field of a message may hold, and the limits of each.

Numbers are integers within the range of their column. Digits in a string are tolerated, and so is a float that is a
whole number (``200.0``), because foreign clients send them: some JSON libraries know no other numbers. From 2**53 on a
float is refused, because an id that went through it may be another id.

Text that names something (an app, a handler, an incarnation) is refused when it has characters nobody can see. Text
that reports something (a result message, a page of log) is repaired and cut instead: a result must not be lost because
of how it is worded.
"""

import json
import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from orth.domain.executions import EXECUTOR_MESSAGE_LIMIT, LogLevel, cut
from orth.domain.job_secrets import SECRET_LONGEST, SECRET_NAME, SECRETS_LIMIT
from orth.domain.jobs import CONCURRENCY_LIMIT, BlockStrategy, Overlap
from orth.domain.nodes import LABEL_KEY, LABEL_VALUE, LABELS_LIMIT
from orth.domain.reasons import ReportedReason

# --- limits -----------------------------------------------------------------------------------------------------------

BODY_LIMIT = 5 * 1024 * 1024
"""Bytes of any request or reply; what foreign executors allow."""
RESULTS_LIMIT = 32 * 1024 * 1024
"""Bytes of results that an executor of another make sends at once. Some send all that has gathered while coordinators
were away, and the same again for ever if that is refused."""
RESULTS_OF_OURS = 500
"""Results in one request of an executor of ours."""
RESULTS_COUNT = 20_000
"""Results in one request of any executor. Java executors send all that ended while their last request was on its way,
which takes some seconds."""
RESULTS_VALUES = 500_000
"""Values in one request with results: what a handler of another make returns may be a list of thousands."""
REGISTRY_BODY_LIMIT = 1024 * 1024
"""Bytes of a registration, which may list many handlers with their schemas."""
SMALL_BODY_LIMIT = 64 * 1024
"""Bytes of a request that carries only ids."""
HEALTH_VALUES = 200
"""Values in the answer of an executor that says how it is."""

HANDLE_MSG_LIMIT = EXECUTOR_MESSAGE_LIMIT
PARAMS_LIMIT = 65_535
GLUE_SOURCE_LIMIT = 1024 * 1024
ADDRESS_LIMIT = 255
EXECUTOR_GROUP = "EXECUTOR"
"""What executors call the group of the registry they belong to. Another one is known and used by nobody: ADMIN."""
HANDLER_NAME_LIMIT = 255
JOB_NAME_LIMIT = 255
APP_NAME_SHORTEST = 4
"""Of a group's app name. A registration may bear a shorter one: then no group ever uses it."""
APP_NAME_LONGEST = 64
IDENTITY_LIMIT = 64
DESCRIPTION_LIMIT = 2_000
SCHEDULE_LIMIT = 256
HANDLERS_LIMIT = 1_000
EXTENSIONS_LIMIT = 64
BATCH_LIMIT = 500
"""Triggers in one request."""
STANDING_LIMIT = 1_000
"""Executions named in a beat; how many there are is said beside it."""
LEFT_BEHIND_LIMIT = 100
"""Executions that could not be ended, as a beat names them: the newest; how many there are is said beside it."""
TURNED_AWAY_LIMIT = 32
"""Kinds of callers turned away that a beat tells of."""
LOG_WAIT_LIMIT = 25
"""Seconds for which an executor holds back a page of log; a longer wait is cut to it."""

_LEVELS = frozenset(LogLevel)

INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


# --- what a field may hold --------------------------------------------------------------------------------------------

_DIGITS = re.compile(r"-?[0-9]{1,19}")
_EXACT_FLOATS = 2**53
"""From here on several integers are the same float."""


def whole_number(value: object) -> int:
    """``value`` as an integer; ``ValueError`` unless it is one, a string of digits, or a float that means just one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_FLOATS:
        return int(value)
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    raise ValueError("must be an integer")


def visible(text: str) -> str:
    if not text.isprintable():
        raise ValueError("has characters that cannot be seen")
    return text


def normal_app_name(text: str) -> str:
    """An app name in the one spelling in which it is compared."""
    return unicodedata.normalize("NFC", text.strip())


def _executor_group(text: str) -> str:
    if text != EXECUTOR_GROUP:
        what = "says something else" if text.strip() else "is blank"
        raise ValueError(f"{what}; it must be {EXECUTOR_GROUP}, for only executors are registered here")
    return text


def _app_name(text: str) -> str:
    return normal_app_name(visible(text))


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


def _parameter(value: object) -> str:
    # Unlike a result, a parameter with a NUL is lost to nobody when it is refused; and no program could be given it.
    return as_text(_no_nul(value) if isinstance(value, str) else value)


def _result_text(value: object) -> str:
    return cut(as_text(value), HANDLE_MSG_LIMIT)


def block_strategy(value: object) -> BlockStrategy:
    # Executors have always queued when they did not know the strategy's name; a newer coordinator may rely on it.
    if not isinstance(value, str):
        raise ValueError("is not the name of a block strategy")  # what pydantic takes for a complaint
    try:
        return BlockStrategy(value)
    except ValueError:
        return BlockStrategy.SERIAL_EXECUTION


def known_overlap(value: object) -> Overlap | None:
    """What a coordinator or a handler's author says; a newer one may say what this version does not know."""
    return Overlap(value) if isinstance(value, str) and value in set(Overlap) else None


def known_reason(value: object) -> ReportedReason | None:
    """Why an executor ended an execution; a newer one may report what this version does not know."""
    return ReportedReason(value) if isinstance(value, str) and value in set(ReportedReason) else None


def _known_level(value: object) -> str | None:
    # It only says how much is wanted: better the usual log than an execution refused for its sake.
    return value if isinstance(value, str) and value in _LEVELS else None


def _first_named(value: object) -> object:
    # A longer list only says more than was asked for; the executor that sent it is no less alive.
    return value[:STANDING_LIMIT] if isinstance(value, list | tuple) else value


def at_least(floor: int) -> AfterValidator:
    return AfterValidator(lambda number: max(floor, number))


# The bounds stand first: so they are checked in compiled code, many times for every trigger.
Int32 = Annotated[int, Field(ge=-INT32_MAX - 1, le=INT32_MAX), BeforeValidator(whole_number)]
JobId = Annotated[int, Field(ge=0, le=INT32_MAX), BeforeValidator(whole_number)]
LogId = Annotated[int, Field(ge=0, le=INT64_MAX), BeforeValidator(whole_number)]
Millis = Annotated[int, Field(ge=0, le=INT64_MAX), BeforeValidator(whole_number)]
ResultCode = Annotated[int, Field(ge=1, le=INT32_MAX), BeforeValidator(whole_number)]
HandlerName = Annotated[str, Field(max_length=HANDLER_NAME_LIMIT), AfterValidator(visible)]
JobName = Annotated[str, BeforeValidator(as_text), Field(max_length=JOB_NAME_LIMIT)]
Interpreter = Annotated[str, Field(pattern=r"^[0-9A-Za-z.+ -]{0,32}$")]
"""Which Python an executor runs on."""
Identity = Annotated[str, Field(min_length=1, max_length=IDENTITY_LIMIT), AfterValidator(visible)]
ExecutorGroup = Annotated[str, AfterValidator(_executor_group)]
AppName = Annotated[str, AfterValidator(_app_name), Field(min_length=1, max_length=APP_NAME_LONGEST)]
Params = Annotated[str, BeforeValidator(_parameter), Field(max_length=PARAMS_LIMIT)]
Source = Annotated[str, Field(max_length=GLUE_SOURCE_LIMIT), AfterValidator(_no_nul)]
ReportText = Annotated[str, BeforeValidator(as_text)]
Count = Annotated[int, Field(ge=0, le=INT64_MAX), BeforeValidator(whole_number)]
ShardIndex = Annotated[int, Field(ge=0, le=INT32_MAX), BeforeValidator(whole_number)]
ShardTotal = Annotated[int, Field(ge=0, le=INT32_MAX), BeforeValidator(whole_number), at_least(1)]
"""As with the next, 0 is what a client sends that leaves the number out."""
Concurrency = Annotated[int, Field(ge=0, le=CONCURRENCY_LIMIT), BeforeValidator(whole_number), at_least(1)]
ReportKey = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
RunLogLevel = Annotated[str | None, BeforeValidator(_known_level)]
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
