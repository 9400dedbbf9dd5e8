"""Each kind of value, through the section that uses it."""

from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from orth.settings.sections import Sections
from orth.settings.values import Address


def read(key: str, value: object) -> object:
    section, _, name = key.partition(".")
    return Sections.model_validate({section: {name: value}}).value(key)


@pytest.mark.parametrize(
    ("key", "given", "value"),
    [
        ("cluster.lease", "1m", timedelta(minutes=1)),
        ("cluster.lease", timedelta(seconds=40), timedelta(seconds=40)),
        ("registry.register_pauses", "0s, 5s", (timedelta(0), timedelta(seconds=5))),
        ("registry.register_pauses", ["1s"], (timedelta(seconds=1),)),
        ("store.pool_size", "12", 12),
        ("apphost.executors", 0, 0),
        ("apphost.demo", "no", False),
        ("coordinator.listen", "[::1]:1", Address("::1", 1)),
        ("coordinator.listen", Address("h", 1), Address("h", 1)),
        ("coordinator.node_id", "  n1 ", "n1"),
        ("coordinator.node_id", "", None),
        ("coordinator.data_dir", "var/orth", Path("var/orth")),
        ("coordinator.default_timezone", "Europe/Paris", "Europe/Paris"),
        ("coordinator.roles", "all", ("coordinator", "registry", "console")),
        ("coordinator.roles", ["console", "registry", "console"], ("console", "registry")),
        ("executor.scripts", "shell, php,shell", ("shell", "php")),
        ("executor.scripts", [], ()),
        ("executor.builtin", ["http"], ("http",)),
        ("executor.script_env", "HTTPS_PROXY,JAVA_HOME", ("HTTPS_PROXY", "JAVA_HOME")),
        ("executor.labels", "zone=eu, gpu=", ("zone=eu", "gpu=")),
        ("executor.labels", {"zone": "eu", "disk": "ssd"}, ("zone=eu", "disk=ssd")),
        ("executor.address", "http://10.0.0.7:9999/", "http://10.0.0.7:9999"),
        ("executor.coordinators", "http://a:1, http://b:2,", ("http://a:1", "http://b:2")),
        ("executor.coordinators", ["http://a:1", "http://a:1/"], ("http://a:1",)),
        ("registry.url", "", None),
        ("store.url", "postgresql+psycopg://h/d", "postgresql+psycopg://h/d"),
        ("channels.url", "redis://h:6379/0", "redis://h:6379/0"),
        ("logs.dir", "", None),
    ],
)
def test_what_a_kind_accepts(key: str, given: object, value: object) -> None:
    assert read(key, given) == value


@pytest.mark.parametrize(
    ("key", "given", "says"),
    [
        ("cluster.lease", 30, "needs a unit"),
        ("cluster.lease", "0s", "longer than 0s"),
        ("cluster.lease", timedelta(seconds=-1), "longer than 0s"),
        ("registry.register_pauses", [], "at least 1 item"),
        ("registry.register_pauses", ["1s", timedelta(seconds=-1)], "not be negative"),
        ("store.pool_size", 0, "greater than or equal to 1"),
        ("store.pool_size", True, "not true or false"),
        ("store.pool_size", "many", "valid integer"),
        ("apphost.demo", "perhaps", "valid boolean"),
        ("coordinator.listen", 5080, "Address"),
        ("coordinator.node_id", "n" * 65, "at most 64"),
        ("executor.queue", " ", "at least 1 item"),
        ("executor.queue", "fast,p2", "priorities"),
        ("coordinator.default_timezone", "Europe", "time zone"),
        ("coordinator.default_timezone", "Mars/Base", "time zone"),
        ("coordinator.default_timezone", "../etc", "time zone"),
        ("coordinator.roles", "console,cook", "'coordinator', 'registry' or 'console'"),
        ("executor.scripts", "groovy", "'shell', 'python', 'powershell', 'nodejs', 'php' or 'glue'"),
        ("executor.builtin", "ftp", "'command' or 'http'"),
        ("executor.labels", "zone", "pattern"),
        ("executor.labels", "=eu", "pattern"),
        ("executor.labels", "zone=e u", "pattern"),
        ("executor.labels", "zone=eu,zone=us", "one value"),
        ("executor.labels", [f"a{number}=1" for number in range(33)], "at most 32"),
        ("executor.address", "10.0.0.7:9999", "should be a URL"),
        ("executor.address", "http://h:99999", "should be a URL"),
        ("executor.coordinators", "", "at least 1 item"),
        ("executor.transport", "pull", "'push' or 'queue'"),
        ("store.url", "oracle://h/d", "sqlite://, postgresql://, mysql:// or mariadb://"),
        ("store.url", "orth.db", "should begin with"),
        ("channels.url", "kafka://h", "should begin with"),
        ("security.access_token", 12345, "valid string"),
    ],
)
def test_what_a_kind_refuses(key: str, given: object, says: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        read(key, given)
    assert says in str(refusal.value)


@pytest.mark.parametrize(("text", "seconds"), [("0s", 0), ("250ms", 0.25), ("1m", 60)])
def test_the_window_of_planning_may_be_nothing_and_at_most_a_minute(text: str, seconds: float) -> None:
    assert read("coordinator.plan_ahead", text) == timedelta(seconds=seconds)
    for bad in ("61s", "-1s"):
        with pytest.raises(ValidationError):
            read("coordinator.plan_ahead", bad)
