"""The cluster over HTTP: who leads, who is there, and wishes that reach the row of the one they are for."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import insert

from orth.cluster.election import Standing
from orth.coordinator.http.cluster import judge_lease, rules_of
from orth.settings.sections import ClusterSection
from orth.store.cluster_history import Change, note_handoffs, note_term
from orth.store.database import Connection
from orth.store.leases import Lease, Term, read_lease, take_lease
from orth.store.nodes import Beat, Load, NodeState, Role, Wish, find_node, join
from orth.store.tables import ownership
from tests.coordinator.http.live import Caller, Site
from tests.store.builders import open_some

SAID = Beat(
    node_id="node-1",
    incarnation="process-1",
    url="http://10.0.0.1:5080",
    role=Role.FOLLOWER,
    state=NodeState.ACTIVE,
    load=Load(3, 2, 250, 1 << 27),
    hostname="machine-1",
    process_id=4711,
    version="0.1.0",
)


def joined(site: Site, name: str, state: NodeState = NodeState.ACTIVE) -> None:
    site.tx(join, replace(SAID, node_id=name, incarnation=f"process-of-{name}", state=state), site.clock.now())


def leads(site: Site, name: str) -> None:
    assert site.tx(take_lease, site.tx(read_lease), name, f"process-of-{name}") == Term(1, f"process-of-{name}")


def own(connection: Connection, ids: Sequence[int], node_id: str | None, state: str) -> None:
    owner = {"node_id": node_id, "incarnation": f"process-of-{node_id}", "generation": 1, "changed_at": 0}
    connection.execute(insert(ownership), [{"execution_id": one, "state": state, **owner} for one in ids])


def test_before_anybody_has_joined_there_is_nobody(admin: Caller) -> None:
    found = admin.get("/api/v1/cluster").json
    assert (found["leader"], found["term"], found["lease_age"], found["nodes"]) == (None, 0, None, [])


def test_a_dead_leader_does_not_lead(site: Site, admin: Caller) -> None:
    joined(site, "alpha", NodeState.DEAD)
    joined(site, "beta")
    leads(site, "alpha")
    found = admin.get("/api/v1/cluster").json
    assert (found["leader"], found["lease_holder"], found["lease_state"]) == (None, "alpha", "expired")
    assert {one["role"] for one in found["nodes"]} == {"follower"}
    assert admin.post("/api/v1/cluster/step-down").problem(409)["detail"] == "Nobody leads at the moment."


@pytest.mark.parametrize(
    ("standing", "state"),
    [
        (None, "not_seen"),
        (Standing("alpha", 1, 0.0, renewed=False), "not_seen"),
        (Standing("alpha", 6, 0.0), "not_seen"),
        (Standing("alpha", 7, 11.0), "renewed"),
        (Standing("alpha", 7, 11.1), "late"),
        (Standing("alpha", 7, 11.1, renewed=False), "late"),
        (Standing("alpha", 7, 30.0), "expired"),
    ],
)
def test_a_lease_that_is_not_renewed_is_late_and_then_expired(standing: Standing | None, state: str) -> None:
    lease = Lease("alpha", "process-of-alpha", epoch=7 if standing is None or standing.epoch != 1 else 1, renewals=3)
    assert judge_lease(lease, standing, rules_of(ClusterSection())) == state


@pytest.mark.parametrize(("age", "state"), [(1.2, "renewed"), (1.3, "late")])
def test_a_short_lease_is_late_after_two_intervals(age: float, state: str) -> None:
    short = ClusterSection(lease=timedelta(seconds=2), lease_renew=timedelta(seconds=0.6))
    lease = Lease("alpha", "process-of-alpha", epoch=7, renewals=3)
    assert judge_lease(lease, Standing("alpha", 7, age), rules_of(short)) == state


def test_the_rules_are_those_of_the_settings(admin: Caller) -> None:
    rules = admin.get("/api/v1/cluster").json["rules"]
    assert (rules["rebalance_factor"], rules["rebalance_difference"]) == (2, 10)
    other = rules_of(ClusterSection(rebalance=False, rebalance_difference=5))
    assert (other.rebalance_factor, other.rebalance_difference) == (None, 5)


def test_who_leads_and_who_is_there(site: Site, admin: Caller) -> None:
    for name, state in (("alpha", NodeState.ACTIVE), ("beta", NodeState.DRAINING), ("gamma", NodeState.DEAD)):
        joined(site, name, state)
    joined(site, "delta", NodeState.OFFLINE)
    leads(site, "alpha")
    site.tx(own, range(1, 6), "alpha", "owned")
    site.tx(own, range(6, 8), "beta", "offered")
    site.tx(own, range(8, 12), None, "orphan_pending")
    found = admin.get("/api/v1/cluster").json
    assert (found["leader"], found["term"]) == ("alpha", 1)
    assert (found["owned"], found["handoffs"], found["orphans"]) == (7, 2, 4)
    nodes = {one["id"]: one for one in found["nodes"]}
    assert {name: (one["state"], one["role"], one["owned"]) for name, one in nodes.items()} == {
        "alpha": ("active", "leader", 5),
        "beta": ("draining", "follower", 2),
        "gamma": ("dead", "follower", 0),
        "delta": ("offline", "follower", 0),
    }
    alpha = nodes["alpha"]
    assert (alpha["url"], alpha["hostname"], alpha["process_id"]) == ("http://10.0.0.1:5080", "machine-1", 4711)
    assert (alpha["job_count"], alpha["queued_count"], alpha["cpu_millicores"]) == (3, 2, 250)
    assert alpha["beat_age"] is None, "the one that answers has not looked yet"
    assert alpha["asked_to"] is None


def test_who_is_gone_was_last_heard_of_when_it_beat_and_not_when_somebody_first_looked(
    site: Site, admin: Caller
) -> None:
    for name, state in (("beta", NodeState.ACTIVE), ("gamma", NodeState.DEAD), ("delta", NodeState.OFFLINE)):
        joined(site, name, state)
    site.clock.move(700)
    ages = {one["id"]: one["beat_age"] for one in admin.get("/api/v1/cluster").json["nodes"]}
    assert ages == {"beta": None, "gamma": pytest.approx(700, abs=1), "delta": pytest.approx(700, abs=1)}


def test_what_is_owned_by_who_is_gone_is_orphaned_from_then_on(site: Site, admin: Caller) -> None:
    joined(site, "alpha")
    joined(site, "gamma", NodeState.DEAD)
    ids = site.tx(open_some, 8)
    site.tx(own, ids[:3], "alpha", "owned")
    site.tx(own, ids[3:5], "gamma", "owned")
    site.tx(own, ids[5:6], "gamma", "offered")
    site.tx(own, ids[6:7], None, "orphan_pending")
    site.tx(own, ids[7:], "forgotten", "owned")
    found = admin.get("/api/v1/cluster").json
    assert (found["owned"], found["handoffs"], found["orphans"]) == (3, 0, 5)
    assert {one["id"]: one["owned"] for one in found["nodes"]} == {"alpha": 3, "gamma": 0}
    waiting = admin.get("/api/v1/cluster/waiting").json["items"]
    assert [(one["execution_id"], one["from_node"]) for one in waiting] == list(
        zip(ids[3:], ("gamma", "gamma", "gamma", None, "forgotten"), strict=True)
    )
    assert {one["state"] for one in waiting} == {"orphan_pending"}
    first = admin.get("/api/v1/cluster/waiting?limit=2").json
    rest = admin.get(f"/api/v1/cluster/waiting?limit=9&cursor={first['next_cursor']}").json
    assert [one["execution_id"] for one in (*first["items"], *rest["items"])] == ids[3:]


def test_what_a_process_owned_that_was_replaced_is_orphaned_at_once(site: Site, admin: Caller) -> None:
    joined(site, "alpha")
    ids = site.tx(open_some, 2)
    site.tx(own, ids, "alpha", "owned")
    assert admin.get("/api/v1/cluster").json["orphans"] == 0
    site.tx(join, replace(SAID, node_id="alpha", incarnation="a-newer-process"), site.clock.now())
    found = admin.get("/api/v1/cluster").json
    assert (found["owned"], found["orphans"], found["nodes"][0]["owned"]) == (0, 2, 0)
    assert [one["execution_id"] for one in admin.get("/api/v1/cluster/waiting").json["items"]] == ids


def test_a_drain_is_a_wish_in_the_row_of_that_process(site: Site, admin: Caller) -> None:
    joined(site, "alpha")
    answer = admin.post("/api/v1/cluster/nodes/alpha/drain")
    assert (answer.status, answer.json["node"], answer.json["asked_to"]) == (202, "alpha", "drain")
    assert admin.post("/api/v1/cluster/nodes/alpha/drain").status == 202, "twice is once"
    row = site.tx(find_node, "alpha")
    assert row is not None
    assert row.wish is Wish.DRAIN
    assert admin.get("/api/v1/cluster").json["nodes"][0]["asked_to"] == "drain"
    assert admin.get("/api/v1/audit?action=cluster.drain").json["items"][0]["object_id"] == "alpha"


def test_nobody_can_be_asked_who_is_not_there(site: Site, admin: Caller) -> None:
    joined(site, "gamma", NodeState.DEAD)
    joined(site, "delta", NodeState.OFFLINE)
    assert admin.post("/api/v1/cluster/nodes/omega/drain").problem(404)["detail"]
    for name in ("gamma", "delta"):
        assert "not there any more" in admin.post(f"/api/v1/cluster/nodes/{name}/drain").problem(409)["detail"]


def test_the_leader_is_asked_to_step_down_where_another_could_lead(site: Site, admin: Caller) -> None:
    assert admin.post("/api/v1/cluster/step-down").problem(409)["detail"] == "Nobody leads at the moment."
    joined(site, "alpha")
    leads(site, "alpha")
    joined(site, "beta", NodeState.DRAINING)
    assert "nobody else" in admin.post("/api/v1/cluster/step-down").problem(409)["detail"]
    joined(site, "gamma")
    answer = admin.post("/api/v1/cluster/step-down")
    assert (answer.status, answer.json) == (202, {"node": "alpha", "asked_to": "step_down", "term": 1})
    row = site.tx(find_node, "alpha")
    assert row is not None
    assert row.wish is Wish.STEP_DOWN


def test_one_that_is_to_drain_is_not_asked_to_lead(site: Site, admin: Caller) -> None:
    joined(site, "alpha")
    joined(site, "beta")
    leads(site, "alpha")
    admin.post("/api/v1/cluster/nodes/beta/drain")
    assert "nobody else" in admin.post("/api/v1/cluster/step-down").problem(409)["detail"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/api/v1/cluster"),
        ("POST", "/api/v1/cluster/nodes/alpha/drain"),
        ("POST", "/api/v1/cluster/step-down"),
    ],
)
def test_none_of_it_is_for_strangers(site: Site, stranger: Caller, executor: Caller, method: str, path: str) -> None:
    joined(site, "alpha")
    for caller in (stranger, executor):
        assert caller.call(method, path).problem(401)["detail"]


def test_terms_are_remembered_with_who_led(site: Site, admin: Caller) -> None:
    assert admin.get("/api/v1/cluster/terms").json["items"] == []
    for term, name in enumerate(("alpha", "beta", "alpha"), start=1):
        site.tx(note_term, term, name, f"process-of-{name}", site.clock.now() + term)
    found = admin.get("/api/v1/cluster/terms?limit=2").json["items"]
    assert [(one["term"], one["node"]) for one in found] == [(3, "alpha"), (2, "beta")]
    assert found[0]["began_at"] == found[1]["ended_at"] > found[1]["began_at"]
    assert found[0]["ended_at"] is None


def test_changes_of_hands_are_told_with_their_reason_and_case(site: Site, admin: Caller) -> None:
    now = site.clock.now()
    joined(site, "alpha", NodeState.DRAINING)
    joined(site, "beta")
    joined(site, "gamma", NodeState.DEAD)
    taker = ("beta", "process-of-beta")
    changes = [
        Change(1, 7, "alpha", "process-of-alpha", offered=True, since=now - 40),
        Change(2, 7, "alpha", "process-of-alpha", offered=True, since=now - 6_000),
        Change(3, 7, "gamma", "process-of-gamma", offered=False, since=now - 100),
        Change(4, 7, None, None, offered=False, since=now - 100),
        Change(5, 7, "beta", "an-earlier-process", offered=True, since=now - 100),
    ]
    site.tx(note_handoffs, taker, changes, now)
    found = admin.get("/api/v1/cluster/handoffs?limit=5").json["items"]
    assert [(one["execution_id"], one["reason"], one["case"], one["tries"]) for one in reversed(found)] == [
        (1, "Shutdown", "A", 1),
        (2, "Shutdown", "B", 2),
        (3, "NodeCrash", None, None),
        (4, "Orphan", None, None),
        (5, "Rebalance", "A", 1),
    ]
    assert [one["waited_ms"] for one in found] == [100, 100, 100, 6_000, 40]
    first = admin.get("/api/v1/cluster/handoffs?limit=2").json
    rest = admin.get(f"/api/v1/cluster/handoffs?limit=9&cursor={first['next_cursor']}").json
    assert [one["execution_id"] for one in (*first["items"], *rest["items"])] == [5, 4, 3, 2, 1]
