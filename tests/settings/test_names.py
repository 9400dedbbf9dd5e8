import pytest

from orth.settings.names import (
    FIELDS,
    SEED_NAMES,
    kind_of,
    nearest,
    option_of,
    secret_file_target,
    variable_of,
    without_section_alias,
)


def test_every_key_has_a_kind_and_its_own_variable() -> None:
    assert all(kind_of(key).name for key in FIELDS)
    assert len({variable_of(key) for key in FIELDS}) == len(FIELDS)


def test_variables_are_spelt_with_two_underscores_after_the_section() -> None:
    assert variable_of("coordinator.node_id") == "ORTH_COORDINATOR__NODE_ID"


def test_other_names_stand_for_settings_that_exist() -> None:
    assert set(SEED_NAMES.values()) <= set(FIELDS)


def test_options_are_known_where_there_are_any() -> None:
    assert option_of("store.url") == "--store"
    assert option_of("cluster.lease") is None


def test_agent_is_another_name_for_executor() -> None:
    assert without_section_alias("agent.app_name") == "executor.app_name"
    assert without_section_alias("agents.app_name") == "agents.app_name"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("security.access_token_file", "security.access_token"),
        ("store.url_file", "store.url"),
        ("store.pool_size_file", None),
        ("security.access_token", None),
    ],
)
def test_only_what_may_be_secret_can_stand_in_a_file(name: str, key: str | None) -> None:
    assert secret_file_target(name) == key


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("coordinator.lisen", "coordinator.listen"),
        ("cordinator.listen", "coordinator.listen"),
        ("agent.appname", "executor.app_name"),
        ("executor.misfire_threshold", "coordinator.misfire_threshold"),
        ("pool_size", "store.pool_size"),
        ("RegistryApiURL", "RegistryApiUrl"),
        ("DnsConfiguration.WorkersCount", "DnsConfiguration.WorkerCount"),
        ("coordinator.zzz", None),
        ("qqq", None),
    ],
)
def test_the_nearest_name_is_the_one_a_person_meant(name: str, meant: str | None) -> None:
    assert nearest(name) == meant
