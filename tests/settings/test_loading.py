from collections.abc import Mapping
from pathlib import Path

import pytest

from orth.errors import BadSettings
from orth.settings import Address, Settings, load_settings
from orth.settings.names import FIELDS, kind_of, variable_of


def problems_of(cwd: Path, options: Mapping[str, object] | None = None, **environ: str) -> list[str]:
    with pytest.raises(BadSettings) as refusal:
        load_settings(options, environ=environ, cwd=cwd)
    return refusal.value.problems


def write(cwd: Path, text: str) -> None:
    (cwd / "orth.toml").write_text(text)


def test_without_any_layer_the_defaults_hold(tmp_path: Path) -> None:
    settings = load_settings(environ={}, cwd=tmp_path)
    assert settings == Settings()
    assert settings.file is None
    assert {settings.origin(key) for key in FIELDS} == {"default"}


def test_a_later_layer_wins_and_each_value_knows_where_it_came_from(tmp_path: Path) -> None:
    write(tmp_path, '[coordinator]\nlisten = "127.0.0.1:1"\nplan_batch = 7\ndispatch_batch = 7\n')
    settings = load_settings(
        {"coordinator.listen": "127.0.0.1:3", "coordinator.node_id": None},
        environ={"ORTH_COORDINATOR__LISTEN": "127.0.0.1:2", "ORTH_COORDINATOR__PLAN_BATCH": "8"},
        cwd=tmp_path,
    )
    assert (settings.coordinator.listen, settings.origin("coordinator.listen")) == (
        Address("127.0.0.1", 3),
        "option --listen",
    )
    assert (settings.coordinator.plan_batch, settings.origin("coordinator.plan_batch")) == (
        8,
        "environment ORTH_COORDINATOR__PLAN_BATCH",
    )
    assert (settings.coordinator.dispatch_batch, settings.origin("coordinator.dispatch_batch")) == (7, "orth.toml:4")
    assert settings.origin("coordinator.node_id") == "default"
    assert settings.file == tmp_path / "orth.toml"


@pytest.mark.parametrize("file", [False, True])
@pytest.mark.parametrize("environment", [False, True])
@pytest.mark.parametrize("option", [False, True])
def test_the_highest_layer_that_speaks_decides(tmp_path: Path, file: bool, environment: bool, option: bool) -> None:
    if file:
        write(tmp_path, "[store]\npool_size = 11\n")
    settings = load_settings(
        {"store.pool_size": 13} if option else {},
        environ={"ORTH_STORE__POOL_SIZE": "12"} if environment else {},
        cwd=tmp_path,
    )
    assert settings.store.pool_size == (13 if option else 12 if environment else 11 if file else 8)


def test_every_setting_can_come_from_the_environment(tmp_path: Path) -> None:
    texts = {
        "duration": "2h", "duration up to 1m": "1s", "list of durations": "1s,2s", "number": "4", "bytes": "4",
        "bytes, up to what a trigger may carry": "4",
        "none, starttls or tls": "tls", "none, store or folder": "store",
        "text": "t", "time zone": "Asia/Tokyo", "path": "p", "host:port": "127.0.0.1:7", "list of URLs": "http://u:1",
        "secret": "a-secret-of-good-length", "push or queue": "queue", "list of names": "A,B",
        "database or redis": "redis", "list of networks": "10.0.0.0/8,::1", "port": "4", "host name": "h",
        "list of cpu=N, memory=N, file_size=N, processes=N, open_files=N": "cpu=60,memory=1073741824",
        "list of key=value": "zone=eu,gpu=a100", "list of host names": "h,i",
        "list of value=role or value=role@app-name": "ops=operator,data=editor@demo",
        "list of shell, python, powershell, nodejs, php, glue": "glue,shell", "list of command, http": "http",
    }  # fmt: skip
    for key in FIELDS:
        text = {"store.url": "sqlite:///s", "channels.url": "database://", "coordinator.roles": "console"}.get(key)
        text = "https://u" if key == "security.oidc_issuer" else text
        if kind_of(key).name == "true or false":
            text = "false" if FIELDS[key].default else "true"
        text = text or texts.get(kind_of(key).name, "http://u:1")
        settings = load_settings(environ=around(key, text), cwd=tmp_path)
        assert settings.origin(key) == f"environment {variable_of(key)}"
        assert settings.value(key) != Settings().value(key), key


def around(key: str, text: str) -> dict[str, str]:
    """``key`` set to ``text`` with neighbours wide enough that no comparison is broken."""
    wide = {
        "cluster.lease": "1d", "cluster.dead_after": "1d", "registry.dead_after": "1d",
        "coordinator.unknown_bound": "1d", "cluster.handoff_hard_timeout": "1d", "channels.url": "redis://:p@h:6379/0",
        "security.tls_certificate": "c", "security.tls_key": "k", "security.tls_client_ca": "a",
        "security.refresh_token_ttl": "2h", "security.oidc_client_id": "c",
    }  # fmt: skip
    return {variable_of(name): value for name, value in {**wide, key: text}.items()}


def test_every_problem_of_a_load_is_told_at_once(tmp_path: Path) -> None:
    write(
        tmp_path,
        """\
store = 5
[coordinator]
lisen = "x"
max_body = "large"
[cluster]
lease = "5s"
[foo]
bar = 1
[empty]
""",
    )
    problems = problems_of(
        tmp_path,
        {"executor.quue": "q", "executor.transport": "pull"},
        ORTH_STORE__POOLSIZE="3",
        ORTH_LOGS__RETENTION="30",
    )
    assert problems == [
        "store in orth.toml:1 is a section: write [store] and its settings below",
        "unknown setting coordinator.lisen in orth.toml:3; did you mean coordinator.listen?",
        "unknown setting foo.bar in orth.toml:8",
        "unknown setting empty in orth.toml:9",
        "unknown setting ORTH_STORE__POOLSIZE in the environment; did you mean ORTH_STORE__POOL_SIZE?",
        "unknown setting executor.quue in the options; did you mean executor.queue?",
        "coordinator.max_body = 'large' (orth.toml:4): should be a valid integer, unable to parse string as an integer",
        "executor.transport = 'pull' (option --transport): should be 'push' or 'queue'",
        "logs.retention = '30' (environment ORTH_LOGS__RETENTION): '30' is not a duration. "
        "Write a number and a unit: 500ms, 30s, 5m, 1h30m, 10d.",
        "cluster.lease (5s) must be at least 2 × cluster.lease_renew (10s): one late renewal would end a leadership",
    ]


def test_a_broken_file_does_not_hide_the_other_problems(tmp_path: Path) -> None:
    write(tmp_path, "[store")
    problems = problems_of(tmp_path, ORTH_STORE__SIZE="3")
    assert "is not TOML" in problems[0]
    assert problems[1].startswith("unknown setting ORTH_STORE__SIZE")


def test_an_unreadable_value_is_not_told_again_as_a_comparison(tmp_path: Path) -> None:
    problems = problems_of(tmp_path, ORTH_CLUSTER__LEASE="soon", ORTH_CLUSTER__LEASE_RENEW="1h")
    assert len(problems) == 1
    assert problems[0].startswith("cluster.lease = 'soon'")


def test_an_unknown_variable_is_refused_even_when_empty(tmp_path: Path) -> None:
    assert problems_of(tmp_path, ORTH_NO__SUCH="") == ["unknown setting ORTH_NO__SUCH in the environment"]


def test_the_section_agent_is_the_section_executor(tmp_path: Path) -> None:
    write(tmp_path, '[agent]\napp_name = "collector"\n')
    settings = load_settings(environ={"ORTH_AGENT__QUEUE": "fast"}, cwd=tmp_path)
    assert (settings.executor.app_name, settings.executor.queue) == ("collector", ("fast",))
    assert settings.warnings == ()


def test_one_layer_may_say_a_thing_only_once(tmp_path: Path) -> None:
    write(tmp_path, '[agent]\nqueue = "a"\n[executor]\nqueue = "b"\n')
    assert problems_of(tmp_path) == ["executor.queue is set twice: orth.toml:2 and orth.toml:4"]


def test_a_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-the-environment\n")
    (tmp_path / "password").write_text(" with spaces \n")
    (tmp_path / "url").write_text("postgresql://u:p@h/d\n")
    write(tmp_path, '[security]\nadmin_password_file = "password"\n[store]\nurl_file = "url"\n')
    environ = {"ORTH_SECURITY__ACCESS_TOKEN_FILE": str(tmp_path / "token")}
    settings = load_settings(environ=environ, cwd=tmp_path)
    assert settings.security.access_token is not None
    assert settings.security.access_token.get_secret_value() == "from-the-environment"
    assert settings.origin("security.access_token") == "environment ORTH_SECURITY__ACCESS_TOKEN_FILE"
    assert settings.security.admin_password is not None
    assert settings.security.admin_password.get_secret_value() == " with spaces "
    assert (settings.store_url, settings.origin("store.url")) == ("postgresql://u:p@h/d", "orth.toml:4")


def test_a_secret_file_that_gives_no_secret_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    (tmp_path / "binary").write_bytes(b"\xff")
    listening = {"coordinator.listen": "0.0.0.0:5080"}
    for name, trouble in [("empty", "is empty"), ("binary", "is not text"), ("none", "cannot be read: No such file")]:
        problems = problems_of(tmp_path, listening, ORTH_SECURITY__ACCESS_TOKEN_FILE=name)
        assert len(problems) == 1
        assert problems[0].startswith(
            f"ORTH_SECURITY__ACCESS_TOKEN_FILE in the environment names the file {name}, which {trouble}"
        )


def test_a_secret_and_its_file_are_one_too_many(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x")
    problems = problems_of(tmp_path, ORTH_SECURITY__ACCESS_TOKEN="y", ORTH_SECURITY__ACCESS_TOKEN_FILE="token")
    assert problems == [
        "security.access_token is set twice: environment ORTH_SECURITY__ACCESS_TOKEN "
        "and environment ORTH_SECURITY__ACCESS_TOKEN_FILE"
    ]


def test_problems_show_neither_secrets_nor_passwords(tmp_path: Path) -> None:
    write(tmp_path, '[store]\nurl = "oracle://u:hunter2@h/d"\n[security]\naccess_token = ["hunter2"]\n')
    problems = problems_of(tmp_path)
    assert len(problems) == 2
    assert "hunter2" not in "".join(problems)


def test_a_long_value_is_shown_shortened(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, ORTH_EXECUTOR__QUEUE="q" * 500)
    assert len(problem) < 200


SEED_TABLE = """\
RegistryApiUrl = "https://apphost.example.org:5060"
OrchestratorUrl = "https://orchestrator.example.org:5080"

[DnsConfiguration]
WorkerCount = 3
Suffix = "example.org"
AppHostHost = "apphost"
OrchestratorHost = "scheduler"
WorkerHostPrefix = "worker"
VizHost = "view"

[DnsConfiguration.Ports]
AppHost = 5061
Orchestrator = 5081
Viz = 5071
WorkerBase = 5091
Dashboard = 18888
"""


def test_other_products_names_are_understood_and_told(tmp_path: Path) -> None:
    write(tmp_path, SEED_TABLE)
    settings = load_settings(environ={}, cwd=tmp_path)
    assert settings.registry.url == "https://apphost.example.org:5060"
    assert settings.executor.coordinators == ("https://orchestrator.example.org:5080",)
    assert settings.apphost.executors == 3
    up = settings.apphost
    assert (up.suffix, up.registry_host, up.coordinator_host) == ("example.org", "apphost", "scheduler")
    assert (up.executor_host, up.console_host) == ("worker", "view")
    assert (up.registry_port, up.coordinator_port, up.console_port) == (5061, 5081, 5071)
    assert (up.executor_port, up.dashboard_port) == (5091, 18888)
    assert settings.origin("apphost.executors") == "orth.toml:5"
    assert tuple(map(str, settings.warnings)) == (
        "RegistryApiUrl in orth.toml:1 is called registry.url here",
        "OrchestratorUrl in orth.toml:2 is called executor.coordinators here",
        "DnsConfiguration is read as settings of apphost",
    )


def test_other_products_variables_are_understood(tmp_path: Path) -> None:
    environ = {"RegistryApiUrl": "http://r:5060", "OrchestratorUrl": "", "DnsConfiguration__WorkerCount": "4"}
    settings = load_settings(environ=environ, cwd=tmp_path)
    assert (settings.registry.url, settings.origin("registry.url")) == ("http://r:5060", "environment RegistryApiUrl")
    assert settings.origin("executor.coordinators") == "default"
    assert settings.apphost.executors == 4


def test_an_empty_registry_url_is_no_registry_url(tmp_path: Path) -> None:
    write(tmp_path, 'RegistryApiUrl = ""\n')
    assert load_settings(environ={}, cwd=tmp_path).registry.url is None


def test_members_that_the_other_product_does_not_have_are_refused(tmp_path: Path) -> None:
    write(tmp_path, "[DnsConfiguration]\nWorkersCount = 3\n")
    assert problems_of(tmp_path) == [
        "unknown setting DnsConfiguration.WorkersCount in orth.toml:2; did you mean DnsConfiguration.WorkerCount?"
    ]
