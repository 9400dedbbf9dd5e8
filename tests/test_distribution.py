"""Orth is installed under its own name, and no hint names the other project that is called orth."""

import re
import shlex
import sys
import tomllib
from pathlib import Path

import pytest

from orth import distribution
from orth.distribution import DISTRIBUTION, console_remedy, console_trouble, install_command, lacking_console
from tests.test_repository import REPOSITORY, lines_with

OTHER_PROJECT = re.compile(
    r"\borth"
    r"\[[a-z]|\b(?:pip3?|uv|pipx|poetry)\b[^\n]{0,80}\b(?:install|add|run|inject)\b[^\n]{0,80}['\" ]"
    r"orth(?![\w./-])"
)


def project() -> dict[str, object]:
    section = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert isinstance(section, dict)
    return section


def test_the_distribution_has_the_name_that_hints_give() -> None:
    assert project()["name"] == DISTRIBUTION
    assert project()["scripts"] == {"orth": "orth.cli:main", DISTRIBUTION: "orth.cli:main"}


def extras() -> dict[str, list[str]]:
    found = project()["optional-dependencies"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("extra", sorted(set(extras()) - {"all"}))
def test_a_hint_installs_what_the_part_needs_into_the_environment_of_the_process(
    extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in ("installed", "in the path alone"):
        python, *words = shlex.split(install_command(extra))
        assert (python, words[:3]) == (sys.executable, ["-m", "pip", "install"])
        names = [re.split(r"[<>=]", word)[0] for word in words[3:]]
        assert names
        assert sorted(names) == sorted(re.split(r"[<>=]", text)[0] for text in extras()[extra])
        assert not any(name.startswith("orth") for name in names)
        monkeypatch.setattr(distribution, "DISTRIBUTION", "a-distribution-that-is-not-there")


def test_every_extra_is_part_of_all() -> None:
    names = [name for name in extras() if name != "all"]
    assert extras()["all"] == [f"{DISTRIBUTION}[{','.join(names)}]"]


@pytest.mark.parametrize(
    ("files", "trouble"),
    [
        ({}, "The console is not built."),
        ({"index.html": "<html></html>"}, "The console is incomplete: its code is missing."),
        ({"index.html": '<base href="./"><script src="./a/b.js">'}, "The console is incomplete: a/b.js is missing."),
        ({"index.html": '<script src="a/b.js">', "a/b.js": "1"}, None),
        ({"index.html": '<a href="https://example.org"><script src="./b.js">', "b.js": "1"}, None),
    ],
)
def test_a_console_has_every_file_that_its_page_names(
    tmp_path: Path, files: dict[str, str], trouble: str | None
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert console_trouble(tmp_path) == trouble


def test_an_installed_package_is_not_told_to_build_the_console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert (lacking_console(), console_remedy()) == ("not built: make console", "Run: make console")
    monkeypatch.setattr(distribution, "_SOURCE", tmp_path)
    assert lacking_console() == "not in this installation"
    assert console_remedy() == "Install a distribution of Orth that contains it"


def test_no_file_names_the_other_project_as_something_to_install() -> None:
    assert lines_with(OTHER_PROJECT) == []


@pytest.mark.parametrize("name", ["orth", "orth{}server]".format("[")])
def test_the_other_project_is_recognised(name: str) -> None:
    assert OTHER_PROJECT.search(f"{'pip'} install {name}")
    assert OTHER_PROJECT.search(f"{'uv'} pip install '{name}'")
    assert not OTHER_PROJECT.search(f"{'pip'} install '{DISTRIBUTION}[server]'")
