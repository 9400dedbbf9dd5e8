import pytest

from orth.settings import Settings
from tests.cli.conftest import Recorder, Run, Stand

UP = ("orth.apphost.up", "up")


@pytest.fixture
def up(stand_in: Stand, monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """``up`` and what the command hands it, standing in for the module."""
    import sys

    from orth.apphost.up import Choice

    recorder = stand_in(*UP, 4)
    standing = sys.modules[UP[0]]
    monkeypatch.setattr(standing, "Choice", Choice, raising=False)
    monkeypatch.setattr(standing, "detach", Recorder(5), raising=False)
    return recorder


def settings_of(recorder: Recorder) -> Settings:
    settings: Settings = recorder.arguments[0].settings  # type: ignore[attr-defined]  # a Choice
    return settings


def test_options_become_settings(run: Run, up: Recorder) -> None:
    asked = run("up", "--executors", "0", "--coordinators", "2", "--no-demo", "--ephemeral", "--port", "0", "--tls")
    assert asked.exit_code == 4
    apphost = settings_of(up).apphost
    assert (apphost.executors, apphost.coordinators, apphost.demo, apphost.tls) == (0, 2, False, True)
    ports = (apphost.registry_port, apphost.console_port, apphost.coordinator_port, apphost.executor_port)
    assert ports == (0, 0, 0, 0)
    assert up.arguments[0].ephemeral  # type: ignore[attr-defined]  # a Choice


def test_one_port_moves_them_all(run: Run, up: Recorder) -> None:
    run("up", "--port", "6080", "--agents", "2")
    apphost = settings_of(up).apphost
    ports = (apphost.registry_port, apphost.console_port, apphost.coordinator_port, apphost.executor_port)
    assert ports == (6060, 6070, 6080, 6090)
    assert apphost.executors == 2


def test_without_options_the_settings_decide(run: Run, up: Recorder) -> None:
    assert run("up", ORTH_APPHOST__DEMO="false").exit_code == 4
    apphost = settings_of(up).apphost
    assert (apphost.executors, apphost.coordinators, apphost.demo) == (3, 2, False)
    assert (apphost.registry_port, apphost.console_port, apphost.executor_port) == (5060, 5070, 5090)
    assert (apphost.coordinator_port, settings_of(up).coordinator.listen.port) == (None, 5080)


@pytest.mark.parametrize(
    "arguments", [["--executors", "-1"], ["--coordinators", "0"], ["--port", "65536"], ["--detach", "--ephemeral"]]
)
def test_numbers_out_of_range_and_contradictions_are_wrong_usage(run: Run, arguments: list[str]) -> None:
    assert run("up", *arguments).exit_code == 2


@pytest.mark.parametrize("command", ["ps", "down", "logs"])
def test_where_nothing_runs_it_is_not_found(run: Run, command: str) -> None:
    from orth.errors import NotFound

    assert isinstance(run(command).exception, NotFound)
