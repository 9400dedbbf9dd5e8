"""Shapes of messages: no fact can change them, and no template can say more than the facts."""

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from urllib.parse import parse_qs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.coordinator.alarming.templates import PRESETS, check_template, dingtalk_query, feishu_members, fill
from orth.coordinator.alarming.texts import NAMES, content_of, read_content, shortened, trial_alarm
from orth.domain.alarms import AlarmKind
from orth.errors import Invalid

ALARM = replace(
    trial_alarm("nightly", 0),
    kind=AlarmKind.FIRST,
    job_id=3,
    execution_id=8,
    failures=100,
    reason='<!channel> "quoted" {{job}} {job.__class__}',
    executor="http://e:9999",
    status="Failed 200/500",
    url="http://orth/executions/8",
)


def test_a_template_is_filled_where_names_stand() -> None:
    template = {"a": "{{ job }} has {{failures}}", "n": "{{failures}}", "list": [1, None, "{{kind}}"], "{{kind}}": True}
    assert fill(template, ALARM.facts()) == {
        "a": "nightly has 100",
        "n": 100,
        "list": [1, None, "first"],
        "first": True,
    }


@pytest.mark.parametrize(
    "template", ["{{nobody}}", {"{{nobody}}": 1}, [["{{job.__class__}}"]], {"a": {"b": "{{__init__}}"}}]
)
def test_a_name_that_no_alarm_has_is_refused(template: object) -> None:
    with pytest.raises(Invalid, match="which no alarm has"):
        check_template(template)


def test_format_strings_mean_nothing() -> None:
    text = "{job} {0} {job.__class__.__mro__} %(job)s $job ${job}"
    check_template(text)
    assert fill(text, ALARM.facts()) == text


def test_a_deep_template_is_refused() -> None:
    deep: object = "{{job}}"
    for _ in range(30):
        deep = [deep]
    with pytest.raises(Invalid, match="deep"):
        check_template(deep)


@given(st.text())
def test_no_fact_changes_the_shape(reason: str) -> None:
    filled = fill({"text": "x {{reason}} y", "other": "{{job_id}}"}, {**ALARM.facts(), "reason": reason})
    assert filled == {"text": f"x {reason} y", "other": 3}


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("kind", AlarmKind)
def test_every_preset_says_what_happened(preset: str, kind: AlarmKind) -> None:
    alarm = replace(ALARM, kind=kind)
    said = json.dumps(PRESETS[preset](alarm))
    assert alarm.title in said
    if kind is AlarmKind.FIRST:
        assert "failed 100 times" in said
        assert "Failed 200/500" in said


def test_the_shapes_receivers_read() -> None:
    assert list(PRESETS["slack"](ALARM)) == ["text"]
    assert PRESETS["dingtalk"](ALARM)["msgtype"] == PRESETS["wecom"](ALARM)["msgtype"] == "text"
    assert PRESETS["feishu"](ALARM)["msg_type"] == "text"
    card = PRESETS["teams"](ALARM)["attachments"][0]
    assert card["contentType"] == "application/vnd.microsoft.card.adaptive"
    assert card["content"]["body"][0]["inlines"][0]["color"] == "Attention"
    assert set(PRESETS["plain"](ALARM)) == NAMES


def test_names_and_messages_are_no_markup() -> None:
    """Who edits one job chooses its name and what it says, and everybody in the channel sees it."""
    link, mention = (
        "[Session expired, sign in](https://evil.example) **now**",
        '<at user_id="all">all</AT></at> <Atlas>',
    )
    alarm = replace(ALARM, job=link, reason=f"{link}\n{mention}")
    body = PRESETS["teams"](alarm)["attachments"][0]["content"]["body"]
    assert {block["type"] for block in body} == {"RichTextBlock"}, "a TextBlock is Markdown"
    runs = [run for block in body for run in block["inlines"]]
    assert {run["type"] for run in runs} == {"TextRun"}
    assert any(link in run["text"] for run in runs), "as it is"
    said = PRESETS["feishu"](alarm)["content"]["text"]
    assert '(at user_id="all">all(/AT>(/at> <Atlas>' in said


@given(st.text(max_size=1_000), st.text(min_size=1, max_size=300), st.integers(1, 4))
def test_wecom_counts_bytes(reason: str, job: str, times: int) -> None:
    alarm = replace(ALARM, reason=reason * times, job=job)
    said = PRESETS["wecom"](alarm)["text"]["content"]
    assert len(said.encode("utf-8", "backslashreplace")) <= 2_048
    whole = f"{alarm.title}\n{alarm.text}"
    if len(whole.encode("utf-8", "backslashreplace")) <= 2_048:
        assert said == whole


@pytest.mark.parametrize("letter", ["x", "é", "漢", "😀"])
def test_the_reason_gives_way_first(letter: str) -> None:
    alarm = replace(ALARM, reason=f"HEAD{letter * 1_000}TAIL")
    content = PRESETS["wecom"](alarm)["text"]["content"]
    assert len(content.encode()) <= 2_048
    assert content.startswith("nightly failed 100 times\nJob: nightly")
    assert "Reason: HEAD" in content
    assert content.endswith("TAIL\nhttp://orth/executions/8")
    assert PRESETS["dingtalk"](alarm)["text"]["content"].count(letter) >= 1_000
    assert PRESETS["feishu"](alarm)["content"]["text"].count(letter) >= 1_000


def test_a_reason_cannot_call_everybody() -> None:
    assert "<!channel>" not in PRESETS["slack"](ALARM)["text"]


def test_signatures() -> None:
    query = parse_qs(dingtalk_query("SEC1", 1_700_000_000_123))
    expected = hmac.new(b"SEC1", b"1700000000123\nSEC1", hashlib.sha256).digest()
    assert query == {"timestamp": ["1700000000123"], "sign": [base64.b64encode(expected).decode()]}
    members = feishu_members("SEC1", 1_700_000_000_123)
    expected = hmac.new(b"1700000000\nSEC1", b"", hashlib.sha256).digest()
    assert members == {"timestamp": "1700000000", "sign": base64.b64encode(expected).decode()}


def test_what_is_stored_comes_back() -> None:
    stored = content_of(ALARM, ("a@b.example",))
    assert read_content(stored, "the-id") == (replace(ALARM, message_id="the-id"), ("a@b.example",))


def test_a_long_reason_keeps_head_and_tail() -> None:
    short = shortened("head" + "x" * 5_000 + "tail")
    assert len(short) <= 1_000
    assert short.startswith("head")
    assert short.endswith("tail")
