import pytest

from orth.doctor import State
from orth.doctor.choices import look_at_channels, look_at_settings
from orth.settings import Settings
from tests.doctor.places import case_of, only


def test_settings_that_cannot_be_read_surprise_or_fit() -> None:
    wrong = case_of(bad_settings=("unknown setting stor.url", "cluster.lease is too short"))
    assert [one.state for one in look_at_settings(wrong, "")] == [State.BAD, State.BAD]
    only(look_at_settings(case_of(), ""), State.OK)
    short = Settings.model_validate({"security": {"access_token": "short"}})
    assert short.warnings
    surprising = case_of({"security": {"access_token": "short"}})
    assert {one.state for one in look_at_settings(surprising, "")} == {State.WARN}


@pytest.mark.parametrize(
    ("store", "channels", "state"),
    [
        (None, None, State.OK),
        (None, "memory://", State.WARN),
        (None, "database://", State.OK),
        ("postgresql://db/orth", None, State.OK),
        ("postgresql://db/orth", "memory://", State.WARN),
        ("mysql://db/orth", "redis://cache:6379/0", State.OK),
    ],
)
def test_channels_and_store(store: str | None, channels: str | None, state: State) -> None:
    case = case_of({"store": {"url": store}, "channels": {"url": channels}, "apphost": {"coordinators": 2}})
    only(look_at_channels(case, ""), state)


def test_memory_is_enough_for_one() -> None:
    only(look_at_channels(case_of({"channels": {"url": "memory://"}, "apphost": {"coordinators": 1}}), ""), State.OK)


def test_the_processes_of_a_running_up_share_the_store() -> None:
    verdict = only(look_at_channels(case_of(listening=("127.0.0.1:5080",)), ""), State.OK)
    assert verdict.what.startswith("database:// fits the store (sqlite)")
