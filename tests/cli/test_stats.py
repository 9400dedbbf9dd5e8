"""``orth stats`` and the filters of ``orth exec list`` against a served coordinator."""

import json

import pytest

from orth.coordinator.finishing import finish
from orth.domain.executions import SUCCESS
from orth.store.executions import Ending
from tests.cli.conftest import Run
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site


class Stats(SignedIn):
    command = "stats"


class Exec(SignedIn):
    command = "exec"


def two_of_one_job(site: Site) -> tuple[int, int, int]:
    """A job; one execution of it that ended well after two seconds, and one that waits."""
    site.reset()
    job_id = site.job()
    done, waiting = site.execution(job_id), site.execution(job_id)
    site.dispatched(done, "http://10.0.0.8:9999")
    site.clock.move(2)
    ending = Ending(execution_id=done, trigger_code=SUCCESS, handle_code=SUCCESS, handle_msg="4711 rows")
    site.tx(finish, [ending], site.clock.now())
    return job_id, done, waiting


def test_the_figures_of_all_and_of_one_job(run: Run, served: Site) -> None:
    job_id, _done, _waiting = two_of_one_job(served)
    stats = Stats(run, served)
    lines = stats().splitlines()
    assert lines[1:] == [
        "Ended         1   success 1   failed 0   timeout 0   trigger_failed 0",
        "Success rate  100.0%",
        "Mean time     2.000 s",
        "Longest       2.000 s",
        "Open          init 1   pending 0   (opened 1)",
    ]
    of_job = stats("--job", str(job_id), "--days", "2").splitlines()
    assert of_job[-3].split() == ["START", "SUCCESS", "FAILED", "TIMEOUT", "TRIGGER_FAILED"]
    assert of_job[-1].split() == ["2026-01-30T00:00:00.000Z", "1", "0", "0", "0"]
    assert json.loads(stats("-o", "json"))["ended"]["success"] == 1


def test_a_line_for_each_hour(run: Run, served: Site) -> None:
    job_id, _done, _waiting = two_of_one_job(served)
    stats = Stats(run, served)
    lines = stats("--by", "hour", "--since", "2h", "--job", str(job_id)).splitlines()
    assert len(lines) == 4
    assert lines[-1].split()[1] == "1"
    assert len(stats("--by", "day", "-o", "name").splitlines()) == 31


@pytest.mark.parametrize(
    "options",
    [
        ("--text", "4711 ROWS"),
        ("--executor", "http://10.0.0.8:9999"),
        ("--status", "success", "--cause", "api"),
        ("--since", "1h", "--text", "rows"),
    ],
)
def test_executions_are_listed_by_filter(run: Run, served: Site, options: tuple[str, ...]) -> None:
    _job_id, done, _waiting = two_of_one_job(served)
    assert Exec(run, served)("list", *options, "-o", "name").split() == [str(done)]
