import sys
from pathlib import Path

import pytest

from orth import failpoints
from orth.settings import Address
from tests.cli.conftest import Run, Stand
from tests.cli.running import orth as run_orth

PROCESS = ("orth.executor.process", "run_executor")


@pytest.mark.parametrize("name", ["executor", "agent"])
def test_options_become_settings(run: Run, stand_in: Stand, name: str) -> None:
    run_executor = stand_in(*PROCESS, 0)
    asked = run(
        name, "jobs.py", "--app-name", "collector", "--listen", "127.0.0.1:0", "--address", "http://10.0.0.7:9999",
        "--coordinators", "http://a:1,http://b:2", "--transport", "queue", "--queue", "fast,slow", "--data-dir", "d",
    )  # fmt: skip
    assert asked.exit_code == 0
    assert run_executor.arguments[0] == "jobs.py"
    executor = run_executor.settings.executor
    assert (executor.app_name, executor.listen) == ("collector", Address("127.0.0.1", 0))
    assert (executor.address, executor.coordinators) == ("http://10.0.0.7:9999", ("http://a:1", "http://b:2"))
    assert (executor.transport, executor.queue, executor.data_dir) == ("queue", ("fast", "slow"), Path("d"))
    assert run_executor.settings.origin("executor.transport") == "option --transport"


def test_the_exit_code_is_the_executors(run: Run, stand_in: Stand) -> None:
    stand_in(*PROCESS, 3)
    assert run("executor", "jobs").exit_code == 3


def test_something_to_run_must_be_named(run: Run) -> None:
    asked = run("executor")
    assert asked.exit_code == 2
    assert "Missing argument 'FILE|MODULE'" in asked.output


def test_an_unknown_transport_is_wrong_usage(run: Run) -> None:
    asked = run("executor", "jobs.py", "--transport", "link")
    assert asked.exit_code == 2
    assert "'link' is not one of 'push', 'queue'" in asked.output


def test_failpoints_of_the_environment_are_armed(run: Run, stand_in: Stand) -> None:
    stand_in(*PROCESS, 0)
    try:
        assert run("executor", "jobs.py", ORTH_FAILPOINTS="due.planned=raise").exit_code == 0
        assert set(failpoints.armed) == {"due.planned"}
    finally:
        failpoints.disarm()


JOBS = '''
from orth import Executor
app = Executor("checked")

@app.job(schedule="0 * * * * ?")
def hello() -> None:
    """Greet."""
'''


def test_a_check_loads_lists_and_ends(tmp_path: Path) -> None:
    (tmp_path / "jobs.py").write_text(JOBS)
    checked = run_orth("executor", "jobs.py", "--check", cwd=tmp_path)
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "hello  [0 * * * * ?] Greet.\n", "")
    (tmp_path / "jobs.py").write_text(JOBS + "\n1 / 0\n")
    checked = run_orth("executor", "jobs.py", "--check", cwd=tmp_path)
    assert checked.returncode == 1
    assert checked.stderr.startswith("orth: jobs.py cannot be loaded: ZeroDivisionError: division by zero (")
    assert checked.stderr.count("\n") == 1


def test_a_check_finds_a_wrong_schedule(tmp_path: Path) -> None:
    wrong = '\n@app.job(schedule="0 25 * * *")\ndef nightly() -> None: ...\n'
    (tmp_path / "jobs.py").write_text(JOBS + wrong)
    checked = run_orth("executor", "jobs.py", "--check", cwd=tmp_path)
    assert (checked.returncode, checked.stdout) == (1, "hello    [0 * * * * ?] Greet.\nnightly\n")
    line = 1 + JOBS.count("\n") + 1
    assert checked.stderr == (
        f"orth: {tmp_path}/jobs.py:{line}: handler nightly has no schedule: '0 25 * * *': "
        "hour 25 is outside 0-23. Write a number from 0 to 23.\n"
    )


def test_a_check_finds_what_the_api_would_refuse(tmp_path: Path) -> None:
    wrong = '\n@app.job(schedule="AT 2001-01-01T00:00:00Z", timeout=10**9)\ndef past() -> None: ...\n'
    (tmp_path / "jobs.py").write_text(JOBS + wrong)
    checked = run_orth("executor", "jobs.py", "--check", cwd=tmp_path)
    assert checked.returncode == 1
    place = f"orth: {tmp_path}/jobs.py:{1 + JOBS.count(chr(10)) + 1}: no job can be created for handler past: "
    first, second = checked.stderr.splitlines()
    assert first == f"{place}A time limit is at most 604800 seconds, which are 7 days, not 1000000000."
    assert second.startswith(place)
    assert "2001-01-01 00:00" in second


@pytest.mark.parametrize(
    ("words", "hard", "passed_on"),
    [
        (["jobs.py", "--reload", "--listen", "127.0.0.1:0"], False, ["jobs.py", "--listen", "127.0.0.1:0"]),
        (["jobs.py", "--reload=hard"], True, ["jobs.py"]),
        (["jobs.py", "--reload", "hard", "--queue", "hard"], True, ["jobs.py", "--queue", "hard"]),
        (["jobs.py", "--reload=drain"], False, ["jobs.py"]),
    ],
)
def test_reloading_passes_the_rest_of_the_command_line_on(
    run: Run, stand_in: Stand, monkeypatch: pytest.MonkeyPatch, words: list[str], hard: bool, passed_on: list[str]
) -> None:
    run_reloading = stand_in("orth.executor.reloading", "run_reloading", 7)
    monkeypatch.setattr(sys, "argv", ["orth", "executor", *words])
    assert run("executor", *words).exit_code == 7
    assert run_reloading.arguments == ("jobs.py", ["executor", *passed_on])
    assert run_reloading.named["hard"] is hard


def test_an_unknown_way_to_reload_is_wrong_usage(run: Run) -> None:
    asked = run("executor", "jobs.py", "--reload=softly")
    assert asked.exit_code == 2
    assert "'softly' is not one of 'drain', 'hard'" in asked.output
