"""Orth is installed under its own name, and no hint names the other project that is called orth."""

import re
import shlex
import sys
import tomllib

import pytest

from orth.distribution import DISTRIBUTION, install_command, requirement
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


def test_a_hint_installs_into_the_environment_of_the_process() -> None:
    assert shlex.split(install_command("redis")) == [sys.executable, "-m", "pip", "install", "orth-scheduler[redis]"]


def test_every_extra_is_part_of_all() -> None:
    extras = project()["optional-dependencies"]
    assert isinstance(extras, dict)
    names = [name for name in extras if name != "all"]
    assert extras["all"] == [requirement(",".join(names))]


def test_no_file_names_the_other_project_as_something_to_install() -> None:
    assert lines_with(OTHER_PROJECT) == []


@pytest.mark.parametrize("name", ["orth", "orth{}server]".format("[")])
def test_the_other_project_is_recognised(name: str) -> None:
    assert OTHER_PROJECT.search(f"{'pip'} install {name}")
    assert OTHER_PROJECT.search(f"{'uv'} pip install '{name}'")
    assert not OTHER_PROJECT.search(f"{'pip'} install '{requirement('server')}'")
