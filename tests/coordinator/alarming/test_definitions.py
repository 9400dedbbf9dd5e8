"""Channels as they are written and shown: what is refused, what is masked, what an edit keeps."""

from typing import Any

import pytest

from orth.coordinator.alarming.definitions import checked, shown, with_kept_secrets
from orth.errors import Invalid

URL = "https://hooks.example/services/T0/B0/xyzzy"
MAIL = {"host": "mail.example", "username": "orth", "password": "pass word", "to": ["a@b.example"]}
HOOK = {"url": URL, "headers": {"Authorization": "Bearer abc"}}


@pytest.mark.parametrize(
    ("kind", "definition"),
    [
        ("webhook", {}),
        ("webhook", {"url": "ftp://example/x"}),
        ("webhook", {"url": "file:///etc/passwd"}),
        ("webhook", {"url": "http://"}),
        ("webhook", {"url": "http://user:secret@example/"}),
        ("webhook", {"url": "http://example/a b"}),
        ("webhook", {"url": "http://example/\r\nX: y"}),
        ("webhook", {"url": "http://example:99999/"}),
        ("webhook", {"url": URL, "preset": "irc"}),
        ("webhook", {"url": URL, "template": {"text": "{{password}}"}}),
        ("webhook", {"url": URL, "secret": "x"}),
        ("webhook", {"url": URL, "headers": {"Host": "other"}}),
        ("webhook", {"url": URL, "headers": {"X\r\nY": "z"}}),
        ("webhook", {"url": URL, "headers": {"X": "a\r\nB: c"}}),
        ("webhook", {"url": URL, "unknown": 1}),
        ("webhook", {"url": URL, "template": {"a": "{{text}}" * 101}}),
        ("webhook", {"url": URL, "template": ["{{text}}"] * 101}),
        ("webhook", {"url": URL, "template": {"a": "x" * 40_000}}),
        ("webhook", {"url": URL, "template": list(range(10_000))}),
        ("mail", {"host": "mail.example\r\n", "to": []}),
        ("mail", {"host": ".."}),
        ("mail", {"host": "."}),
        ("mail", {"host": "mail..example"}),
        ("mail", {"host": "::::"}),
        ("mail", {"host": "::1%x\r\n"}),
        ("mail", {"host": f"{'a' * 64}.example"}),
        ("mail", {"port": 0}),
        ("mail", {"security": "ssl"}),
        ("mail", {"to": ["nobody"]}),
        ("mail", {"to": ["a@b.example\r\nBcc: c@d.example"]}),
        ("mail", {"sender": "a@b.example, c@d.example"}),
        ("mail", {"host": "mail.example", "password": "x", "security": "none"}),
        ("apprise", {"urls": []}),
    ],
)
def test_what_could_never_work_or_should_not_is_refused(kind: str, definition: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        checked(kind, definition)


@pytest.mark.parametrize("host", ["mail", "mail.example", "a-b.x--y.example", "127.0.0.1", "::1", "fe80::1"])
def test_a_host_that_can_be_one_is_taken(host: str) -> None:
    assert checked("mail", {"host": host})["host"] == host


def test_a_template_may_be_as_long_as_messages_are() -> None:
    template = {"a": "{{text}}" * 100, "b": "x" * 30_000}
    assert checked("webhook", {"url": URL, "template": template})["template"] == template


def test_a_refusal_does_not_repeat_the_secret() -> None:
    with pytest.raises(Invalid) as refusal:
        checked("webhook", {"url": "xyzzy://secret-token"})
    assert "secret-token" not in str(refusal.value)


def test_secrets_are_masked() -> None:
    assert shown("mail", checked("mail", MAIL))["password"] == "********"
    hook = shown("webhook", checked("webhook", HOOK))
    assert hook["url"] == "https://hooks.example/********"
    assert hook["headers"] == {"Authorization": "********"}
    assert shown("webhook", checked("webhook", {"url": URL, "preset": "feishu", "secret": "s"}))["secret"] == "********"
    assert shown("apprise", {"urls": ["tgram://token/chat"]}) == {"urls": ["tgram://********"]}
    assert shown("mail", checked("mail", {}))["password"] is None


@pytest.mark.parametrize(("kind", "definition"), [("mail", MAIL), ("webhook", HOOK)])
def test_an_edit_that_sends_back_what_was_shown_changes_nothing(kind: str, definition: dict[str, Any]) -> None:
    stored = checked(kind, definition)
    assert checked(kind, with_kept_secrets(kind, stored, shown(kind, stored))) == stored


def test_an_edit_that_leaves_secrets_out_keeps_them_and_null_removes_them() -> None:
    stored = checked("mail", MAIL)
    edit = {"host": "mail.example", "username": "orth", "to": ["c@d.example"]}
    assert with_kept_secrets("mail", stored, edit)["password"] == "pass word"
    assert with_kept_secrets("mail", stored, {**edit, "password": None})["password"] is None
    assert with_kept_secrets("mail", stored, {**edit, "password": "new"})["password"] == "new"
    hook = checked("webhook", HOOK)
    assert with_kept_secrets("webhook", hook, {"preset": "slack"})["url"] == URL
    more = {"headers": {"Authorization": "********", "X-New": "1"}}
    assert with_kept_secrets("webhook", hook, more)["headers"] == {"Authorization": "Bearer abc", "X-New": "1"}
    assert with_kept_secrets("webhook", hook, {"headers": {}})["headers"] == {}


@pytest.mark.parametrize(
    ("kind", "definition", "edit"),
    [
        ("mail", MAIL, {"host": "elsewhere.example", "username": "orth"}),
        ("mail", MAIL, {"host": "mail.example", "port": 2525, "password": "********"}),
        ("mail", MAIL, {"host": "mail.example", "security": "none"}),
        ("webhook", HOOK, {"url": "https://elsewhere.example/"}),
        ("webhook", HOOK, {"url": "http://hooks.example/x", "headers": {"Authorization": "********"}}),
        *(
            ("webhook", HOOK, {"url": URL + more, "headers": {"Authorization": "********"}})
            for more in ("/", "x", "/..", "?to=me", "#", "%2F..")
        ),
        ("webhook", HOOK, {"url": URL.rpartition("/")[0] + "/of-the-editor"}),
    ],
)
def test_a_kept_secret_goes_nowhere_new(kind: str, definition: dict[str, Any], edit: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match="to another place"):
        with_kept_secrets(kind, checked(kind, definition), edit)
