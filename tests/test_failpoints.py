"""Failpoints: known names, exact visits, and nothing at all when off."""

import re
import subprocess
import sys
import timeit
from pathlib import Path

import pytest

from orth import failpoints
from orth.failpoints import POINTS, FailpointHit


@pytest.fixture(autouse=True)
def _disarmed() -> None:
    failpoints.disarm()


def test_unknown_names_and_actions_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown failpoint"):
        failpoints.arm("nowhere", "kill")
    with pytest.raises(ValueError, match="unknown failpoint action"):
        failpoints.arm("due.planned", "explode")
    with pytest.raises(ValueError, match="unknown failpoint"):
        failpoints.hit("nowhere")


def test_the_nth_visit_counts() -> None:
    failpoints.arm_from("due.planned=raise@3; due.written=raise")
    failpoints.hit("due.planned")
    failpoints.hit("due.planned")
    with pytest.raises(FailpointHit):
        failpoints.hit("due.planned")
    failpoints.hit("due.planned")
    assert list(failpoints.armed) == ["due.written"]


def test_kill_is_a_kill() -> None:
    code = "from orth import failpoints as f; f.arm('due.planned', 'kill'); f.hit('due.planned'); print('alive')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (-9, "")


def test_every_point_stands_in_the_code_once_and_every_hit_is_guarded() -> None:
    source = Path(failpoints.__file__).parent
    hits: list[str] = []
    for file in source.rglob("*.py"):
        text = file.read_text()
        for match in re.finditer(r'failpoints\.hit\("([a-z.]+)"\)', text):
            if file.name == "failpoints.py":
                continue
            hits.append(match.group(1))
            before = text[: match.start()].rstrip().splitlines()[-1]
            assert "if failpoints.armed" in before, f"{file.name}: {match.group(1)} is not guarded"
    assert sorted(hits) == sorted(POINTS)


def test_off_costs_next_to_nothing() -> None:
    """The guard is an attribute look-up: far below a microsecond, whatever the machine."""
    guard = "if failpoints.armed:\n    failpoints.hit('due.planned')"
    spent = min(timeit.repeat(guard, "from orth import failpoints", number=10_000, repeat=5)) / 10_000
    assert spent < 1e-6
