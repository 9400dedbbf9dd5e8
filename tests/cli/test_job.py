"""``orth job`` against a served coordinator."""

import json
from pathlib import Path
from typing import Any

import pytest

from orth.cli.api_client import ApiClient
from orth.errors import ApiProblem, Conflict, NotFound
from tests.cli.conftest import Run
from tests.cli.running import orth as run_orth
from tests.cli.signed_in import SignedIn
from tests.coordinator.http.live import Site

HOURLY = {"schedule_type": "CRON", "schedule_conf": "0 * * * *"}
SPAN = ("--from", "2026-01-01", "--to", "2026-01-02")


class Orth(SignedIn):
    command = "job"

    def json(self, *arguments: str) -> object:
        return json.loads(self(*arguments, "-o", "json"))


@pytest.fixture
def orth(run: Run, served: Site) -> Orth:
    served.reset()
    return Orth(run, served)


def test_a_list_in_every_form(orth: Orth) -> None:
    group = orth.site.group()
    ids = [orth.site.job(job_group=group, job_desc=name, **HOURLY) for name in ("hourly", "also")]
    head, first, second = orth("list").splitlines()
    assert head.split() == ["ID", "NAME", "GROUP", "SCHEDULE", "ZONE", "STATE", "NEXT"]
    assert first.split() == [str(ids[0]), "hourly", "demo", *["CRON", "0", "*", "*", "*", "*"], "UTC", "stopped", "-"]
    assert "also" in second
    assert orth("list", "-o", "name").split() == [str(one) for one in ids]
    shown = orth.json("list", "--limit", "1")
    assert isinstance(shown, list)
    assert [one["job_desc"] for one in shown] == ["hourly"]
    assert "job_desc: hourly" in orth("list", "-o", "yaml")
    assert orth("list", "--group", "demo", "-o", "name").split() == [str(one) for one in ids]
    assert f"Group     {group}   demo" in orth("show", str(ids[0]))


def announce(orth: Orth, *handlers: dict[str, object]) -> None:
    said = {"incarnation": "one", "handlers": handlers}
    body = {"registryKey": "demo", "registryValue": "http://10.0.0.1:9999", "orth": said}
    orth.site.executor().post("/api/registry", body).envelope()


def test_the_life_of_a_job(orth: Orth, run: Run) -> None:
    orth.site.group()
    announce(orth, {"name": "sync", "schedule": "FIX_RATE 30s", "timeout": 90, "block": "DISCARD_LATER"})
    made = json.loads(orth("create", "demo", "sync", "--start", "-o", "json"))
    assert (made["job_desc"], made["executor_handler"], made["trigger_status"]) == ("sync", "sync", 1)
    assert (made["schedule_type"], made["schedule_conf"]) == ("FIX_RATE", "30s"), "what the author proposes"
    assert (made["executor_timeout"], made["executor_block_strategy"]) == (90, "DISCARD_LATER")
    job_id = str(made["id"])

    words = ("--schedule", "0 2 * * *", "--timezone", "Europe/Paris", "--retries", "2", "--set", 'tags=["nightly"]')
    edited = json.loads(orth("edit", job_id, "--name", "nightly", *words, "-o", "json"))
    assert (edited["schedule_type"], edited["schedule_conf"], edited["timezone"]) == (
        "CRON",
        "0 2 * * *",
        "Europe/Paris",
    )
    assert (edited["job_desc"], edited["executor_fail_retry_count"], edited["tags"]) == ("nightly", 2, ["nightly"])
    assert edited["executor_timeout"] == 90, "what is not named stays"
    assert "Europe/Paris" in orth("list")
    local = orth("next", job_id, "-n", "1").splitlines()
    assert "T02:00" in local[1].split()[0]

    assert orth("delete", job_id) == f"Deleted job {job_id} (nightly).\n"
    assert orth("list", "-o", "name") == ""


def test_a_time_limit_is_a_duration(orth: Orth) -> None:
    orth.site.group()
    announce(orth, {"name": "sync"})
    made = json.loads(orth("create", "demo", "sync", "--timeout", "1m30s", "-o", "json"))
    assert made["executor_timeout"] == 90
    edited = json.loads(orth("edit", str(made["id"]), "--timeout", "5", "-o", "json"))
    assert edited["executor_timeout"] == 5


def test_the_overlap_of_a_job_is_an_option(orth: Orth, run: Run) -> None:
    orth.site.group()
    announce(orth, {"name": "sync"})
    made = json.loads(orth("create", "demo", "sync", "--overlap", "executor", "-o", "json"))
    assert made["overlap"] == "executor"
    job_id = str(made["id"])
    assert "(overlap: cluster)" in orth("edit", job_id, "--overlap", "CLUSTER")
    refused = run("job", "edit", job_id, "--overlap", "never", **orth.environ)
    assert (refused.exit_code, "'never' is not one of 'cluster', 'executor'" in refused.output) == (2, True)


def test_a_job_that_cannot_be_is_refused_with_what_to_do(orth: Orth, run: Run) -> None:
    orth.site.group()
    announce(orth, {"name": "sync"})
    unknown = run("job", "create", "demo", "sink", **orth.environ)
    assert "No executor of demo has a handler 'sink'." in str(unknown.exception)
    wrong = run("job", "create", "demo", "sync", "--schedule", "0 25 * * *", **orth.environ)
    assert "hour 25 is outside 0-23." in str(wrong.exception)
    job_id = orth("create", "demo", "sync", "-o", "name").strip()
    assert run("job", "edit", job_id, **orth.environ).exit_code == 2
    assert "FIELD=VALUE" in str(run("job", "edit", job_id, "--set", "tags", **orth.environ).exception)
    assert "CRON" not in orth("edit", job_id, "--schedule", "none")


def test_a_job_that_cannot_be_started_is_not_created(orth: Orth, run: Run) -> None:
    orth.site.group()
    announce(orth, {"name": "sync"})
    for words in ((), ("--schedule", "none")):
        refused = run("job", "create", "demo", "sync", *words, "--start", **orth.environ)
        assert (refused.exit_code, "without a schedule cannot be started" in refused.output) == (2, True)
    assert orth("list", "-o", "name") == ""


def test_a_job_that_is_not_started_is_said_to_be_there(orth: Orth, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    orth.site.group()
    announce(orth, {"name": "sync", "schedule": "FIX_RATE 30s"})
    call = ApiClient.call

    def refusing(client: ApiClient, method: str, path: str, **named: Any) -> Any:
        if path.endswith("/start"):
            raise ApiProblem(403, "You may not start jobs.", hint="Ask an administrator.")
        return call(client, method, path, **named)

    monkeypatch.setattr(ApiClient, "call", refusing)
    refused = run("job", "create", "demo", "sync", "--start", **orth.environ).exception
    job_id = orth("list", "-o", "name").strip()
    assert isinstance(refused, ApiProblem)
    assert refused.status == 403
    assert str(refused) == (
        f"Job {job_id} (sync) was created and is stopped: You may not start jobs. Ask an administrator."
    )


def test_a_refusal_names_the_options_of_the_command(orth: Orth, run: Run) -> None:
    orth.site.group()
    announce(orth, {"name": "sync"})
    words = ("--name", " ", "--timeout", "999999", "--set", "tags=a,b", "--set", "nonsense=1")
    refused = str(run("job", "create", "demo", "sync", *words, **orth.environ).exception)
    for said in (
        "--name: String should have at least 1 character",
        "--timeout: Input should be less than or equal to 604800",
        '--set tags: Input should be a valid list, such as ["A", "B"]',
        "--set nonsense: there is no such field",
    ):
        assert said in refused
    job_id = orth("create", "demo", "sync", "-o", "name").strip()
    assert "--timeout: Input should be" in str(run("job", "edit", job_id, *words[2:4], **orth.environ).exception)


def test_an_unknown_handler_can_be_saved_as_the_hint_says(orth: Orth, run: Run) -> None:
    orth.site.group()
    announce(orth, {"name": "sync"})
    refused = str(run("job", "create", "demo", "sink", **orth.environ).exception)
    assert refused.endswith("Known: sync. To save it anyway: --any-handler")
    made = json.loads(orth("create", "demo", "sink", "--any-handler", "-o", "json"))
    assert made["executor_handler"] == "sink"
    job_id = str(made["id"])
    assert "--any-handler" in str(run("job", "edit", job_id, "--handler", "sank", **orth.environ).exception)
    assert "sank" in orth("edit", job_id, "--handler", "sank", "--any-handler")


def test_a_job_is_named_by_its_group_and_its_name(orth: Orth, run: Run) -> None:
    group = orth.site.group()
    job_id = str(orth.site.job(job_group=group, job_desc="nightly/all", **HOURLY))
    for _ in range(2):
        orth.site.job(job_group=group, job_desc="twice")
    assert orth("show", "demo/nightly/all") == orth("show", job_id)
    assert "State     started" in orth("start", "demo/nightly/all")
    assert "State     stopped" in orth("stop", "demo/nightly/all")
    assert orth("next", "demo/nightly/all", "-n", "1").startswith("LOCAL")
    assert orth("trigger", "demo/nightly/all").startswith("EXECUTION")
    assert "Fires  24" in orth("backfill", "demo/nightly/all", *SPAN, "--dry-run")
    assert "daily" in orth("edit", "demo/nightly/all", "--name", "daily")
    for named, kind in (("demo/nobody", NotFound), ("nobody/daily", NotFound), ("demo/twice", Conflict)):
        assert isinstance(run("job", "show", named, **orth.environ).exception, kind)
    other = str(orth.site.job(job_group=group, job_desc="other"))
    assert orth("delete", "demo/other") == f"Deleted job {other} (other).\n"


def test_a_job_is_shown_started_and_stopped(orth: Orth) -> None:
    group = orth.site.group()
    child = orth.site.job(job_group=group)
    job_id = str(orth.site.job(job_group=group, job_desc="hourly", child_jobid=[child], **HOURLY))
    assert "State     stopped" in orth("show", job_id)
    assert f"Children  {child}" in orth("show", job_id)
    assert "State     started" in orth("start", job_id)
    assert "State     stopped" in orth("stop", job_id)
    below = str(orth.site.job(job_group=group, executor_handler="", super_task_id=child))
    assert f"Handler   that of job {child}" in orth("show", below)


def test_the_next_fires(orth: Orth) -> None:
    job_id = str(orth.site.job(**HOURLY))
    lines = orth("next", job_id, "-n", "2").splitlines()
    assert len(lines) == 3
    assert lines[0].split() == ["LOCAL", "FIRE", "DUE", "SKIPPED"]
    shown = orth.json("next", job_id, "-n", "2")
    assert isinstance(shown, list)
    assert [fire["fire_time"] for fire in shown] == orth("next", job_id, "-n", "2", "-o", "name").split()


def test_a_trigger_is_by_a_person_and_gives_the_ids(orth: Orth) -> None:
    job_id = str(orth.site.job())
    first = orth("trigger", job_id, "--param", "given", "--key", "k", "-o", "name").strip()
    assert orth("trigger", job_id, "--param", "given", "--key", "k", "-o", "name").strip() == first
    assert orth.json("trigger", job_id, "--param", "given", "--key", "k") == {"execution_ids": [int(first)]}
    shown = orth.site.admin().get(f"/api/v1/executions/{first}").json
    assert (shown["cause"], shown["executor_param"]) == ("manual", "given")
    assert orth("trigger", job_id).split()[0] == "EXECUTION"


def test_a_trigger_may_name_executors(orth: Orth) -> None:
    address = "http://10.0.0.1:9999"
    orth.site.executor().post("/api/registry", {"registryKey": "demo", "registryValue": address}).envelope()
    orth("trigger", str(orth.site.job()), "--address", address)
    (opened,) = orth.site.contents()["orth_job_log"]
    assert opened["address_list"] == address


def test_a_trigger_may_name_a_log_level(orth: Orth) -> None:
    one = orth("trigger", str(orth.site.job()), "--log-level", "debug", "-o", "name").strip()
    assert orth.site.admin().get(f"/api/v1/executions/{one}").json["log_level"] == "DEBUG"


def test_a_backfill_is_previewed_and_begun(orth: Orth) -> None:
    job_id = str(orth.site.job(**HOURLY))
    before = orth.site.contents()
    preview = orth("backfill", job_id, *SPAN, "--dry-run")
    assert "Fires  24" in preview
    assert "First  2026-01-01T00:00:00.000Z" in preview
    assert preview.rstrip().endswith("2026-01-01T23:00:00.000Z")
    assert orth("backfill", job_id, *SPAN, "--dry-run", "-o", "name").strip() == "24"
    short = orth("backfill", job_id, "--from", "2026-01-01", "--to", "2026-01-01T02:00", "--dry-run")
    assert short.count("Z\n") == 3  # the span and two fires
    assert orth.site.contents() == before
    begun = orth("backfill", job_id, *SPAN, "--at-once", "3", "--param", "p", "--skip-done", "--key", "k")
    assert "Opened      0 of 24 fires, 3 at once" in begun
    (batch,) = orth.site.contents()["orth_batch"]
    assert (batch["executor_param"], batch["skip_done"], batch["actor"]) == ("p", 1, "admin")
    again = ("--at-once", "3", "--param", "p", "--skip-done", "--key", "k", "-o", "name")
    assert orth("backfill", job_id, *SPAN, *again).strip() == str(batch["id"])


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("show", "999"), 3, "There is no job 999."),
        (("show", "nonsense"), 2, "'nonsense' is neither the id of a job nor GROUP/NAME."),
        (("backfill", "1"), 2, "Missing option '--from'"),
        (("backfill", "1", *SPAN), 5, "CRON or FIX_RATE"),
        (("trigger", "1", "--address", "http://evil.example"), 1, "is not an executor of"),
        (("trigger", "1", "--log-level", "loud"), 2, "'loud' is not one of"),
        (("start", "1"), 5, "has no schedule"),
        (("trigger", "1", "--key", "é中"), 2, "it may have ASCII letters, digits, signs and inner blanks only"),
        (("trigger", "1", "--key", ""), 2, "it may have ASCII letters"),
        (("trigger", "1", "--key", "k" * 129), 2, "it has 129 characters, and may have 128"),
        (("backfill", "1", *SPAN, "--key", "a\nb"), 2, "it may have ASCII letters"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_a_failure_is_a_line_and_an_exit_code(
    orth: Orth, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    job_id = str(orth.site.job())
    given = [job_id if word == "1" else word for word in arguments]
    done = run_orth("job", *given, cwd=tmp_path, **orth.environ)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in done.stderr


def test_without_a_credential_or_a_server(orth: Orth, tmp_path: Path) -> None:
    home = {"ORTH_HOME": str(tmp_path)}
    refused = run_orth("job", "list", cwd=tmp_path, ORTH_SERVER=orth.site.url, **home)
    assert (refused.returncode, "orth login" in refused.stderr) == (4, True)
    unreachable = run_orth("job", "list", cwd=tmp_path, ORTH_SERVER="http://127.0.0.1:1", **home)
    assert unreachable.returncode == 6
