"""The examples of docs/cron.md, as a reader would try them."""

import json
import re
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from orth.domain.calendars import Calendar
from orth.domain.cron import Cron, describe
from orth.domain.jobs import DstPolicy, ScheduleType
from orth.domain.schedules import parse_duration, parse_schedule

PAGE = (Path(__file__).parents[2] / "docs" / "cron.md").read_text()


def examples(kind: str) -> list[str]:
    """The paragraphs of all fenced blocks of one kind."""
    blocks = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return [paragraph.strip("\n") for block in blocks for paragraph in block.split("\n\n")]


def lines(kind: str) -> list[str]:
    return [line for example in examples(kind) for line in example.splitlines()]


def ms(text: str, zone: str) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp() * 1000)


def shown(fire: int, zone: str) -> str:
    local = datetime.fromtimestamp(fire / 1000, ZoneInfo(zone))
    return local.strftime("%Y-%m-%d %H:%M ") + local.isoformat()[-6:]


def test_every_kind_of_example_is_on_the_page() -> None:
    kinds = re.findall(r"^```(\w+)$", PAGE, re.MULTILINE)
    assert set(kinds) == {"says", "fires", "refused", "durations", "instants", "json", "calendar"}
    assert len(examples("fires")) >= 10


@pytest.mark.parametrize("example", examples("says"))
def test_sentences(example: str) -> None:
    text, sentence = example.splitlines()
    assert describe(text).sentence == sentence


@pytest.mark.parametrize("example", examples("fires"))
def test_fires(example: str) -> None:
    first, *fires = example.splitlines()
    found = re.fullmatch(r"(?P<text>.+) in (?P<zone>[\w/]+)(, (?P<dst>\w+),)? after (?P<start>.+)", first)
    assert found
    cron = Cron.parse(found["text"], found["zone"], DstPolicy(found["dst"] or "auto"))
    after = ms(found["start"], found["zone"])
    assert [shown(fire, found["zone"]) for fire in cron.next_n(after, len(fires))] == fires


@pytest.mark.parametrize("example", examples("refused"))
def test_refusals(example: str) -> None:
    assert str(describe(example.splitlines()[0])) == example


@pytest.mark.parametrize("line", lines("durations"))
def test_durations(line: str) -> None:
    text, millis = line.removesuffix(" ms").split(" = ")
    assert parse_duration(text) == int(millis)


@pytest.mark.parametrize("line", lines("instants"))
def test_instants(line: str) -> None:
    found = re.fullmatch(r"(?P<text>.+) in (?P<zone>[\w/]+) = (?P<fire>.+)", line)
    assert found
    fire = parse_schedule(ScheduleType.AT, found["text"], timezone=found["zone"]).next_after(0)
    assert fire is not None
    assert shown(fire, found["zone"]) == found["fire"]


@pytest.mark.parametrize("line", lines("calendar"))
def test_calendar(line: str) -> None:
    (form,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    calendar = Calendar.parse(json.loads(form))
    reason = calendar.refusal(ms(line[:16], "Europe/Berlin"))
    assert line[17:] == ("runs" if reason is None else f"skipped: {reason}")
