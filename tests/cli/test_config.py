import json
from pathlib import Path

from orth.settings.names import FIELDS
from tests.cli.conftest import Run
from tests.cli.running import orth

SECRETS = {
    "ORTH_SECURITY__ACCESS_TOKEN": "hunter2-hunter2-hunter2",
    "ORTH_STORE__URL": "postgresql://orth:hunter2@db/orth",
    "ORTH_CHANNELS__URL": "redis://:hunter2@cache/0",
}


def test_view_shows_every_setting_as_people_write_it(run: Run) -> None:
    Path("orth.toml").write_text('[cluster]\nlease = "90s"\n')
    lines = run("config", "view").output.splitlines()
    assert lines[0].split() == ["SETTING", "VALUE"]
    rows = dict(line.split(maxsplit=1) for line in lines[1:])
    assert list(rows) == list(FIELDS)
    assert rows["cluster.lease"] == "1m30s"
    assert rows["executor.app_name"] == "-"
    assert rows["apphost.demo"] == "true"


def test_view_says_where_each_value_comes_from(run: Run) -> None:
    Path("orth.toml").write_text('\n[cluster]\nlease = "90s"\n')
    rows = [line.split(maxsplit=2) for line in run("config", "view", "--show-origin", **SECRETS).output.splitlines()]
    assert rows[0] == ["SETTING", "VALUE", "ORIGIN"]
    assert ["cluster.lease", "1m30s", "orth.toml:3"] in rows
    assert ["store.pool_size", "8", "default"] in rows
    assert ["security.access_token", "********", "environment ORTH_SECURITY__ACCESS_TOKEN"] in rows


def test_view_as_json_has_one_member_per_setting(run: Run) -> None:
    plain = json.loads(run("config", "view", "-o", "json").output)
    assert list(plain) == list(FIELDS)
    assert (plain["store.pool_size"], plain["store.url"], plain["apphost.demo"]) == (8, None, True)
    assert plain["registry.register_pauses"] == ["0s", "5s", "10s", "20s", "40s"]
    told = json.loads(run("config", "view", "-o", "json", "--show-origin").output)
    assert told["store.pool_size"] == {"value": 8, "origin": "default"}


def test_view_never_shows_a_secret(run: Run) -> None:
    for arguments in ([], ["--show-origin"], ["-o", "json"], ["-o", "json", "--show-origin"]):
        shown = run("config", "view", *arguments, **SECRETS).output
        assert "hunter2" not in shown
        assert "postgresql://orth:********@db/orth" in shown


def test_validate_accepts_good_settings_and_tells_warnings_apart(tmp_path: Path) -> None:
    (tmp_path / "prod.toml").write_text('OrchestratorUrl = "http://o:5080"\n')
    asked = orth("config", "validate", "--config", "prod.toml", cwd=tmp_path)
    assert asked.returncode == 0
    assert asked.stdout == f"The settings are valid ({tmp_path / 'prod.toml'}).\n"
    assert asked.stderr == "orth: warning: OrchestratorUrl in prod.toml:1 is called executor.coordinators here\n"


def test_validate_refuses_bad_settings(tmp_path: Path) -> None:
    (tmp_path / "orth.toml").write_text('[cluster]\nlease = "1s"\nleese = "1s"\n')
    asked = orth("config", "validate", cwd=tmp_path)
    assert asked.returncode == 2
    assert asked.stdout == ""
    assert len(asked.stderr.splitlines()) == 2


def test_a_settings_file_that_was_asked_for_must_be_there(tmp_path: Path) -> None:
    asked = orth("config", "validate", "--config", "no.toml", cwd=tmp_path)
    assert asked.returncode == 2
    assert asked.stderr == "orth: the settings file no.toml cannot be read: No such file or directory\n"


def test_an_unknown_form_is_wrong_usage(run: Run) -> None:
    assert run("config", "view", "-o", "yaml").exit_code == 2
