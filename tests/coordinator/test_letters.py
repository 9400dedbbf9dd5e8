"""What a trigger tells an executor about its job."""

import pytest

from orth.coordinator.letters import Letter, Peer, run_request
from orth.domain.executions import TEST_KEY, Execution, Phase
from orth.domain.jobs import Job, Overlap, TriggerCause
from orth.wire.messages import Extension
from orth.wire.report_keys import ReportKeys


@pytest.mark.parametrize("overlap", list(Overlap))
@pytest.mark.parametrize(
    ("extensions", "key", "is_told"),
    [
        (frozenset({Extension.OVERLAP}), "fire:1", True),
        (frozenset({Extension.LOG_LEVEL}), "fire:1", False),
        (frozenset({Extension.OVERLAP}), f"{TEST_KEY}1", False),  # a test runs beside its job
    ],
)
def test_an_executor_that_announced_it_is_told_where_the_block_strategy_holds(
    overlap: Overlap, extensions: frozenset[str], key: str, is_told: bool
) -> None:
    execution = Execution(
        id=2,
        job_id=1,
        job_group=1,
        cause=TriggerCause.CRON,
        trigger_code=0,
        handle_code=0,
        phase=Phase.OPENED,
        schedule_time=None,
        trigger_time=1,
        trigger_key=key,
    )
    job = Job(id=1, job_group=1, job_desc="nightly", executor_handler="nightly", overlap=overlap)
    letter = Letter(execution, job, job, Peer("http://a:1", "demo", "one", extensions))
    request = run_request(letter, 1, lambda *_: None, ReportKeys("secret"), again=False)
    assert request.overlap is (overlap if is_told else None)
