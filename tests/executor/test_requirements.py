"""What Python scripts declare that they need, before they run."""

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from orth.executor.requirements import check_installed
from tests.executor.conftest import MakeRig

MISSING = "no-such-distribution>=1"


def needing(*requirements: str) -> dict[str, Any]:
    source = f"# /// script\n# dependencies = {list(requirements)}\n# ///\nprint('it ran')\n"
    return {"glue_type": "GLUE_PYTHON", "glue_source": source, "glue_updatetime": 1}


def test_what_is_there_is_no_trouble() -> None:
    assert check_installed([]) is None
    assert (
        check_installed(["pydantic>=2", "Pydantic_Core", "uvicorn[standard]", "click @ https://example.org/c.whl"])
        is None
    )


def test_what_is_missing_is_named_with_the_command() -> None:
    told = check_installed(["pydantic>=2", MISSING, "pydantic<1"])
    assert told is not None
    assert f"{MISSING}, pydantic<1 (2." in told
    assert told.endswith(f"{sys.executable} -m pip install {shlex.join([MISSING, 'pydantic<1'])}")


def test_what_is_not_wanted_here_is_not_missed() -> None:
    assert check_installed([f"{MISSING}; python_version < '3'"]) is None
    assert check_installed([f"{MISSING}; python_version > '3'"]) is not None
    assert check_installed([f"{MISSING}; something == 'else'"]) is None


def test_without_packaging_only_names_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "packaging.requirements", None)
    assert check_installed(["pydantic<1", f"{MISSING}; python_version > '3'"]) is None
    assert check_installed([MISSING]) is not None


def test_a_script_whose_requirements_are_missing_does_not_run(rig: MakeRig) -> None:
    ran = rig(scripts=("python",))
    item = ran.result(1, "", **needing("pydantic", MISSING))
    assert item.handle_code == 500
    assert item.handle_msg.startswith("The script needs what is not installed")
    assert "it ran" not in ran.text(1)
    assert ran.result(2, "", **needing("pydantic"), job_id=2).handle_code == 200
    assert "it ran" in ran.text(2)


def test_nobody_knows_what_another_interpreter_has(rig: MakeRig) -> None:
    ran = rig(scripts=("python",), python=Path(sys.executable))
    assert ran.result(1, "", **needing(MISSING)).handle_code == 200
