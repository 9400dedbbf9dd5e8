import sys
from pathlib import Path

import pytest

from orth.doctor import State
from orth.doctor.package import judge_package, look_at_console, look_at_package
from tests.doctor.places import case_of


def test_the_other_project_called_orth_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = tmp_path / "orth-0.1.2.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: orth\nVersion: 0.1.2\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    (verdict,) = look_at_package(case_of(), "")
    assert verdict.state is State.WARN
    assert "orth 0.1.2" in verdict.what
    assert f"{sys.executable} -m pip uninstall orth" in verdict.next


@pytest.mark.parametrize("own", ["0.1.0", None])
def test_an_environment_without_the_other_project_is_fine(own: str | None) -> None:
    assert judge_package(own, None).state is State.OK


@pytest.mark.parametrize(("built", "state"), [(True, State.OK), (False, State.WARN)])
def test_a_missing_console_is_a_warning(built: bool, state: State, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("orth.doctor.package.console_trouble", lambda _folder: None if built else "It is not built.")
    (verdict,) = look_at_console(case_of(), "")
    assert verdict.state is state
    assert ("make console" in verdict.next) is not built
