"""What a channel may be, by kind, and which parts of it are never shown again.

A secret that was stored is shown as ``********``. An edit that leaves it out, or sends back what was shown, keeps it;
null removes it. But it goes nowhere new: an edit that changes where messages are sent must name the secrets again, or
whoever may edit a channel could have them sent to himself.
"""

import re
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictInt, ValidationError, field_validator

from orth.coordinator.alarming.templates import PRESETS, SIGNED, check_template
from orth.coordinator.field_troubles import WrongField
from orth.domain.alarms import mail_addresses
from orth.errors import Invalid, InvalidValue, quotable
from orth.settings.values import HIDDEN
from orth.wire.outbound import plain_ip

KINDS = ("mail", "webhook", "apprise")

_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_HOST = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_HEADER = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
_OURS = frozenset({"host", "content-length", "content-type", "transfer-encoding", "connection", "orth-message-id"})


def _printable(text: str) -> str:
    if not text.isprintable():
        raise InvalidValue.of("field_one_line")
    return text


def _visible_ascii(text: str) -> str:
    if not (text.isascii() and text.isprintable()):
        raise InvalidValue.of("field_ascii")
    return text


def _http_url(text: str) -> str:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable or " " in text or not (text.isascii() and text.isprintable()):
        raise InvalidValue.of("channel_url")
    if "@" in parts.netloc:
        raise InvalidValue.of("channel_url_with_user")
    return text.partition("#")[0]


Text = Annotated[str, AfterValidator(_printable)]


class _Definition(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class MailDefinition(_Definition):
    """Mail. Without a host the server of the settings is used; without ``to``, the addresses the job names."""

    host: Annotated[str, Field(min_length=1, max_length=253)] | None = None
    port: StrictInt = Field(587, ge=1, le=65_535)
    security: Literal["none", "starttls", "tls"] = "starttls"
    username: Annotated[Text, Field(min_length=1, max_length=255)] | None = None
    password: Annotated[Text, Field(min_length=1, max_length=255)] | None = None
    sender: Annotated[str, Field(min_length=3, max_length=255)] | None = None
    to: list[Annotated[str, Field(max_length=255)]] = Field(default_factory=list, max_length=50)

    @field_validator("host")
    @classmethod
    def _a_host(cls, value: str | None) -> str | None:
        if value is not None and not _HOST.fullmatch(value) and ("%" in value or plain_ip(value) is None):
            raise InvalidValue.of("channel_host")
        return value

    @field_validator("sender")
    @classmethod
    def _one_address(cls, value: str | None) -> str | None:
        if value is not None and len(mail_addresses(value)) != 1:
            raise InvalidValue.of("channel_sender")
        return value

    @field_validator("to")
    @classmethod
    def _each_an_address(cls, value: list[str]) -> list[str]:
        return list(dict.fromkeys(address for text in value for address in mail_addresses(text)))


class WebhookDefinition(_Definition):
    """A POST of JSON: of a preset shape, or of a template."""

    url: Annotated[str, Field(max_length=2000), AfterValidator(_http_url)]
    preset: Literal["plain", "slack", "teams", "dingtalk", "wecom", "feishu"] = "plain"
    template: Any = None
    secret: Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_visible_ascii)] | None = None
    headers: dict[str, Annotated[str, Field(max_length=2000), AfterValidator(_visible_ascii)]] = Field(
        default_factory=dict, max_length=20
    )

    @field_validator("headers")
    @classmethod
    def _header_names(cls, value: dict[str, str]) -> dict[str, str]:
        for name in value:
            if not _HEADER.fullmatch(name) or name.lower() in _OURS:
                raise InvalidValue.of("channel_header", name=quotable(name, 64))
        return value


class AppriseDefinition(_Definition):
    """Receivers as apprise writes them."""

    urls: list[Annotated[Text, Field(min_length=4, max_length=2000)]] = Field(min_length=1, max_length=10)


_MODELS: dict[str, type[_Definition]] = {
    "mail": MailDefinition,
    "webhook": WebhookDefinition,
    "apprise": AppriseDefinition,
}
assert set(PRESETS) == set(WebhookDefinition.model_fields["preset"].annotation.__args__)  # type: ignore[union-attr]  # a Literal has them
SECRET_FIELDS = {"mail": ("password",), "webhook": ("url", "secret", "headers"), "apprise": ("urls",)}


def checked(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """A definition with every default filled in; ``Invalid`` says what is wrong."""
    try:
        definition = _MODELS[kind].model_validate(given).model_dump()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise WrongField(first, ".".join(("definition", *map(str, first["loc"])))) from None
    if kind == "webhook":
        check_template(definition["template"])
        if definition["secret"] is not None and definition["preset"] not in SIGNED:
            raise Invalid.of("channel_secret", first=SIGNED[0], second=SIGNED[1], field="definition.secret")
    if kind == "mail" and definition["password"] and definition["security"] == "none" and definition["host"]:
        raise Invalid.of("channel_password", field="definition.security")
    return definition


def shown(kind: str, definition: dict[str, Any]) -> dict[str, Any]:
    """A definition without what is secret in it."""
    return {
        name: _masked(name, value) if name in SECRET_FIELDS.get(kind, ()) else value
        for name, value in definition.items()
    }


def with_kept_secrets(kind: str, stored: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """``given`` with the stored secrets where it does not touch them."""
    kept: set[str] = set()
    merged = dict(given)
    for name in SECRET_FIELDS[kind]:
        value = stored.get(name)
        if not value:
            continue
        if name not in given or given[name] == _masked(name, value):
            merged[name] = value
            kept.add(name)
        elif isinstance(value, dict) and isinstance(given[name], dict):
            same = {key for key, text in given[name].items() if text == HIDDEN and key in value}
            merged[name] = {key: value[key] if key in same else text for key, text in given[name].items()}
            kept |= {name} if same else set()
    _refuse_new_places(kind, stored, merged, kept)
    return merged


def _refuse_new_places(kind: str, stored: dict[str, Any], merged: dict[str, Any], kept: set[str]) -> None:
    if _place(kind, stored) == _place(kind, merged):
        return
    taken_along = sorted(kept - {"url", "urls"})
    if taken_along:
        name = taken_along[0]
        raise Invalid.of("channel_elsewhere", name=name, field=f"definition.{name}")


def _place(kind: str, definition: dict[str, Any]) -> tuple[object, ...]:
    if kind == "mail":
        defaults = {name: MailDefinition.model_fields[name].default for name in ("host", "port", "security")}
        return tuple(definition.get(name, default) for name, default in defaults.items())
    if kind == "webhook":
        return (definition.get("url"),)  # the whole of it: behind one host there may be receivers of many owners
    return ()


def _masked(name: str, value: Any) -> Any:
    if not value:
        return value
    if name == "headers":
        return dict.fromkeys(value, HIDDEN)
    if name == "urls":
        return [f"{url.partition(':')[0]}://{HIDDEN}" for url in value]
    if name == "url":
        parts = urlsplit(value)
        return f"{parts.scheme}://{parts.netloc}/{HIDDEN}"
    return HIDDEN
