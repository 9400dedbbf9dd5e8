"""The list of third-party software is that of what is declared and installed; looking for vulnerabilities says what it
could not do.
"""

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from tools.console_licences import name_of, notices, shipped
from tools.licences import EXTRAS, normal_name, rows
from tools.vulnerabilities import FOUND, NOT_ASKED, judged

ROOT = Path(__file__).parents[1]
PERMISSIVE = {"MIT", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "Unlicense"}


def read_rows(page: str) -> list[tuple[str, str, str]]:
    found = re.findall(r"^\| ([a-z0-9@/._-]+) \| (\S+) \| (.+) \|$", page, re.MULTILINE)
    return [row for row in found if row[0] not in ("package", "---")]


def listed() -> dict[str, tuple[str, str]]:
    page = (ROOT / "docs" / "third-party.md").read_text().partition("## In the console")[0]
    return {name: (version, licence) for name, version, licence in read_rows(page)}


def listed_of_console() -> list[tuple[str, str, str]]:
    return read_rows((ROOT / "docs" / "third-party.md").read_text().partition("## In the console")[2])


def test_every_declared_dependency_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = [text for extra in EXTRAS for text in project["optional-dependencies"][extra]]
    declared = {normal_name(Requirement(text).name) for text in (*project["dependencies"], *extras)}
    assert declared - listed().keys() == set(), "run: python tools/licences.py > docs/third-party.md"


def test_packages_and_licences_are_those_that_are_installed() -> None:
    installed = {name: licence for name, _version, licence in rows()}
    assert {name: licence for name, (_version, licence) in listed().items()} == installed
    assert "not stated" not in installed.values()


def test_what_is_in_the_console_is_listed() -> None:
    """By what is pinned, so that it holds also where nothing of it is installed."""
    shown = {(name, version) for name, version, _licence in listed_of_console()}
    pinned = {(name_of(folder), version) for folder, version in shipped().items()}
    assert shown == pinned, "run: make console, then python tools/licences.py > docs/third-party.md"
    named = json.loads((ROOT / "console" / "package.json").read_text())
    assert set(named["dependencies"]) <= {name for name, _version in shown}
    assert not set(named["devDependencies"]) & {name for name, _version in shown}, "what only builds it is not in it"


def test_what_is_in_the_console_may_be_passed_on() -> None:
    assert {licence for _name, _version, licence in listed_of_console()} <= PERMISSIVE


@pytest.fixture
def small_console(tmp_path: Path) -> tuple[Path, Path]:
    """Two packages, one of them with notices, and one that only builds."""
    packages = {
        "": {"name": "console"},
        "node_modules/@a/one": {"version": "1.0.0"},
        "node_modules/@a/one/node_modules/two": {"version": "2.0.0"},
        "node_modules/builder": {"version": "3.0.0", "dev": True},
    }
    pinned = tmp_path / "npm.json"
    pinned.write_text(json.dumps({"packages": packages}))
    for folder, licence in (("node_modules/@a/one", "MIT"), ("node_modules/@a/one/node_modules/two", {"type": "ISC"})):
        (tmp_path / folder).mkdir(parents=True)
        said = {"name": name_of(folder), "version": packages[folder]["version"], "license": licence, "author": "Ann"}
        (tmp_path / folder / "package.json").write_text(json.dumps(said))
    (tmp_path / "node_modules/@a/one/LICENSE.md").write_text("Copyright (c) One. Permission is granted.")
    (tmp_path / "node_modules/@a/one/NOTICE").write_text("One contains a half.")
    return tmp_path, pinned


def test_notices_name_every_package_and_pass_on_its_words(small_console: tuple[Path, Path]) -> None:
    written = notices(*small_console)
    for words in ("@a/one 1.0.0", "MIT", "Permission is granted.", "contains a half", "two 2.0.0", "ISC", "Ann"):
        assert words in written
    assert "builder" not in written


def test_notices_are_never_of_another_version(small_console: tuple[Path, Path]) -> None:
    installed, pinned = small_console
    pinned.write_text(pinned.read_text().replace("1.0.0", "1.0.1"))
    with pytest.raises(SystemExit, match=r"1\.0\.1 is pinned"):
        notices(installed, pinned)


def test_the_built_console_has_the_notices() -> None:
    """What is there is in the wheel: ``tool.hatch.build`` takes the folder as it is."""
    written = (ROOT / "src/orth/coordinator/http/console/third-party-notices.txt").read_text()
    assert all(f"\n{name_of(folder)} {version}\n" in written for folder, version in shipped().items())


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
