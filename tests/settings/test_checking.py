import pytest

from orth.settings import Settings
from orth.settings.checking import RULES, check_sections
from orth.settings.names import FIELDS
from orth.settings.sections import Sections

TOKEN = "a-token-of-good-length"


def sections(**given: object) -> Sections:
    """Sections from ``cluster__lease="5s"`` arguments."""
    tables: dict[str, dict[str, object]] = {}
    for name, value in given.items():
        section, _, key = name.partition("__")
        tables.setdefault(section, {})[key] = value
    return Sections.model_validate(tables)


def test_the_defaults_have_neither_problems_nor_warnings() -> None:
    assert Settings().check() == ((), ())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"cluster__lease": "19s"}, "cluster.lease (19s) must be at least 2 × cluster.lease_renew (10s)"),
        ({"cluster__dead_after": "19s"}, "cluster.dead_after (19s) must be at least 2 × cluster.heartbeat (10s)"),
        (
            {"registry__heartbeat": "46s"},
            "registry.dead_after (1m30s) must be at least 2 × registry.heartbeat (46s)",
        ),
        (
            {"executor__heartbeat": "46s"},
            "registry.dead_after (1m30s) must be at least 2 × executor.heartbeat (46s)",
        ),
        ({"security__access_token_ttl": "8d"}, "security.refresh_token_ttl (7d) must be at least"),
        ({"security__session_ttl": "6d"}, "security.session_ttl (6d) must be at least security.refresh_token_ttl (7d)"),
        (
            {"security__oidc_issuer": "https://login.example"},
            "security.oidc_issuer is set: set security.oidc_client_id",
        ),
        (
            {"security__oidc_issuer": "http://login.example", "security__oidc_client_id": "orth"},
            "security.oidc_issuer must begin with https://",
        ),
        ({"security__tls_key": "key.pem"}, "security.tls_certificate and security.tls_key belong together"),
        ({"coordinator__unknown_bound": "2s"}, "coordinator.unknown_bound (2s) must be at least"),
        ({"coordinator__catch_up_age": "4s"}, "coordinator.catch_up_age (4s) must be at least"),
        ({"cluster__handoff_tries": 13}, "cluster.handoff_hard_timeout (1m) must be at least"),
        ({"cluster__lease_provider": "redis"}, "cluster.lease_provider is redis, but channels.url names no Redis"),
        ({"channels__url": "redis://cache:6379/0"}, "channels.url names a Redis on another machine without a password"),
        ({"channels__url": "rediss://user@10.0.0.7/0"}, "channels.url names a Redis on another machine without"),
        (
            {"coordinator__listen": "0.0.0.0:5080"},
            "coordinator.listen (0.0.0.0:5080) can be reached from other machines: set security.access_token, or",
        ),
        (
            {"executor__listen": "0.0.0.0:9999"},
            "executor.listen (0.0.0.0:9999) can be reached from other machines: set security.access_token, or "
            "listen on 127.0.0.1 beside a coordinator, which has one",
        ),
        (
            {"coordinator__listen": "0.0.0.0:5080", "security__access_token": "default_token"},
            "coordinator.listen (0.0.0.0:5080) can be reached from other machines, and security.access_token is one "
            "that everybody knows: make another",
        ),
        (
            {"coordinator__listen": "10.0.0.7:5080", "security__access_token": TOKEN[:15]},
            "coordinator.listen (10.0.0.7:5080) can be reached from other machines, and security.access_token is "
            "shorter than 16 characters: make another",
        ),
        (
            {
                "coordinator__listen": "10.0.0.7:5080",
                "security__access_token": TOKEN,
                "security__access_token_previous": "old",
            },
            "coordinator.listen (10.0.0.7:5080) can be reached from other machines, and security.access_token_previous",
        ),
        (
            {"coordinator__listen": "10.0.0.7:5080", "security__access_token": "ab-cd-ab-cd-dc-ba"},
            "coordinator.listen (10.0.0.7:5080) can be reached from other machines, and security.access_token repeats",
        ),
        (
            {
                "coordinator__listen": "10.0.0.7:5080",
                "security__access_token": TOKEN,
                "security__admin_password": "admin",
            },
            "coordinator.listen (10.0.0.7:5080) can be reached from other machines, and security.admin_password is "
            "shorter than 10 characters",
        ),
        (
            {"coordinator__listen": "10.0.0.7:5080", "security__access_token": "default_token_default_token"},
            "coordinator.listen (10.0.0.7:5080) can be reached from other machines, and security.access_token is one "
            "of the first that anybody tries",
        ),
        (
            {
                "coordinator__listen": "10.0.0.7:5080",
                "security__access_token": "f83kd02mq71xz94b",
                "security__admin_password": "adminadmin",
            },
            "coordinator.listen (10.0.0.7:5080) can be reached from other machines, and security.admin_password is one "
            "of the first that anybody tries",
        ),
        (
            {"executor__listen": "10.0.0.7:9999", "security__access_token": "default_token"},
            "executor.listen (10.0.0.7:9999) can be reached from other machines, and security.access_token is one",
        ),
    ],
)
def test_settings_that_cannot_work_together_are_problems(given: dict[str, object], says: str) -> None:
    problems, _warnings = check_sections(sections(**given))
    assert len(problems) == 1
    assert problems[0].startswith(says)


@pytest.mark.parametrize(
    "given",
    [
        {"cluster__lease": "20s"},
        {"security__oidc_issuer": "https://login.example", "security__oidc_client_id": "orth"},
        {"security__oidc_issuer": "http://127.0.0.1:9000", "security__oidc_client_id": "orth"},
        {"cluster__handoff_tries": 12},
        {"cluster__lease_provider": "redis", "channels__url": "rediss://:p@cache:6379/0"},
        {
            "coordinator__listen": "0.0.0.0:5080",
            "security__access_token": TOKEN[:16],
            "security__behind_tls_proxy": True,
        },
        {
            "coordinator__listen": "0.0.0.0:5080",
            "security__access_token": TOKEN,
            "security__tls_certificate": "node.pem",
            "security__tls_key": "node-key.pem",
        },
        {"executor__listen": "10.0.0.7:9999", "executor__transport": "queue"},
    ],
)
def test_the_bounds_themselves_are_allowed(given: dict[str, object]) -> None:
    assert check_sections(sections(**given)) == ((), ())


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"coordinator__lost_after": "1m"}, "coordinator.lost_after (1m) should be at least registry.dead_after"),
        ({"registry__monitor": "2m"}, "registry.dead_after (1m30s) should be at least registry.monitor"),
        (
            {"executor__listen": "0.0.0.0:9999", "security__access_token": TOKEN, "security__behind_tls_proxy": True},
            "executor.listen is 0.0.0.0:9999",
        ),
        (
            {"executor__listen": "10.0.0.7:9999", "security__access_token": TOKEN},
            "executor.listen (10.0.0.7:9999) can be reached from other machines without TLS",
        ),
        (
            {"coordinator__listen": "10.0.0.7:5080", "security__access_token": TOKEN},
            "coordinator.listen (10.0.0.7:5080) can be reached from other machines without TLS",
        ),
        ({"security__access_token": "short"}, "security.access_token is shorter"),
    ],
)
def test_settings_that_surprise_are_warnings(given: dict[str, object], says: str) -> None:
    problems, warnings = check_sections(sections(**given))
    assert problems == ()
    assert len(warnings) == 1
    assert str(warnings[0]).startswith(says)


def test_a_secret_is_in_no_finding() -> None:
    assert "hunter2" not in str(check_sections(sections(security__access_token="hunter2")))


def test_a_rule_is_silent_about_a_key_that_could_not_be_read() -> None:
    broken = sections(cluster__lease="1s")
    assert check_sections(broken).problems
    assert check_sections(broken, unreadable={"cluster.lease_renew"}).problems == ()


def test_rules_compare_settings_that_exist() -> None:
    assert {key for rule in RULES for key in rule.keys} <= set(FIELDS)


@pytest.mark.parametrize(
    "given",
    [
        {"channels__url": "redis://127.0.0.1:6379/0"},
        {"channels__url": "redis://localhost"},
        {"channels__url": "redis://[::1]:6379"},
        {"channels__url": "redis://:password@cache:6379/0"},
        {"channels__url": "rediss://cache/0?password=secret"},
        {"channels__url": "redis://cache:6379/0", "channels__open_redis": True},
        {"channels__url": "database://"},
    ],
)
def test_a_redis_that_nobody_else_reaches_or_that_asks_for_a_password_is_fine(given: dict[str, object]) -> None:
    """A77."""
    assert check_sections(sections(**given)).problems == ()
