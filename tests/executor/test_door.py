"""The package's public door, and the example that uses it."""

import subprocess
import sys
from pathlib import Path

import pytest

import orth
from orth.executor.context import JobContext
from orth.executor.loading import load_handlers
from tests.executor.bench import Rig

EXAMPLE = Path(__file__).parents[2] / "examples" / "jobs.py"
HEAVY = ("pydantic", "uvicorn", "urllib3", "asyncio", "orth.executor")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, orth; print([name for name in {HEAVY!r} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    assert [name for name in orth.__all__ if not hasattr(orth, name)] == []
    assert orth.JobContext is JobContext
    assert orth.helper.get_job_id() == -1
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = orth.Nothing


@pytest.mark.usefixtures("imports_undone")
def test_the_example_runs(tmp_path: Path) -> None:
    ran = Rig(load_handlers(str(EXAMPLE)), tmp_path)
    try:
        assert ran.result(1, "hello").handle_msg == "greeted world"
        assert ran.result(2, "countdown", executor_params='{"start": 3, "pause": 0}').handle_msg == "lift-off"
        assert "1 to go (66 %)" in ran.text(2)
        assert ran.result(3, "moody", executor_params='{"failure_rate": 0}').handle_msg == "all good"
        assert ran.result(4, "moody", executor_params='{"failure_rate": 1}').handle_code == 500
        shares = [
            ran.result(5 + index, "report", job_id=2, broadcast_index=index, broadcast_total=4).handle_msg
            for index in range(4)
        ]
        assert shares == ["2 symbols of paris", "2 symbols of paris", "1 symbols of paris", "1 symbols of paris"]
        unfit = ran.result(9, "report", job_id=2, executor_params='{"market": "moon"}')
        assert (unfit.handle_code, "market: " in unfit.handle_msg) == (500, True)
    finally:
        ran.runtime.close()
