"""The benchmark of precision runs, and every fire of it has one start, one execution and one decision.

How late the starts are is judged by ``make bench``, with the machine to itself.
"""

import importlib
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from types import ModuleType

import pytest

from orth.domain.executions import SUCCESS
from tests.servers.postgres import PostgresServer

PROGRAM = Path(__file__).parents[2] / "bench" / "precision.py"


def test_no_fire_is_missed_doubled_or_early(postgres_server: PostgresServer) -> None:
    assert postgres_server.running, "the benchmark starts one of its own; this only says that there is one to start"
    command = [sys.executable, str(PROGRAM), "--quick"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "wrong" not in run.stdout
    starts = [int(count) for count in re.findall(r"^\d.* ms of (\d+)$", run.stdout, re.MULTILINE)]
    assert starts == [100, 100, 1000], run.stdout


@pytest.fixture
def fires(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    return importlib.import_module("_fires")


def judged(fires: ModuleType, *extra: tuple[int, int], stored: Sequence[tuple[int, int]] = ()) -> list[str]:
    """What is wrong with two jobs that fire at 1,000 and 2,000, with these starts besides, of which some are stored."""
    expected = [(job, fire) for job in (1, 2) for fire in (1_000, 2_000)]
    known = [*expected, *stored]
    rows = fires.Stored({one: [SUCCESS] for one in known}, dict.fromkeys(known, ("run", "")))
    return list(fires.wrong_fires([1, 2], fires.Span(1_000, 3_000, 1_000), Counter([*expected, *extra]), rows))


def test_a_start_that_nobody_expects_is_wrong(fires: ModuleType) -> None:
    assert judged(fires) == []
    for stray in ((1, 0), (1, 1_500), (2, 3_000)):
        (found,) = judged(fires, stray)
        assert found == f"not expected: job {stray[0]} at {stray[1]}: 1 starts, executions None, ledger None"
    assert "2 starts" in judged(fires, (1, 1_000))[0]


def test_a_fire_planned_before_the_jobs_were_stopped_counts_once(fires: ModuleType) -> None:
    assert judged(fires, (1, 3_000), stored=[(1, 3_000)]) == []
    assert "2 starts" in judged(fires, (1, 3_000), (1, 3_000), stored=[(1, 3_000)])[0]


@pytest.mark.parametrize(
    ("failed", "judged", "code"), [(False, True, 0), (True, True, 1), (True, False, 1), (False, False, 2)]
)
def test_a_bar_that_could_not_be_judged_is_no_success(fires: ModuleType, failed: bool, judged: bool, code: int) -> None:
    assert fires.exit_code(failed=failed, judged=judged) == code


def test_a_reference_that_cannot_be_measured_ends_with_not_judged(
    fires: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    precision = importlib.import_module("precision")

    def away(_count: int, _seconds: int) -> object:
        raise precision.NotMeasured("there is no redis-server")

    monkeypatch.setattr(precision, "taskiq_starts", away)
    monkeypatch.setattr(precision, "site", nullcontext)
    monkeypatch.setattr(precision, "measured", lambda _here, _load, _seconds: precision.Figures([1.0], [0.0], []))
    for arguments, code in ((["--only", "instant"], 2), (["--only", "spread"], 0), (["--no-reference"], 0), ([], 2)):
        monkeypatch.setattr(sys, "argv", ["precision", *arguments])
        assert precision.main() == code, arguments
        assert ("not judged" in capsys.readouterr().out) == (code == 2)
