"""The Registry API as services call it."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from orth.settings import Settings
from orth.settings.sections import ConsoleSection, RegistrySection
from orth.store.users import add_user
from orth.wire.coordinator_keys import coordinator_key
from orth.wire.signatures import Signer, key_of
from tests.coordinator.http.live import ACCESS_TOKEN, Answer, Caller, Site

ORCHESTRATORS, AGENTS = "/api/orchestrators", "/api/agents"
KINDS = [(ORCHESTRATORS, "orchestrator", "Running"), (AGENTS, "agent", "Idle")]
NOBODY = "0" * 32


class Service(Caller):
    """Speaks for agents with the token, and for orchestrators as a coordinator of the same database does."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.url, {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN})
        self._signer = Signer("a coordinator", site.clock)
        self._key = coordinator_key(site.secret)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        if method != "POST" or not path.startswith(ORCHESTRATORS):
            return super().call(method, path, body, raw=raw, headers=headers)
        data = b"" if body is None else json.dumps(body).encode()
        for _again in range(2):  # the first request does not know yet which process it meets
            proof = self._signer.header(self._key, self.url, method, unquote(path), data)
            answer = super().call(method, path, body, headers={**(headers or {}), **proof})
            if not self._signer.learns(self.url, proof, answer.status == 401, answer.headers, self._key):
                break
        return answer


@pytest.fixture
def service(site: Site) -> Caller:
    return Service(site)


def register(caller: Caller, kind: str = AGENTS, url: str = "http://10.0.0.1:5090", **said: object) -> str:
    answer = caller.post(f"{kind}/register", {"url": url, **said})
    assert answer.status == 200, answer.body
    assert set(answer.json) == {"id"}
    found: str = answer.json["id"]
    return found


def listed(caller: Caller, kind: str = AGENTS) -> list[dict[str, Any]]:
    answer = caller.get(kind)
    assert answer.status == 200
    found: list[dict[str, Any]] = answer.json
    return found


@pytest.mark.parametrize(("kind", "name", "status"), KINDS)
def test_a_life(site: Site, service: Caller, kind: str, name: str, status: str) -> None:
    service_id = register(service, kind, name="one", incarnation="i1")
    assert re.fullmatch("[0-9a-f]{32}", service_id)
    assert register(service, kind, name="one", incarnation="i1") == service_id
    [shown] = listed(service, kind)
    expected = {
        "id": service_id,
        "url": "http://10.0.0.1:5090",
        "status": "Starting",
        "name": "one",
        "incarnation": "i1",
        "failing": None,
        "beatAge": 0.0,
    }
    assert {key: shown[key] for key in expected} == expected
    assert shown["registeredAt"] == shown["lastHeartbeat"]
    assert ("orchestratorId" in shown) == (kind == AGENTS)
    site.clock.move(12.5)
    assert listed(service, kind)[0]["beatAge"] == 12.5
    assert service.post(f"{kind}/{service_id}/heartbeat").status == 200
    assert listed(service, kind)[0]["beatAge"] == 0
    assert service.post(f"{kind}/{service_id}/status", {"status": status}).status == 200
    assert listed(service, kind)[0]["status"] == status
    assert service.post(f"{kind}/{service_id}/unregister").status == 200
    assert listed(service, kind) == []
    assert service.get(kind).headers["ORTH-SEQ"] == "3"
    for what in ("heartbeat", "unregister", f"status?status={status}"):
        assert name in service.post(f"{kind}/{service_id}/{what}").problem(404)["detail"]


@pytest.mark.parametrize(("kind", "_name", "status"), KINDS)
def test_the_three_forms_of_a_status(service: Caller, kind: str, _name: str, status: str) -> None:
    service_id = register(service, kind)
    path = f"{kind}/{service_id}/status"
    for form in (
        lambda text: service.post(path, {"status": text, "since": "now"}),
        lambda text: service.post(path, text),
        lambda text: service.post(f"{path}?status={text}"),
    ):
        assert form(status.upper()).status == 200
        assert listed(service, kind)[0]["status"] == status
        assert form("stopping").status == 200
        assert listed(service, kind)[0]["status"] == "Stopping"
        said = form("Sleeping").problem(400)
        assert status in said["hint"]
        assert listed(service, kind)[0]["status"] == "Stopping"
    service.post(path).problem(400)
    assert service.post(path, {"state": "Running"}).status in (400, 422)
    assert service.post(path, 3).status in (400, 422)


@pytest.mark.parametrize("service_id", [NOBODY, "abc", "x" * 5000, "%00", "%F0%9F%90%8D", "register%2F.."])
@pytest.mark.parametrize("kind", [ORCHESTRATORS, AGENTS])
@pytest.mark.parametrize("what", ["heartbeat", "unregister", "status?status=Stopped"])
def test_nobody_is_not_found(service: Caller, kind: str, service_id: str, what: str) -> None:
    service.post(f"{kind}/{service_id}/{what}").problem(404)


def test_agents_by_orchestrator(service: Caller) -> None:
    mine = register(service, url="http://10.0.0.1:1", orchestratorId="abc123")
    register(service, url="http://10.0.0.2:1", orchestratorId="def")
    found = service.get(f"{AGENTS}/orchestrator/abc123")
    assert [(one["id"], one["orchestratorId"]) for one in found.json] == [(mine, "abc123")]
    assert found.headers["ORTH-SEQ"] == "2"
    for nobody in ("nobody", "%00", "x" * 2000):
        assert service.get(f"{AGENTS}/orchestrator/{nobody}").json == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"url": ""},
        {"url": "ftp://10.0.0.1"},
        {"url": "http://user:secret@10.0.0.1"},
        {"url": "http://0.0.0.0:5080"},
        {"url": "http://10.0.0.1/?x"},
        {"url": "http://" + "a" * 300},
        {"url": "http://10.0.0.1", "incarnation": "x" * 65},
        {"url": "http://10.0.0.1", "name": "two\nlines"},
        {"url": 7},
        [],
        "http://10.0.0.1",
    ],
    ids=lambda body: str(body)[:40],
)
def test_what_cannot_be_a_service(site: Site, service: Caller, body: object) -> None:
    before = site.state()
    service.post(f"{AGENTS}/register", body).problem(422)
    assert site.state() == before


def test_a_long_body_is_refused(service: Caller) -> None:
    service.post(f"{AGENTS}/register", {"url": "http://10.0.0.1", "more": "x" * 20_000}).problem(413)


def test_a_url_is_one_in_every_spelling(service: Caller) -> None:
    first = register(service, url="http://Agent.Example:5090/")
    assert register(service, url=" HTTP://agent.example:5090") == first
    assert [one["url"] for one in listed(service)] == ["http://agent.example:5090"]


@pytest.mark.parametrize(
    "headers",
    [
        {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN},
        {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN},
        {"Authorization": f"Bearer {ACCESS_TOKEN}"},
    ],
    ids=lambda headers: next(iter(headers)),
)
def test_the_access_token_is_good_in_every_header(site: Site, headers: dict[str, str]) -> None:
    register(Caller(site.url, headers))


def test_an_administrator_may_speak_for_a_service(admin: Caller) -> None:
    register(admin)
    assert len(listed(admin)) == 1


@pytest.mark.parametrize("kind", [ORCHESTRATORS, AGENTS])
def test_other_people_may_only_look(site: Site, service: Caller, kind: str) -> None:
    """Executors would send the access token to whatever orchestrator somebody made up."""
    known = register(service, kind)
    site.tx(add_user, "reader", "", "editor", site.clock.now())
    reader = site.bearer(site.access_token("reader"))
    assert [one["id"] for one in listed(reader, kind)] == [known]
    reader.post(f"{kind}/register", {"url": "http://10.6.6.6:5080"}).problem(403)
    for what in ("heartbeat", "unregister", "status?status=Stopped"):
        reader.post(f"{kind}/{known}/{what}").problem(403)
    assert [one["id"] for one in listed(reader, kind)] == [known]


# --- who speaks for orchestrators


def entries(site: Site, action: str) -> list[tuple[str, str, str]]:
    found = site.admin().get(f"/api/v1/audit?action={action}").json["items"]
    return [(one["actor_kind"], one["actor"], one["object_id"]) for one in found]


@pytest.mark.parametrize("proved", [False, True], ids=["shown", "signed"])
def test_the_access_token_enters_no_orchestrator(site: Site, service: Caller, proved: bool) -> None:
    """Executors may have it; and they tell every orchestrator that is listed their tokens and work keys."""
    site.clock.move(61)  # the same is told once a minute
    true = register(service, ORCHESTRATORS)
    thief = Caller(site.url, {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN})
    if proved:
        thief = Service(site)
        thief._key = key_of(ACCESS_TOKEN)
    before = listed(service, ORCHESTRATORS)
    refused = thief.post(f"{ORCHESTRATORS}/register", {"url": "http://10.6.6.6:5080"}).problem(403)
    assert "registry.orchestrators_by_token" in refused["hint"]
    for what in ("heartbeat", "unregister", "status?status=Stopped"):
        thief.post(f"{ORCHESTRATORS}/{true}/{what}").problem(403)
    assert listed(service, ORCHESTRATORS) == before
    assert ("executor", "executors", f"POST {ORCHESTRATORS}/register") in entries(site, "api.refused")


def test_a_key_of_another_database_enters_none(site: Site, service: Caller) -> None:
    other = Service(site)
    other._key = coordinator_key("what the coordinators of another database share")
    other.post(f"{ORCHESTRATORS}/register", {"url": "http://10.6.6.6:5080"}).problem(401)
    assert listed(service, ORCHESTRATORS) == []


def test_what_coordinators_prove_opens_nothing_else(site: Site) -> None:
    signer, key = Signer("a coordinator", site.clock), coordinator_key(site.secret)
    for method, path in (("GET", ORCHESTRATORS), ("POST", f"{AGENTS}/register"), ("POST", "/api/registry")):
        for _again in range(2):
            proof = signer.header(key, site.url, method, path, b"")
            answer = Caller(site.url, proof).call(method, path)
            signer.learns(site.url, proof, True, answer.headers, key)
        assert answer.status == 401, path


def test_who_enters_an_orchestrator_is_in_the_audit(site: Site, service: Caller) -> None:
    entered = register(service, ORCHESTRATORS)
    service.post(f"{ORCHESTRATORS}/{entered}/heartbeat")
    assert entries(site, "service.register") == [("node", "coordinators", entered)]


def test_where_the_token_may_it_is_in_the_audit(prepared: Path, tmp_path: Path) -> None:
    (tmp_path / "orth.db").write_bytes(prepared.read_bytes())
    with Site(tmp_path / "orth.db", Settings(registry=RegistrySection(orchestrators_by_token=True))) as site:
        service = Caller(site.url, {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN})
        entered = register(service, ORCHESTRATORS)
        assert service.post(f"{ORCHESTRATORS}/{entered}/unregister").status == 200
        for action in ("service.register", "service.unregister"):
            assert entries(site, action) == [("executor", "executors", entered)]


@pytest.mark.parametrize(
    "headers",
    [{}, {"ORTH-ACCESS-TOKEN": "wrong"}, {"ORTH-ACCESS-TOKEN": "wrong", "Authorization": f"Bearer {ACCESS_TOKEN}"}],
)
def test_nobody_else_may(site: Site, headers: dict[str, str]) -> None:
    stranger = Caller(site.url, headers)
    stranger.get(AGENTS).problem(401)
    stranger.post(f"{AGENTS}/register", {"url": "http://10.0.0.1"}).problem(401)


@pytest.fixture
def narrow_site(prepared: Path, tmp_path: Path) -> Iterator[Site]:
    (tmp_path / "orth.db").write_bytes(prepared.read_bytes())
    settings = Settings(
        registry=RegistrySection(services_limit=2), console=ConsoleSection(origins=("https://orth.example",))
    )
    with Site(tmp_path / "orth.db", settings) as site:
        yield site


def test_there_is_room_for_so_many(narrow_site: Site) -> None:
    service = Service(narrow_site)
    first = register(service, url="http://10.0.0.1:1")
    register(service, url="http://10.0.0.3:1")
    for number in range(3):
        register(service, ORCHESTRATORS, url=f"http://10.0.0.{number}:1")
    refused = service.post(f"{AGENTS}/register", {"url": "http://10.0.0.2:1"})
    assert "registry.services_limit" in refused.problem(429)["hint"]
    assert int(refused.headers["retry-after"]) > 0
    assert register(service, url="http://10.0.0.1:1") == first


def test_pages_of_named_origins_may_read_the_answers(narrow_site: Site) -> None:
    service = Caller(narrow_site.url, {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN})
    answer = service.get(AGENTS, Origin="https://orth.example")
    assert answer.headers["access-control-allow-origin"] == "https://orth.example"
    assert "ORTH-SEQ" in answer.headers["access-control-expose-headers"]
    assert "access-control-allow-origin" not in service.get(AGENTS, Origin="https://evil.example").headers
