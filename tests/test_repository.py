"""The repository itself: nothing in it belongs to one machine, and its tools do what they say."""

import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).parents[1]
LARGEST_FILE = 400 * 1024

# ``me`` is nobody's name: examples of output may use that home.
MACHINE_PATH = re.compile(r"(?<![\w.:-])/(?:work|root|home|Users)/(?!me/)[A-Za-z0-9_.]")
PACKAGE_REGISTRY = re.compile(
    r"files\.pythonhosted\.org|registry\.npmjs\.org|registry\.yarnpkg\.com"
    r"|(?:artifactory|jfrog|nexus|verdaccio|devpi)[\w-]*\.\w"
    r"|//[^/\s]+/(?:simple|pypi|npm)/"
)


def repository_files() -> Iterator[Path]:
    """Every file that is, or would be, in git: without git, so that an unpacked archive is checked as well."""
    ignored = {line.strip().rstrip("/") for line in (REPOSITORY / ".gitignore").read_text().splitlines()} | {".git"}
    for folder, names, files in os.walk(REPOSITORY):
        here = Path(folder).relative_to(REPOSITORY)
        names[:] = [name for name in names if name not in ignored and (here / name).as_posix() not in ignored]
        yield from (here / file for file in files if file not in ignored and f"*{Path(file).suffix}" not in ignored)


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    """Where a pattern occurs, as ``path:line: text``."""
    found = []
    for path in repository_files():
        text = (REPOSITORY / path).read_text(errors="replace")
        found += [f"{path}:{n}: {line}" for n, line in enumerate(text.splitlines(), 1) if pattern.search(line)]
    return found


def test_the_files_looked_at_are_those_of_the_repository() -> None:
    files = {path.as_posix() for path in repository_files()}
    assert {"Makefile", ".ci/run", ".gitignore", "src/orth/clock.py", "tests/test_repository.py"} <= files
    assert not any(".venv" in path or "__pycache__" in path or path.startswith(".git/") for path in files)


def test_no_file_names_a_folder_of_somebody_s_machine() -> None:
    assert lines_with(MACHINE_PATH) == []


def test_no_file_names_where_packages_were_downloaded_from() -> None:
    assert lines_with(PACKAGE_REGISTRY) == []


@pytest.mark.parametrize("parts", [("", "home", "somebody", "orth"), ("", "root", "x"), ("see", "home", "x")])
def test_machine_paths_are_recognised(parts: tuple[str, ...]) -> None:
    assert bool(MACHINE_PATH.search("at " + "/".join(parts))) == (parts[0] == "")


def test_package_registries_are_recognised() -> None:
    assert PACKAGE_REGISTRY.search("https://files.{}.org/a.whl".format("pythonhosted"))
    assert PACKAGE_REGISTRY.search("https://mirror/{}/orth/".format("simple"))
    assert not PACKAGE_REGISTRY.search("https://pypi.org/project/orth")


def test_no_file_is_large() -> None:
    large = [str(path) for path in repository_files() if (REPOSITORY / path).stat().st_size > LARGEST_FILE]
    assert large == []


def test_the_changelog_has_an_unreleased_section_with_content() -> None:
    text = (REPOSITORY / "CHANGELOG.md").read_text()
    section = re.search(r"^## Unreleased\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert re.search(r"^- \w", section[1], re.MULTILINE)


def test_the_licence_is_apache_2() -> None:
    text = (REPOSITORY / "LICENSE").read_text()
    assert "Apache License\n                           Version 2.0" in text
    assert "END OF TERMS AND CONDITIONS" in text


# --- versions ---


def constraints() -> dict[str, str]:
    lines = (REPOSITORY / "constraints.txt").read_text().splitlines()
    return dict(line.split("==") for line in lines if not line.startswith("#"))


def test_constraints_are_versions_and_nothing_else() -> None:
    lines = [line for line in (REPOSITORY / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9a-z.]*", line)] == []
    names = [canonicalize_name(line.split("==")[0]) for line in lines]
    assert names == sorted(set(names))


def requirements(project: dict[str, Any]) -> list[Requirement]:
    lists = [
        project["build-system"]["requires"],
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
    ]
    return [Requirement(text) for texts in lists for text in texts if not text.startswith("orth-scheduler[")]


def test_every_dependency_is_pinned_to_a_version_it_allows() -> None:
    pinned = {canonicalize_name(name): version for name, version in constraints().items()}
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())
    loose = [
        str(requirement)
        for requirement in requirements(project)
        if not requirement.specifier.contains(pinned.get(canonicalize_name(requirement.name), "0"), prereleases=True)
    ]
    assert loose == []


# --- commands ---


def test_every_make_target_is_explained() -> None:
    text = (REPOSITORY / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.+)$", text, re.MULTILINE)
    assert phony is not None
    targets = set(phony[1].split())
    assert {"install", "up", "test", "lint", "bench", "faults", "console", "clean", "help"} <= targets
    listed = subprocess.run(["make", "help"], cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"make ([\w-]+) +\S", listed)) == targets


@pytest.mark.parametrize("script", [".ci/run", *sorted(f"tools/{p.name}" for p in (REPOSITORY / "tools").glob("*.sh"))])
def test_scripts_are_executable_and_parse(script: str) -> None:
    assert os.access(REPOSITORY / script, os.X_OK)
    subprocess.run(["sh", "-n", script], cwd=REPOSITORY, check=True)


@pytest.fixture
def commands(tmp_path: Path) -> Path:
    """A folder to be put first on PATH, with commands that pretend."""
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def pretend(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


def run_tool(commands: Path, *command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    path = f"{commands}:{os.environ['PATH']}"
    clean = {key: value for key, value in os.environ.items() if key not in ("CI", "PYTHON")}
    return subprocess.run(
        command, cwd=REPOSITORY, env={**clean, "PATH": path, **environment}, capture_output=True, text=True, check=False
    )


def test_an_old_python_is_refused_with_what_was_found(commands: Path, tmp_path: Path) -> None:
    old = pretend(commands, "python3.9", 'if [ "$1" = --version ]; then echo Python 3.9.2; else exit 1; fi')
    result = run_tool(commands, "tools/python_environment.sh", str(tmp_path / "venv"), PYTHON=str(old))
    assert result.returncode == 1
    assert "needs Python 3.11 or newer" in result.stderr
    assert "python3.9: Python 3.9.2" in result.stderr
    assert not (tmp_path / "venv").exists()


def test_installed_servers_need_no_word(commands: Path) -> None:
    python = pretend(commands, "pretended-python", "exit 0")
    result = run_tool(commands, "tools/system_packages.sh", str(python), CI="true")
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_without_root_missing_servers_are_named_and_fail_only_in_ci(commands: Path, ci: str, code: int) -> None:
    pretend(commands, "id", "echo 1000")
    python = pretend(commands, "pretended-python", "echo postgresql; echo redis-server")
    result = run_tool(commands, "tools/system_packages.sh", str(python), CI=ci)
    assert result.returncode == code
    assert "apt-get install --no-install-recommends postgresql redis-server" in result.stderr
    assert ("will be skipped" in result.stderr) == (code == 0)


@pytest.mark.parametrize("program", sorted((REPOSITORY / "bench").glob("[a-z]*.py")), ids=lambda one: one.stem)
def test_a_benchmark_needs_no_test_runner(program: Path) -> None:
    """What it shares with tests is not a test."""
    without = (
        "import runpy, sys; sys.modules['pytest'] = None; sys.argv = [sys.argv[1], '--help'];"
        f"sys.path[:0] = [{str(REPOSITORY / 'bench')!r}, {str(REPOSITORY)!r}];"
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    asked = subprocess.run(
        [sys.executable, "-c", without, str(program)], capture_output=True, text=True, timeout=60, cwd=REPOSITORY
    )
    assert (asked.returncode, asked.stdout[:6]) == (0, "usage:"), asked.stderr[-2000:]
