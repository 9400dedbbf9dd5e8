"""A coordinator that others reach does not call its own machine because an executor says so."""

from pathlib import Path
from typing import Any

import pytest

from orth.coordinator.http.addresses import NeverCalled, check_name
from orth.settings import Settings
from orth.settings.sections import CoordinatorSection, SecuritySection
from orth.settings.values import Address
from tests.coordinator.http.live import ACCESS_TOKEN, Caller, Site, prepared_database
from tests.wire.fake_names import faked

HERE = [
    "http://127.0.0.1:9999",
    "http://127.0.0.2:9999/path",
    "http://localhost:9999",
    "http://LocalHost:9999",
    "http://any.localhost:9999",
    "http://[::1]:9999",
    "http://[::ffff:127.0.0.1]:9999",
    "http://[::ffff:7f00:1]:9999",
    "http://[::127.0.0.1]:9999",
]
UNREADABLE = ["http://localhost.:9999", "http://127.1:9999", "http://2130706433:9999", "http://0x7f.1:9999"]


def _settings(listen: str, loopback: bool | None = None) -> Settings:
    return Settings(
        coordinator=CoordinatorSection(listen=Address(listen, 5080)),
        security=SecuritySection(outbound_loopback=loopback, stranger_burst=1_000_000, rate_burst=1_000_000),
    )


def served(tmp_path: Path, listen: str, loopback: bool | None = None) -> Site:
    return Site(prepared_database(tmp_path / "orth.db"), _settings(listen, loopback))


def register(site: Site, address: str) -> Any:
    body = {"registryGroup": "EXECUTOR", "registryKey": "demo", "registryValue": address}
    return Caller(site.url, {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN}).post("/api/registry", body)


def test_no_spelling_of_this_machine_is_registered_where_others_reach_the_coordinator(tmp_path: Path) -> None:
    with served(tmp_path, "10.0.0.5") as site:
        for address in HERE:
            told = register(site, address).envelope(422)["msg"]
            assert "security.outbound_loopback = true" in told
        for address in UNREADABLE:
            register(site, address).envelope(422)
        assert site.admin().get("/api/v1/executors").json["items"] == []
        entries = site.admin().get("/api/v1/audit").json["items"]
        refused = [one for one in entries if one["action"] == "executor.refused"]
        assert {one["object_id"] for one in refused} == {"/api/registry"}
        assert "127.0.0.1" in str([one["after"]["reason"] for one in refused])


async def test_a_name_that_leads_to_this_machine_is_not_registered_either(monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"inside.example.org": "127.0.0.1", "both.example.org": "::1", "there.example.org": "10.0.0.9"}
    with faked({name: ["10.0.0.8", ip] for name, ip in names.items()}) as (_names, resolver):
        monkeypatch.setattr("orth.wire.resolver._SYSTEM", resolver)
        for name in ("inside", "both"):
            with pytest.raises(NeverCalled, match="outbound_loopback"):
                await check_name(_settings("10.0.0.5"), f"http://{name}.example.org:9999", "registryValue")
        for good in ("there.example.org", "nowhere.example.org"):
            await check_name(_settings("10.0.0.5"), f"http://{good}:9999", "registryValue")
        await check_name(_settings("127.0.0.1"), "http://inside.example.org:9999", "registryValue")


def test_the_name_of_a_new_executor_is_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    async def refused(_settings: Settings, address: str, field: str) -> None:
        asked.append(address)
        if "inside" in address:
            raise NeverCalled("It is not called.", field=field)

    monkeypatch.setattr("orth.coordinator.http.from_executors.check_name", refused)
    with served(tmp_path, "10.0.0.5") as site:
        register(site, "http://inside.example.org:9999").envelope(422)
        for _ in range(3):
            register(site, "http://10.0.0.9:9999").envelope()
    assert asked == ["http://inside.example.org:9999", "http://10.0.0.9:9999"], "and only while it is new"


@pytest.mark.parametrize(("listen", "chosen"), [("127.0.0.1", None), ("localhost", None), ("10.0.0.5", True)])
def test_everything_may_be_on_one_machine_while_nobody_else_reaches_it_or_when_it_is_meant(
    tmp_path: Path, listen: str, chosen: bool | None
) -> None:
    with served(tmp_path, listen, chosen) as site:
        for address in ("http://127.0.0.1:9999", "http://localhost:9998"):
            register(site, address).envelope()


@pytest.mark.parametrize(
    ("listen", "chosen", "calls"),
    [
        ("127.0.0.1", None, True),
        ("::1", None, True),
        ("0.0.0.0", None, False),  # nothing is bound
        ("10.0.0.5", None, False),
        ("10.0.0.5", True, True),
        ("127.0.0.1", False, False),
    ],
)
def test_what_is_not_said_follows_from_where_it_listens(listen: str, chosen: bool | None, calls: bool) -> None:
    assert _settings(listen, chosen).calls_loopback is calls
