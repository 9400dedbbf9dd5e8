"""The spellings of Java mean what ``orth.helper`` and ``JobContext`` mean."""

from pathlib import Path

import pytest

from orth.compat import OrthJobContext, OrthJobHelper
from orth.executor.context import JobContext, Outcome, entered
from orth.executor.run_logs import RunLogs
from tests.executor.bench import NOON, Ears, HandClock, make_context


@pytest.fixture
def context(tmp_path: Path) -> JobContext:
    return make_context(RunLogs(tmp_path, HandClock(), Ears()).open(7, NOON))


def test_outside_a_job_there_are_defaults_and_nothing_happens() -> None:
    helper = OrthJobHelper
    numbers = (helper.getJobId, helper.getLogId, helper.getLogDateTime, helper.getShardIndex, helper.getShardTotal)
    assert [ask() for ask in numbers] == [-1] * 5
    texts = (helper.getJobParam, helper.getLogFileName, helper.getJobLogFileName, helper.getScheduleTime)
    assert [ask() for ask in texts] == [None] * 4
    assert [helper.handleSuccess(), helper.handleFail("x"), helper.handleTimeout("x")] == [False] * 3
    assert (helper.handleResult(200, "x"), helper.log("rows {}", 1)) == (False, False)
    assert OrthJobContext.getOrthJobContext() is None


def test_inside_a_job_the_helper_speaks_of_it(context: JobContext) -> None:
    helper = OrthJobHelper
    with entered(context):
        assert (helper.getJobId(), helper.getJobParam(), helper.getLogId()) == (3, "raw", 7)
        assert (helper.getShardIndex(), helper.getShardTotal(), helper.getLogDateTime()) == (1, 3, NOON)
        assert helper.getLogFileName() == context.log_file
        assert helper.log("rows {}", 5)
        assert helper.handleFail("no")
    assert context.decided == Outcome(500, "no")
    assert "rows 5" in Path(context.log_file).read_text()


def test_the_context_has_its_getters_and_setters(context: JobContext) -> None:
    with entered(context):
        old = OrthJobContext.getOrthJobContext()
    assert old is not None
    assert (old.getJobId(), old.getJobParam(), old.getLogId(), old.getLogDateTime()) == (3, "raw", 7, NOON)
    assert (old.getShardIndex(), old.getShardTotal(), old.getScheduleTime()) == (1, 3, None)
    assert old.getLogFileName() == old.getJobLogFileName() == context.log_file
    assert (old.getHandleCode(), old.getHandleMsg()) == (200, None)
    old.setHandleMsg("so far so good")
    assert context.decided == Outcome(200, "so far so good")
    old.setHandleCode(502)
    assert (old.getHandleCode(), old.getHandleMsg()) == (502, "so far so good")
