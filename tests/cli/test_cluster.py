"""``orth cluster`` against a served coordinator."""

import json
from collections.abc import Iterator

import pytest

from orth.store.nodes import NodeState, Wish, find_node
from tests.cli.conftest import Run
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site
from tests.coordinator.http.test_cluster import joined, leads


class Cluster(SignedIn):
    command = "cluster"


@pytest.fixture
def site(served: Site) -> Iterator[Site]:
    served.reset()
    joined(served, "alpha")
    joined(served, "beta")
    joined(served, "gamma", NodeState.OFFLINE)
    leads(served, "alpha")
    yield served
    served.reset()


def test_who_leads_and_who_is_there(run: Run, site: Site) -> None:
    lines = Cluster(run, site)("status").splitlines()
    assert lines[:3] == ["Leader  alpha", "Term    1", "Owned   0   handoffs 0   orphans 0"]
    assert lines[4].split()[:4] == ["NODE", "STATE", "ROLE", "OWNED"]
    assert [line.split()[:4] for line in lines[5:]] == [
        ["alpha", "active", "leader", "0"],
        ["beta", "active", "follower", "0"],
        ["gamma", "offline", "follower", "0"],
    ]
    assert json.loads(Cluster(run, site)("status", "-o", "json"))["leader"] == "alpha"
    assert Cluster(run, site)("status", "-o", "name").split() == ["alpha", "beta", "gamma"]


def test_a_coordinator_is_asked_to_drain(run: Run, site: Site) -> None:
    assert Cluster(run, site)("drain", "beta").splitlines() == ["Node      beta", "Asked to  drain"]
    row = site.tx(find_node, "beta")
    assert row is not None
    assert row.wish is Wish.DRAIN


def test_the_leader_is_asked_to_step_down(run: Run, site: Site) -> None:
    assert Cluster(run, site)("step-down", "-o", "name").strip() == "alpha"
    row = site.tx(find_node, "alpha")
    assert row is not None
    assert row.wish is Wish.STEP_DOWN


def test_one_that_is_not_there_cannot_be_asked(run: Run, site: Site) -> None:
    cluster = Cluster(run, site)
    result = run("cluster", "drain", "no/such one", **cluster.environ)
    assert result.exit_code != 0
