"""Executors as their beats and our calls make them look, and those that nobody has claimed."""

import pytest

from orth.domain.nodes import Reachability
from orth.sayings import SAYINGS
from orth.store.nodes import NodeState
from orth.store.reachability import Doubt, save_doubts
from tests.coordinator.http.enrolled import EnrolledCaller
from tests.coordinator.http.live import ACCESS_TOKEN, Caller, Site
from tests.coordinator.http.test_cluster import joined
from tests.wire.peers import Behaviour, Peer, answering

EXECUTORS = "/api/v1/executors"
UNCLAIMED = "/api/v1/executors/unclaimed"


def test_an_executor_ages_visibly(site: Site, admin: Caller, executor: Caller) -> None:
    said = {"incarnation": "one", "extensions": ["resend", "from the future"], "version": "9", "labels": {"zone": "eu"}}
    said["load"] = {"running": 2, "queued": 1, "threads": 4, "unacknowledged": 10**12}
    said["python"] = "3.13.1"
    beat = {"registryKey": "demo", "registryValue": "http://10.0.0.1:9999/", "orth": said}
    executor.post("/api/registry", beat).envelope()
    states = []
    for pause in (0, 33, 10, 17, 30):
        site.clock.move(pause)
        (shown,) = admin.get("/api/v1/executors").json["items"]
        states.append(shown["state"])
    assert states == ["alive", "alive", "missed_30", "missed_60", "missed_90"]
    assert shown == {
        "app_name": "demo",
        "address": "http://10.0.0.1:9999",
        "state": "missed_90",
        "last_beat": "2026-01-30T10:00:00.000Z",
        "beat_age": 90.0,
        "since": "2026-01-30T10:00:00.000Z",
        "incarnation": "one",
        "version": "9",
        "extensions": ["resend"],
        "labels": {"zone": "eu"},
        "unreadable": None,
        "load": 3,
        "vitals": {
            "running": 2,
            "queued": 1,
            "threads": 4,
            "abandoned": 0,
            "unacknowledged": 2**31 - 1,
            "slots": None,
            "python": "3.13.1",
        },
        "clock_offset": None,
        "queues": [],
        "drained_since": None,
        "unavailable": None,
        "reachability": [{"node": "node", "state": "untried", "since": None, "checked_at": None, "reason": ""}],
    }
    executor.post("/api/registry", beat).envelope()
    assert admin.get("/api/v1/executors").json["items"][0]["state"] == "alive"


def test_executors_of_one_app(site: Site, admin: Caller, executor: Caller) -> None:
    for app_name, port in (("first", 1), ("second", 2), ("first", 3)):
        beat = {"registryKey": app_name, "registryValue": f"http://10.0.0.1:{port}"}
        executor.post("/api/registry", beat).envelope()
    shown = admin.get("/api/v1/executors?app_name=first").json
    assert [one["address"] for one in shown["items"]] == ["http://10.0.0.1:1", "http://10.0.0.1:3"]
    assert admin.get("/api/v1/executors?app_name=third").json["items"] == []


@pytest.mark.parametrize("app_name", ["a" * 65, "%00", "two%0Alines"])
def test_an_app_name_that_can_be_nobody_s_is_refused(admin: Caller, app_name: str) -> None:
    admin.get(f"/api/v1/executors?app_name={app_name}").problem(422)


def beat_of(executor: Caller, app_name: str, address: str) -> None:
    executor.post("/api/registry", {"registryKey": app_name, "registryValue": address}).envelope()


def test_executors_come_in_pages(admin: Caller, executor: Caller) -> None:
    addresses = [f"http://10.0.0.{number}:9999" for number in range(1, 8)]
    for address in reversed(addresses):
        beat_of(executor, "demo", address)
    seen, cursor = [], ""
    while True:
        page = admin.get(f"{EXECUTORS}?limit=3{cursor}").json
        assert len(page["items"]) <= 3
        assert page["from_memory"] is False
        seen += [one["address"] for one in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == addresses


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=201", "cursor=x", "cursor=W10", "cursor=WyJhIl0", "cursor=WzEsMl0", "removed=perhaps"],
)
def test_what_cannot_be_asked_is_refused(admin: Caller, query: str) -> None:
    admin.get(f"{EXECUTORS}?{query}").problem(422)


def test_doubts_of_other_coordinators_are_shown_beside_our_own(site: Site, admin: Caller, executor: Caller) -> None:
    address, now = "http://10.0.0.1:9999", site.clock.now()
    beat_of(executor, "demo", address)
    ours = Doubt("node", address, Reachability.UNREACHABLE, now, now, "an earlier process of this name")
    theirs = Doubt("node-2", address, Reachability.SUSPECT, now, now, "connection refused")
    site.tx(save_doubts, [ours, theirs])
    ((one,)) = admin.get(EXECUTORS).json["items"]
    assert [(seen["node"], seen["state"], seen["reason"]) for seen in one["reachability"]] == [
        ("node", "untried", ""),
        ("node-2", "suspect", "connection refused"),
    ]


def test_each_coordinator_at_work_says_what_it_finds(site: Site, admin: Caller, executor: Caller) -> None:
    address, now = "http://10.0.0.1:9999", site.clock.now()
    beat_of(executor, "demo", address)
    for name, state in (("beta", NodeState.ACTIVE), ("gamma", NodeState.DRAINING), ("delta", NodeState.OFFLINE)):
        joined(site, name, state)
    site.tx(save_doubts, [Doubt("gamma", address, Reachability.UNREACHABLE, now, now, "no answer")])
    (one,) = admin.get(EXECUTORS).json["items"]
    assert [(seen["node"], seen["state"]) for seen in one["reachability"]] == [
        ("node", "untried"),
        ("beta", "undoubted"),
        ("gamma", "unreachable"),
    ]


def test_an_executor_is_drained_until_somebody_resumes_it(site: Site, admin: Caller, executor: Caller) -> None:
    group = site.group("demo")
    named = {"app_name": "demo", "address": "http://10.0.0.1:9999"}
    assert admin.post(f"{EXECUTORS}/drain", named).problem(404)["detail"], "only who is registered"
    beat_of(executor, **named)
    assert admin.post(f"{EXECUTORS}/drain", named).status == 204
    since = admin.get(EXECUTORS).json["items"][0]["drained_since"]
    assert since == "2026-01-30T10:00:00.000Z"
    site.clock.move(5)
    beat_of(executor, **named)
    assert admin.post(f"{EXECUTORS}/drain", named).status == 204, "saying it twice changes nothing"
    assert admin.get(EXECUTORS).json["items"][0]["drained_since"] == since
    for _ in range(2):
        assert admin.post(f"{EXECUTORS}/resume", named).status == 204
    assert admin.get(EXECUTORS).json["items"][0]["drained_since"] is None
    entries = admin.get("/api/v1/audit").json["items"]
    assert [(one["action"], one["group_id"], one["object_id"]) for one in entries[:3]] == [
        ("executor.resume", group, named["address"]),
        ("executor.drain", group, named["address"]),
        ("executor.drain", group, named["address"]),
    ]


def test_those_removed_lately_are_asked_for_by_name(admin: Caller, executor: Caller) -> None:
    beat_of(executor, "demo", "http://10.0.0.1:9999")
    assert admin.get(f"{EXECUTORS}?removed=true").json["items"] == []


def test_executors_without_a_group_are_seen_and_adopted_in_one_step(
    site: Site, admin: Caller, executor: Caller
) -> None:
    for app_name in ("stray-app", "demo", "äpp"):
        beat_of(executor, app_name, "http://10.0.0.1:9999")
    site.group("demo")
    listed = admin.get(UNCLAIMED).json
    assert listed["next_cursor"] is None
    assert [(one["app_name"], one["executors"], one["adoptable"]) for one in listed["items"]] == [
        ("stray-app", 1, True),
        ("äpp", 1, False),
    ]
    made = admin.post(f"{UNCLAIMED}/stray-app/adopt", {"title": "Found"})
    assert made.status == 201
    assert made.headers["location"] == f"/api/v1/groups/{made.json['id']}"
    assert made.headers["etag"]
    assert made.json["address_list"] == ["http://10.0.0.1:9999"]
    assert (made.json["app_name"], made.json["title"], made.json["address_type"]) == ("stray-app", "Found", 0)
    assert [one["app_name"] for one in admin.get(UNCLAIMED).json["items"]] == ["äpp"]


def test_the_title_of_an_adopted_group_is_its_app_name_unless_said(admin: Caller, executor: Caller) -> None:
    beat_of(executor, "stray-app", "http://10.0.0.1:9999")
    assert admin.post(f"{UNCLAIMED}/stray-app/adopt").json["title"] == "stray-app"


def test_unclaimed_apps_come_in_pages(admin: Caller, executor: Caller) -> None:
    for number in range(5):
        beat_of(executor, f"app-{number}", "http://10.0.0.1:9999")
    first = admin.get(f"{UNCLAIMED}?limit=3").json
    second = admin.get(f"{UNCLAIMED}?limit=3&cursor={first['next_cursor']}").json
    names = [one["app_name"] for page in (first, second) for one in page["items"]]
    assert names == [f"app-{number}" for number in range(5)]
    assert second["next_cursor"] is None


@pytest.mark.parametrize(
    ("app_name", "body", "status"),
    [
        ("nobody", None, 404),
        ("demo", None, 409),
        ("abc", None, 422),
        ("two%20words", None, 422),
        ("%C3%A4pp-app", None, 422),
        ("a" * 65, None, 422),
        ("stray-app", {"title": "x" * 65}, 422),
        ("stray-app", {"title": "two\nlines"}, 422),
        ("stray-app", {"name": "x"}, 422),
        ("stray-app", [], 422),
        ("a/b", None, 422),
        ("a%2Fb", None, 422),
    ],
)
def test_what_cannot_be_adopted_changes_nothing(
    site: Site, admin: Caller, executor: Caller, app_name: str, body: object, status: int
) -> None:
    site.group("demo")
    beat_of(executor, "demo", "http://10.0.0.1:9999")
    beat_of(executor, "stray-app", "http://10.0.0.1:9999")
    before = site.state()
    admin.post(f"{UNCLAIMED}/{app_name}/adopt", body).problem(status)
    assert site.state() == before


@pytest.mark.parametrize(
    ("app_name", "path", "trouble"),
    [
        ("a/b-app", "a%2Fb-app", "it may have letters, digits, dots, hyphens and underscores only."),
        ("/adopt", "%2Fadopt", "it may have letters, digits, dots, hyphens and underscores only."),
        ("äpp-app", "%C3%A4pp-app", "it may have letters, digits, dots, hyphens and underscores only."),
        ("abc", "abc", "it must have 4 to 64 characters and has 3."),
    ],
)
def test_a_name_no_group_can_have_is_told_with_what_to_do(
    admin: Caller, executor: Caller, app_name: str, path: str, trouble: str
) -> None:
    beat_of(executor, app_name, "http://10.0.0.1:9999")
    (listed,) = admin.get(UNCLAIMED).json["items"]
    assert (listed["app_name"], listed["adoptable"]) == (app_name, False)
    assert listed["trouble"] == trouble.capitalize() == SAYINGS[listed["code"]][0].format(**listed["facts"])
    said = admin.post(f"{UNCLAIMED}/{path}/adopt").problem(422)
    assert said["detail"] == f"No group can be called {app_name!r}: {trouble}"
    assert "executor.app_name" in said["hint"]


def test_nobody_anonymous_sees_or_adopts(site: Site, stranger: Caller, executor: Caller) -> None:
    beat_of(executor, "stray-app", "http://10.0.0.1:9999")
    before = site.state()
    for caller in (stranger, executor):
        caller.get(EXECUTORS).problem(401)
        caller.get(UNCLAIMED).problem(401)
        caller.post(f"{UNCLAIMED}/stray-app/adopt").problem(401)
    assert site.state() == before


def test_an_executor_is_called_on_request(site: Site, admin: Caller, executor: Caller) -> None:
    nobody = {"app_name": "demo", "address": "http://127.0.0.1:9"}
    assert admin.post(f"{EXECUTORS}/ping", nobody).problem(404)["detail"], "only who is registered is called"
    beat_of(executor, "demo", nobody["address"])
    pinged = admin.post(f"{EXECUTORS}/ping", nobody)
    assert (pinged.status, pinged.json["node"], pinged.json["answered"]) == (200, "node", False)
    assert pinged.json["reason"] == SAYINGS[pinged.json["code"]][0].format(**pinged.json["facts"])
    (shown,) = admin.get(EXECUTORS).json["items"]
    assert shown["reachability"][0]["state"] == "suspect", "the next probe confirms it"


@pytest.mark.parametrize(
    ("behaviour", "said"),
    [
        (answering(code=500, msg="shutting down"), "shutting down"),
        (lambda exchange: exchange.respond(b"<html>Welcome</html>"), "no executor answers there: HTTP 200"),
    ],
    ids=["a no", "a page"],
)
def test_whoever_answers_a_call_on_request_otherwise_than_with_yes_is_quoted(
    admin: Caller, executor: Caller, behaviour: Behaviour, said: str
) -> None:
    with Peer(behaviour) as peer:
        named = {"app_name": "demo", "address": peer.address}
        beat_of(executor, "demo", peer.address)
        pinged = admin.post(f"{EXECUTORS}/ping", named).json
    assert pinged["answered"] is False
    assert said in pinged["reason"]
    assert pinged["reason"] == SAYINGS[pinged["code"]][0].format(**pinged["facts"])


@pytest.mark.parametrize("has_work_key", [False, True])
def test_an_executor_is_taken_off_the_list_and_the_audit_says_so(
    site: Site, admin: Caller, executor: Caller, has_work_key: bool
) -> None:
    named = {"app_name": "demo", "address": "http://10.0.0.1:9999"}
    own = EnrolledCaller(site.url, ACCESS_TOKEN, "demo", site.clock, address=named["address"])
    bare = {"registryKey": "demo", "registryValue": named["address"]}

    def beat() -> None:
        (own.beat() if has_work_key else executor.post("/api/registry", bare)).envelope()

    beat()
    assert admin.post(f"{EXECUTORS}/remove", {**named, "address": "http://10.0.0.2:9999"}).problem(404)
    assert admin.get("/api/v1/audit?action=executor.remove").json["items"] == [], "nothing was done"
    assert admin.post(f"{EXECUTORS}/remove", named).status == 204
    assert admin.get(EXECUTORS).json["items"] == []
    assert admin.post(f"{EXECUTORS}/remove", named).problem(404)["detail"]
    assert admin.get("/api/v1/audit?action=executor.remove").json["items"][0]["object_id"] == named["address"]
    beat()
    assert len(admin.get(EXECUTORS).json["items"]) == 1, "one that lives is back with its next beat"
