"""The list of third-party software is that of what is declared and installed; looking for vulnerabilities says what it
could not do.
"""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tools.licences import EXTRAS, normal_name, rows
from tools.vulnerabilities import FOUND, NOT_ASKED, judged

ROOT = Path(__file__).parents[1]


def listed() -> dict[str, tuple[str, str]]:
    page = (ROOT / "docs" / "third-party.md").read_text()
    found = re.findall(r"^\| ([a-z0-9-]+) \| (\S+) \| (.+) \|$", page, re.MULTILINE)
    return {name: (version, licence) for name, version, licence in found if name not in ("package", "---")}


def test_every_declared_dependency_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [text for extra in EXTRAS for text in project["optional-dependencies"][extra]]
    declared = {normal_name(Requirement(text).name) for text in (*project["dependencies"], *extras)}
    assert declared - listed().keys() == set(), "run: python tools/licences.py > docs/third-party.md"


def test_packages_and_licences_are_those_that_are_installed() -> None:
    installed = {name: licence for name, _version, licence in rows()}
    assert {name: licence for name, (_version, licence) in listed().items()} == installed
    assert "not stated" not in installed.values()


@pytest.mark.parametrize(
    ("packages", "code", "told"),
    [
        ([{"name": "a", "skip_reason": "not found"}], NOT_ASKED, "none of 1 packages could be looked up"),
        ([{"name": "a", "version": "1", "vulns": []}], 0, "1 of 1 packages looked up, 0 with known"),
        (
            [{"name": "a", "version": "1", "vulns": [{"id": "CVE-1", "fix_versions": ["2"]}]}],
            FOUND,
            "a 1: CVE-1, mended in 2",
        ),
    ],
)
def test_what_pip_audit_says_is_told(
    capsys: pytest.CaptureFixture[str], packages: list[dict[str, object]], code: int, told: str
) -> None:
    assert judged(packages) == code
    assert told in capsys.readouterr().out
