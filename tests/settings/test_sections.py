from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from orth.settings import Settings
from orth.settings.names import FIELDS
from orth.settings.sections import ChannelsSection, CoordinatorSection, LogsSection, Sections, StoreSection


def test_every_default_has_the_kind_it_is_declared_with() -> None:
    defaults = Sections()
    for section in Sections.model_fields:
        declared = getattr(defaults, section)
        written = {name: getattr(declared, name) for name in type(declared).model_fields}
        assert type(declared).model_validate(written) == declared


def test_every_setting_is_explained_in_one_line() -> None:
    for key, field in FIELDS.items():
        assert field.description, key
        assert "\n" not in field.description, key
        assert field.description.endswith("."), key


def test_the_defaults_keep_the_promised_numbers() -> None:
    settings = Settings()
    assert [settings.cluster.lease, settings.cluster.lease_renew] == [timedelta(seconds=30), timedelta(seconds=10)]
    assert [settings.registry.heartbeat, settings.registry.dead_after] == [timedelta(seconds=30), timedelta(seconds=90)]
    assert [pause.total_seconds() for pause in settings.registry.register_pauses] == [0, 5, 10, 20, 40]
    assert settings.coordinator.lost_after == timedelta(minutes=10)
    assert str(settings.coordinator.listen) == "127.0.0.1:5080"
    assert str(settings.executor.listen) == "127.0.0.1:9999"


def test_settings_are_frozen_and_closed() -> None:
    settings = Settings()
    with pytest.raises(ValidationError, match="frozen"):
        settings.store.pool_size = 9  # type: ignore[misc]  # the point of the test
    with pytest.raises(ValidationError, match="Extra inputs"):
        StoreSection.model_validate({"pool": 9})


def test_the_store_is_a_file_in_the_data_directory_unless_said_otherwise() -> None:
    assert Settings().store_url == "sqlite:///.orth/orth.db"
    moved = Settings(coordinator=CoordinatorSection(data_dir=Path("/var/lib/orth")))
    assert moved.store_url == "sqlite:////var/lib/orth/orth.db"
    assert Settings(store=StoreSection(url="mysql://h/d")).store_url == "mysql://h/d"


def test_logs_are_kept_below_the_data_directory_unless_said_otherwise() -> None:
    assert LogsSection().dir_below(Path("data")) == Path("data/logs")
    assert LogsSection(dir=Path("elsewhere")).dir_below(Path("data")) == Path("elsewhere")


@pytest.mark.parametrize(
    ("store", "given", "opened"),
    [
        (None, None, "memory://"),
        ("sqlite:///x.db", None, "memory://"),
        ("postgresql://h/orth", None, "database://"),
        ("mysql://h/orth", None, "database://"),
        ("mariadb+pymysql://h/orth", None, "database://"),
        ("sqlite:///x.db", "database://", "database://"),
        ("postgresql://h/orth", "memory://", "memory://"),
        ("postgresql://h/orth", "redis://h:6379/0", "redis://h:6379/0"),
    ],
)
def test_coordinators_that_share_a_server_hear_each_other_without_being_told(
    store: str | None, given: str | None, opened: str
) -> None:
    assert Sections(store=StoreSection(url=store), channels=ChannelsSection(url=given)).channels_url == opened
