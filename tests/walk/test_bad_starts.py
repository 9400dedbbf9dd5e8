"""Starts that must be refused: one clear line, an exit code, nothing half-written."""

import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

from orth.store.database import open_database
from orth.store.migrating import known_versions, upgrade
from tests.cli.running import orth, orth_from_nothing
from tests.servers.processes import free_port
from tests.walk.processes import SHORT, Process, Site, eventually

JOBS = Path(__file__).parent / "noting_jobs.py"


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("orth: ")]
    assert len(lines) == 1, done.stderr
    return lines[0]


@pytest.mark.parametrize("command", [("server",), ("executor", str(JOBS))])
def test_a_taken_port(command: tuple[str, ...], tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = orth_from_nothing(
            *command, "--listen", f"127.0.0.1:{port}", cwd=tmp_path, ORTH_SECURITY__ACCESS_TOKEN="t", NOTES="notes"
        )
    assert f"Port {port} on 127.0.0.1 is taken" in one_line(done)
    assert list((tmp_path / ".orth").glob("*")) == []


@pytest.mark.parametrize("command", [("server",), ("executor", str(JOBS))])
def test_an_unwritable_data_folder(command: tuple[str, ...], tmp_path: Path) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    done = orth(
        *command,
        *("--data-dir", str(blocked / "inner"), "--listen", "127.0.0.1:0"),
        cwd=tmp_path,
        ORTH_SECURITY__ACCESS_TOKEN="t",
        NOTES="notes",
    )
    assert "cannot be written" in one_line(done)


@pytest.mark.parametrize("command", [("server",), ("executor", str(JOBS))])
def test_beyond_loopback_without_a_credential(command: tuple[str, ...], tmp_path: Path) -> None:
    done = orth(*command, "--listen", "0.0.0.0:0", cwd=tmp_path, NOTES="notes")
    assert "access_token" in one_line(done) or "access token" in one_line(done)
    assert not (tmp_path / ".orth").exists()


@pytest.mark.parametrize("command", [("server",), ("executor", str(JOBS))])
@pytest.mark.parametrize(
    ("token", "says"), [("default_token", "everybody knows"), ("fifteen-letters", "shorter than 16")]
)
def test_beyond_loopback_with_a_token_that_is_guessed(
    command: tuple[str, ...], token: str, says: str, tmp_path: Path
) -> None:
    done = orth(*command, "--listen", "0.0.0.0:0", cwd=tmp_path, NOTES="notes", ORTH_SECURITY__ACCESS_TOKEN=token)
    line = one_line(done)
    assert says in line
    assert token not in line
    assert "openssl rand" in line
    assert not (tmp_path / ".orth").exists()


def test_a_second_coordinator_with_an_access_token_of_its_own(tmp_path: Path, postgres_url: str) -> None:
    upgrade(postgres_url)
    with Site(tmp_path, postgres_url) as site:
        site.coordinator("node-1")
        token = "another-token-than-theirs"
        done = orth(
            "server",
            *("--listen", "127.0.0.1:0", "--data-dir", str(tmp_path / "second")),
            cwd=tmp_path,
            **{**site.settings, "ORTH_SECURITY__ACCESS_TOKEN": token},
        )
        line = one_line(done)
    assert "another access token than the coordinators that run with this database (node-1)" in line
    assert "ORTH_SECURITY__ACCESS_TOKEN" in line
    assert token not in line


ANOTHER_TOKEN = "another-token-than-theirs"


def refused(process: Process) -> None:
    """It ends by itself, as one that is refused at its start."""
    assert process.popen.wait(30) == 1
    lines = [line for line in process.text().splitlines() if line.startswith("orth: ")]
    assert len(lines) == 1, process.text()
    assert "another access token than the coordinators that run with this database" in lines[0]
    assert ANOTHER_TOKEN not in process.text()


def test_of_two_coordinators_that_start_at_once_with_two_access_tokens_one_is_refused(
    tmp_path: Path, store_url: str
) -> None:
    upgrade(store_url)
    with Site(tmp_path, store_url) as site:
        ports = (site.port, free_port())
        both = [
            site.coordinator("one", port=ports[0], ready=False),
            site.coordinator("two", port=ports[1], ready=False, ORTH_SECURITY__ACCESS_TOKEN=ANOTHER_TOKEN),
        ]
        ended = eventually(lambda: [one for one in both if not one.alive()], what="one of them is refused")
        refused(ended[0])
        left = both.index(next(one for one in both if one is not ended[0]))
        eventually(lambda: Site.answers(both[left], f"http://127.0.0.1:{ports[left]}/health/ready"))


def test_a_coordinator_that_was_frozen_stops_when_the_access_token_was_changed_meanwhile(
    tmp_path: Path, postgres_url: str
) -> None:
    upgrade(postgres_url)
    soon = {"ORTH_CLUSTER__HEARTBEAT": "300ms", "ORTH_CLUSTER__DEAD_AFTER": "1s"}
    with Site(tmp_path, postgres_url, **SHORT, **soon) as site:
        frozen = site.coordinator("one")
        frozen.popen.send_signal(signal.SIGSTOP)
        time.sleep(3)  # others count it for twice the time after which it is dead
        second = site.coordinator("two", port=free_port(), ORTH_SECURITY__ACCESS_TOKEN=ANOTHER_TOKEN)
        frozen.popen.send_signal(signal.SIGCONT)
        refused(frozen)
        assert second.alive()


def test_a_user_for_scripts_who_is_not_there(tmp_path: Path) -> None:
    done = orth(
        *("executor", str(JOBS), "--listen", "127.0.0.1:0"),
        cwd=tmp_path,
        ORTH_SECURITY__ACCESS_TOKEN="t",
        ORTH_EXECUTOR__SCRIPT_USER="somebody-else",
        NOTES="notes",
    )
    assert "There is no user somebody-else here" in one_line(done)


def test_a_redis_of_others_without_a_password(tmp_path: Path) -> None:
    """A77."""
    url = "redis://10.255.255.1:6379/0"
    done = orth("server", "--listen", "127.0.0.1:0", "--channels", url, cwd=tmp_path, ORTH_SECURITY__ACCESS_TOKEN="t")
    assert "without a password" in one_line(done)
    assert not (tmp_path / ".orth").exists()


def test_an_unknown_setting(tmp_path: Path) -> None:
    (tmp_path / "orth.toml").write_text('[coordinator]\nlisen = "127.0.0.1:0"\n')
    line = one_line(orth("server", cwd=tmp_path))
    assert "coordinator.lisen" in line
    assert "coordinator.listen" in line
    done = orth("server", cwd=tmp_path / "..", ORTH_COORDINATOR__LISEN="127.0.0.1:0")
    assert "ORTH_COORDINATOR__LISTEN" in one_line(done) or "coordinator.listen" in one_line(done)


def test_a_schema_from_a_newer_version(store_url: str, tmp_path: Path) -> None:
    upgrade(store_url)
    with open_database(store_url) as db, db.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE orth_schema_version SET version_num = '9999'")
    done = orth("server", "--store", store_url, "--listen", "127.0.0.1:0", cwd=tmp_path)
    line = one_line(done)
    assert "schema version 9999" in line
    assert "newer orth" in line


def test_an_older_schema_asks_for_an_upgrade(postgres_url: str, tmp_path: Path) -> None:
    done = orth("server", "--store", postgres_url, "--listen", "127.0.0.1:0", cwd=tmp_path)
    assert "orth db upgrade" in one_line(done)
    upgraded = orth("db", "upgrade", "--store", postgres_url, cwd=tmp_path)
    assert (upgraded.returncode, known_versions()[-1] in upgraded.stdout) == (0, True)


def test_a_database_that_is_not_there(tmp_path: Path) -> None:
    for store in ("postgresql://nobody@127.0.0.1:1/none", "mysql://nobody@127.0.0.1:1/none"):
        for command in (("server", "--listen", "127.0.0.1:0"), ("db", "status"), ("db", "upgrade")):
            done = orth(*command, "--store", store, cwd=tmp_path)
            assert "The database cannot be opened: 127.0.0.1:1 refused the connection." in one_line(done)
            assert done.returncode == 6, command


def test_the_same_node_twice_on_one_database(tmp_path: Path) -> None:

    with Site(tmp_path) as site:
        site.coordinator("twin")
        done = orth(
            *("server", "--listen", "127.0.0.1:0", "--node-id", "twin", "--data-dir", str(tmp_path / "coordinator")),
            cwd=tmp_path,
        )
        assert "already runs on this database" in one_line(done)


def test_an_executor_without_a_file_or_an_app(tmp_path: Path) -> None:
    assert "nothing.py" in one_line(orth("executor", "nothing.py", cwd=tmp_path, ORTH_SECURITY__ACCESS_TOKEN="t"))
    (tmp_path / "empty.py").write_text("x = 1\n")
    line = one_line(orth("executor", "empty.py", cwd=tmp_path, ORTH_SECURITY__ACCESS_TOKEN="t"))
    assert "Executor" in line


def test_a_role_there_is_not(tmp_path: Path) -> None:
    line = one_line(orth("server", "--roles", "cook", "--listen", "127.0.0.1:0", cwd=tmp_path))
    assert "'coordinator', 'registry' or 'console'" in line
    assert not (tmp_path / ".orth").exists()


def test_a_lease_in_redis_without_a_redis(tmp_path: Path) -> None:
    done = orth("server", "--listen", "127.0.0.1:0", cwd=tmp_path, ORTH_CLUSTER__LEASE_PROVIDER="redis")
    assert "channels.url names no Redis" in one_line(done)


def test_a_database_file_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file where a folder should be")
    store = f"sqlite:///{tmp_path}/blocked/inner/orth.db"
    assert "cannot be opened" in one_line(orth("server", "--store", store, "--listen", "127.0.0.1:0", cwd=tmp_path))


def test_an_empty_access_token_file(tmp_path: Path) -> None:
    (tmp_path / ".orth").mkdir()
    (tmp_path / ".orth" / "access-token").touch()
    assert "is empty" in one_line(orth("server", "--listen", "127.0.0.1:0", cwd=tmp_path))


def test_what_a_coordinator_writes_only_its_owner_can_read(tmp_path: Path) -> None:
    from tests.walk.processes import Site

    with Site(tmp_path, ORTH_SECURITY__ACCESS_TOKEN="") as site:
        site.coordinator()
        folder = tmp_path / "coordinator"
        assert folder.stat().st_mode & 0o077 == 0
        kept = {path.name: path.stat().st_mode & 0o077 for path in folder.iterdir()}
        assert kept.keys() >= {"orth.db", "access-token"}
        assert set(kept.values()) == {0}
