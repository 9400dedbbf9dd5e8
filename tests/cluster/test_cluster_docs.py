"""docs/cluster.md names files and settings: each is there, with the default it says."""

import re
from datetime import timedelta
from pathlib import Path

import pytest

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
