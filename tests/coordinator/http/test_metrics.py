"""``GET /metrics``: who may read it, and that every refusal of the registry is counted under its cause."""

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from orth.coordinator import registry as registry_module
from orth.coordinator.facts import RefusalCause
from orth.coordinator.metrics import CONTENT_TYPE
from orth.settings import Address, Settings
from orth.settings.sections import CoordinatorSection, MetricsSection
from orth.store.tables import groups, registry, users
from orth.wire.fields import BODY_LIMIT, RESULTS_LIMIT
from tests.coordinator.http.live import ACCESS_TOKEN, Caller, Site
from tests.coordinator.test_metrics import samples

BEAT = {"registryGroup": "EXECUTOR", "registryKey": "demo", "registryValue": "http://10.0.0.1:9999"}
ELSEWHERE = Settings(coordinator=CoordinatorSection(listen=Address("0.0.0.0", 5080)))
REFUSALS = tuple(cause.value for cause in RefusalCause)

OpenSite = Callable[[Settings | None], Site]


@pytest.fixture
def open_site(prepared: Path, tmp_path: Path) -> Iterator[OpenSite]:
    """Starts a coordinator with settings of its own."""
    with ExitStack() as stack:
        yield lambda settings: stack.enter_context(Site(Path(shutil.copy(prepared, tmp_path / "orth.db")), settings))


def shown(site: Site) -> dict[str, float]:
    answer = site.bearer(ACCESS_TOKEN).get("/metrics")
    assert (answer.status, answer.headers["content-type"]) == (200, CONTENT_TYPE)
    return samples(answer.body)


def refusals(site: Site) -> dict[str, float]:
    """The causes that were counted."""
    now = shown(site)
    counts = {cause: now[f"orth_registry_refusals_total {cause}"] for cause in REFUSALS}
    return {cause: count for cause, count in counts.items() if count}


# --- who may read it ---


def test_beside_a_coordinator_on_loopback_nobody_needs_a_credential(site: Site, stranger: Caller) -> None:
    answer = stranger.get("/metrics")
    assert (answer.status, answer.headers["content-type"]) == (200, CONTENT_TYPE)
    assert samples(answer.body)["orth_store_up"] == 1
    for name in ("localhost", f"localhost:{site.port}", "[::1]:5080"):
        assert stranger.get("/metrics", Host=name).status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "203.0.113.7"},
        {"X-Forwarded-For": "127.0.0.1"},
        {"X-Forwarded-Proto": "https"},
        {"X-Forwarded-Host": "localhost"},
        {"X-Real-IP": "127.0.0.1"},
        {"Forwarded": "for=127.0.0.1"},
        {"Via": "1.1 proxy"},
        {"Host": "10.0.0.1:5080"},
        {"Authorization": ""},
        {"Authorization": "Basic YWRtaW46d2hhdC1hZG1pbi10eXBlcw=="},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {ACCESS_TOKEN}x"},
        {"ORTH-ACCESS-TOKEN": "wrong"},
    ],
    ids=str,
)
def test_what_passed_through_or_shows_a_bad_credential_is_not_beside_it(site: Site, headers: dict[str, str]) -> None:
    Caller(site.url, headers).get("/metrics").problem(401)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Authorization": "Bearer wrong"}, "metrics_token_wrong"),
        ({"ORTH-ACCESS-TOKEN": f"{ACCESS_TOKEN}x"}, "metrics_token_wrong"),
        ({"XXL-JOB-ACCESS-TOKEN": "wrong"}, "metrics_token_wrong"),
        ({"Authorization": "Bearer"}, "needs_sign_in"),
        ({"Authorization": f"Basic {ACCESS_TOKEN}"}, "needs_sign_in"),
    ],
    ids=str,
)
def test_a_wrong_token_is_told_from_none(site: Site, headers: dict[str, str], code: str) -> None:
    problem = Caller(site.url, headers).get("/metrics").problem(401)
    assert problem["code"] == code
    if code == "metrics_token_wrong":
        assert problem["detail"] == "The token is wrong."
        assert "security.access_token" in problem["hint"]


def test_a_token_that_was_valid_is_told_from_a_wrong_one(own_site: Site) -> None:
    ended = own_site.admin()
    own_site.clock.move(3600)
    assert ended.get("/metrics").problem(401)["code"] == "session_expired"


@pytest.mark.parametrize("host", ["orth.example", "[::1", "localhost.example"])
def test_what_asks_for_another_name_is_not_beside_it(site: Site, stranger: Caller, host: str) -> None:
    stranger.get("/metrics", Host=host).problem(421)
    Caller(site.url, {"Host": host, "Authorization": "Bearer wrong"}).get("/metrics").problem(401)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Host": "localhost"},
        {"X-Forwarded-For": "127.0.0.1"},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {ACCESS_TOKEN}"},
        {"Authorization": ACCESS_TOKEN},
        {"ORTH-ACCESS-TOKEN": f"{ACCESS_TOKEN}x"},
    ],
    ids=str,
)
def test_where_others_can_connect_a_stranger_reads_nothing(open_site: OpenSite, headers: dict[str, str]) -> None:
    answer = Caller(open_site(ELSEWHERE).url, headers).get("/metrics")
    answer.problem(401)
    assert answer.headers["www-authenticate"] == "Bearer"


def test_the_access_token_and_a_session_open_it_anywhere(open_site: OpenSite) -> None:
    site = open_site(ELSEWHERE)
    forwarded = {"X-Forwarded-For": "203.0.113.7", "Host": "orth.example"}
    for caller in (site.bearer(ACCESS_TOKEN), site.admin()):
        assert Caller(site.url, caller.headers | forwarded).get("/metrics").status == 200
    site.bearer(site.refresh_token()).get("/metrics").problem(401)
    ended = site.admin()
    site.clock.move(3600)
    ended.get("/metrics").problem(401)


@pytest.mark.parametrize("header", ["ORTH-ACCESS-TOKEN", "XXL-JOB-ACCESS-TOKEN"])
def test_the_access_token_opens_it_in_the_header_of_executors(open_site: OpenSite, header: str) -> None:
    for settings in (None, ELSEWHERE):
        assert Caller(open_site(settings).url, {header: ACCESS_TOKEN}).get("/metrics").status == 200


def test_the_access_token_opens_nothing_else(site: Site) -> None:
    site.bearer(ACCESS_TOKEN).get("/api/v1/jobs").problem(401)


def test_it_can_be_turned_off(open_site: OpenSite) -> None:
    site = open_site(Settings(metrics=MetricsSection(enabled=False)))
    site.bearer(ACCESS_TOKEN).get("/metrics").problem(404)


def test_it_is_only_read(site: Site) -> None:
    site.bearer(ACCESS_TOKEN).post("/metrics", {}).problem(405)


# --- refusals of the registry, by real requests ---


def test_a_beat_without_the_token_is_counted(own_site: Site) -> None:
    for caller in (own_site.stranger(), own_site.bearer("wrong"), own_site.admin()):
        caller.post("/api/registry", BEAT).envelope(401)
    own_site.stranger().post("/xxl-job-admin/api/registryRemove", BEAT).envelope(401)
    assert refusals(own_site) == {"token": 4}


def test_a_beat_that_cannot_be_read_is_counted(own_site: Site) -> None:
    executor = own_site.executor()
    executor.call("POST", "/api/registry", raw=b"{").envelope(400)
    executor.post("/api/registry", BEAT | {"registryValue": "file:///etc/passwd"}).envelope(422)
    executor.post("/api/registry", BEAT | {"registryValue": "http://a:1,http://b:1"}).envelope(422)
    assert refusals(own_site) == {"malformed": 3}
    executor.call("POST", "/api/registry", raw=b" " * (BODY_LIMIT + 1)).envelope(413)
    assert refusals(own_site) == {"malformed": 4}


def test_a_beat_that_the_database_does_not_take_is_counted(own_site: Site) -> None:
    with closing(sqlite3.connect(own_site.file)) as connection:
        connection.execute(f"ALTER TABLE {registry.name} RENAME TO away")
    own_site.executor().post("/api/registry", BEAT).envelope(503)
    assert refusals(own_site) == {"store": 1}


def test_a_bug_of_ours_is_counted_as_another_cause(own_site: Site) -> None:
    with closing(sqlite3.connect(own_site.file)) as connection:
        stop = "BEGIN SELECT RAISE(ABORT, 'no'); END"
        connection.execute(f"CREATE TRIGGER stop BEFORE INSERT ON {registry.name} {stop}")
    own_site.executor().post("/api/registry", BEAT).envelope(500)
    assert refusals(own_site) == {"other": 1}


def test_beats_beyond_what_may_wait_are_counted(open_site: OpenSite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry_module, "BEATS_WAITING", 1)
    site = open_site(None)
    with closing(sqlite3.connect(site.file, isolation_level=None)) as connection, ThreadPoolExecutor(8) as threads:
        connection.execute("BEGIN IMMEDIATE")
        sent = [threads.submit(site.executor().post, "/api/registry", BEAT) for _ in range(8)]
        refused = next(one for one in as_completed(sent, timeout=10) if one.result().status == 429)
        refused.result().envelope(429)
        connection.execute("ROLLBACK")
        statuses = [one.result().status for one in sent]
    assert set(statuses) == {200, 429}
    assert refusals(site) == {"busy": statuses.count(429)}
    assert shown(site)["orth_registry_beats_total"] == statuses.count(200)


def test_other_calls_of_executors_are_no_registrations(own_site: Site) -> None:
    own_site.stranger().post("/api/callback", []).envelope(401)
    own_site.executor().call("POST", "/api/callback", raw=b"{").envelope(400)
    own_site.executor().call("POST", "/api/callback", raw=b" " * (RESULTS_LIMIT + 1)).envelope(413)
    own_site.stranger().get("/api/v1/jobs").problem(401)
    assert refusals(own_site) == {}


# --- what the outside adds ---


def test_beats_and_triggers_of_callers_are_counted(own_site: Site) -> None:
    executor, job_id = own_site.executor(), own_site.job()
    executor.post("/api/registry", BEAT).envelope()
    executor.post("/api/registry", BEAT).envelope()
    for _ in range(2):
        own_site.admin().post(f"/api/v1/jobs/{job_id}/trigger", {}, Idempotency_Key="the-same")
    own_site.execution(job_id)
    now = shown(own_site)
    assert now["orth_registry_executors alive"] == 1
    assert (now["orth_registry_beats_total"], now["orth_registry_joins_total"]) == (2, 1)
    assert now["orth_executions_opened_total api"] == 2, "a repeated request opens nothing"
    executor.post("/api/registryRemove", BEAT).envelope()
    now = shown(own_site)
    assert now["orth_registry_executors alive"] == 0
    assert now["orth_registry_departures_total goodbye"] == 1


def test_while_the_database_is_away_it_is_read_all_the_same(own_site: Site) -> None:
    admin = own_site.admin()
    own_site.executor().post("/api/registry", BEAT).envelope()
    assert admin.get("/metrics").status == 200
    with closing(sqlite3.connect(own_site.file)) as connection:
        for name in (users.name, groups.name):
            connection.execute(f"ALTER TABLE {name} RENAME TO away_{name}")
    for caller in (admin, own_site.bearer(ACCESS_TOKEN), own_site.stranger()):
        now = samples(caller.get("/metrics").body)
        assert (now["orth_store_up"], now["orth_registry_executors alive"]) == (0, 1)
        assert "orth_registry_groups_without_executors" not in now


# --- results that were not applied ---


def test_results_are_counted_by_what_became_of_them(own_site: Site) -> None:
    one = own_site.execution(own_site.job())
    own_site.dispatched(one, "http://127.0.0.1:9999")
    good, stray = {"logId": one, "handleCode": 200}, {"logId": one, "logDateTim": 7, "handleCode": 200}
    results = [stray, good, good, {"logId": 10**6, "handleCode": 200}, {"logId": one}, {"handleCode": 200}, "no result"]
    own_site.executor().post("/api/callback", results).envelope()
    now = shown(own_site)
    kinds = ("duplicate", "unknown", "malformed", "mismatched")
    assert [now[f"orth_results_stray_total {kind}"] for kind in kinds] == [1, 1, 3, 1]
