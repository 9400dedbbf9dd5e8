import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from orth.executor.environment import Inherited, variables_of
from orth.executor.run_logs import RunLogs
from tests.executor.bench import NOON, Ears, HandClock, make_context


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    due = datetime(2026, 1, 30, 2, tzinfo=UTC)
    context = make_context(
        RunLogs(tmp_path, HandClock(), Ears()).open(7, NOON),
        schedule_time=due,
        shard_index=2,
        attempt=2,
        run_key="orth-3-run-5",
        job_name="prices",
    )
    variables = variables_of(context)
    assert variables["ORTH_JOB_SCHEDULE_TIME"] == "2026-01-30T02:00:00+00:00"
    assert variables["ORTH_SHARD_INDEX"] == variables["ORTH_JOB_SHARD_INDEX"] == "2"
    assert variables["ORTH_LOG_ID"] == "7"
    read = Inherited.read(variables)
    assert read == Inherited(
        context.job_id,
        context.param,
        7,
        NOON,
        context.log_file,
        due,
        context.shard_index,
        3,
        "prices",
        "orth-3-run-5",
        2,
    )


def test_without_a_schedule_time_the_variable_is_empty(tmp_path: Path) -> None:
    context = make_context(RunLogs(tmp_path, HandClock(), Ears()).open(7, NOON), param="a\0b")
    variables = variables_of(context)
    assert variables["ORTH_SCHEDULE_TIME"] == variables["ORTH_JOB_SCHEDULE_TIME"] == ""
    assert variables["ORTH_JOB_PARAM"] == "a\ufffdb", "no variable can hold a NUL"
    read = Inherited.read(variables)
    assert read is not None
    assert read.schedule_time is None
    assert os.environ | variables, "all of them are text"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"ORTH_JOB_ID": "1"},
        {"ORTH_JOB_ID": "one", "ORTH_JOB_LOG_ID": "2"},
        {"ORTH_JOB_ID": "1", "ORTH_JOB_LOG_ID": "2", "ORTH_JOB_SCHEDULE_TIME": "soon"},
    ],
)
def test_what_is_not_ours_is_no_job(environ: dict[str, str]) -> None:
    assert Inherited.read(environ) is None


def test_a_script_of_another_executor_may_leave_some_out() -> None:
    read = Inherited.read({"ORTH_JOB_ID": "1", "ORTH_JOB_LOG_ID": "2"})
    assert read == Inherited(1, "", 2, -1, None, None, 0, 1, "", "", None)
