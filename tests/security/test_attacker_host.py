"""An attacker on a host of its own tries what schedulers of this family were broken with.

Each attack is refused, changes nothing and is in the audit: also what only an executor was asked, which tells the
coordinators with its next beat. ``site`` compares everything an attack could have changed before and after.
"""

import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import urllib3

from orth.wire.entry_signatures import signed_entry
from orth.wire.signatures import key_of
from orth.wire.work_keys import new_work_key, work_key_of
from tests.security.attacked_site import EDITOR, MARKUP, AttackedSite, Caller, Form, context
from tests.security.hosts import METADATA, Canary, Network, missing
from tests.walk.processes import TOKEN, eventually

SOURCES = {"GLUE_SHELL": "touch owned-by-shell", "GLUE_PYTHON": "open('owned-by-python', 'w')"}
SOURCES["GLUE"] = "open('owned-by-glue', 'w')"
READS_SIGNATURES: dict[str, Any] = {"orth": {"incarnation": "thief", "extensions": ["signed"]}}
"""What lets a thief register where all must sign."""
NOT_ADDRESSES = ("gopher://10.66.0.66:9999", f"http://10.66.0.66:9999/{MARKUP}", "javascript:alert(1)")
PATHS_AS_NUMBERS = (
    "../../../../etc/passwd",
    "..%2f..%2fetc%2fpasswd",
    "..%252f..%252fetc%252fpasswd",
    "/etc/passwd",
    -1,
)
FORBIDDEN = (
    f"http://{METADATA}:80",
    "http://169.254.1.1:8000",
    "http://127.0.0.1:8500",
    "http://[::ffff:a9fe:a9fe]:80",
)
FORBIDDEN_NAMES = ("the metadata address", "link-local", "the coordinator itself", "the first in another dress")


@pytest.fixture(scope="module", params=list(Form))
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedSite]:
    _check_hosts()
    with AttackedSite(request.param, tmp_path_factory.mktemp(request.param)) as found:
        yield found


@pytest.fixture
def site(running: AttackedSite) -> Iterator[AttackedSite]:
    before = running.state()
    yield running
    assert running.state() == before


@pytest.fixture
def open_execution(running: AttackedSite) -> Iterator[int]:
    """One that runs as long as the test does."""
    (running.work / "go").unlink(missing_ok=True)
    execution = running.execution("hold")
    eventually(lambda: running.status(execution) == "pending", what="the executor has it")
    yield execution
    (running.work / "go").touch()
    eventually(lambda: running.status(execution) == "success", what="the execution ended as it should")


def _check_hosts() -> None:
    lacking = missing()
    if lacking and os.environ.get("CI") != "true":
        pytest.skip(lacking)
    assert not lacking


def credentials(site: AttackedSite) -> list[dict[str, str]]:
    """What somebody may show who was given nothing: one that another app has lost among it."""
    guesses = ["", "default_token", "wrong", TOKEN[:-1], TOKEN.upper(), site.tokens["ledger"]]
    shown = [{name: text} for name in ("ORTH_ACCESS_TOKEN", "XXL_JOB_ACCESS_TOKEN") for text in guesses]
    return [{}, *shown, {"Authorization": "Bearer default_token"}]


def strangers(site: AttackedSite) -> list[dict[str, str]]:
    """The same for coordinators, to which the other app's token is no stranger's."""
    return [one for one in credentials(site) if site.tokens["ledger"] not in one.values()]


# --- before anybody listens


@pytest.mark.parametrize("command", [["server"], ["executor", "jobs.py"]], ids=["coordinator", "executor"])
def test_without_a_credential_nothing_listens_where_others_reach_it(command: list[str], tmp_path: Path) -> None:
    _check_hosts()
    (tmp_path / "jobs.py").write_text("from orth import Executor\napp = Executor('reports')\n")
    clean = {name: value for name, value in os.environ.items() if not name.startswith("ORTH_")}
    with Network() as network:
        host, attacker = network.host(11), Caller(network.host(66))
        words = host.command(sys.executable, "-m", "orth", *command, "--listen", f"{host.address}:5080")
        done = subprocess.run(words, cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode != 0, "security.access_token" in done.stderr) == (True, True), done.stderr
        with pytest.raises(urllib3.exceptions.NewConnectionError):
            attacker.ask("GET", f"http://{host.address}:5080/health")


# --- what shows that the attacks below would be seen


def test_code_runs_for_those_who_may_and_the_traps_hear_who_knocks(running: AttackedSite) -> None:
    execution = running.execution("shell")
    eventually(lambda: running.status(execution) == "success", what="the script ran")
    assert (running.work / "allowed").exists()
    coordinator = Caller(running.nodes[0])
    for trap in (running.metadata, running.inside):
        assert coordinator.post(trap.url).status == 200
        assert [path for path, _headers in trap.asked] == ["/"]
        trap.asked.clear()


# --- the executor's door


def test_no_code_gets_into_an_executor(site: AttackedSite) -> None:
    """A02: neither without a token nor with the one that others shipped, nor with that of another app."""
    for number, (kind, source) in enumerate(SOURCES.items()):
        trigger = {"jobId": 1, "logId": 900 + number, "glueType": kind, "glueSource": source, "glueUpdatetime": 1}
        for path, body in (("/run", trigger), ("/trigger", trigger), ("/runs", {"requests": [trigger]})):
            for shown in credentials(site):
                answer = site.attacker.post(site.executor_url + path, body, **shown)
                assert answer.refused == 401, (path, shown, answer)
            signed = site.attacker.proved(site.tokens["ledger"], site.executor_url, path, body)
            assert signed.status == 401
    site.audited("executor.turned_away", *(f"{site.executor_url}{path}" for path in ("/run", "/trigger", "/runs")))
    assert {one["after"]["reason"] for one in site.told("executor.turned_away")} >= {"token", "signature"}


def test_nobody_is_killed_asked_or_read_without_a_token(open_execution: int, site: AttackedSite) -> None:
    asked: dict[str, Any] = {
        "/kill": {"jobId": site.jobs["hold"], "logId": open_execution},
        "/beat": {},
        "/idleBeat": {"jobId": site.jobs["hold"]},
        "/log": {"logId": open_execution, "logDateTim": 0, "fromLineNum": 1},
    }
    for path, body in asked.items():
        for shown in credentials(site):
            assert site.attacker.post(site.executor_url + path, body, **shown).refused == 401
    assert site.attacker.ask("GET", f"{site.executor_url}/metrics").status == 401
    assert site.attacker.ask("GET", f"{site.executor_url}/health").json == {"status": "ok"}
    site.audited("executor.turned_away", *(f"{site.executor_url}{path}" for path in (*asked, "/metrics")))


def test_the_executor_counts_and_logs_who_was_turned_away(site: AttackedSite) -> None:
    assert site.attacker.post(f"{site.executor_url}/run", {}, ORTH_ACCESS_TOKEN="default_token").status == 401
    line = f"{site.thief.address} was turned away at /run: token"
    eventually(lambda: line in site.executor.text(), what="a line in its log")
    desk = site.desk._caller
    proof = desk.signature(site.executor_token, site.executor_url, "/metrics", b"", "GET")
    counted = desk.ask("GET", f"{site.executor_url}/metrics", **proof).body.decode()
    number = re.search(r'orth_executor_turned_away_total\{reason="token"\} (\d+)', counted)
    assert number is not None
    assert int(number[1]) >= 1


def test_no_log_is_found_by_its_path(site: AttackedSite) -> None:
    """Neither by strangers nor by who has every right to ask."""
    ask, proved, work_key = site.attacker.ask, site.desk._caller.proved, site.work_key()
    for name in PATHS_AS_NUMBERS:
        for spelled in ({"logId": name, "logDateTim": 0}, {"logId": 1, "logDateTim": name}):
            body = {**spelled, "fromLineNum": 1}
            assert ask("POST", f"{site.executor_url}/log", body).refused == 401
            assert proved(work_key, site.executor_url, "/log", body).status == 400
        for path in (f"/api/v1/executions/{name}/log", f"/api/v1/executions/1/log?from={name}"):
            assert ask("GET", site.urls[0] + path).status in (401, 404)
            assert site.editor.ask("GET", path).status in (404, 422)


# --- the coordinators' door


def test_a_forged_registration_steals_no_traffic(site: AttackedSite) -> None:
    beat = {"registryGroup": "EXECUTOR", "registryKey": "reports", "registryValue": f"http://{site.thief.address}:9999"}
    paths = ("/api/registry", "/api/registryRemove", "/xxl-job-admin/api/registry")
    for url in site.urls:
        for path in paths:
            for shown in strangers(site):
                assert site.attacker.post(url + path, beat, **shown).refused == 401
        for path, name in (("/api/agents/register", "reports"), ("/api/orchestrators/register", "node-3")):
            service = {"url": f"http://{site.thief.address}:5080", "name": name}
            for shown in strangers(site):
                assert site.attacker.post(url + path, service, **shown).status == 401
    site.audited("executor.unauthenticated", *paths)
    site.audited("api.unauthenticated", "POST /api/agents/register", "POST /api/orchestrators/register")


def test_a_forged_result_ends_nothing(open_execution: int, site: AttackedSite) -> None:
    for execution in (open_execution, 10**9):
        result = [{"logId": execution, "logDateTim": 0, "handleCode": 200, "handleMsg": "forged"}]
        for url in site.urls:
            for shown in strangers(site):
                assert site.attacker.post(f"{url}/api/callback", result, **shown).refused == 401
    result = [{"logId": open_execution, "handleCode": 200, "handleMsg": "forged"}]
    assert site.attacker.proved(site.tokens["ledger"], site.urls[1], "/api/callback", result).status == 403
    assert site.status(open_execution) == "pending"
    site.audited("executor.unauthenticated", "/api/callback")
    site.audited("callback.refused", str(open_execution))


def test_a_leaked_executor_token_ends_nothing_that_its_own_app_runs(open_execution: int, site: AttackedSite) -> None:
    """A05: the report key went to the executor alone."""
    for told in ({}, {"reportKey": "0" * 64}):
        result = [{"logId": open_execution, "handleCode": 200, "handleMsg": "forged", **told}]
        for url in site.urls:
            assert site.attacker.proved(site.executor_token, url, "/api/callback", result).status == 403
    assert site.status(open_execution) == "pending"
    site.audited("callback.refused", str(open_execution))
    reasons = {one["after"].get("reason", "") for one in site.told("callback.refused")}
    assert {reason for reason in reasons if "report key" in reason}


def test_a_captured_request_is_good_once_and_for_one_process(site: AttackedSite) -> None:
    """A04."""
    desk = site.desk._caller
    for address, others, path, said in (
        (site.executor_url, site.urls, "/beat", {}),
        (site.urls[0], [site.urls[1]], "/api/callback", []),
    ):
        body = json.dumps(said).encode()
        captured = desk.signature(site.executor_token, address, path, body)
        for other in others:
            assert site.attacker.post(other + path, body, **captured).status in (401, 404)
        assert desk.post(address + path, body, **captured).status == 200, "it was good"
        assert site.attacker.post(address + path, body, **captured).status == 401
        fresh = desk.signature(site.executor_token, address, path, body)
        assert site.attacker.post(address + path, b'{"jobId": 1}', **fresh).status == 401
    elsewhere = desk.signature(site.executor_token, site.urls[0], "/beat", b"{}")
    assert site.attacker.post(f"{site.executor_url}/beat", b"{}", **elsewhere).status == 401

    def reasons(action: str) -> set[str]:
        return {one["after"]["reason"] for one in site.told(action)}

    eventually(lambda: reasons("executor.turned_away") >= {"replay", "body", "receiver"}, what="the executor tells")
    both = {"The request was made before.", "The request was signed for another process."}
    eventually(lambda: reasons("executor.unauthenticated") >= both, what="the coordinators tell")


def test_the_api_is_shut_for_strangers(site: AttackedSite) -> None:
    job = {"job_group": 1, "job_desc": "owned", "glue_type": "GLUE_SHELL", "glue_source": SOURCES["GLUE_SHELL"]}
    calls: list[tuple[str, str, str, Any]] = [
        ("POST", f"/api/v1/jobs/{site.jobs['shell']}/trigger", "/api/v1/jobs/{job_id}/trigger", {}),
        ("POST", "/api/v1/jobs", "/api/v1/jobs", job),
        ("POST", "/api/v1/users", "/api/v1/users", {"username": "owned", "role": "admin"}),
        ("GET", "/api/v1/executions", "/api/v1/executions", None),
        ("GET", "/api/v1/audit", "/api/v1/audit", None),
    ]
    for url in site.urls:
        for method, path, _route, body in calls:
            for shown in credentials(site):
                assert site.attacker.ask(method, url + path, body, **shown).status == 401
    site.audited("api.unauthenticated", *(f"{method} {route}" for method, _path, route, _body in calls))


def test_sockets_are_shut_for_strangers_and_for_pages_of_others(site: AttackedSite) -> None:
    """A55."""
    signed_in = f"Bearer {site.desk._signed_in()}"
    for path in ("/ws", "/api/v1/changes", "/api/v1/executions/1/log/ws"):
        url = site.urls[1].replace("http", "ws") + path
        assert site.attacker.listens(url) in ("401", "4401")
        assert site.attacker.listens(url, Authorization="Bearer default_token") == "401"
        assert site.attacker.listens(url, origin="http://attacker.example", Authorization=signed_in) == "403"
    site.audited("api.unauthenticated", "WS /ws", "WS /api/v1/changes")
    site.audited("api.refused", "WS /ws", "WS /api/v1/changes")


# --- addresses


@pytest.mark.parametrize("address", FORBIDDEN, ids=FORBIDDEN_NAMES)
def test_no_address_leads_a_coordinator_inside(site: AttackedSite, address: str) -> None:
    """Not for strangers, not for an editor, and not for whoever may write addresses."""
    beat = {"registryGroup": "EXECUTOR", "registryKey": "ledger", "registryValue": address}
    assert site.attacker.post(f"{site.urls[0]}/api/registry", beat).refused == 401
    assert site.attacker.proved(site.tokens["ledger"], site.urls[0], "/api/registry", beat).status == 422
    group = f"/api/v1/groups/{site.groups['reports']}"
    manual = {"app_name": "reports", "address_type": 1, "address_list": [address]}
    trigger = f"/api/v1/jobs/{site.jobs['shell']}/trigger"
    ping = {"app_name": "reports", "address": address}
    assert site.editor.ask("PUT", group, manual).status == 403
    assert site.editor.ask("POST", trigger, {"address_list": [address]}).status == 422
    assert site.editor.ask("POST", "/api/v1/executors/ping", ping).status in (404, 422)
    refused = site.desk.items("/api/v1/audit?action=api.refused")
    assert (EDITOR, "PUT /api/v1/groups/{group_id}") in [(one["actor"], one["object_id"]) for one in refused]
    site.audited("executor.unauthenticated", "/api/registry")


@pytest.mark.parametrize("address", FORBIDDEN, ids=FORBIDDEN_NAMES)
def test_an_address_written_by_hand_is_judged_when_it_is_called(running: AttackedSite, address: str) -> None:
    group = f"/api/v1/groups/{running.groups['ledger']}"
    manual = {"app_name": "ledger", "title": MARKUP, "address_type": 1, "address_list": [address]}
    if running.desk.ask("PUT", group, manual).status < 400:
        execution = running.execution("other")
        eventually(lambda: running.status(execution) not in ("init", "pending"), what="it was given up")
        assert running.status(execution) != "success"
        running.desk.call("PUT", group, {"app_name": "ledger", "title": MARKUP})
    assert (running.metadata.asked, running.inside.asked) == ([], [])


def test_a_redirect_of_an_executor_is_not_followed(running: AttackedSite) -> None:
    """A thief has ledger's token, so ledger's triggers are its own; it gets nothing more out of the coordinator."""
    trap = Canary(running.thief, running.thief.address, leads_to=f"{running.metadata.url}/latest/meta-data/")
    beat = {"registryGroup": "EXECUTOR", "registryKey": "ledger", "registryValue": trap.url, **READS_SIGNATURES}
    try:
        assert running.attacker.proved(running.tokens["ledger"], running.urls[0], "/api/registry", beat).status == 200
        execution = running.execution("other")
        eventually(lambda: any("/run" in path for path, _headers in trap.asked), what="the thief is called")
        eventually(lambda: running.status(execution) not in ("init", "pending"), what="it was given up")
        assert running.status(execution) != "success"
    finally:
        running.attacker.proved(running.tokens["ledger"], running.urls[0], "/api/registryRemove", beat)
        trap.close()
    assert (running.metadata.asked, running.inside.asked) == ([], [])
    shown = json.dumps(trap.asked)
    assert (TOKEN in shown, running.tokens["reports"] in shown) == (False, False)


# --- texts


def test_markup_in_logs_and_names_is_data(running: AttackedSite) -> None:
    """A49. What the console makes of the log, a story tells in Chromium (the job ``mischief`` of tests/console)."""
    execution = running.execution("say")
    eventually(lambda: running.status(execution) == "success", what="it has said it")
    log = f"/api/v1/executions/{execution}/log"
    for path in (log, f"/api/v1/jobs/{running.jobs['say']}", f"/api/v1/groups/{running.groups['reports']}"):
        answer = running.desk.ask("GET", path)
        assert answer.headers["content-type"].split(";")[0] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert MARKUP in json.dumps(answer.json).replace('\\"', '"')
    downloaded = running.desk.ask("GET", f"{log}/download")
    assert downloaded.headers["content-type"].split(";")[0] == "text/plain"
    assert (downloaded.headers["x-content-type-options"], MARKUP in downloaded.body.decode()) == ("nosniff", True)


@pytest.mark.parametrize("address", NOT_ADDRESSES)
def test_what_is_no_address_is_not_registered(site: AttackedSite, address: str) -> None:
    beat = {"registryGroup": "EXECUTOR", "registryKey": "ledger", "registryValue": address}
    assert site.attacker.proved(site.tokens["ledger"], site.urls[0], "/api/registry", beat).status == 422


# --- a token that was lost


def test_a_leaked_executor_token_registers_its_own_app_and_nothing_else(site: AttackedSite) -> None:
    """At coordinators it reads nothing, triggers nothing, and speaks for nobody else."""
    token, (first, second) = site.tokens["ledger"], site.urls
    mine = {"registryGroup": "EXECUTOR", "registryKey": "ledger", "registryValue": f"http://{site.thief.address}:9"}
    mine |= READS_SIGNATURES
    assert site.attacker.proved(token, first, "/api/registry", mine).status == 200
    assert site.attacker.proved(token, second, "/api/registryRemove", mine).status == 200
    for path in ("/api/registry", "/api/registryRemove"):
        assert site.attacker.proved(token, second, path, {**mine, "registryKey": "reports"}).status == 403
    victim = {**mine, "registryKey": "reports", "registryValue": site.executor_url}
    assert site.attacker.proved(token, first, "/api/registryRemove", victim).status == 403
    agent = {"url": f"http://{site.thief.address}:9", "name": "reports"}
    assert site.attacker.proved(token, first, "/api/agents/register", agent).status == 403
    take = {"queues": ["orchestrix.job.dispatch.reports.default"], "consumer": "c"}
    assert site.attacker.proved(token, first, "/api/channels/take", take).status == 403
    for path in ("/api/v1/jobs", "/api/v1/executions", "/api/v1/executors", "/api/v1/secrets", "/api/openapi.json"):
        for shown in ({"ORTH_ACCESS_TOKEN": token}, {"Authorization": f"Bearer {token}"}):
            assert site.attacker.ask("GET", first + path, **shown).status in (401, 404), path
    for job in site.jobs.values():
        bearer = {"Authorization": f"Bearer {token}"}
        assert site.attacker.post(f"{first}/api/v1/jobs/{job}/trigger", {}, **bearer).status == 401
    site.audited("executor.refused", "/api/registry", "/api/registryRemove", "/api/channels/take")
    site.audited("api.refused", "POST /api/agents/register")


def test_a_leaked_executor_token_gives_no_work_to_executors_of_its_own_app(
    open_execution: int, site: AttackedSite
) -> None:
    """Neither shown nor proved at their own doors, nor by what it puts into their queues."""
    trigger = {"jobId": 1, "logId": 950, "glueType": "GLUE_SHELL", "glueSource": SOURCES["GLUE_SHELL"]}
    asked: dict[str, Any] = {
        "/run": trigger,
        "/trigger": trigger,
        "/runs": {"requests": [trigger]},
        "/kill": {"jobId": site.jobs["hold"], "logId": open_execution},
        "/idleBeat": {"jobId": site.jobs["hold"]},
        "/log": {"logId": open_execution, "logDateTim": 0, "fromLineNum": 1},
    }
    thief, token = site.attacker, site.executor_token
    for path, body in asked.items():
        for name in ("ORTH_ACCESS_TOKEN", "XXL_JOB_ACCESS_TOKEN"):
            assert thief.post(site.executor_url + path, body, **{name: token}).refused == 401, (path, name)
        assert thief.proved(token, site.executor_url, path, body).status == 401, path
        guessed = work_key_of(token, new_work_key())
        assert thief.proved(guessed, site.executor_url, path, body).status == 401, path
    line = "orchestrix.job.dispatch.reports.default"
    offer = {"jobId": 1, "executionId": 951, "trigger": {**trigger, "logId": 951}}
    forged = signed_entry(offer, line, [key_of(token)], until=2**41)
    for url in site.urls:
        refused = thief.proved(token, url, "/api/channels/send", {"queue": line, "messages": [forged]})
        assert (refused.status, "only coordinators" in refused.json["msg"]) == (403, True)
    assert site.status(open_execution) == "pending"
    site.audited("executor.turned_away", *(f"{site.executor_url}{path}" for path in asked))
    site.audited("executor.refused", "/api/channels/send")

    def reasons() -> set[str]:
        return {one["after"]["reason"] for one in site.told("executor.turned_away")}

    expected = {"work_key"} if site.form is Form.PLAIN else {"work_key", "unsigned"}
    eventually(lambda: reasons() >= expected, what="the executor tells why")


def claims(site: AttackedSite) -> list[dict[str, Any]]:
    """What a thief of the token may say of the executor's address: as one of another make, an older one, another
    process, or the very same.
    """
    signed = {"extensions": ["signed"]}
    said: list[dict[str, Any] | None] = [
        {**signed, "incarnation": "thief", "workKey": new_work_key()},
        {**signed, "incarnation": "thief"},
        {**signed, "incarnation": site.incarnation(), "workKey": new_work_key()},
        {**signed, "incarnation": site.incarnation()},
        None,
    ]
    beat = {"registryGroup": "EXECUTOR", "registryKey": "reports", "registryValue": site.executor_url}
    return [beat if one is None else {**beat, "orth": one} for one in said]


def test_nobody_takes_the_address_of_an_executor_that_lives(site: AttackedSite) -> None:
    """With a stolen token: neither by beats nor by good-byes, at neither coordinator; and it is in the audit."""
    own_key, thief = site.work_key(), site.attacker
    for url in site.urls:
        for claim in claims(site):
            for path in ("/api/registry", "/api/registryRemove"):
                status = thief.proved(site.executor_token, url, path, claim).status
                must_sign = site.form is not Form.PLAIN and "orth" not in claim and path == "/api/registry"
                assert status == (403 if must_sign else 409), (path, claim)
            assert site.work_key() == own_key
    site.audited("executor.contested", f"reports {site.executor_url}")
    told = {(one["after"]["claim"], one["after"]["refused"]) for one in site.told("executor.contested")}
    assert told == {("beat", True), ("good-bye", True)}
    assert not site.told("executor.contested", site.worker.address), "the true one is no thief"
    assert site.desk._caller.proved(own_key, site.executor_url, "/idleBeat", {"jobId": 10**9}).status == 200


def test_work_goes_on_while_a_thief_claims_the_address(running: AttackedSite) -> None:
    finished = threading.Event()

    def claim() -> None:
        while not finished.is_set():
            for one in claims(running):
                running.attacker.proved(running.executor_token, running.urls[0], "/api/registry", one)
                running.attacker.proved(running.executor_token, running.urls[1], "/api/registryRemove", one)

    thief = threading.Thread(target=claim)
    thief.start()
    try:
        for _again in range(5):
            execution = running.execution("shell")
            eventually(lambda one=execution: running.status(one) == "success", what="the script ran")  # type: ignore[misc]  # mypy knows no types of such an argument
    finally:
        finished.set()
        thief.join()


def test_an_executor_that_is_restarted_has_its_address_within_seconds(running: AttackedSite) -> None:
    """Killed, so that it says no good-bye; with one of the coordinators started a moment ago, too."""
    for restarts in (running.restart_executor, running.restart_all):
        before = running.incarnation()
        restarts()
        began = time.monotonic()
        eventually(lambda old=before: running.incarnation() != old, within=20, what="it is registered")  # type: ignore[misc]  # as above
        execution = running.execution("shell")
        eventually(lambda one=execution: running.status(one) == "success", what="the script ran")  # type: ignore[misc]  # as above
        assert time.monotonic() - began < 30
    honest = (running.worker.address, *(host.address for host in running.nodes))
    time_to_tell = time.monotonic() + 8  # what is held back is told by then
    eventually(lambda: time.monotonic() > time_to_tell, within=20, what="nothing is held back any more")
    for action in ("executor.contested", "executor.unauthenticated", "api.unauthenticated"):
        for address in honest:
            assert running.told(action, address) == [], "an honest process is no stranger"


def test_who_has_the_access_token_is_no_coordinator(site: AttackedSite) -> None:
    """Executors that look for coordinators in the registry would tell him their work keys."""
    mine = {"url": f"http://{site.thief.address}:5080", "name": "node-3"}
    for url in site.urls:
        refused = site.attacker.proved(TOKEN, url, "/api/orchestrators/register", mine)
        assert (refused.status, "orchestrators_by_token" in refused.json["hint"]) == (403, True)
        listed = site.desk.call("GET", "/api/orchestrators")
        assert {one["url"] for one in listed} == set(site.urls)
        for one in listed:
            for deed in ("unregister", "heartbeat", "status"):
                path = f"/api/orchestrators/{one['id']}/{deed}"
                assert site.attacker.proved(TOKEN, url, path, {"status": "Failed"}).status == 403
    site.audited("api.refused", "POST /api/orchestrators/register")


@pytest.mark.parametrize("running", [Form.SIGNED, Form.MTLS], indirect=True)
def test_a_good_token_that_is_only_shown_is_not_enough(site: AttackedSite) -> None:
    shown = {"ORTH_ACCESS_TOKEN": site.executor_token}
    beat = {"registryGroup": "EXECUTOR", "registryKey": "reports", "registryValue": f"http://{site.thief.address}:9"}
    assert site.attacker.post(f"{site.executor_url}/beat", {}, **shown).status == 401
    assert site.attacker.post(f"{site.urls[0]}/api/registry", beat, **shown).refused == 401
    assert site.attacker.proved(TOKEN, site.urls[0], "/api/registry", beat).status == 401
    eventually(
        lambda: "unsigned" in {one["after"]["reason"] for one in site.told("executor.turned_away")}, what="it is told"
    )


# --- certificates


@pytest.mark.parametrize("running", [Form.MTLS], indirect=True)
@pytest.mark.parametrize("shows", ["no certificate", "one of a strange authority", "no TLS at all"])
def test_without_a_certificate_of_ours_nobody_gets_as_far_as_asking(site: AttackedSite, shows: str) -> None:
    stranger = site.stranger if "strange" in shows else None
    caller = Caller(site.thief, None if shows == "no TLS at all" else context(site.authority, stranger))
    for url in (*site.urls, site.executor_url):
        spelled = url.replace("https", "http") if shows == "no TLS at all" else url
        with pytest.raises(urllib3.exceptions.HTTPError):
            caller.post(f"{spelled}/run", {"jobId": 1, "logId": 1})
        with pytest.raises(urllib3.exceptions.HTTPError):
            caller.ask("GET", f"{spelled}/health/live")
    logs = [site.work / f"{name}.log" for name in ("node-1", "node-2", "executor")]
    eventually(lambda: all("TLS handshakes failed" in log.read_text() for log in logs), what="all have told of it")
