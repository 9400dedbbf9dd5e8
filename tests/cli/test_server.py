from pathlib import Path

from orth import failpoints
from orth.errors import BadSettings
from orth.settings import Address
from orth.settings.names import option_of
from tests.cli.conftest import Run, Stand
from tests.cli.running import orth


def test_options_become_settings(run: Run, stand_in: Stand) -> None:
    serve = stand_in("orth.coordinator.node", "serve", 0)
    asked = run(
        "server", "--listen", "127.0.0.1:0", "--store", "sqlite:///x.db", "--channels", "database://",
        "--node-id", "n1", "--data-dir", "d", "--roles", "coordinator,registry",
    )  # fmt: skip
    assert asked.exit_code == 0
    settings = serve.settings
    assert settings.coordinator.listen == Address("127.0.0.1", 0)
    assert (settings.store.url, settings.channels.url) == ("sqlite:///x.db", "database://")
    assert (settings.coordinator.node_id, settings.coordinator.data_dir) == ("n1", Path("d"))
    assert settings.coordinator.roles == ("coordinator", "registry")


def test_each_value_is_told_by_the_option_that_set_it(run: Run, stand_in: Stand) -> None:
    serve = stand_in("orth.coordinator.node", "serve", 0)
    given = {"coordinator.listen": "127.0.0.1:0", "store.url": "sqlite:///x", "channels.url": "database://",
             "coordinator.node_id": "n", "coordinator.data_dir": "d", "coordinator.roles": "all"}  # fmt: skip
    run("server", *(part for key, value in given.items() for part in (option_of(key), value)))
    assert {key: serve.settings.origin(key) for key in given} == {key: f"option {option_of(key)}" for key in given}


def test_what_is_not_given_is_left_to_the_other_layers(run: Run, stand_in: Stand) -> None:
    serve = stand_in("orth.coordinator.node", "serve", 0)
    Path("other.toml").write_text("[store]\npool_size = 3\n")
    asked = run("server", "--config", "other.toml", ORTH_COORDINATOR__NODE_ID="from-the-environment")
    assert asked.exit_code == 0
    assert serve.settings.store.pool_size == 3
    assert serve.settings.coordinator.node_id == "from-the-environment"


def test_the_exit_code_is_the_coordinators(run: Run, stand_in: Stand) -> None:
    stand_in("orth.coordinator.node", "serve", 7)
    assert run("server").exit_code == 7


def test_warnings_are_logged_before_the_start(tmp_path: Path) -> None:
    asked = orth(
        "server",
        cwd=tmp_path,
        ORTH_SECURITY__ACCESS_TOKEN="short",
        ORTH_FAILPOINTS="no.such=kill",
        ORTH_LOG_LEVEL="warning",
    )
    warning, refusal = asked.stderr.splitlines()
    assert " WARNING orth.cli: security.access_token is shorter than 16 characters" in warning
    assert refusal.startswith("orth: ORTH_FAILPOINTS: unknown failpoint 'no.such'")
    assert asked.returncode == 2


def test_failpoints_of_the_environment_are_armed(run: Run, stand_in: Stand) -> None:
    stand_in("orth.coordinator.node", "serve", 0)
    try:
        assert run("server", ORTH_FAILPOINTS="due.planned=raise").exit_code == 0
        assert set(failpoints.armed) == {"due.planned"}
    finally:
        failpoints.disarm()


def test_a_misspelt_failpoint_refuses_the_start(run: Run, stand_in: Stand) -> None:
    serve = stand_in("orth.coordinator.node", "serve", 0)
    asked = run("server", ORTH_FAILPOINTS="due.planned=explode")
    assert isinstance(asked.exception, BadSettings)
    assert serve.arguments == ()


def test_an_unknown_level_is_wrong_usage(run: Run) -> None:
    asked = run("server", ORTH_LOG_LEVEL="loud")
    assert asked.exit_code == 2
    assert "'loud' is not one of" in asked.output
