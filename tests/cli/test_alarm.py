"""``orth alarm`` against a served coordinator."""

import json
from pathlib import Path

import pytest

from orth.domain.alarms import AlarmKind, Standing
from orth.store.alarms import Message, keep_standings, store_messages
from tests.cli.conftest import Run
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site

URL = "https://hooks.example/services/xyzzy"


class Orth(SignedIn):
    command = "alarm"


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    return Orth(run, served)


@pytest.fixture
def definition(tmp_path: Path) -> str:
    file = tmp_path / "definition.json"
    file.write_text(json.dumps({"url": URL, "preset": "slack"}))
    return str(file)


def test_channels_are_defined_shown_edited_and_deleted(orth: Orth, definition: str) -> None:
    made = orth("channels", "add", "ops", "--kind", "webhook", "--definition", definition)
    assert "Preset   slack" in made
    assert "xyzzy" not in made
    head, row = orth("channels", "list").splitlines()
    assert head.split() == ["ID", "NAME", "KIND", "STATE", "TO"]
    assert row.split()[1:] == ["ops", "webhook", "on", "https://hooks.example/********"]
    channel_id = orth("channels", "list", "-o", "name").strip()
    assert "State    off" in orth("channels", "edit", channel_id, "--off", "--name", "quiet")
    assert "quiet" in orth("channels", "show", channel_id)
    orth("channels", "delete", channel_id)
    assert orth("channels", "list", "-o", "name") == ""


def test_a_definition_that_is_no_json(orth: Orth, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "bad.json"
    file.write_text("{")
    result = run("alarm", "channels", "add", "x", "--kind", "mail", "--definition", str(file), **orth.environ)
    assert result.exit_code == 2
    assert "does not hold JSON" in result.output


def test_a_test_that_fails_says_so_and_ends_with_one(orth: Orth, run: Run, definition: str) -> None:
    Path(definition).write_text(json.dumps({"url": "http://127.0.0.1:9/"}))
    channel_id = orth("channels", "add", "ops", "--kind", "webhook", "--definition", definition, "-o", "name").strip()
    result = run("alarm", "test", channel_id, **orth.environ)
    assert result.exit_code == 1
    assert "Taken   no" in result.output
    assert "alarms.allow_local" in result.output


def test_silences(orth: Orth, run: Run) -> None:
    job_id = orth.site.job()
    assert f"of job {job_id}" in orth("silences", "add", "--job", str(job_id), "--for", "2h", "--reason", "moving")
    orth("silences", "add", "--all", "--until", "2026-01-31T00:00:00Z", "--reason", "night")
    ids = orth("silences", "list", "-o", "name").split()
    assert [line.split()[1] for line in orth("silences", "list").splitlines()[1:]] == ["everything", "job"]
    orth("silences", "end", ids[0])
    assert orth("silences", "list", "-o", "name").split() == ids[1:]
    assert orth("silences", "list", "--over", "-o", "name").split() == ids
    result = run("alarm", "silences", "add", "--for", "2h", "--reason", "x", **orth.environ)
    assert (result.exit_code, "--all" in result.output) == (2, True)


def test_what_was_told_and_who_fails(orth: Orth) -> None:
    now = orth.site.clock.now()
    orth.site.tx(store_messages, [Message(8, 3, AlarmKind.FIRST, "ops", "{}")], now)
    orth.site.tx(keep_standings, {3: Standing(3, 8, now, now, 5)})
    _head, row = orth("list").splitlines()
    assert row.split()[2:] == ["first", "3", "8", "ops", "waiting", "0", "-"]
    assert orth("list", "--state", "told", "-o", "name") == ""
    assert orth("failing", "-o", "name").split() == ["3"]
    assert orth("failing").splitlines()[1].split()[2] == "5"
