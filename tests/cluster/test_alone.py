"""Lock files that prove a coordinator alive or dead."""

import subprocess
import sys
from pathlib import Path

import pytest

from orth.cluster.alone import AliveLocks
from orth.errors import CannotStart

HOLD = """
import sys
from pathlib import Path
from orth.cluster.alone import AliveLocks
AliveLocks(Path(sys.argv[1])).hold("other")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_living_process_is_not_dead_and_a_killed_one_is(tmp_path: Path) -> None:
    database = tmp_path / "orth.db"
    locks = AliveLocks(database)
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        assert not locks.is_dead("other")
        with pytest.raises(CannotStart, match="already runs on this database"):
            locks.hold("other")
        other.kill()
        other.wait(10)
    assert locks.is_dead("other")
    locks.hold("other")


def test_our_own_predecessor_is_dead_and_nobody_is_nobody(tmp_path: Path) -> None:
    locks = AliveLocks(tmp_path / "orth.db")
    locks.hold("me")
    assert locks.is_dead("me")
    assert not locks.is_dead(None)
    locks.release()


def test_names_cannot_leave_the_folder(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    AliveLocks(inner / "orth.db").hold("../../escape")
    assert [path.name for path in tmp_path.iterdir()] == ["inner"]
