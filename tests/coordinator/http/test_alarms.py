"""Alarms over the API: channels whose secrets stay, silences, what was told, and the test of a channel."""

import json
import shutil
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orth.coordinator.alarming.sealed import opened
from orth.domain.alarms import AlarmKind, Silence, Standing
from orth.settings import Settings
from orth.settings.sections import AlarmsSection
from orth.store.alarm_channels import get_channel
from orth.store.alarms import (
    Message,
    claim_messages,
    keep_standings,
    message_given_up,
    message_refused,
    message_sent,
    store_messages,
)
from orth.store.silences import add_silence
from tests.coordinator.http.live import Answer, Caller, Site
from tests.receivers import HANG, MailReceiver, WebhookReceiver

CHANNELS = "/api/v1/alarms/channels"
SILENCES = "/api/v1/alarms/silences"
URL = "https://hooks.example/services/xyzzy"


@pytest.fixture
def local(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    """A coordinator whose channels may lead to this machine, where the receivers are."""
    alarms = AlarmsSection(allow_local=True, timeout=timedelta(seconds=1))
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), Settings(alarms=alarms)) as site:
        yield site


def stored_channel(site: Site, channel_id: int) -> dict[str, Any]:
    """The definition as the coordinator reads it."""
    return opened(site.tx(get_channel, channel_id), site.app.state.tools.sealing).definition


def hook(admin: Caller, name: str = "ops", **definition: Any) -> Answer:
    return admin.post(CHANNELS, {"name": name, "kind": "webhook", "definition": {"url": URL, **definition}})


def test_a_channel_is_written_and_shown_without_its_secrets(site: Site, admin: Caller) -> None:
    made = hook(admin, preset="dingtalk", secret="SEC-plugh", headers={"X-Key": "frotz"})
    assert made.status == 201, made.body
    shown = admin.get(made.headers["location"])
    for answer in (made, shown, admin.get(CHANNELS)):
        for secret in (b"xyzzy", b"plugh", b"frotz"):
            assert secret not in answer.body
    assert shown.json["definition"]["url"] == "https://hooks.example/********"
    assert stored_channel(site, shown.json["id"])["url"] == URL
    assert not [secret for secret in ("xyzzy", "plugh", "frotz") if secret in str(site.contents())]


def test_an_edit_keeps_what_it_does_not_touch(site: Site, admin: Caller) -> None:
    made = hook(admin, headers={"X-Key": "frotz"})
    path = made.headers["location"]
    body = {key: made.json[key] for key in ("name", "kind", "definition", "enabled")}
    edited = admin.call("PUT", path, {**body, "name": "renamed", "enabled": False})
    assert (edited.status, edited.json["name"], edited.json["enabled"], edited.json["version"]) == (
        200,
        "renamed",
        False,
        2,
    )
    stored = stored_channel(site, made.json["id"])
    assert (stored["url"], stored["headers"]) == (URL, {"X-Key": "frotz"})
    moved = {**body, "definition": {**body["definition"], "url": "https://elsewhere.example/"}}
    assert "another place" in admin.call("PUT", path, moved).problem(422)["detail"]
    stale = admin.call("PUT", path, body, headers={"If-Match": made.headers["etag"]})
    assert stale.problem(412)
    fresh = admin.call("PUT", path, body, headers={"If-Match": edited.headers["etag"]})
    assert fresh.status == 200
    assert admin.call("DELETE", path).status == 204
    admin.get(path).problem(404)
    admin.call("PUT", path, body).problem(404)
    admin.call("DELETE", path).problem(404)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "x", "kind": "pigeon", "definition": {}},
        {"name": "x", "kind": "webhook", "definition": {}},
        {"name": "x", "kind": "webhook", "definition": {"url": "gopher://x/"}},
        {"name": "x", "kind": "webhook", "definition": {"url": URL, "template": "{{job.__class__}}"}},
        {"name": "x", "kind": "webhook", "definition": {"url": URL, "template": {"a": 1}, "extra": 1}},
        {"name": "mail", "kind": "mail", "definition": {}},
        {"name": "x" * 65, "kind": "mail", "definition": {}},
        {"name": "x\ny", "kind": "mail", "definition": {}},
        {"name": "x", "kind": "mail", "definition": {"to": ["a@b\r\nc"]}},
        {"name": "x", "kind": "mail", "definition": [], "enabled": True},
        {"name": "x", "kind": "mail", "definition": {}, "enabled": 1},
        {"name": "x", "kind": "apprise", "definition": {"urls": ["json://localhost"]}},
    ],
)
def test_a_channel_that_is_no_channel_is_refused(site: Site, admin: Caller, body: object) -> None:
    before = site.state()
    admin.post(CHANNELS, body).problem(422)
    assert site.state() == before


def test_two_channels_of_one_name(admin: Caller) -> None:
    assert hook(admin).status == 201
    hook(admin).problem(409)


def test_apprise_is_refused_clearly_where_it_is_not_allowed_or_installed(
    site: Site, admin: Caller, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = {"name": "phone", "kind": "apprise", "definition": {"urls": ["tgram://token/chat"]}}
    assert "alarms.apprise" in admin.post(CHANNELS, body).problem(422)["hint"]
    allowed = Settings(alarms=AlarmsSection(apprise=True))
    monkeypatch.setitem(sys.modules, "apprise", None)  # as if it were not installed
    with Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), allowed) as other:
        assert "Install apprise>=" in other.admin().post(CHANNELS, body).problem(422)["hint"]


def test_a_channel_is_tried(local: Site) -> None:
    admin = local.admin()
    with WebhookReceiver(200, 500, HANG, body=b"seen") as receiver:
        path = f"{hook(admin, url=receiver.url).headers['location']}/test"
        good, bad = admin.post(path), admin.post(path, {})
        hanging = admin.post(path)
        assert (good.json["ok"], good.json["answer"]) == (True, "HTTP 200: seen")
        assert (bad.json["ok"], bad.json["answer"]) == (False, "The receiver answered HTTP 500: seen")
        assert (hanging.json["ok"], hanging.json["answer"]) == (False, "No answer within 1 s.")
        assert receiver.posted[0].json["kind"] == "test"
        assert b"very-secret" not in bad.body
    assert admin.get("/api/v1/alarms").json["items"] == []


def test_a_channel_of_mail_is_tried(local: Site) -> None:
    admin = local.admin()
    with MailReceiver() as receiver:
        definition = {"host": "127.0.0.1", "port": receiver.port, "security": "none"}
        made = admin.post(CHANNELS, {"name": "post", "kind": "mail", "definition": definition})
        path = f"{made.headers['location']}/test"
        assert "nobody" in admin.post(path).json["answer"]
        admin.post(path, {"to": "x\r\ny"}).problem(422)
        assert admin.post(path, {"to": "a@b.example"}).json["ok"]
        assert receiver.recipients == [["a@b.example"]]


def test_a_channel_does_not_lead_to_this_machine(admin: Caller) -> None:
    with WebhookReceiver() as receiver:
        path = f"{hook(admin, url=receiver.url).headers['location']}/test"
        answer = admin.post(path).json
        assert not answer["ok"]
        assert "alarms.allow_local" in answer["answer"]
        assert receiver.posted == []


def test_silences_come_and_go(site: Site, admin: Caller) -> None:
    job_id = site.job()
    made = admin.post(SILENCES, {"job_id": job_id, "lasts": "2h", "reason": "moving house"})
    assert made.status == 201, made.body
    assert made.json["actor"] == "admin"
    everything = {"starts_at": "2026-01-30T11:00:00Z", "ends_at": "2026-01-30T12:00:00Z", "reason": "all"}
    assert admin.post(SILENCES, everything).status == 201
    assert [one["job_id"] for one in admin.get(SILENCES).json["items"]] == [None, job_id]
    path = f"{SILENCES}/{made.json['id']}"
    ended = admin.call("DELETE", path)
    assert ended.json["ends_at"] == "2026-01-30T10:00:00.000Z"
    assert admin.call("DELETE", path).json == ended.json
    assert [one["job_id"] for one in admin.get(SILENCES).json["items"]] == [None]
    assert len(admin.get(f"{SILENCES}?over=true").json["items"]) == 2
    first = admin.get(f"{SILENCES}?over=true&limit=1").json
    assert len(admin.get(f"{SILENCES}?over=true&limit=1&cursor={first['next_cursor']}").json["items"]) == 1
    admin.call("DELETE", f"{SILENCES}/9999").problem(404)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"reason": "x"}, 422),
        ({"lasts": "2h"}, 422),
        ({"lasts": "2h", "reason": " "}, 422),
        ({"lasts": "2h", "ends_at": "2027-01-01T00:00:00Z", "reason": "x"}, 422),
        ({"ends_at": "2026-01-30T09:00:00Z", "reason": "x"}, 422),
        ({"starts_at": "2026-02-01T00:00:00Z", "ends_at": "2026-01-31T00:00:00Z", "reason": "x"}, 422),
        ({"lasts": "1000d", "reason": "x"}, 422),
        ({"lasts": "soon", "reason": "x"}, 422),
        ({"lasts": "99999999999d", "reason": "x"}, 422),
        ({"ends_at": "9999-12-31T23:59:59Z", "reason": "x"}, 422),
        ({"starts_at": "9999-12-31T23:59:59Z", "lasts": "1h", "reason": "x"}, 422),
        ({"starts_at": "9999-06-01T00:00:00Z", "lasts": "300d", "reason": "x"}, 422),
        ({"job_id": 0, "lasts": "2h", "reason": "x"}, 422),
        ({"job_id": 99, "lasts": "2h", "reason": "x"}, 404),
        ({"job_group": 99, "lasts": "2h", "reason": "x"}, 404),
    ],
)
def test_a_silence_that_makes_no_sense_is_refused(site: Site, admin: Caller, body: object, status: int) -> None:
    before = site.state()
    admin.post(SILENCES, body).problem(status)
    assert site.state() == before


def test_a_silence_that_no_calendar_has_breaks_no_list(site: Site, admin: Caller) -> None:
    """Nobody can make one over the API; somebody may have written it past that."""
    odd = site.tx(add_silence, Silence(None, None, 253_402_300_799_000, 253_402_304_399_000, "odd", "somebody"))
    assert admin.post(SILENCES, {"lasts": "2h", "reason": "plain"}).status == 201
    plain, shown = admin.get(SILENCES).json["items"]
    assert (shown["starts_at"], shown["ends_at"]) == ("9999-12-31T23:59:59.000Z", None)
    assert plain["ends_at"] == "2026-01-30T12:00:00.000Z"
    assert admin.call("DELETE", f"{SILENCES}/{odd}").json["ends_at"] == "2026-01-30T10:00:00.000Z"


def test_what_was_told(site: Site, admin: Caller) -> None:
    now = site.clock.now()
    site.tx(store_messages, [Message(n, n, AlarmKind.FIRST, "ops", "{}") for n in range(1, 6)], now)
    claimed = site.tx(claim_messages, "node", now, now + 1, 1)
    site.tx(message_given_up, claimed[0], "node", "no paper", now)
    first = admin.get("/api/v1/alarms?limit=3").json
    assert [one["execution_id"] for one in first["items"]] == [5, 4, 3]
    rest = admin.get(f"/api/v1/alarms?limit=3&cursor={first['next_cursor']}").json
    assert [one["execution_id"] for one in rest["items"]] == [2, 1]
    assert rest["next_cursor"] is None
    (failed,) = admin.get("/api/v1/alarms?state=failed").json["items"]
    assert (failed["error"], failed["attempts"], failed["next_attempt"]) == ("no paper", 1, None)
    assert [one["job_id"] for one in admin.get("/api/v1/alarms?job_id=4").json["items"]] == [4]
    admin.get("/api/v1/alarms?state=noted").problem(422)


def test_who_is_failing(site: Site, admin: Caller) -> None:
    now = site.clock.now()
    site.tx(keep_standings, {n: Standing(n, n * 10, now, now if n == 1 else 0, 3) for n in (1, 2)})
    told, untold = admin.get("/api/v1/alarms/failing").json["items"]
    assert told == {
        "job_id": 1,
        "job_desc": None,
        "job_group": None,
        "execution_id": 10,
        "since": "2026-01-30T10:00:00.000Z",
        "told_at": "2026-01-30T10:00:00.000Z",
        "failures": 3,
        "channels": [],
        "silenced": False,
        "messages": [],
    }
    assert untold["told_at"] is None
    assert admin.get("/api/v1/alarms/failing?job_id=2").json == {"items": [untold], "next_cursor": None}
    assert admin.get("/api/v1/alarms/failing?job_id=3").json["items"] == []


def failing_job(site: Site, admin: Caller) -> tuple[int, Answer]:
    """A job that fails and of which somebody is to be told now, with the channel."""
    job_id, channel, now = site.job(), hook(admin), site.clock.now()
    group = admin.get(f"/api/v1/jobs/{job_id}").json["job_group"]
    site.tx(keep_standings, {job_id: Standing(job_id, 10, now - 60_000, now, 3, group)})
    site.tx(store_messages, [Message(10, job_id, AlarmKind.FIRST, "ops", "{}", job_group=group)], now)
    return job_id, channel


def test_nobody_was_told_before_a_receiver_has_said_yes(site: Site, admin: Caller) -> None:
    failing_job(site, admin)
    now = site.clock.now()
    (sending,) = site.tx(claim_messages, "node", now, now + 1, 1)
    site.tx(message_refused, sending, "node", "no paper", now + 4_000)
    (shown,) = admin.get("/api/v1/alarms/failing").json["items"]
    assert shown["told_at"] is None
    again_at = "2026-01-30T10:00:04.000Z"
    assert shown["messages"] == [
        {"channel": "ops", "state": "waiting", "attempts": 1, "next_attempt": again_at, "error": "no paper"}
    ]
    (sending,) = site.tx(claim_messages, "node", now + 4_000, now + 5_000, 1)
    site.tx(message_sent, sending, "node", now + 4_000)
    (shown,) = admin.get("/api/v1/alarms/failing").json["items"]
    assert shown["told_at"] == "2026-01-30T10:00:00.000Z"
    assert [(one["state"], one["next_attempt"]) for one in shown["messages"]] == [("told", None)]


def test_who_was_told_once_was_told_while_the_next_message_waits(site: Site, admin: Caller) -> None:
    job_id, _ = failing_job(site, admin)
    now = site.clock.now()
    (sending,) = site.tx(claim_messages, "node", now, now + 1, 1)
    site.tx(message_sent, sending, "node", now)
    group = admin.get(f"/api/v1/jobs/{job_id}").json["job_group"]
    site.tx(keep_standings, {job_id: Standing(job_id, 10, now - 60_000, now + 9_000, 5, group)})
    site.tx(store_messages, [Message(11, job_id, AlarmKind.REPEAT, "ops", "{}", job_group=group)], now + 9_000)
    (shown,) = admin.get("/api/v1/alarms/failing").json["items"]
    assert shown["told_at"] == "2026-01-30T10:00:00.000Z"
    assert [one["state"] for one in shown["messages"]] == ["waiting"]


def test_a_failing_job_says_of_which_group_it_is_and_who_hears_of_it(site: Site, admin: Caller) -> None:
    job_id, channel = failing_job(site, admin)
    group = admin.get(f"/api/v1/jobs/{job_id}").json["job_group"]
    (shown,) = admin.get("/api/v1/alarms/failing").json["items"]
    assert (shown["job_group"], shown["channels"], shown["silenced"]) == (group, ["ops"], False)
    admin.call("DELETE", channel.headers["location"])
    admin.post(SILENCES, {"job_id": job_id, "lasts": "2h", "reason": "moving house"})
    (shown,) = admin.get("/api/v1/alarms/failing").json["items"]
    assert (shown["channels"], shown["silenced"]) == ([], True)


def test_a_job_says_whom_to_tell_and_how(site: Site, admin: Caller) -> None:
    policy = {"each": True, "repeat": 600, "channels": ["ops"]}
    job_id = site.job(alarm_email=" a@b.example , c@d.example", alarm_policy=policy)
    path = f"/api/v1/jobs/{job_id}"
    shown = admin.get(path).json
    assert (shown["alarm_email"], shown["alarm_policy"]) == ("a@b.example,c@d.example", policy)
    assert admin.call("PATCH", path, {"job_desc": "other"}).json["alarm_policy"] == policy
    assert admin.call("PATCH", path, {"alarm_policy": None}).json["alarm_policy"] is None
    for bad in ({"alarm_email": "nobody"}, {"alarm_policy": {"repeat": -1}}, {"alarm_policy": {"often": 1}}):
        admin.call("PATCH", path, bad).problem(422)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/alarms"),
        ("GET", "/api/v1/alarms/failing"),
        ("GET", CHANNELS),
        ("POST", CHANNELS),
        ("GET", f"{CHANNELS}/1"),
        ("PUT", f"{CHANNELS}/1"),
        ("DELETE", f"{CHANNELS}/1"),
        ("POST", f"{CHANNELS}/1/test"),
        ("GET", SILENCES),
        ("POST", SILENCES),
        ("DELETE", f"{SILENCES}/1"),
    ],
)
def test_nobody_anonymous(stranger: Caller, method: str, path: str) -> None:
    stranger.call(method, path, {} if method in ("POST", "PUT") else None).problem(401)


def test_a_definition_that_cannot_be_read_is_shown_and_not_sent(local: Site) -> None:
    admin = local.admin()
    made = hook(admin)

    def spoil(connection: Any) -> None:
        connection.exec_driver_sql("UPDATE orth_alarm_channel SET definition = ?", (json.dumps([1]),))

    local.tx(spoil)
    assert admin.get(made.headers["location"]).json["definition"] == {}
    answer = admin.post(f"{made.headers['location']}/test").json
    assert not answer["ok"]
    assert "cannot be read" in answer["answer"]
