import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.cli.running import orth

JOBS = """
import logging, sys
from orth import Executor, JobContext, JobFailed
app = Executor("run-app")
second = Executor("second-app")
log = logging.getLogger("jobs")

@app.job("collectPrices")
def collect(ctx: JobContext, market: str, symbols: list[str] | None = None) -> str:
    if market == "none":
        raise JobFailed("no such market")
    while market == "endless" and not ctx.cancelled:
        pass
    log.warning("shard %d/%d of %s, due %s", ctx.shard_index, ctx.shard_total, symbols, ctx.schedule_time)
    return market

@second.job
def other() -> None:
    print("the other one", file=sys.stderr)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.py").write_text(JOBS)
    return tmp_path


def test_one_run_shows_its_log_and_its_tag(folder: Path) -> None:
    ran = orth(
        "run", "jobs.py:collect", "market=paris", 'symbols=["A", "B"]', "--shard", "0/3",
        "--schedule-time", "2026-01-30T02:00Z", cwd=folder,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert "shard 0/3 of ['A', 'B'], due 2026-01-30 02:00:00+00:00\n" in ran.stdout
    assert ran.stdout.endswith("\nSuccess 200/200  paris\n")
    assert sorted(path.name for path in folder.iterdir() if path.name != "__pycache__") == ["jobs.py"]


def test_the_exit_code_is_the_outcome(folder: Path) -> None:
    failed = orth("run", "jobs.py:collectPrices", "--param", '{"market": "none"}', cwd=folder)
    assert (failed.returncode, failed.stdout.splitlines()[-1]) == (10, "Failed 200/500  no such market")
    late = orth("run", "jobs:collectPrices", "market=endless", "--timeout", "1", cwd=folder)
    assert late.returncode == 11
    assert late.stdout.splitlines()[-1].startswith("Timeout 200/502")


def test_a_handler_of_any_executor_of_the_file_is_found(folder: Path) -> None:
    ran = orth("run", "jobs.py:other", cwd=folder)
    assert ran.returncode == 0
    assert "the other one\n" in ran.stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["jobs.py"], "orth: Which handler of jobs.py is to run? Write jobs.py:NAME. It has collectPrices, other."),
        (["jobs.py:nobody"], "orth: There is no handler nobody in jobs.py. It has collectPrices, other."),
        (["none.py:x"], "orth: There is no file none.py."),
        (["jobs.py:other", "a=1"], "orth: The handler takes no parameters, and was given a."),
    ],
)
def test_what_cannot_run_is_one_line(folder: Path, words: list[str], complaint: str) -> None:
    ran = orth("run", *words, cwd=folder)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.strip() == complaint


def test_help_explains_the_exit_codes_and_loads_little(run: Run) -> None:
    sys.modules.pop("orth.cli.run", None)
    asked = run("run", "--help")
    assert asked.exit_code == 0
    assert "10 Failed" in asked.output


WHO = """
from orth import Executor
app = Executor("who-app")

@app.job(isolation="process")
def who() -> str:
    import beside
    return f"{beside.NAME} of {__file__}"
"""


@pytest.mark.parametrize("other", [WHO, "raise RuntimeError('the wrong file')", "import nothing_of_that_name"])
def test_a_worker_process_has_the_very_file_whatever_lies_in_the_working_folder(tmp_path: Path, other: str) -> None:
    for name, text in (("a", WHO), ("b", other)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "jobs.py").write_text(text)
        (tmp_path / name / "beside.py").write_text(f"NAME = {name!r}")
    ran = orth("run", "../a/jobs.py:who", cwd=tmp_path / "b")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.endswith(f"Success 200/200  a of {tmp_path}/a/jobs.py\n")


def test_a_file_that_worker_processes_cannot_load_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    once = "import os\nif 'ORTH_NURSERY_IMPORTING' in os.environ: raise RuntimeError('not twice')\n"
    (tmp_path / "a/jobs.py").write_text(once + WHO)
    (tmp_path / "b/jobs.py").write_text(WHO)
    ran = orth("run", "../a/jobs.py:who", cwd=tmp_path / "b")
    assert ran.returncode != 0
    assert f"{tmp_path}/a/jobs.py cannot be loaded: RuntimeError: not twice" in ran.stdout + ran.stderr


def test_a_package_is_imported_as_the_command_has_it(tmp_path: Path) -> None:
    package = tmp_path / "pkg"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "beside.py").write_text("NAME = 'package'")
    (package / "jobs.py").write_text(WHO.replace("import beside", "from . import beside"))
    ran = orth("run", "pkg.jobs:who", cwd=tmp_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.endswith(f"Success 200/200  package of {package}/jobs.py\n")
