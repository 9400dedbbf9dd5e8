"""Every spelling of the messages: reading all of them, writing the one the peer understands.

The protocol has lived through generations that differ in small things: the key of the payload (``content`` or
``data``), the shape of a result (``handleCode`` or ``executeResult.code``), a time field without its last letter, the
header of the token, the path of a trigger. Reading accepts all of them at once, because a body does not say which
generation wrote it and never needs to. Writing uses both spellings where a key is cheap. Only a trigger needs to know
its reader, for some executors answer an unknown key with an error: that knowledge is the ``Dialect`` of the group, and
what the executor announced.

Nothing here does I/O. A message that cannot be read is ``InvalidMessage``; one malformed item of a batch is a
``Malformed`` in its place, so that it spoils nothing.
"""

import codecs
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from orth.domain.executions import FAILURE, STORED_MESSAGE_LIMIT, SUCCESS, cut
from orth.domain.jobs import GroupDialect
from orth.errors import Invalid, InvalidMessage, TooLarge
from orth.wire.fields import (
    BATCH_LIMIT,
    BODY_LIMIT,
    INT64_MAX,
    REGISTRY_BODY_LIMIT,
    RESULTS_COUNT,
    RESULTS_LIMIT,
    RESULTS_VALUES,
    SMALL_BODY_LIMIT,
    as_text,
    normal_app_name,
    whole_number,
)
from orth.wire.messages import (
    CallbackItem,
    CallbackVerdict,
    Extension,
    IdleBeatRequest,
    KillRequest,
    LogPage,
    LogRequest,
    ProgressTold,
    RegistryRequest,
    Reply,
    RunAnswer,
    RunRequest,
    Verdict,
)
from orth.wire.reading import complaint, message_of
from orth.wire.signatures import SIGNATURE_HEADER
from orth.wire.strict_json import has_surrogates, is_storable, parse, read_json, read_text

PREFIXES = ("/api", "/xxl-job-admin/api", "/orth-admin/api")
"""Where a coordinator serves what executors call; each generation has its own default."""

CONTENT_TYPE = "application/json;charset=UTF-8"
APP_NAME_HEADER = "XXL-JOB-APPNAME"
EXTENSIONS_HEADER = "ORTH-EXTENSIONS"
VERDICTS = "verdicts"
TOKEN_HEADERS = ("ORTH-ACCESS-TOKEN", "XXL-JOB-ACCESS-TOKEN", "XXL-RPC-ACCESS-TOKEN")

FITS_NO_EXECUTION = 1
"""A trigger time, in epoch milliseconds, that no execution has."""
_EXCERPT = 200
_REPORT_KEY = re.compile("[0-9a-f]{64}")
_MESSAGE_KEYS = ("msg", "message", "detail", "error", "title")


Dialect = GroupDialect
"""What the executors of a group speak: the group says."""


SPEAKS_XXL35 = "xxl-job-3.5"
"""Stands among the extensions of an executor of xxl-job 3.5, which announces none itself."""


def resolved(dialect: Dialect, extensions: frozenset[str]) -> Dialect:
    """What to speak to an executor that announced ``extensions``: the group's choice, or else the richest safe one."""
    if dialect is not Dialect.AUTO:
        return dialect
    if extensions == {SPEAKS_XXL35}:
        return Dialect.XXL35
    return Dialect.ORTH if extensions else Dialect.XXL


def generation_of(headers: Mapping[str, str]) -> frozenset[str]:
    """What a registration without announcement says by its headers: only xxl-job 3.5 names an app there."""
    return frozenset() if app_name_from(headers) is None else frozenset({SPEAKS_XXL35})


@dataclass(frozen=True, slots=True)
class Malformed:
    """A result or a trigger that cannot be read, in its place in the batch."""

    log_id: int | None
    reason: str


# --- reading requests -------------------------------------------------------------------------------------------------


def read_registry(body: bytes) -> RegistryRequest:
    return message_of(RegistryRequest, _members(body, REGISTRY_BODY_LIMIT))


def not_json(headers: Mapping[str, str]) -> str | None:
    """What is wrong with a request that says of itself that its body is anything but JSON in plain UTF-8; ``None`` if
    nothing is. One that says nothing is taken at its word: many clients name no type.
    """
    coding = headers.get("content-encoding", "identity").strip().lower()
    if coding not in ("", "identity"):
        return f"The body is said to be encoded with {coding!r}; send it as it is."
    kind, *more = [part.strip().lower() for part in headers.get("content-type", "").split(";")]
    if kind and kind != "application/json":
        return f"The body is said to be {kind!r}; send application/json."
    charset = next((part.partition("=")[2].strip('" ') for part in more if part.startswith("charset")), "utf-8")
    return None if charset in ("utf-8", "utf8", "") else f"The body is said to be in {charset!r}; send UTF-8."


def read_run(body: bytes) -> RunRequest:
    return message_of(RunRequest, _one_time_spelling(_members(body, BODY_LIMIT)))


def read_runs(body: bytes) -> list[RunRequest | Malformed]:
    """The triggers in ``{"requests": [...]}``, each for itself."""
    text = read_text(body, BODY_LIMIT)
    value = parse(text)
    requests = value.get("requests") if isinstance(value, dict) else None
    if not isinstance(requests, list):
        raise InvalidMessage("A batch is a list of requests.", field="requests")
    if len(requests) > BATCH_LIMIT:
        raise InvalidMessage(f"A batch has at most {BATCH_LIMIT} requests, not {len(requests)}.", field="requests")
    doubtful = has_surrogates(text)
    return [_trigger(request, doubtful) for request in requests]


def _trigger(item: object, doubtful: bool) -> RunRequest | Malformed:
    if not isinstance(item, dict):
        return Malformed(None, "a request is an object")
    if doubtful and not is_storable(item):
        return Malformed(_positive(item.get("logId")), "half of a surrogate pair")
    try:
        return RunRequest.model_validate(_one_time_spelling(_without_nulls(item)))
    except ValidationError as error:
        return Malformed(_positive(item.get("logId")), complaint(error)[1])


def read_idle_beat(body: bytes) -> IdleBeatRequest:
    return message_of(IdleBeatRequest, _members(body, SMALL_BODY_LIMIT))


def read_kill(body: bytes) -> KillRequest:
    return message_of(KillRequest, _members(body, SMALL_BODY_LIMIT))


def read_log_request(body: bytes) -> LogRequest:
    return message_of(LogRequest, _one_time_spelling(_members(body, SMALL_BODY_LIMIT)))


def read_callback(body: bytes) -> list[CallbackItem | Malformed]:
    """The results in ``body``: a bare array, ``{"callbackList": [...]}`` or a single result.

    Halves of surrogate pairs are repaired here instead of refused: clients that cut a message at a length leave them.
    ``NaN`` and its like are text: clients that send what a handler returned write them.
    """
    value = parse(read_text(body, RESULTS_LIMIT), odd_numbers_as_text=True, values=RESULTS_VALUES)
    if isinstance(value, dict):
        if "callbackList" in value:
            value = value["callbackList"] or []
        elif "logId" in value:
            value = [value]
    if not isinstance(value, list):
        raise InvalidMessage("A callback is a list of results.")
    if len(value) > RESULTS_COUNT:
        raise TooLarge(f"A callback has at most {RESULTS_COUNT:,} results, not {len(value):,}. Send fewer at once.")
    return [_result(item) for item in value]


def _result(item: object) -> CallbackItem | Malformed:
    if not isinstance(item, dict):
        return Malformed(None, "a result is an object")
    code, msg = item.get("handleCode"), item.get("handleMsg")
    if code is None and isinstance(first_form := item.get("executeResult"), dict):
        code, msg = first_form.get("code"), first_form.get("msg")
    try:
        number = whole_number(code)
    except ValueError as error:
        return Malformed(_positive(item.get("logId")), f"handleCode {error}")
    members = {
        "logId": item.get("logId"),
        "logDateTime": _trigger_time(item),
        # A report says that the execution ended; with a code that says nothing it did not end well.
        "handleCode": number if number > 0 else FAILURE,
        "handleMsg": msg,
        "startTime": _positive(item.get("startTime")),
        "durationMs": _natural(item.get("durationMs")),
        "incarnation": item.get("incarnation"),
        "final": True if item.get("final") is True else None,
        "reason": item.get("reason"),
        "stillInside": True if item.get("stillInside") is True else None,
        "reportKey": _report_key(item.get("reportKey")),
    }
    try:
        return CallbackItem.model_validate(members)
    except ValidationError as error:
        return Malformed(_positive(item.get("logId")), complaint(error)[1])


def _trigger_time(item: dict[str, object]) -> int:
    """The trigger time in a result; 0 if there is none. If its two spellings differ, no execution fits."""
    told = {time for name in ("logDateTime", "logDateTim") if (time := _positive(item.get(name))) is not None}
    return FITS_NO_EXECUTION if len(told) > 1 else max(told, default=0)


def _report_key(value: object) -> str | None:
    """What cannot be one is none: whether one is needed is not known here."""
    return value if isinstance(value, str) and _REPORT_KEY.fullmatch(value) else None


def _positive(value: object) -> int | None:
    return _natural(value) or None


def _natural(value: object) -> int | None:
    """A number that only informs: better none than a result refused for its sake."""
    if value is None:  # as most often; an exception costs as much as the rest
        return None
    try:
        number = whole_number(value)
    except ValueError:
        return None
    return number if 0 <= number <= INT64_MAX else None


def _members(body: bytes, limit: int) -> dict[str, object]:
    value = read_json(body, limit)
    if not isinstance(value, dict):
        raise InvalidMessage("The body is not a JSON object.")
    return _without_nulls(value)


def _without_nulls(members: dict[str, object]) -> dict[str, object]:
    if None not in members.values():
        return members
    return {key: member for key, member in members.items() if member is not None}  # null and absent mean the same


def _one_time_spelling(members: dict[str, object]) -> dict[str, object]:
    if "logDateTim" in members:
        members.setdefault("logDateTime", members["logDateTim"])
    return members


# --- reading replies --------------------------------------------------------------------------------------------------


def read_reply(status: int, body: bytes) -> Reply:
    """What an answer means, whatever wrote it. Never raises: what cannot be understood is a failure that says so.

    The content type is not looked at, because executors that write JSON call it text/html.
    """
    text = body.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    try:
        value = parse(text)
    except (InvalidMessage, TooLarge):
        value = text
    if not isinstance(value, dict):
        return Reply.failure(f"HTTP {status}, not the expected answer: {_excerpt(text)}")
    said = next((as_text(value[key]) for key in _MESSAGE_KEYS if value.get(key) is not None), None)
    message = None if said is None else cut(said, STORED_MESSAGE_LIMIT)
    try:
        code = whole_number(value.get("code"))
        if not 200 <= status < 300:
            return Reply(code=FAILURE if code == SUCCESS else code, msg=message or f"HTTP {status}")
        payload = value.get("data")
        return Reply(code=code, msg=message, payload=value.get("content") if payload is None else payload)
    except ValueError:
        return Reply.failure(f"HTTP {status}, without a code: {message or _excerpt(text)}")


def read_log_page(payload: object, asked_from: int = 1) -> LogPage:
    """A page of log. "Nothing new" has two spellings, the number of lines there are or 0: both become "none yet"."""
    told = payload if isinstance(payload, dict) else {}
    page = message_of(
        LogPage,
        {
            "fromLineNum": told.get("fromLineNum") or asked_from,
            "toLineNum": told.get("toLineNum") or 0,
            "logContent": told.get("logContent"),
            "isEnd": told.get("isEnd") is True or told.get("end") is True,
            "progress": ProgressTold.read(told.get("progress")),
        },
    )
    return page.model_copy(update={"to_line": max(page.to_line, page.from_line - 1)})


def read_run_answers(reply: Reply, requests: Sequence[RunRequest]) -> list[RunAnswer | None]:
    """The answer to each of ``requests``. ``None`` where there is none: the executor may have taken that one or not."""
    told = reply.payload.get("replies") if isinstance(reply.payload, dict) else None
    answers: dict[int | None, RunAnswer] = {}
    for entry in told if isinstance(told, list) else ():
        try:
            answer = RunAnswer.model_validate(entry)
        except ValidationError:
            continue
        answers.setdefault(answer.log_id, answer)
    return [answers.get(request.log_id) for request in requests]


def read_verdicts(reply: Reply, items: Sequence[CallbackItem]) -> list[CallbackVerdict]:
    """What became of each of ``items``. A coordinator of another make says yes to the batch and means all of it."""
    if not isinstance(reply.payload, dict) or "verdicts" not in reply.payload:
        return [CallbackVerdict(log_id=item.log_id, verdict=Verdict.STORED) for item in items]
    told = reply.payload["verdicts"]
    verdicts: dict[int, CallbackVerdict] = {}
    for entry in told if isinstance(told, list) else ():
        try:
            verdict = CallbackVerdict.model_validate(entry)
        except ValidationError:  # a word of a newer coordinator: ask again rather than forget a result
            continue
        verdicts[verdict.log_id] = verdict
    return [verdicts.get(item.log_id) or CallbackVerdict(log_id=item.log_id, verdict=Verdict.RETRY) for item in items]


def _excerpt(text: str) -> str:
    shown = "".join(char if char.isprintable() else " " for char in text[:_EXCERPT]).strip()
    return shown + " …" if len(text) > _EXCERPT else shown or "nothing"


# --- writing ----------------------------------------------------------------------------------------------------------

_SAID_IF_SET = (
    *("resend_to", "start_in", "start_tick", "tick_of", "app_name", "source_digest", "draft", "secrets"),
    *("run_key", "attempt", "job_name", "report_key", "log_level", "overlap"),
)
_NOT_IN_XXL = {"executor_concurrency", "schedule_time", *_SAID_IF_SET}


def run_body(request: RunRequest, dialect: Dialect, extensions: frozenset[str] = frozenset()) -> tuple[str, bytes]:
    """The path and body of a trigger for an executor that announced ``extensions``.

    A repetition is refused when the executor would not recognise it as one: it could run twice.
    """
    spoken = resolved(dialect, extensions)
    repeatable = spoken is Dialect.ORTH and Extension.RESEND in extensions
    if request.resend_to is not None and not repeatable:
        raise Invalid("This executor does not recognise a repeated trigger, so it is not repeated.", field="resendTo")
    if request.start_in and not (spoken is Dialect.ORTH and Extension.NOT_BEFORE in extensions):
        raise Invalid("This executor would start it at once, so it is not sent ahead.", field="startIn")
    if request.draft and spoken is not Dialect.ORTH:
        raise Invalid("This executor would take the draft for the job's own code, so it is not sent.", field="draft")
    if request.secrets and not (spoken is Dialect.ORTH and Extension.SECRETS in extensions):
        raise Invalid("This executor would not hide the secrets of the job, so it is not sent.", field="secrets")
    unsaid = {name for name in _SAID_IF_SET if getattr(request, name) is None}
    left_out = _NOT_IN_XXL if spoken is not Dialect.ORTH else unsaid
    path = "/trigger" if spoken is Dialect.XXL35 else "/run"
    return path, request.model_dump_json(by_alias=True, exclude=left_out).encode()


def runs_body(requests: Sequence[RunRequest], extensions: frozenset[str]) -> tuple[str, bytes]:
    """The path and body of many triggers at once, for an executor that announced that it takes them."""
    if Extension.BATCH_RUN not in extensions:
        raise Invalid("This executor takes triggers only one by one.", field="requests")
    if len(requests) > BATCH_LIMIT:
        raise Invalid(f"A batch has at most {BATCH_LIMIT} triggers, not {len(requests)}.", field="requests")
    bodies = (run_body(request, Dialect.ORTH, extensions)[1] for request in requests)
    return "/runs", b'{"requests":[' + b",".join(bodies) + b"]}"


def run_answers_payload(answers: Sequence[RunAnswer]) -> dict[str, object]:
    return {"replies": [{"logId": answer.log_id, "code": answer.code, "msg": answer.msg} for answer in answers]}


def idle_beat_body(job_id: int) -> bytes:
    return IdleBeatRequest(job_id=job_id).model_dump_json(by_alias=True).encode()


def kill_body(job_id: int, log_id: int | None, extensions: frozenset[str] = frozenset()) -> bytes:
    """Without the extension the whole job is killed there: the base protocol cannot name one execution."""
    one = log_id if Extension.KILL_EXECUTION in extensions else None
    return KillRequest(job_id=job_id, log_id=one).model_dump_json(by_alias=True, exclude_none=True).encode()


def log_body(request: LogRequest, extensions: frozenset[str] = frozenset()) -> bytes:
    """A request for log lines, with the time in both spellings; without the extension from its line on, and at once."""
    unknown = set() if Extension.FOLLOW_LOG in extensions else {"tail", "wait"}
    unknown |= set() if Extension.PROGRESS in extensions else {"progress"}
    unknown |= set() if Extension.LONG_PAGES in extensions else {"lines"}
    asked = request.model_dump(by_alias=True, exclude_none=True, exclude=unknown)
    return to_json({**asked, "logDateTim": request.log_date_time})


def log_payload(page: LogPage) -> dict[str, object]:
    """A page of log as every reader finds its end: ``isEnd`` for most, ``end`` for the fork."""
    return {**page.model_dump(by_alias=True, exclude_none=True), "end": page.end}


def registry_body(request: RegistryRequest) -> bytes:
    return request.model_dump_json(by_alias=True, exclude_none=True).encode()


_ITEM = TypeAdapter(CallbackItem)
"""Of these members alone, whatever else a sender keeps with them."""


def callback_item_body(item: CallbackItem) -> bytes:
    """One result, with the time in both spellings; a callback is an array of these."""
    said = _ITEM.dump_json(item, by_alias=True, exclude_none=True)
    return b'%s,"logDateTim":%d}' % (said.removesuffix(b"}"), item.log_date_time)


def verdicts_payload(verdicts: Sequence[CallbackVerdict]) -> dict[str, object]:
    """The payload that acknowledges a callback item by item, for those that announced to read it."""
    return {"verdicts": [verdict.model_dump(mode="json", by_alias=True) for verdict in verdicts]}


# --- headers ----------------------------------------------------------------------------------------------------------


def auth_headers(token: str, dialect: Dialect, app_name: str = "") -> dict[str, str]:
    """The headers that prove the caller. Where the dialect is left open, both token headers go along."""
    if not token.isascii() or not token.isprintable() or token != token.strip():
        raise Invalid("An access token has visible ASCII characters only.", field="access_token")
    headers = {}
    if token and dialect in (Dialect.ORTH, Dialect.AUTO):
        headers["ORTH-ACCESS-TOKEN"] = token
    if token and dialect is not Dialect.ORTH:
        headers["XXL-JOB-ACCESS-TOKEN"] = token
    nameable = app_name.isascii() and app_name.isprintable()  # a header carries nothing else
    if app_name and nameable and dialect in (Dialect.XXL35, Dialect.AUTO):
        headers[APP_NAME_HEADER] = app_name
    return headers


def token_from(headers: Mapping[str, str]) -> str | None:
    """The token of a request, from whichever header it came in."""
    found = {name.lower(): value.strip() for name, value in headers.items()}
    for name in TOKEN_HEADERS:
        if token := found.get(name.lower()):
            return token
    scheme, _, token = found.get("authorization", "").partition(" ")
    return token.strip() or None if scheme.lower() == "bearer" else None


def app_name_from(headers: Mapping[str, str]) -> str | None:
    """The application a request of xxl-job 3.5 is meant for; ``None`` when it does not say. Headers are bytes that were
    read as Latin-1, and names are written there in UTF-8.
    """
    said = next((value for name, value in headers.items() if name.lower() == APP_NAME_HEADER.lower()), None)
    if said is None:
        return None
    try:
        return normal_app_name(said.encode("latin-1").decode())
    except UnicodeError:
        return normal_app_name(said)


def reads_verdicts(headers: Mapping[str, str]) -> bool:
    """Whether whoever reports announces that it reads verdicts. Others fail to read an object in the answer."""
    announced = next((value for name, value in headers.items() if name.lower() == EXTENSIONS_HEADER.lower()), "")
    return VERDICTS in (word.strip() for word in announced.split(","))


def is_foreign(headers: Mapping[str, str]) -> bool:
    """Whether a request comes from a coordinator of another make: it shows neither our headers nor a bearer token."""
    names = {name.lower() for name in headers}
    ours = TOKEN_HEADERS[0].lower() in names or SIGNATURE_HEADER.lower() in names
    theirs = not names.isdisjoint(name.lower() for name in (*TOKEN_HEADERS[1:], APP_NAME_HEADER))
    return not ours and (theirs or "authorization" not in names)
