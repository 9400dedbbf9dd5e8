"""Finding the servers' programs, and what a test does without them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import binaries
from tests.servers.binaries import MissingProgramError, find_program, missing_packages

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture
def empty_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any server: its PATH and its usual places are empty folders."""
    (tmp_path / "path").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(binaries, "PLACES", (f"{tmp_path}/lib/*/bin",))
    return tmp_path


def install(folder: Path, program: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / program
    path.touch(mode=0o755)
    return path


def test_the_path_comes_before_the_usual_places(empty_machine: Path) -> None:
    usual = install(empty_machine / "lib/15/bin", "initdb")
    assert find_program("initdb") == usual
    on_path = install(empty_machine / "path", "initdb")
    assert find_program("initdb") == on_path


def test_the_newest_version_is_chosen(empty_machine: Path) -> None:
    for version in ("9.6", "15", "17"):
        install(empty_machine / f"lib/{version}/bin", "initdb")
    assert find_program("initdb") == empty_machine / "lib/17/bin/initdb"


def test_a_program_that_may_not_be_run_does_not_count(empty_machine: Path) -> None:
    install(empty_machine / "lib/15/bin", "initdb").chmod(0o644)
    with pytest.raises(MissingProgramError, match="package postgresql"):
        find_program("initdb")


def test_missing_packages_are_those_with_any_program_missing(empty_machine: Path) -> None:
    everything = [
        "chromium-headless-shell",
        "iproute2",
        "mariadb-server",
        "nodejs",
        "openssl",
        "php-cli",
        "postgresql",
        "redis-server",
        "tmux",
    ]
    assert missing_packages() == everything
    install(empty_machine / "path", "redis-server")
    install(empty_machine / "path", "mariadbd")
    assert missing_packages() == [
        "chromium-headless-shell",
        "iproute2",
        "mariadb-server",
        "nodejs",
        "openssl",
        "php-cli",
        "postgresql",
        "tmux",
    ]


@pytest.mark.parametrize(("ci", "outcome"), [("true", "3 errors"), ("", "3 skipped")])
def test_without_servers_tests_fail_in_ci_and_are_skipped_elsewhere(tmp_path: Path, ci: str, outcome: str) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tests.conftest import *\nfrom tests.servers import binaries\nbinaries.PLACES = ()\n"
    )
    (tmp_path / "test_inner.py").write_text(
        "def test_p(postgres_url): pass\ndef test_m(mariadb_url): pass\ndef test_r(redis_url): pass\n"
    )
    result = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rsE", "-p", "no:cacheprovider", "-p", "no:asyncio", str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PATH": "", "CI": ci, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome in result.stdout.splitlines()[-1]
    for package in ("postgresql", "mariadb-server", "redis-server"):
        assert f"Install the package {package}" in result.stdout
