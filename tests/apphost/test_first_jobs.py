from datetime import timedelta
from typing import Any

from orth import Executor, Retry
from orth.apphost.first_jobs import job_proposed


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
        "executor_fail_retry_count": 2,
        "retry_policy": {"delay": 90.0, "multiplier": 10, "jitter": 0.5},
    }


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
