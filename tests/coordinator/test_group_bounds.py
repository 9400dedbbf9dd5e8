"""What must not leave its group is refused when it is about to be sent: pure, so every case is a line."""

from dataclasses import replace

import pytest

from orth.coordinator.group_bounds import moved_away, strangers_refused
from orth.domain import reasons
from orth.domain.executions import Execution, Phase
from orth.domain.jobs import AddressType, Group, Job, RouteStrategy, TriggerCause
from orth.domain.nodes import ExecutorEntry

GROUP = Group(1, "shop", "Shop", AddressType.MANUAL, ("http://Written:9999/",))
JOB = Job(id=7, job_group=1, job_desc="j", executor_handler="h")
EXECUTION = Execution(
    id=3,
    job_id=7,
    job_group=1,
    cause=TriggerCause.MANUAL,
    trigger_code=0,
    handle_code=0,
    phase=Phase.OPENED,
    schedule_time=None,
    trigger_time=0,
)
REGISTERED = [ExecutorEntry("shop", "http://registered:9999", 0, None)]


def test_a_job_that_has_left_takes_nothing_along() -> None:
    assert moved_away(JOB, GROUP) is None
    refusal = moved_away(replace(JOB, job_group=2), GROUP)
    assert refusal is not None
    assert refusal.code == reasons.JOB_MOVED
    assert '"shop"' in refusal.message


@pytest.mark.parametrize(
    ("addresses", "strange"),
    [
        ((), None),
        (("http://written:9999",), None),
        (("HTTP://Registered:9999/",), None),
        (("http://registered:9999", "http://written:9999"), None),
        (("http://stranger:9999",), "http://stranger:9999"),
        (("http://registered:9999", "http://stranger:9999"), "http://stranger:9999"),
    ],
)
def test_named_addresses_have_to_be_of_the_group(addresses: tuple[str, ...], strange: str | None) -> None:
    refusal = strangers_refused(replace(EXECUTION, addresses=addresses), JOB, GROUP, REGISTERED)
    if strange is None:
        assert refusal is None
    else:
        assert refusal is not None
        assert refusal.code == reasons.ADDRESS_REFUSED
        assert strange in refusal.message


def test_a_shard_whose_executor_left_says_so_and_blames_no_trigger() -> None:
    broadcasting = replace(JOB, executor_route_strategy=RouteStrategy.SHARDING_BROADCAST)
    shard = replace(EXECUTION, addresses=("http://stranger:9999",), shard_total=2)
    refusal = strangers_refused(shard, broadcasting, GROUP, REGISTERED)
    assert refusal is not None
    assert refusal.code == reasons.EXECUTOR_LEFT
    assert "http://stranger:9999" in refusal.message
    assert "trigger" not in refusal.message.lower()
