"""``orth doctor``: against a real coordinator, and with everything wrong that people write."""

import json
import os
from pathlib import Path

import pytest

from orth.doctor import CHECKS
from tests.cli.conftest import Run
from tests.cli.running import orth
from tests.doctor.places import serving
from tests.walk.processes import PASSWORD, TOKEN, Site


def test_a_coordinator_that_is_well_and_what_stays_of_it_when_it_is_gone(tmp_path: Path) -> None:
    """Everything at once, in a process of its own, as people call it."""
    with Site(tmp_path) as site:
        coordinator = site.coordinator()
        token = site.api().call("POST", "/api/v1/auth/login", {"username": "admin", "password": PASSWORD})
        environ = {
            "ORTH_SERVER": site.url,
            "ORTH_TOKEN": str(token["access_token"]),
            "ORTH_SECURITY__ACCESS_TOKEN": TOKEN,
            "ORTH_COORDINATOR__LISTEN": f"127.0.0.1:{site.port}",
            "ORTH_COORDINATOR__DATA_DIR": str(tmp_path / "coordinator"),
            "ORTH_EXECUTOR__COORDINATORS": site.url,
            "ORTH_EXECUTOR__LISTEN": "127.0.0.1:0",
        }
        well = orth("doctor", cwd=tmp_path, **environ)
        assert well.returncode == 0, well.stdout
        assert ", 0 bad." in well.stdout
        told = {line.split()[1]: line for line in well.stdout.splitlines() if line.startswith("ok ")}
        assert "a coordinator answers" in told["registry"]
        assert f"taken by process {coordinator.popen.pid} (" in well.stdout
        assert "it accepts the access token" in told["tokens"]
        assert "it accepts the API token" in told["sign-in"]
        assert "may open its live socket" in told["origins"]
        assert "SQLite" in told["store"]
        wrong = {**environ, "ORTH_SECURITY__ACCESS_TOKEN": "of-another-cluster"}
        refused = orth("doctor", "--check", "tokens", "-o", "json", cwd=tmp_path, **wrong)
        assert refused.returncode == 1
        (verdict,) = json.loads(refused.stdout)
        assert (verdict["id"], verdict["state"]) == ("tokens", "bad")
        assert "of-another-cluster" not in refused.stdout + refused.stderr
        coordinator.end()
        gone = orth("doctor", "--check", "registry", "--check", "clock", cwd=tmp_path, **environ)
        assert gone.returncode == 1
        assert "nothing listens there" in gone.stdout
        assert "1 to look at, 1 bad" in gone.stdout


def test_the_checks_are_listed(run: Run) -> None:
    listed = run("doctor", "--list")
    assert listed.exit_code == 0
    assert [line.split()[0] for line in listed.output.splitlines()[1:]] == list(CHECKS)
    assert run("doctor", "--list", "-o", "name").output.split() == list(CHECKS)


def test_forms_of_output(run: Run) -> None:
    found = json.loads(run("doctor", "--check", "zones", "-o", "json").output)
    assert found[0].keys() == {"id", "state", "what", "next"}
    assert run("doctor", "--check", "zones", "-o", "name").output.strip() == "zones"
    assert "state: ok" in run("doctor", "--check", "channels", "-o", "yaml").output


def test_a_check_that_is_none_is_wrong_usage(run: Run) -> None:
    result = run("doctor", "--check", "weather")
    assert result.exit_code == 2
    assert "There are: settings, registry" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("[stor]\nurl = 1\n", "unknown setting"),
        ("[store]\nurl = 'oracle://x'\n", "store.url"),
        ("this is no TOML", "orth.toml"),
        ("[security]\naccess_token = 5\n", "security.access_token"),
    ],
)
def test_a_settings_file_that_is_wrong_gets_a_verdict(run: Run, tmp_path: Path, written: str, said: str) -> None:
    (tmp_path / "orth.toml").write_text(written)
    result = run("doctor")
    assert result.exit_code == 1
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert said in result.output
    assert "Traceback" not in result.output
    assert "zones" in result.output, "the machine is looked at all the same"


def test_a_check_that_broken_settings_prevent_is_named(run: Run) -> None:
    result = run("doctor", "--check", "redis", ORTH_CHANNELS__URL="redis://nonexist.invalid")
    assert result.exit_code == 1
    assert "channels.url" in result.output
    assert "Not checked while the settings are wrong: redis." in result.output
    assert "0 fine, 1 to look at, 1 bad." in result.output


def test_a_server_or_a_file_of_sign_ins_that_is_wrong_gets_a_verdict(run: Run, tmp_path: Path) -> None:
    assert "is not a server" in run("doctor", "--server", "5080").output
    for address in ("http://127.0.0.1:99999", "http://[::1", "http://", "http://a b:1", "https://*.example.invalid"):
        result = run("doctor", "--server", address)
        assert result.exit_code == 1, address
        assert "the check itself failed" not in result.output, result.output
        assert "Traceback" not in result.output
    home = tmp_path / "home"
    home.mkdir()
    (home / "sign-ins.json").write_text("{}")
    os.chmod(home / "sign-ins.json", 0o644)
    result = run("doctor", ORTH_HOME=str(home))
    assert result.exit_code == 1
    assert "can be read by others" in result.output


def test_what_others_say_of_themselves_cannot_move_the_cursor(run: Run) -> None:
    with serving({"/health/live": "<title>\x1b[2Jgone</title>"}, server="a\x1b[31mb") as place:
        result = run("doctor", "--check", "registry", "--server", place.url, ORTH_EXECUTOR__COORDINATORS=place.url)
    assert result.exit_code == 1
    assert "\x1b" not in result.output
