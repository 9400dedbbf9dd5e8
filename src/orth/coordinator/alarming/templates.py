"""A message as JSON of the shape its receiver wants: pure.

A template is JSON. In its texts ``{{name}}`` stands for a fact, by name only: there is nothing to call, no attribute to
follow and no format to give, so a template can say no more than the facts. The value goes into the parsed JSON and not
into its text, so no fact, whatever it contains, can change the shape. A text that is one name alone becomes the fact
itself, so that a number stays a number.
"""

import base64
import hashlib
import hmac
import json
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from orth.coordinator.alarming.texts import NAMES, Alarm, fitted
from orth.domain.alarms import AlarmKind
from orth.errors import Invalid, quotable

_MENTION = re.compile(r"<(?=/?at\b)", re.IGNORECASE)
_NAME = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_.]*)\s*\}\}")
_DEPTH_LIMIT = 20
_SIZE_LIMIT = 32_768
_NAMES_LIMIT = 100
_WECOM_BYTES = 2_048
"""Of UTF-8, in the text itself."""
_DINGTALK_BYTES = _FEISHU_BYTES = 16_000
"""A request may have 20,000 bytes; the rest is room for its shape, the signature and escaped characters."""
_COLOURS = {AlarmKind.RESOLVED: "Good", AlarmKind.TEST: "Accent", AlarmKind.EXECUTOR: "Warning"}


def check_template(template: object) -> None:
    """Refuse a template that names a fact that is not there, is nested too deeply, or could grow too large."""
    named = _named(template, 0)
    for name in named:
        if name not in NAMES:
            told = quotable(name, 40)
            raise Invalid.of("template_fact", name=told, names=", ".join(sorted(NAMES)), field="template")
    if len(named) > _NAMES_LIMIT:
        raise Invalid.of("template_too_many", count=len(named), limit=_NAMES_LIMIT, field="template")
    if len(json.dumps(template)) > _SIZE_LIMIT:
        raise Invalid.of("template_too_long", limit=_SIZE_LIMIT, field="template")


def _named(template: object, depth: int) -> list[str]:
    """What a template names, as often as it does."""
    if depth > _DEPTH_LIMIT:
        raise Invalid.of("template_too_deep", limit=_DEPTH_LIMIT, field="template")
    if isinstance(template, str):
        return _NAME.findall(template)
    return [name for part in _parts(template) for name in _named(part, depth + 1)]


def fill(template: object, facts: Mapping[str, Any]) -> Any:
    """``template`` with the facts in place of their names."""
    if isinstance(template, dict):
        return {_filled(key, facts): fill(value, facts) for key, value in template.items()}
    if isinstance(template, list):
        return [fill(value, facts) for value in template]
    if isinstance(template, str):
        alone = _NAME.fullmatch(template)
        return facts[alone[1]] if alone and alone[1] in facts else _filled(template, facts)
    return template


def _filled(text: str, facts: Mapping[str, Any]) -> str:
    return _NAME.sub(lambda found: str(facts.get(found[1], found[0])), text)


def _parts(template: object) -> list[object]:
    if isinstance(template, dict):
        return [*template.keys(), *template.values()]
    return list(template) if isinstance(template, list) else []


def _plain(alarm: Alarm) -> Any:
    return alarm.facts()


def _slack(alarm: Alarm) -> Any:
    # Escaped as the receiver asks for: otherwise a reason with <!channel> in it would call everybody.
    text = f"*{alarm.title}*\n{alarm.text}".replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {"text": text}


def _teams(alarm: Alarm) -> Any:
    colour = _COLOURS.get(alarm.kind, "Attention")
    title = _teams_line(alarm.title, {"size": "Medium", "weight": "Bolder", "color": colour})
    lines = [{**_teams_line(line, {}), "spacing": "None"} for line in alarm.text.splitlines()]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [title, *lines],
    }
    attachment = {"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": None, "content": card}
    return {"type": "message", "attachments": [attachment]}


def _teams_line(text: str, style: dict[str, str]) -> dict[str, Any]:
    """Text as it is. A ``TextBlock`` would read it as Markdown, with links that the name of a job can choose."""
    return {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, **style}]}


def _dingtalk(alarm: Alarm) -> Any:
    return {"msgtype": "text", "text": {"content": fitted(alarm, _DINGTALK_BYTES)}}


def _wecom(alarm: Alarm) -> Any:
    return {"msgtype": "text", "text": {"content": fitted(alarm, _WECOM_BYTES)}}


def _feishu(alarm: Alarm) -> Any:
    # A tag that mentions people is read in texts as well, and would call everybody. The byte count stays.
    return {"msg_type": "text", "content": {"text": _MENTION.sub("(", fitted(alarm, _FEISHU_BYTES))}}


PRESETS: Mapping[str, Callable[[Alarm], Any]] = {
    "plain": _plain,
    "slack": _slack,
    "teams": _teams,
    "dingtalk": _dingtalk,
    "wecom": _wecom,
    "feishu": _feishu,
}

ANSWER_CODES = {"dingtalk": "errcode", "wecom": "errcode", "feishu": "code"}
"""Presets whose receivers answer 200 in any case and say in this member whether they took it: 0 is yes."""

SIGNED = ("dingtalk", "feishu")
"""Presets that prove who sends with a secret shared with the receiver."""


def dingtalk_query(secret: str, now: int) -> str:
    """What is added to the URL: the instant, and its signature."""
    signed = hmac.new(secret.encode(), f"{now}\n{secret}".encode(), hashlib.sha256).digest()
    return f"timestamp={now}&sign={quote(base64.b64encode(signed), safe='')}"


def feishu_members(secret: str, now: int) -> dict[str, str]:
    """What is added to the body: the second, and its signature, whose key is both and whose text is empty."""
    second = now // 1000
    signed = hmac.new(f"{second}\n{secret}".encode(), b"", hashlib.sha256).digest()
    return {"timestamp": str(second), "sign": base64.b64encode(signed).decode()}
