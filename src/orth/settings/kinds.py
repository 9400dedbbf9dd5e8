"""The types of settings: what each kind of value may be, in one vocabulary for every section.

A kind is an ``Annotated`` type. Values arrive as TOML values, as text from the environment or as Python values from
options, so each kind reads all three. ``Kind`` is what the documentation calls it.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr

from orth.errors import Invalid
from orth.settings.values import Address, parse_duration

T = TypeVar("T")

STORE_SCHEMES = ("sqlite", "postgresql", "mysql", "mariadb")
CHANNEL_SCHEMES = ("memory", "database", "redis", "rediss")
ROLES = ("coordinator", "registry", "console")


@dataclass(frozen=True, slots=True)
class Kind:
    """How a kind of value is called, and whether it may hide a secret: then ``<key>_file`` may name a file that holds
    it.
    """

    name: str
    sensitive: bool = False


_PRIORITY = re.compile(r"p[0-9]")


def _reading(read: Callable[[str], T]) -> BeforeValidator:
    """Text goes through ``read``; anything else is left to the declared type to accept or refuse."""

    def validate(value: Any) -> Any:  # Any: whatever TOML, the environment or an option holds
        if not isinstance(value, str):
            return value
        try:
            return read(value)
        except Invalid as refusal:
            raise ValueError(str(refusal)) from None

    return BeforeValidator(validate)


def _refuse_numbers(value: Any) -> Any:  # Any: as above
    # Pydantic would read 30 as thirty seconds; people mean milliseconds as often.
    if isinstance(value, int | float):
        raise ValueError(f'needs a unit, such as "{value}s" or "{value}m"')
    return value


def _refuse_switches(value: Any) -> Any:  # Any: as above
    if isinstance(value, bool):
        raise ValueError("should be a number, not true or false")
    return value


def _positive(span: timedelta) -> timedelta:
    if span <= timedelta(0):
        raise ValueError("should be longer than 0s")
    return span


def _not_negative(span: timedelta) -> timedelta:
    if span < timedelta(0):
        raise ValueError("should not be negative")
    return span


def _within_a_minute(span: timedelta) -> timedelta:
    if not timedelta(0) <= span <= timedelta(minutes=1):
        raise ValueError("should be between 0s and 1m")
    return span


def _stripped(text: str) -> str:
    return text.strip()


def _or_none(text: str) -> str | None:
    return text.strip() or None


def _secret_or_none(text: str) -> str | None:
    return text or None  # a space may be part of a password


def _items(text: str) -> list[str]:
    return [item.strip() for item in text.split(",") if item.strip()]


def _no_priority(queue: str) -> str:
    if _PRIORITY.fullmatch(queue):
        raise ValueError("p and a digit is how priorities are called, so no queue can be")
    return queue


def _distinct(items: tuple[T, ...]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))


def _scheme(schemes: tuple[str, ...]) -> AfterValidator:
    def check(url: str | None) -> str | None:
        scheme, separator, _rest = (url or "").partition(":")
        if url is not None and (not separator or scheme.partition("+")[0] not in schemes):
            raise ValueError(
                f"should begin with {', '.join(f'{known}://' for known in schemes[:-1])} or {schemes[-1]}://"
            )
        return url

    return AfterValidator(check)


def _http_url(url: str | None) -> str | None:
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and (parts.port or 1)
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("should be a URL such as http://10.0.0.7:9999")
    return url.rstrip("/")


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):  # unknown; not a relative path; a folder such as "Europe"
        raise ValueError("should be a time zone such as UTC or Europe/Paris") from None
    return name


def _without_all(value: Any) -> Any:  # Any: as above
    if isinstance(value, list | tuple):
        return [role for item in value for role in (ROLES if item == "all" else (item,))]
    return value


_HOST = r"^(?i:[a-z0-9](?:[a-z0-9-]{0,60}[a-z0-9])?)(?i:\.[a-z0-9](?:[a-z0-9-]{0,60}[a-z0-9])?)*$"
_ROLE_PAIR = r"^[^\x00-\x1f]{1,190}=(viewer|operator|editor|admin)(@[A-Za-z0-9._-]{1,64})?$"
_LABEL = r"^[A-Za-z0-9]([A-Za-z0-9._/-]{0,61}[A-Za-z0-9])?=[A-Za-z0-9._/:+-]{0,63}$"

_LIMIT = r"^(cpu|memory|file_size|processes|open_files)=[1-9][0-9]{0,15}$"


def _pairs(value: Any) -> Any:  # Any: as above; in a file labels may also be a table
    return [f"{key}={text}" for key, text in value.items()] if isinstance(value, dict) else value


def _network(value: Any) -> Any:  # Any: as above
    try:
        return ip_network(value) if isinstance(value, str) else value
    except ValueError:
        raise ValueError("should be a network such as 10.0.0.0/8, or one address") from None


def _one_value_each(labels: tuple[str, ...]) -> tuple[str, ...]:
    keys = [label.partition("=")[0] for label in labels]
    if len(set(keys)) < len(keys):
        raise ValueError("should give each name one value")
    return labels


Duration = Annotated[
    timedelta,
    AfterValidator(_positive),
    BeforeValidator(_refuse_numbers),
    _reading(parse_duration),
    Kind("duration"),
]
Moment = Annotated[
    timedelta,
    AfterValidator(_within_a_minute),
    BeforeValidator(_refuse_numbers),
    _reading(parse_duration),
    Kind("duration up to 1m"),
]
Pause = Annotated[timedelta, AfterValidator(_not_negative), BeforeValidator(_refuse_numbers), _reading(parse_duration)]
Pauses = Annotated[tuple[Pause, ...], Field(min_length=1), _reading(_items), Kind("list of durations")]

Count = Annotated[int, Field(ge=1), BeforeValidator(_refuse_switches), Kind("number")]
Workers = Annotated[int, Field(ge=1, le=20), BeforeValidator(_refuse_switches), Kind("number")]
CountFromZero = Annotated[int, Field(ge=0), BeforeValidator(_refuse_switches), Kind("number")]
Port = Annotated[int, Field(ge=0, le=65535), BeforeValidator(_refuse_switches), Kind("port")]
OptionalPort = Annotated[
    int | None, Field(ge=0, le=65535), BeforeValidator(_refuse_switches), _reading(_or_none), Kind("port")
]
Bytes = Annotated[int, Field(ge=1), BeforeValidator(_refuse_switches), Kind("bytes")]
SourceBytes = Annotated[int, Field(ge=1, le=1024 * 1024), BeforeValidator(_refuse_switches), Kind("bytes")]
Switch = Annotated[bool, Kind("true or false")]
OptionalSwitch = Annotated[bool | None, _reading(_or_none), Kind("true or false")]

Name = Annotated[str, Field(min_length=1, max_length=64), _reading(_stripped), Kind("text")]
OptionalName = Annotated[str | None, Field(max_length=64), _reading(_or_none), Kind("text")]
Prefix = Annotated[
    str,
    Field(max_length=32, pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9_.:-]*[A-Za-z0-9])?$"),
    _reading(_stripped),
    Kind("text"),
]
Queue = Annotated[
    str, Field(max_length=64, pattern=r"^[A-Za-z0-9](?:[A-Za-z0-9_-]*[A-Za-z0-9])?$"), AfterValidator(_no_priority)
]
Queues = Annotated[
    tuple[Queue, ...],
    AfterValidator(_distinct),
    Field(min_length=1, max_length=16),
    _reading(_items),
    Kind("list of names"),
]
Zone = Annotated[str, AfterValidator(_zone), _reading(_stripped), Kind("time zone")]
Host = Annotated[str, Field(max_length=200, pattern=_HOST), _reading(_stripped), Kind("host name")]
OptionalHost = Annotated[str | None, Field(max_length=200, pattern=_HOST), _reading(_or_none), Kind("host name")]
Folder = Annotated[Path, _reading(_stripped), Kind("path")]
OptionalProgram = Annotated[str | None, Field(min_length=1), _reading(_or_none), Kind("path")]
OptionalFolder = Annotated[Path | None, _reading(_or_none), Kind("path")]

Listen = Annotated[Address, _reading(Address.parse), Kind("host:port")]
StoreUrl = Annotated[str | None, _scheme(STORE_SCHEMES), _reading(_or_none), Kind("URL", sensitive=True)]
ChannelsUrl = Annotated[str | None, _scheme(CHANNEL_SCHEMES), _reading(_or_none), Kind("URL", sensitive=True)]
OptionalUrl = Annotated[str | None, AfterValidator(_http_url), _reading(_or_none), Kind("URL")]
Url = Annotated[str, AfterValidator(_http_url), _reading(_stripped)]
Urls = Annotated[
    tuple[Url, ...], AfterValidator(_distinct), Field(min_length=1), _reading(_items), Kind("list of URLs")
]
OptionalUrls = Annotated[tuple[Url, ...], AfterValidator(_distinct), _reading(_items), Kind("list of URLs")]

Secret = Annotated[SecretStr | None, _reading(_secret_or_none), Kind("secret", sensitive=True)]

Archive = Annotated[Literal["none", "store", "folder"], Kind("none, store or folder")]
OptionalText = Annotated[str | None, Field(max_length=255), _reading(_or_none), Kind("text")]
MailSecurity = Annotated[Literal["none", "starttls", "tls"], Kind("none, starttls or tls")]
LeaseProvider = Annotated[Literal["database", "redis"], Kind("database or redis")]
Transport = Annotated[Literal["push", "queue"], Kind("push or queue")]
ScriptKinds = Annotated[
    tuple[Literal["shell", "python", "powershell", "nodejs", "php", "glue"], ...],
    AfterValidator(_distinct),
    _reading(_items),
    Kind("list of shell, python, powershell, nodejs, php, glue"),
]
BuiltinHandlers = Annotated[
    tuple[Literal["command", "http"], ...], AfterValidator(_distinct), _reading(_items), Kind("list of command, http")
]
Variables = Annotated[tuple[str, ...], AfterValidator(_distinct), _reading(_items), Kind("list of names")]
Labels = Annotated[
    tuple[Annotated[str, Field(pattern=_LABEL)], ...],
    AfterValidator(_one_value_each),
    Field(max_length=32),
    BeforeValidator(_pairs),
    _reading(_items),
    Kind("list of key=value"),
]
ProcessLimits = Annotated[
    tuple[Annotated[str, Field(pattern=_LIMIT)], ...],
    AfterValidator(_one_value_each),
    BeforeValidator(_pairs),
    _reading(_items),
    Kind("list of cpu=N, memory=N, file_size=N, processes=N, open_files=N"),
]
Networks = Annotated[
    tuple[Annotated[IPv4Network | IPv6Network, BeforeValidator(_network)], ...],
    AfterValidator(_distinct),
    _reading(_items),
    Kind("list of networks"),
]
Hosts = Annotated[
    tuple[Annotated[str, Field(max_length=200, pattern=_HOST)], ...],
    AfterValidator(_distinct),
    _reading(_items),
    Kind("list of host names"),
]
Scopes = Annotated[
    tuple[Annotated[str, Field(pattern=r"^[\x21\x23-\x5b\x5d-\x7e]{1,64}$")], ...],
    AfterValidator(_distinct),
    Field(max_length=20),
    _reading(_items),
    Kind("list of names"),
]
RoleMap = Annotated[
    tuple[Annotated[str, Field(max_length=255, pattern=_ROLE_PAIR)], ...],
    AfterValidator(_distinct),
    Field(max_length=500),
    _reading(_items),
    Kind("list of value=role or value=role@app-name"),
]
Role = Literal["coordinator", "registry", "console"]
Roles = Annotated[
    tuple[Role, ...],
    AfterValidator(_distinct),
    Field(min_length=1),
    BeforeValidator(_without_all),
    _reading(_items),
    Kind("list of coordinator, registry, console; or all"),
]
