import resource
import subprocess
import sys
from pathlib import Path

import click
import pytest

from orth.cli.frame import ALIASES, SUBCOMMANDS, orth
from orth.version import __version__
from tests.cli.conftest import Run
from tests.cli.running import environment
from tests.cli.running import orth_from_nothing as run_orth

HEAVY = ("pydantic", "fastapi", "starlette", "sqlalchemy", "uvicorn", "aiohttp", "asyncio", "rich", "alembic")
QUICK = 0.150

LOADED = """
import sys
from orth.cli import main
sys.argv = ["orth", *sys.argv[1:]]
try:
    main()
except SystemExit:
    print(*sorted({name.partition(".")[0] for name in sys.modules}), file=sys.stderr)
"""


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["server", "--help"], ["db", "upgrade", "--help"]])
def test_help_loads_nothing_heavy(tmp_path: Path, arguments: list[str]) -> None:
    asked = subprocess.run(
        [sys.executable, "-c", LOADED, *arguments],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    loaded = asked.stderr.split()
    assert "click" in loaded
    assert not set(HEAVY) & set(loaded)


def test_every_kind_of_channels_is_named_where_they_are_chosen(tmp_path: Path) -> None:
    said = run_orth("server", "--help", cwd=tmp_path).stdout
    assert all(kind in said for kind in ("memory://", "database://", "redis://"))


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_help_answers_within_150_milliseconds(tmp_path: Path, argument: str) -> None:
    """Of processor time, which other work on the machine takes from nobody."""
    spans = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run_orth(argument, cwd=tmp_path).returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spans.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spans) < QUICK, spans


def test_the_version_is_told(tmp_path: Path) -> None:
    assert run_orth("--version", cwd=tmp_path).stdout == f"orth {__version__}\n"


def test_the_list_of_commands_says_what_each_command_says_of_itself(run: Run) -> None:
    listed = run("--help").output
    for name, subcommand in SUBCOMMANDS.items():
        command = orth.get_command(click.Context(orth), name)
        assert command is not None
        assert command.name == name
        assert command.get_short_help_str(limit=80).rstrip(".") == subcommand.summary.rstrip(".")
        assert subcommand.summary in listed


def test_an_alias_is_the_command_it_stands_for_and_is_not_listed(run: Run) -> None:
    context = click.Context(orth)
    for alias, name in ALIASES.items():
        assert orth.get_command(context, alias) is orth.get_command(context, name)
        assert f"  {alias}  " not in run("--help").output


def test_an_unknown_command_is_wrong_usage_with_a_guess(tmp_path: Path) -> None:
    asked = run_orth("sever", cwd=tmp_path)
    assert asked.returncode == 2
    assert asked.stderr.endswith("Error: No such command 'sever'. Did you mean 'server'?\n")
    assert "Did you mean" not in run_orth("xyzzy", cwd=tmp_path).stderr


def test_an_unknown_option_is_wrong_usage(tmp_path: Path) -> None:
    asked = run_orth("--no-such", cwd=tmp_path)
    assert asked.returncode == 2
    assert "No such option" in asked.stderr


def test_bad_settings_are_told_one_per_line_without_a_traceback(tmp_path: Path) -> None:
    asked = run_orth("server", "--listen", "nowhere", cwd=tmp_path, ORTH_STORE__ULR="x")
    assert asked.returncode == 2
    assert asked.stdout == ""
    assert asked.stderr.splitlines() == [
        "orth: unknown setting ORTH_STORE__ULR in the environment; did you mean ORTH_STORE__URL?",
        "orth: coordinator.listen = 'nowhere' (option --listen): 'nowhere' names no port. "
        "Write HOST:PORT, such as 127.0.0.1:5080.",
    ]


def test_a_traceback_is_for_those_who_ask(tmp_path: Path) -> None:
    asked = run_orth("config", "view", cwd=tmp_path, ORTH_NO__SUCH="x", ORTH_DEBUG="1")
    assert asked.returncode == 2
    assert "Traceback" in asked.stderr
    assert asked.stderr.endswith("orth: unknown setting ORTH_NO__SUCH in the environment\n")
