"""The package's public door, and the example that uses it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import orth
from orth.executor.context import JobContext
from orth.executor.loading import load_handlers
from tests.executor.bench import Rig

EXAMPLES = Path(__file__).parents[2] / "examples"
HEAVY = ("pydantic", "uvicorn", "urllib3", "asyncio", "orth.executor")


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, orth; print([name for name in {HEAVY!r} if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "[]"


def test_every_public_name_is_there() -> None:
    assert [name for name in orth.__all__ if not hasattr(orth, name)] == []
    assert orth.JobContext is JobContext
    assert orth.Retry(attempts=2).attempts == 2
    assert orth.Param(help="x").help == "x"
    assert orth.helper.get_job_id() == -1
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = orth.Nothing


@pytest.mark.usefixtures("imports_undone")
def test_the_example_runs(tmp_path: Path) -> None:
    ran = Rig(load_handlers(str(EXAMPLES / "jobs.py")), tmp_path)
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


EMBEDDED = """
import signal, sys, threading, time, urllib.request
import embedded

def look():
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            page = urllib.request.urlopen(f"http://127.0.0.1:{sys.argv[1]}").read().decode()
            break
        except OSError:  # it is not up yet
            time.sleep(0.02)
    sys.stdout.write(page + "\\n")
    signal.raise_signal(signal.SIGINT)

threading.Thread(target=look).start()
embedded.main(int(sys.argv[1]))
"""


def test_the_embedded_example_runs_beside_its_page(tmp_path: Path, free_port: int) -> None:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ORTH_")}
    ran = subprocess.run(
        [sys.executable, "-c", EMBEDDED, str(free_port)],
        cwd=tmp_path,
        env=clean
        | {
            "PYTHONPATH": str(EXAMPLES),
            "ORTH_SECURITY__ACCESS_TOKEN": "a-token",
            "ORTH_EXECUTOR__LISTEN": "127.0.0.1:0",
            "ORTH_EXECUTOR__COORDINATORS": "http://127.0.0.1:1",
        },
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    assert "the executor is at http://127.0.0.1:" in ran.stdout
    assert "nobody yet\n" in ran.stdout
