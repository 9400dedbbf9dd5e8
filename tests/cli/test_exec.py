"""``orth exec`` against a served coordinator."""

import json
from pathlib import Path

import pytest

from orth.domain import reasons
from orth.domain.executions import FAILURE, SUCCESS
from orth.errors import ApiProblem, Unavailable
from orth.store.executions import Ending, end_executions
from orth.store.notes import Note, add_notes
from tests.cli.conftest import Run
from tests.cli.running import orth as run_orth
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site
from tests.wire.peers import refusing


class Orth(SignedIn):
    command = "exec"

    def error(self, *arguments: str, **environ: str) -> BaseException | None:
        return self._run("exec", *arguments, **{**self.environ, **environ}).exception

    def refused(self, *arguments: str) -> str:
        """What it says of arguments that it does not understand."""
        result = self._run("exec", *arguments, **self.environ)
        assert result.exit_code == 2
        return result.output


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    return Orth(run, served)


def refused(site: Site, job_id: int) -> int:
    """An execution that ended as Trigger Failed after a second address was tried."""
    execution_id = site.execution(job_id)
    site.sent(execution_id, "http://10.0.0.8:9999")
    notes = [Note(execution_id, reasons.NOT_SENT, "connection refused"), Note(execution_id, reasons.REROUTED, "b")]
    site.tx(add_notes, notes, "node", site.clock.now())
    ending = Ending(
        execution_id=execution_id,
        trigger_code=FAILURE,
        trigger_msg="http://10.0.0.8:9999 refused: no such handler",
        reason_code=reasons.REFUSED,
    )
    site.tx(end_executions, [ending], site.clock.now())
    return execution_id


def test_a_list_in_every_form(orth: Orth) -> None:
    job_id = orth.site.job()
    other = orth.site.job(job_group=orth.site.admin().get(f"/api/v1/jobs/{job_id}").json["job_group"])
    waiting, ended = orth.site.execution(job_id), refused(orth.site, other)
    head, first, second = orth("list").splitlines()
    assert head.split() == ["ID", "JOB", "STATUS", "PHASE", "CAUSE", "TRIGGERED", "EXECUTOR", "REASON"]
    assert first.split()[0] == str(ended)
    assert first.endswith("refused")
    assert "Trigger Failed 500/0" in first
    assert second.split() == [
        str(waiting),
        str(job_id),
        "nightly",
        "report",
        "Init",
        "0/0",
        "opened",
        "api",
        "2026-01-30T10:00:00.000Z",
        "-",
        "-",
    ]
    assert orth("list", "-o", "name").split() == [str(ended), str(waiting)]
    assert orth("list", "--job", str(job_id), "-o", "name").split() == [str(waiting)]
    assert orth("list", "--status", "trigger_failed", "-o", "name").split() == [str(ended)]
    assert orth("list", "--status", "failed,trigger_failed", "-o", "name").split() == [str(ended)]
    assert orth("list", "--status", "init,trigger_failed", "-o", "name").split() == [str(ended), str(waiting)]
    assert [one["id"] for one in json.loads(orth("list", "--limit", "1", "-o", "json"))] == [ended]
    assert f"id: {waiting}" in orth("list", "-o", "yaml")


def test_what_was_cancelled_does_not_read_as_failed(orth: Orth) -> None:
    one = orth.site.execution(orth.site.job())
    orth.site.dispatched(one, "http://10.0.0.8:9999")
    ending = Ending(execution_id=one, trigger_code=SUCCESS, handle_code=FAILURE, reason_code=reasons.JOB_STOPPED)
    orth.site.tx(end_executions, [ending], orth.site.clock.now())
    assert "Cancelled 200/500" in orth("list")
    described = orth("describe", str(one))
    assert "Status     Cancelled 200/500\n" in described
    assert "Cancelled: the job was stopped before this fire began." in described
    (shown,) = json.loads(orth("list", "-o", "json"))
    assert (shown["status"], shown["tag"], shown["cancelled"]) == ("failed", "Cancelled 200/500", True)
    assert f"{one}   Cancelled 200/500" in orth("why", str(one))
    assert orth("list", "--status", "failed", "-o", "name") == ""
    assert orth("list", "--status", "success,cancelled", "-o", "name").split() == [str(one)]
    assert json.loads(orth("retry", "--status", "failed", "-o", "json"))["done"] == 0


def test_a_status_that_there_is_not_is_told(orth: Orth) -> None:
    assert "'lost' is not one of 'init', 'pending'" in orth.refused("list", "--status", "init,lost")


def test_an_execution_is_described_with_why_and_next(orth: Orth) -> None:
    execution_id = str(refused(orth.site, orth.site.job()))
    described = orth("describe", execution_id)
    assert "Status     Trigger Failed 500/0\n" in described
    assert "Why        http://10.0.0.8:9999 refused: no such handler\n" in described
    assert "Next       Nothing by itself: it is not retried." in described
    whole = json.loads(orth("describe", execution_id, "-o", "json"))
    assert (whole["reason_code"], whole["why"]["reason_code"]) == ("refused", "refused")
    assert orth("describe", execution_id, "-o", "name") == f"{execution_id}\n"


def test_the_story_is_told_in_order(orth: Orth) -> None:
    execution_id = str(refused(orth.site, orth.site.job()))
    codes = [step["code"] for step in json.loads(orth("why", execution_id, "-o", "json"))["steps"]]
    assert codes == ["api", "routed", "not_sent", "rerouted", "refused"]
    told = orth("why", execution_id).splitlines()
    assert told[0].split() == ["Execution", execution_id, "Trigger", "Failed", "500/0"]
    assert told[3].endswith("not_sent: connection refused")
    assert told[-1].startswith("Next                      Nothing by itself: it is not retried.")


def test_an_execution_is_killed_once(orth: Orth) -> None:
    execution_id = str(orth.site.execution(orth.site.job()))
    assert orth("kill", execution_id).splitlines() == [
        f"Execution  {execution_id}   Trigger Failed 500/0",
        "Executor   It had not been sent to anybody.",
    ]
    again = orth.error("kill", execution_id)
    assert isinstance(again, ApiProblem)
    assert (again.status, str(again)) == (409, f"Execution {execution_id} has ended: Trigger Failed 500/0.")


def test_a_kill_tells_what_ended_with_it_and_whether_the_executor_heard(orth: Orth) -> None:
    job_id = orth.site.job()
    first, second = orth.site.execution(job_id), orth.site.execution(job_id)
    with refusing() as address:
        for one in (first, second):
            orth.site.dispatched(one, address)
        told = orth("kill", str(first)).splitlines()
    assert told[0] == f"Execution   {first}   Failed 200/500"
    assert f"{address} could not be told" in told[1]
    assert told[2] == f"Also ended  {second}"


def test_what_is_not_there_and_who_is_not_known(orth: Orth) -> None:
    missing = orth.error("why", "404404")
    assert isinstance(missing, ApiProblem)
    assert (missing.status, str(missing)) == (404, "There is no execution 404404.")
    stranger = orth.error("list", ORTH_TOKEN="wrong")
    assert isinstance(stranger, ApiProblem)
    assert stranger.status == 401
    assert "orth login" in str(stranger)
    with refusing() as nobody:
        unreachable = orth.error("list", ORTH_SERVER=nobody)
    assert isinstance(unreachable, Unavailable)
    assert str(unreachable).startswith(f"{nobody.removeprefix('http://')} refused the connection.")


def test_exit_codes_tell_scripts_what_happened(tmp_path: Path, orth: Orth) -> None:
    missing = run_orth("exec", "why", "404404", cwd=tmp_path, **orth.environ)
    assert (missing.returncode, missing.stdout) == (3, "")
    assert missing.stderr == "orth: There is no execution 404404.\n"
    assert run_orth("exec", "list", cwd=tmp_path, ORTH_SERVER=orth.site.url, ORTH_TOKEN="wrong").returncode == 4
    with refusing() as nobody:
        assert run_orth("exec", "list", cwd=tmp_path, ORTH_SERVER=nobody).returncode == 6
