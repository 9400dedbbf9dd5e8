from datetime import timedelta
from typing import Any

import pytest

from orth import Executor, Retry
from orth.apphost.first_jobs import AdminApi, job_proposed, make_first_jobs
from orth.errors import Invalid


def announced(app: Executor) -> dict[str, Any]:
    """The handler as the API shows it."""
    [info] = app.infos()
    shown: dict[str, Any] = info.model_dump(mode="json", by_alias=False)
    return shown


def test_what_the_author_proposes_becomes_the_job() -> None:
    app = Executor("first-app")

    @app.job(
        "sync",
        schedule="0 * * * * ?",
        timezone="Europe/Paris",
        timeout=timedelta(minutes=2),
        block="concurrent",
        concurrency=4,
        overlap="executor",
        retry=Retry(attempts=3, delay="1m30s", backoff=12.5, jitter=True),
    )
    def sync() -> None: ...

    assert job_proposed(7, announced(app)) == {
        "job_group": 7,
        "job_desc": "sync",
        "schedule_type": "CRON",
        "schedule_conf": "0 * * * * ?",
        "timezone": "Europe/Paris",
        "executor_handler": "sync",
        "executor_timeout": 120,
        "executor_block_strategy": "CONCURRENT",
        "executor_concurrency": 4,
        "overlap": "executor",
        "executor_fail_retry_count": 2,
        "retry_policy": {"delay": 90.0, "multiplier": 10, "jitter": 0.5},
    }


@pytest.mark.parametrize(
    ("schedule", "proposed"),
    [("FIX_DELAY 5s", ("FIX_DELAY", "5s")), ("AT 2030-01-31", ("AT", "2030-01-31")), (None, ("NONE", ""))],
)
def test_every_kind_of_schedule_becomes_a_job(schedule: str | None, proposed: tuple[str, str]) -> None:
    job = job_proposed(1, {"name": "it", "schedule": schedule, "timezone": None})
    assert (job["schedule_type"], job["schedule_conf"]) == proposed


class Refusing(AdminApi):
    """An API that refuses the jobs of one handler, as it does what an executor of another make announces."""

    def __init__(self, *app_names: str, schema: dict[str, Any] | None = None) -> None:
        self.started: list[str] = []
        self.schema = schema
        self.app_names = app_names

    def call(self, method: str, path: str, body: Any = None) -> Any:
        if path.endswith("/handlers"):
            shared = {"schedule": "0 25 * * *", "timezone": None, "params_schema": self.schema}
            return {"items": [{"name": name, **shared} for name in ("a", "b")]}
        if method == "POST" and path == "/api/v1/jobs":
            if body["executor_handler"] == "a":
                raise Invalid("hour 25 is outside 0-23.")
            return {"id": 7}
        if method == "POST" and path == "/api/v1/groups":
            if body["app_name"] == "full-app":
                raise Invalid("There are too many groups.")
            return {"id": 4}
        self.started.append(path)
        return None

    def items(self, path: str) -> list[dict[str, Any]]:
        if path == "/api/v1/executors":
            return [{"app_name": name} for name in self.app_names]
        return [{"app_name": "first-app", "id": 3}] if path == "/api/v1/groups" else []


def test_a_job_that_is_refused_does_not_keep_the_others_from_being_made() -> None:
    api = Refusing()
    made = make_first_jobs(api)
    assert made.jobs == (("b", "0 25 * * *"),)
    assert made.refused == ("no job was created for a (0 25 * * *): hour 25 is outside 0-23.",)
    assert api.started == ["/api/v1/jobs/7/start"]


def test_a_group_that_is_refused_does_not_keep_the_others_from_being_made() -> None:
    api = Refusing("abc", "Shop App", "full-app", "next-app", "next-app")
    made = make_first_jobs(api)
    assert made.jobs == (("b", "0 25 * * *"), ("b", "0 25 * * *"))
    rename = "Give its executors another app name: executor.app_name, or xxl.job.executor.appname in xxl-job."
    assert made.refused[:3] == (
        f"no group was created for abc: It must have 4 to 64 characters and has 3. {rename}",
        f"no group was created for Shop App: It may have letters, digits, dots, hyphens and underscores only. {rename}",
        "no group was created for full-app: There are too many groups.",
    )


def test_a_handler_that_needs_a_parameter_gets_no_job() -> None:
    app = Executor("first-app")
    app.job("needs")(needing)
    [info] = app.infos()
    made = make_first_jobs(Refusing(schema=info.params_schema))
    assert made.jobs == ()
    assert made.refused[1] == (
        "no job was created for b (0 25 * * *): By its schedule it gets no parameters: x: it is missing. "
        "Give it a default."
    )


def needing(x: int) -> None: ...


def test_what_an_older_executor_does_not_say_is_left_to_the_defaults() -> None:
    handler = {"name": "old", "schedule": "0 * * * * ?", "timezone": None}
    proposed = job_proposed(1, handler)
    assert not any(name in proposed for name in ("executor_timeout", "executor_fail_retry_count", "retry_policy"))
    assert proposed["executor_handler"] == "old"


def test_attempts_without_a_pause_need_no_policy() -> None:
    app = Executor("first-app")

    @app.job("sync", schedule="0 * * * * ?", retry=Retry(attempts=2, delay=0))
    def sync() -> None: ...

    proposed = job_proposed(7, announced(app))
    assert (proposed["executor_fail_retry_count"], "retry_policy" in proposed) == (1, False)
