from pathlib import Path

import pytest

from orth.errors import BadSettings, CannotStart
from orth.executor.settings import ExecutorSettings, base_url
from orth.settings import Address, Settings, load_settings


def settings(tmp_path: Path, **environ: str) -> Settings:
    return load_settings({}, environ={"ORTH_COORDINATOR__DATA_DIR": str(tmp_path), **environ}, cwd=tmp_path)


def test_the_defaults_are_those_of_the_settings(tmp_path: Path) -> None:
    own = ExecutorSettings.of(settings(tmp_path, ORTH_SECURITY__ACCESS_TOKEN="t"), "the-app")
    home = Path.cwd() / ".orth/executor"
    assert own == ExecutorSettings(app_name="the-app", access_token="t", data_dir=home, logs_dir=home / "logs")


def test_relative_paths_are_those_of_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = {"ORTH_EXECUTOR__DATA_DIR": "data", "ORTH_LOGS__DIR": "texts", "ORTH_EXECUTOR__PYTHON": "env/bin/python"}
    own = ExecutorSettings.of(settings(tmp_path, ORTH_SECURITY__ACCESS_TOKEN="t", **said), "the-app")
    assert (own.data_dir, own.logs_dir, own.python) == (
        tmp_path / "data",
        tmp_path / "texts",
        tmp_path / "env/bin/python",
    )
    by_name = settings(tmp_path, ORTH_SECURITY__ACCESS_TOKEN="t", ORTH_EXECUTOR__PYTHON="python3.12")
    assert ExecutorSettings.of(by_name, "the-app").python == Path("python3.12"), "looked up in PATH"
    beside = settings(tmp_path, ORTH_SECURITY__ACCESS_TOKEN="t", ORTH_EXECUTOR__PYTHON="./mine")
    assert ExecutorSettings.of(beside, "the-app").python == tmp_path / "mine"


def test_settings_name_the_group_before_the_code_does(tmp_path: Path) -> None:
    named = settings(tmp_path, ORTH_SECURITY__ACCESS_TOKEN="t", ORTH_EXECUTOR__APP_NAME="from-settings")
    assert ExecutorSettings.of(named, "from-code").app_name == "from-settings"
    with pytest.raises(CannotStart, match="no app name"):
        ExecutorSettings.of(settings(tmp_path, ORTH_SECURITY__ACCESS_TOKEN="t"), None)


def test_the_token_comes_from_the_coordinator_beside_us_when_none_is_set(tmp_path: Path) -> None:
    (tmp_path / "access-token").write_text("made-by-coordinator\n")
    assert ExecutorSettings.of(settings(tmp_path), "the-app").access_token == "made-by-coordinator"
    chosen = settings(tmp_path, ORTH_SECURITY__ACCESS_TOKEN="set")
    assert ExecutorSettings.of(chosen, "the-app").access_token == "set"


@pytest.mark.parametrize("held", [None, "", "\n"])
def test_without_any_token_it_says_what_to_do(tmp_path: Path, held: str | None) -> None:
    if held is not None:
        (tmp_path / "access-token").write_text(held)
    with pytest.raises(CannotStart, match=r"no access token: .*access-token.* Start a coordinator"):
        ExecutorSettings.of(settings(tmp_path), "the-app")


def test_an_unreadable_token_is_told(tmp_path: Path) -> None:
    (tmp_path / "access-token").mkdir()
    with pytest.raises(CannotStart, match="cannot be read"):
        ExecutorSettings.of(settings(tmp_path), "the-app")


def test_beyond_loopback_the_token_must_be_set_on_purpose(tmp_path: Path) -> None:
    (tmp_path / "access-token").write_text("made-by-coordinator")
    sections = {"executor": {"listen": "0.0.0.0:9999"}, "coordinator": {"data_dir": tmp_path}}
    open_to_all = Settings.model_validate(sections)
    with pytest.raises(
        CannotStart, match=r"Listening on 0\.0\.0\.0:9999 lets other machines in.*Only on 127\.0\.0\.1 that"
    ):
        ExecutorSettings.of(open_to_all, "the-app")


def test_other_transports_are_refused_in_words(tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match="should be 'push' or 'queue'"):
        settings(tmp_path, ORTH_SECURITY__ACCESS_TOKEN="t", ORTH_EXECUTOR__TRANSPORT="link")


def test_an_executor_competes_on_several_queues(tmp_path: Path) -> None:
    queued = settings(
        tmp_path,
        ORTH_SECURITY__ACCESS_TOKEN="t",
        ORTH_EXECUTOR__TRANSPORT="queue",
        ORTH_EXECUTOR__QUEUE="fast, slow,fast",
        ORTH_CHANNELS__URL="redis://127.0.0.1:6379/0",
    )
    own = ExecutorSettings.of(queued, "the-app")
    assert (own.transport, own.queues, own.channels_url) == ("queue", ("fast", "slow"), "redis://127.0.0.1:6379/0")


@pytest.mark.parametrize(
    ("listen", "url"),
    [
        ("127.0.0.1:0", "http://127.0.0.1:4321"),
        ("[::1]:0", "http://[::1]:4321"),
        ("jobs.example:0", "http://jobs.example:4321"),
        ("0.0.0.0:0", "http://127.0.0.1:4321"),
    ],
)
def test_the_address_follows_from_where_it_listens(listen: str, url: str) -> None:
    assert base_url(Address.parse(listen), 4321, "http://127.0.0.1:5080") == url


def test_an_address_that_cannot_be_derived_must_be_given() -> None:
    with pytest.raises(CannotStart, match="--address"):
        base_url(Address.parse("0.0.0.0:0"), 4321, "http://no-such-host.invalid:5080")
