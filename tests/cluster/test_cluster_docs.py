"""docs/cluster.md names files and settings: each is there, with the default it says."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

from orth.channels.names import Names
from orth.settings import Settings

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/cluster.md").read_text()
FILES = sorted(set(re.findall(r"`((?:src|tests|bench)/[\w/.-]+)`", PAGE)))
DEFAULTS = re.findall(r"^\| [^|]+ \| `cluster\.(\w+)` \| ([^|]+) \|$", PAGE, re.MULTILINE)
COMPONENTS = (
    "CoordinatorHeartbeatService",
    "CoordinatorHealthMonitor",
    "CoordinatorDrainService",
    "JobHandoffPublisher",
    "JobHandoffSubscriber",
    "JobHandoffAckListener",
    "OrphanJobDetector",
    "IJobOwnershipStore",
)


PUBLIC = {
    "orchestrix.job.dispatch.{queue}": Names().dispatch("{app}.{queue}"),
    "orchestrix.job.cancel": Names().cancel,
    "orchestrix.job.assigned": Names().assigned,
    "orchestrix.job.{jobId}.status": Names().status(7, 1001),
    "orchestrix.job.{jobId}.logs": Names().logs(7, 1001),
    "orchestrix.job.handoff": Names().handoff,
    "orchestrix.job.handoff.ack.{nodeId}": Names().handoff_ack("{nodeId}"),
    "orchestrix.worker.heartbeat": Names().worker_heartbeat,
    "orchestrix.coordinator.heartbeat": Names().coordinator_heartbeat,
}
"""The names of the architecture, and what is called so here."""


def test_every_public_name_is_mapped_to_the_one_in_use() -> None:
    rows = re.findall(r"^\| (?:`(orchestrix[^`]+)`|none) \| `(orchestrix[^`]+)` \| [^|]+ \|$", PAGE, re.MULTILINE)
    here = {public: ours.replace("{jobId}", "7").replace("{executionId}", "1001") for public, ours in rows if public}
    assert here == PUBLIC
    own = {ours for public, ours in rows if not public}
    assert own == {Names().acknowledged("{incarnation}"), Names().logs_wanted, Names().service_events}
    assert all(ours.replace("{app}.", "").startswith(public) for public, ours in rows)


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_is_named_exists(file: str) -> None:
    assert (ROOT / file).exists()


@pytest.mark.parametrize("component", COMPONENTS)
def test_every_component_of_the_architecture_has_its_place(component: str) -> None:
    assert re.search(rf"^\| {component} \| .+ \|$", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("name", "default"), DEFAULTS)
def test_a_setting_has_the_default_the_page_says(name: str, default: str) -> None:
    value = getattr(Settings().cluster, name)
    said = f"{value.total_seconds():g} s" if isinstance(value, timedelta) else str(value)
    assert said == default


def test_the_intervals_of_the_architecture_are_among_them() -> None:
    assert {name for name, _default in DEFAULTS} >= {
        *("lease", "lease_renew", "heartbeat", "dead_after", "handoff_ack_timeout", "handoff_tries"),
        *("handoff_grace", "handoff_hard_timeout", "orphan_check", "assignment_timeout"),
    }
