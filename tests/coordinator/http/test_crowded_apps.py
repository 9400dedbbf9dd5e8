"""An app that has as many executors as it may have: who is new is refused, who is there is not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orth.settings import Settings
from orth.settings.sections import RegistrySection, SecuritySection
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
    thief = Caller(crowded.url, {"XXL-JOB-ACCESS-TOKEN": crowded.admin().post("/api/v1/tokens", body).json["token"]})
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
