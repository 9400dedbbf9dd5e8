"""``orth login`` and what it leaves behind: one private file, refreshed when a token runs out."""

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from orth.cli.api_client import ApiChoice, ApiClient
from orth.cli.sign_ins import SignIn, SignIns
from orth.errors import ApiProblem, CannotStart, Invalid, NotFound, Unavailable
from tests.cli.conftest import Run
from tests.cli.running import orth as run_orth
from tests.cli.running import orth_from_nothing
from tests.coordinator.http.live import PASSWORD, Site, prepared_database
from tests.wire.peers import Exchange, Peer


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with Site(prepared_database(tmp_path_factory.mktemp("cli") / "orth.db")) as served:
        yield served


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is a terminal."""
    monkeypatch.setattr("orth.cli.login.is_terminal", lambda: True)


@pytest.mark.usefixtures("terminal")
def test_signing_in_is_remembered_and_forgotten(run: Run, site: Site, tmp_path: Path) -> None:
    environ = {"ORTH_SERVER": f"{site.url}/", "ORTH_HOME": str(tmp_path / "home")}
    told = run("login", typed=f"{PASSWORD}\n", **environ)
    assert told.exit_code == 0, told.output
    assert f"Signed in to {site.url} as admin." in told.output
    assert PASSWORD not in told.output
    assert run("exec", "list", **environ).exit_code == 0
    assert f"Signed out of {site.url}." in run("logout", **environ).output
    refused = run("exec", "list", **environ).exception
    assert isinstance(refused, ApiProblem)
    assert refused.status == 401
    assert "There was no sign-in" in run("logout", **environ).output


def test_without_a_terminal_no_password_is_asked_for(site: Site, tmp_path: Path) -> None:
    for server in (site.url, "http://127.0.0.1:1"):
        told = run_orth("login", cwd=tmp_path, ORTH_SERVER=server, ORTH_HOME=str(tmp_path / "home"))
        assert (told.returncode, told.stdout) == (2, "")
        assert "standard input is not a terminal" in told.stderr
        assert "--password-stdin" in told.stderr
        assert "Warning" not in told.stderr
        assert "Aborted" not in told.stderr


@pytest.mark.usefixtures("terminal")
def test_no_password_is_asked_for_where_no_coordinator_answers(run: Run, tmp_path: Path) -> None:
    told = run("login", typed="password\n", ORTH_SERVER="http://127.0.0.1:1", ORTH_HOME=str(tmp_path))
    assert isinstance(told.exception, Unavailable)
    assert "Password" not in told.output


def test_a_wrong_password_leaves_nothing(run: Run, site: Site, tmp_path: Path) -> None:
    home = tmp_path / "home"
    told = run("login", "--password-stdin", typed="wrong\n", ORTH_SERVER=site.url, ORTH_HOME=str(home))
    assert isinstance(told.exception, ApiProblem)
    assert told.exception.status == 401
    assert not home.exists()


def test_only_its_owner_can_read_the_file(run: Run, site: Site, tmp_path: Path) -> None:
    environ = {"ORTH_SERVER": site.url, "ORTH_HOME": str(tmp_path / "home")}
    before = os.umask(0)
    try:
        assert run("login", "--password-stdin", typed=f"{PASSWORD}\n", **environ).exit_code == 0
    finally:
        os.umask(before)
    file = tmp_path / "home" / "sign-ins.json"
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700
    assert sorted(one.name for one in file.parent.iterdir()) == ["sign-ins.json", "sign-ins.lock"]
    file.chmod(0o644)
    refused = run("exec", "list", **environ).exception
    assert isinstance(refused, Invalid)
    assert "can be read by others" in str(refused)


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    file = tmp_path / "sign-ins.json"
    file.write_text("{")
    file.chmod(0o600)
    with pytest.raises(Invalid, match="sign in again"):
        SignIns(file).find("http://127.0.0.1:5080")


def test_where_the_file_is(tmp_path: Path) -> None:
    assert SignIns.of_environment({"ORTH_HOME": "/a"}).path == Path("/a/sign-ins.json")
    assert SignIns.of_environment({"XDG_CONFIG_HOME": "/b"}).path == Path("/b/orth/sign-ins.json")
    assert SignIns.of_environment({}).path == Path.home() / ".config" / "orth" / "sign-ins.json"


def test_a_token_that_ran_out_is_refreshed_once_and_kept(site: Site, tmp_path: Path) -> None:
    with ApiClient(site.url) as client:
        session = client.call("POST", "/api/v1/auth/login", body={"username": "admin", "password": PASSWORD})
    sign_ins = SignIns(tmp_path / "sign-ins.json")
    sign_ins.keep(site.url, SignIn("admin", "long gone", session["refresh_token"]))
    with ApiClient(site.url, sign_ins=sign_ins) as client:
        assert client.get("/api/v1/executions")["items"] == []
    kept = sign_ins.find(site.url)
    assert kept is not None
    assert kept.access_token not in ("long gone", session["refresh_token"])
    sign_ins.keep(site.url, SignIn("admin", "long gone", "gone as well"))
    with ApiClient(site.url, sign_ins=sign_ins) as client, pytest.raises(ApiProblem, match="orth login"):
        client.get("/api/v1/executions")


def test_a_token_is_shown_only_to_its_own_server(site: Site, tmp_path: Path) -> None:
    sign_ins = SignIns(tmp_path / "sign-ins.json")
    sign_ins.keep(site.url, SignIn("admin", "secret", "secret"))
    seen: list[dict[str, str]] = []

    def redirecting(exchange: Exchange) -> None:
        seen.append(exchange.request.headers)
        exchange.respond(b"", 302, Location=f"{site.url}/api/v1/jobs")

    with (
        Peer(redirecting) as other,
        ApiClient(other.address, sign_ins=sign_ins) as client,
        pytest.raises(ApiProblem) as answered,
    ):
        client.get("/api/v1/jobs")
    assert answered.value.status == 302
    assert len(seen) == 1
    assert "authorization" not in seen[0]


def test_lists_are_read_page_by_page_up_to_the_limit(site: Site) -> None:
    asked: list[str] = []

    def paged(exchange: Exchange) -> None:
        asked.append(exchange.request.path)
        first = len(asked) == 1
        page = {"items": [{"id": len(asked) * 10 + n} for n in range(2)], "next_cursor": "a b&c" if first else None}
        exchange.respond(json.dumps(page).encode())

    with Peer(paged) as server, ApiClient(server.address) as client:
        assert [one["id"] for one in client.items("/things", job_id=None, since="2 h")] == [10, 11, 20, 21]
        assert asked == ["/things?limit=200&since=2+h", "/things?limit=200&cursor=a+b%26c&since=2+h"]
        asked.clear()
        assert [one["id"] for one in client.items("/things", limit=2)] == [10, 11]
        assert asked == ["/things?limit=2"]


def test_an_answer_that_is_no_problem_is_still_an_error() -> None:
    page = Peer(lambda exchange: exchange.respond(b"<html>", 500, "text/html"))
    with page as server, ApiClient(server.address) as client, pytest.raises(ApiProblem, match="HTTP 500"):
        client.get("/api/v1/jobs")


def test_the_server_comes_from_the_option_the_environment_or_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORTH_EXECUTOR__COORDINATORS", "http://settings:1,http://settings:2")
    assert ApiChoice(None, None).url == "http://settings:1"
    monkeypatch.setenv("ORTH_SERVER", "https://environment/")
    assert ApiChoice(None, None).url == "https://environment"
    assert ApiChoice("http://option:3", None).url == "http://option:3"
    with pytest.raises(Invalid, match="not a server"):
        _ = ApiChoice("option:3", None).url


def test_help_of_commands_that_call_a_coordinator_stays_light(tmp_path: Path) -> None:
    for command in (["exec", "list"], ["login"]):
        loaded = orth_from_nothing(*command, "--help", cwd=tmp_path, PYTHONPROFILEIMPORTTIME="1").stderr
        assert " click\n" in loaded
        assert not any(f" {heavy}\n" in loaded for heavy in ("urllib3", "pydantic", "asyncio"))


def test_of_commands_that_refresh_at_once_one_does_and_all_go_on(site: Site, tmp_path: Path) -> None:
    with ApiClient(site.url) as client:
        session = client.call("POST", "/api/v1/auth/login", body={"username": "admin", "password": PASSWORD})
    sign_ins = SignIns(tmp_path / "sign-ins.json")
    sign_ins.keep(site.url, SignIn("admin", "long gone", session["refresh_token"]))
    environ = {"ORTH_HOME": str(tmp_path), "ORTH_SERVER": site.url}
    with ThreadPoolExecutor(4) as pool:
        codes = list(pool.map(lambda _: run_orth("exec", "list", cwd=tmp_path, **environ).returncode, range(4)))
    assert codes == [0, 0, 0, 0]
    kept = sign_ins.find(site.url)
    assert kept is not None
    assert site.signing.read_refresh(kept.refresh_token).generation == 2
    site.clock.move(3600)  # long after: what was kept must still be the good one
    with ApiClient(site.url, sign_ins=sign_ins) as client:
        assert client.get("/api/v1/executions")["items"] == []


def test_signing_out_ends_the_session_there(run: Run, site: Site, tmp_path: Path) -> None:
    environ = {"ORTH_SERVER": site.url, "ORTH_HOME": str(tmp_path)}
    assert run("login", "--password-stdin", typed=f"{PASSWORD}\n", **environ).exit_code == 0
    kept = SignIns(tmp_path / "sign-ins.json").find(site.url)
    assert kept is not None
    assert run("logout", **environ).exit_code == 0
    site.bearer(kept.access_token).get("/api/v1/jobs").problem(401)


def test_signing_out_of_a_server_that_is_gone_forgets_it_all_the_same(run: Run, tmp_path: Path) -> None:
    SignIns(tmp_path / "sign-ins.json").keep("http://127.0.0.1:1", SignIn("admin", "a", "r"))
    told = run("logout", ORTH_SERVER="http://127.0.0.1:1", ORTH_HOME=str(tmp_path))
    assert told.exit_code == 0
    assert "until it runs out" in told.output
    assert SignIns(tmp_path / "sign-ins.json").find("http://127.0.0.1:1") is None


def test_a_link_signs_a_browser_in_once(run: Run, tmp_path: Path) -> None:
    database = prepared_database(tmp_path / "orth.db")
    told = run(
        "login", "--link", ORTH_STORE__URL=f"sqlite:///{database}", ORTH_CONSOLE__BASE_URL="https://orth.example/x"
    )
    assert told.exit_code == 0, told.output
    address, _, token = told.output.strip().partition("?t=")
    assert address == "https://orth.example/x/"
    with Site(database) as served:
        served.clock.jump(time.time() - served.clock.now() / 1000)  # the command has the time of day
        answer = served.stranger().post("/api/v1/auth/link", {"token": token})
        assert answer.json["username"] == "admin"
        served.stranger().post("/api/v1/auth/link", {"token": token}).problem(401)


def test_a_link_leads_to_where_the_coordinator_listens(run: Run, tmp_path: Path) -> None:
    database = prepared_database(tmp_path / "orth.db")
    told = run("login", "--link", "--store", f"sqlite:///{database}", ORTH_COORDINATOR__LISTEN="127.0.0.1:5999")
    assert told.output.startswith("http://127.0.0.1:5999/?t=")


def test_a_link_leads_to_the_coordinator_that_the_settings_name(run: Run, tmp_path: Path) -> None:
    database = prepared_database(tmp_path / "orth.db")
    chosen = {"ORTH_EXECUTOR__COORDINATORS": "http://127.0.0.1:5998,http://127.0.0.1:5999"}
    told = run("login", "--link", "--store", f"sqlite:///{database}", **chosen)
    assert told.output.startswith("http://127.0.0.1:5998/?t="), told.output
    told = run("login", "--link", "--store", f"sqlite:///{database}", ORTH_SERVER="http://127.0.0.1:5997", **chosen)
    assert told.output.startswith("http://127.0.0.1:5997/?t=")


def test_there_is_no_link_for_nobody_or_without_a_database(run: Run, tmp_path: Path) -> None:
    store = f"sqlite:///{prepared_database(tmp_path / 'orth.db')}"
    assert isinstance(run("login", "--link", "--username", "nobody", "--store", store).exception, NotFound)
    assert isinstance(run("login", "--link", "--data-dir", str(tmp_path / "none")).exception, CannotStart)
    assert not (tmp_path / "none").exists()
