"""An app that has as many executors as it may have: who is new is refused, who is there is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from orth.settings import Settings
from orth.settings.sections import RegistrySection, SecuritySection
from orth.store.tables import handler_lists
from tests.coordinator.http.live import Answer, Caller, Site
from tests.coordinator.http.test_refused_callers import entries


@pytest.fixture
def crowded(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "orth.db").write_bytes(prepared.read_bytes())
    settings = Settings(
        registry=RegistrySection(executors_per_app=3), security=SecuritySection(rate_burst=1_000, stranger_burst=1_000)
    )
    with Site(tmp_path / "orth.db", settings) as site:
        yield site


def beat(caller: Caller, number: int, app_name: str = "demo", path: str = "/api/registry") -> Answer:
    address = f"http://10.0.0.{number}:9999"
    said = {"registryGroup": "EXECUTOR", "registryKey": app_name, "registryValue": address}
    return caller.post(path, said)


def test_a_stolen_token_invents_no_more_addresses_than_an_app_may_have(crowded: Site) -> None:
    body = {"kind": "executor", "name": "stolen", "app_names": ["demo"]}
    thief = Caller(crowded.url, {"ORTH-ACCESS-TOKEN": crowded.admin().post("/api/v1/tokens", body).json["token"]})
    answers = [beat(thief, number) for number in range(1, 31)]
    assert [one.status for one in answers] == [200] * 3 + [429] * 27
    refused = answers[3]
    assert "registry.executors_per_app" in refused.envelope(429)["msg"]
    assert (refused.json["code"], refused.headers["retry-after"]) == (500, "30")
    listed = crowded.admin().get("/api/v1/executors?app_name=demo").json["items"]
    assert len(listed) == 3
    (told,) = entries(crowded, "executor.refused")
    assert (told["actor"], told["address"]) == ("stolen", "127.0.0.1")
    assert "demo" in told["after"]["reason"]
    assert 'orth_registry_refusals_total{cause="full"} 27.0' in crowded.admin().get("/metrics").body.decode()


def test_who_is_there_beats_on_and_other_apps_have_room(crowded: Site) -> None:
    executor = crowded.executor()
    for number in (1, 2, 3):
        beat(executor, number).envelope()
    beat(executor, 4).envelope(429)
    for number in (1, 2, 3):
        beat(executor, number).envelope()
    beat(executor, 4, "others").envelope()
    beat(executor, 1, path="/api/registryRemove").envelope()
    beat(executor, 4).envelope()


def announcing(number: int, text: str, app_name: str = "demo") -> dict[str, object]:
    handlers = [{"name": f"h{place}", "description": text} for place in range(len(text) and 450)]
    extra = {"incarnation": f"process-{number}", "handlers": handlers}
    address = f"http://10.0.0.{number}:9999"
    return {"registryGroup": "EXECUTOR", "registryKey": app_name, "registryValue": address, "orth": extra}


def test_handlers_that_executors_announce_fill_no_database(site: Site) -> None:
    """M4 of the second security review: each invented address announces another megabyte."""
    thief, others = token_of(site, "alpha"), token_of(site, "beta")
    answers = [
        thief.post("/api/registry", announcing(number, f"{number:02}" * 1000, "alpha")) for number in range(1, 31)
    ]
    assert [one.status for one in answers] == [200] * 4 + [429] * 26
    assert "64 KiB" in answers[-1].envelope(429)["msg"]
    with site.db.engine.connect() as connection:
        assert sum(row.size for row in connection.execute(select(handler_lists))) < 4 * 1024 * 1024
    again = announcing(40, "01" * 1000, "alpha")
    thief.post("/api/registry", again).envelope()
    thief.post("/api/registry", announcing(41, "x", "alpha")).envelope()
    others.post("/api/registry", announcing(50, "y" * 2000, "beta")).envelope()
    (told,) = entries(site, "executor.refused")
    assert (told["actor"], "handlers" in told["after"]["reason"]) == ("of alpha", True)


def token_of(site: Site, *app_names: str) -> Caller:
    body = {"kind": "executor", "name": f"of {app_names[0]}", "app_names": app_names}
    return Caller(site.url, {"ORTH-ACCESS-TOKEN": site.admin().post("/api/v1/tokens", body).json["token"]})


@pytest.fixture
def narrow(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "orth.db").write_bytes(prepared.read_bytes())
    settings = Settings(
        registry=RegistrySection(services_limit=3),
        security=SecuritySection(rate=10, rate_burst=40, stranger_burst=1_000),
    )
    with Site(tmp_path / "orth.db", settings) as site:
        yield site


def test_one_group_fills_the_registry_of_services_for_nobody_else(narrow: Site) -> None:
    """M1 of the second security review, in small."""
    thief, others = token_of(narrow, "alpha"), token_of(narrow, "beta")
    beat(thief, 1, "alpha").envelope()
    beat(others, 2, "beta").envelope()
    invented = {"url": "http://127.0.0.1:26682/1", "name": "alpha"}
    assert thief.post("/api/agents/register", invented).problem(409)["code"] == "agent_without_executor"
    paths = [f"http://10.0.0.1:9999/{number}" for number in range(5)]
    answers = [thief.post("/api/agents/register", {"url": url, "name": "alpha"}) for url in paths]
    assert [one.status for one in answers] == [200] * 3 + [429] * 2
    assert answers[3].problem(429)["code"] == "services_full"
    assert others.post("/api/agents/register", {"url": "http://10.0.0.2:9999", "name": "beta"}).status == 200
    admin = narrow.admin()
    assert admin.post("/api/orchestrators/register", {"url": "http://10.9.0.1:5080"}).status == 200


def test_the_token_of_a_group_registers_at_a_limited_rate(narrow: Site) -> None:
    thief, others = token_of(narrow, "alpha"), token_of(narrow, "beta")
    answers = [beat(thief, 1, "alpha") for _number in range(45)]
    assert [one.status for one in answers] == [200] * 40 + [429] * 5
    assert int(answers[-1].headers["retry-after"]) > 0
    thief.post("/api/agents/register", {"url": "http://10.0.0.1:9999", "name": "alpha"}).problem(429)
    assert thief.post("/api/callback", []).status != 429, "results are not limited"
    beat(others, 2, "beta").envelope()
    narrow.clock.move(6)
    beat(thief, 1, "alpha").envelope()
    large = [others.post("/api/registry", announcing(2, "x" * 2000, "beta")).status for _number in range(4)]
    assert large == [200, 200, 429, 429], "a large body costs as much as many"


def test_a_beat_pays_for_its_values(narrow: Site) -> None:
    """Those of many values hold up others more than their bytes say."""
    thief = token_of(narrow, "alpha")
    wide = announcing(1, "", "alpha")
    schema = {"required": [[]] * 90}
    handlers = [{"name": f"h{number}", "paramsSchema": schema} for number in range(450)]
    wide["orth"] = {"incarnation": "process-1", "handlers": handlers}
    answers = [thief.post("/api/registry", wide) for _ in range(6)]
    assert [one.status for one in answers] == [200] * 2 + [429] * 4
