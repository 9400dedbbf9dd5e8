import pytest

from orth.settings import Address
from tests.cli.conftest import Run, Stand

UP = ("orth.apphost.up", "up")


def test_options_become_settings(run: Run, stand_in: Stand) -> None:
    up = stand_in(*UP, 0)
    asked = run("up", "--executors", "0", "--coordinators", "2", "--no-demo", "--ephemeral", "--port", "0")
    assert asked.exit_code == 0
    apphost = up.settings.apphost
    assert (apphost.executors, apphost.coordinators, apphost.demo) == (0, 2, False)
    assert up.settings.coordinator.listen == Address("127.0.0.1", 0)
    assert up.named == {"ephemeral": True}


def test_without_options_the_settings_decide(run: Run, stand_in: Stand) -> None:
    up = stand_in(*UP, 4)
    assert run("up", ORTH_APPHOST__DEMO="false").exit_code == 4
    assert (up.settings.apphost.executors, up.settings.apphost.demo) == (2, False)
    assert up.settings.coordinator.listen == Address("127.0.0.1", 5080)
    assert up.named == {"ephemeral": False}


@pytest.mark.parametrize("arguments", [["--executors", "-1"], ["--coordinators", "0"], ["--port", "65536"]])
def test_numbers_out_of_range_are_wrong_usage(run: Run, arguments: list[str]) -> None:
    assert run("up", *arguments).exit_code == 2
