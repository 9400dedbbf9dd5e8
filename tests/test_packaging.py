"""Every way to build a distribution contains the console, or fails with a sentence.

The hooks of PEP 517 are called, as pip and ``python -m build`` do.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.test_repository import REPOSITORY

PAGE = """<!doctype html><html><head><base href="./"><link rel="icon" href="./orth.svg">
<script type="module" crossorigin src="./assets/app.js" nonce="x"></script></head></html>"""
CONSOLE = Path("src/orth/coordinator/http/console")
FILES = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A fresh clone, as far as a build looks at it."""
    folder = tmp_path / "tree"
    folder.mkdir()
    for name in FILES:
        shutil.copy(REPOSITORY / name, folder / name)
    code = folder / "src/orth"
    for name in ("__init__.py", "version.py", "distribution.py", "py.typed", "coordinator/http/__init__.py"):
        (code / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / "src/orth" / name, code / name)
    return folder


def build(tree: Path, hook: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    program = f"from hatchling import build; print(build.{hook}('dist'))"
    clean = {key: value for key, value in os.environ.items() if key != "ORTH_BUILD_HEADLESS"}
    return subprocess.run(
        [sys.executable, "-c", program], cwd=tree, env={**clean, **environment}, capture_output=True, text=True
    )


def made(tree: Path, result: "subprocess.CompletedProcess[str]") -> Path:
    assert result.returncode == 0, result.stderr
    return tree / "dist" / result.stdout.split()[-1]


def build_console(tree: Path) -> None:
    (tree / CONSOLE / "assets").mkdir(parents=True)
    (tree / CONSOLE / "index.html").write_text(PAGE)
    (tree / CONSOLE / "assets/app.js").write_text("1")
    (tree / CONSOLE / "orth.svg").write_text("<svg/>")


def unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as files:
        return set(files.namelist())


IN_WHEEL = {"orth/coordinator/http/console/index.html", "orth/coordinator/http/console/assets/app.js"}


def test_a_wheel_from_the_tree_contains_the_console(tree: Path) -> None:
    build_console(tree)
    assert names(made(tree, build(tree, "build_wheel"))) >= IN_WHEEL


def test_a_wheel_from_the_sdist_contains_the_console(tree: Path, tmp_path: Path) -> None:
    build_console(tree)
    source = unpacked(made(tree, build(tree, "build_sdist")), tmp_path)
    assert names(made(source, build(source, "build_wheel"))) >= IN_WHEEL


@pytest.mark.parametrize("hook", ["build_wheel", "build_sdist"])
def test_without_the_console_a_build_fails_with_a_sentence(tree: Path, hook: str) -> None:
    refused = build(tree, hook)
    assert refused.returncode != 0
    told = refused.stdout + refused.stderr
    assert "The console is not built. Run: make console." in told
    assert "ORTH_BUILD_HEADLESS=1" in told
    assert "Traceback" not in told
    assert not list((tree / "dist").glob("*")) if (tree / "dist").exists() else True


@pytest.mark.parametrize(
    ("page", "trouble"),
    [
        (PAGE, "The console is incomplete: assets/app.js is missing. Run: make console."),
        ("<!doctype html>", "The console is incomplete: its code is missing. Run: make console."),
    ],
)
def test_an_incomplete_console_is_no_console(tree: Path, page: str, trouble: str) -> None:
    build_console(tree)
    (tree / CONSOLE / "index.html").write_text(page)
    (tree / CONSOLE / "assets/app.js").unlink()
    refused = build(tree, "build_wheel")
    assert refused.returncode != 0
    assert trouble in refused.stdout + refused.stderr


def test_a_headless_build_is_asked_for(tree: Path, tmp_path: Path) -> None:
    source = unpacked(made(tree, build(tree, "build_sdist", ORTH_BUILD_HEADLESS="1")), tmp_path)
    wheel = made(source, build(source, "build_wheel", ORTH_BUILD_HEADLESS="1"))
    assert "orth/version.py" in names(wheel)
    assert not names(wheel) & IN_WHEEL


def test_an_editable_installation_needs_no_console(tree: Path) -> None:
    made(tree, build(tree, "build_editable"))
