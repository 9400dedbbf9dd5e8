"""A79: coordinators need no right to change the schema; one user upgrades it, another one works with it."""

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Engine, text

from orth.store.engines import open_engine, read_url
from orth.testing.stores import prepare_store
from tests.walk.processes import Site, eventually

JOBS = """
from orth import Executor

app = Executor("collector")


@app.job("hello")
def hello() -> str:
    return "done"
"""


def engine_of(url: str) -> Engine:
    return open_engine(read_url(url), size=2, patience=10.0)


def _worker_of_postgres(url: str) -> str:
    with engine_of(url).connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("DROP ROLE IF EXISTS orth_worker"))
        connection.execute(text("CREATE ROLE orth_worker LOGIN"))
        connection.execute(text("GRANT USAGE ON SCHEMA public TO orth_worker"))
        connection.execute(text("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO orth_worker"))
        connection.execute(text("GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA public TO orth_worker"))
    return url.replace("orth@", "orth_worker@")


def _worker_of_mariadb(url: str) -> str:
    database = urlsplit(url).path[1:]
    with engine_of(url).begin() as connection:
        connection.execute(text("CREATE OR REPLACE USER orth_worker@'%'"))
        connection.execute(text("CREATE OR REPLACE USER orth_worker@localhost"))
        for host in ("'%'", "localhost"):
            connection.execute(text(f"GRANT SELECT, INSERT, UPDATE, DELETE ON `{database}`.* TO orth_worker@{host}"))
    parts = urlsplit(url)
    return parts._replace(netloc=f"orth_worker@{parts.netloc.rpartition('@')[2]}").geturl()


WORKERS: dict[str, Callable[[str], str]] = {"postgres_url": _worker_of_postgres, "mariadb_url": _worker_of_mariadb}


@pytest.mark.parametrize("kind", sorted(WORKERS))
def test_an_execution_walks_without_any_right_over_the_schema(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    owner = request.getfixturevalue(kind)
    prepare_store(owner)
    worker = WORKERS[kind](owner)
    (tmp_path / "jobs.py").write_text(JOBS)
    with Site(tmp_path, worker) as site:
        site.coordinator()
        site.executor(tmp_path / "jobs.py", ORTH_EXECUTOR__APP_NAME="collector")
        api = site.api()
        group = api.call("POST", "/api/v1/groups", {"app_name": "collector", "title": "Collector"})["id"]
        job = api.call("POST", "/api/v1/jobs", {"job_group": group, "job_desc": "hello", "executor_handler": "hello"})[
            "id"
        ]
        eventually(lambda: api.call("GET", "/api/v1/executors")["items"] or None, what="an executor")
        (execution,) = api.call("POST", f"/api/v1/jobs/{job}/trigger", {})["execution_ids"]
        eventually(lambda: api.call("GET", f"/api/v1/executions/{execution}")["status"] == "success", what="success")
    refused = _refusals(engine_of(worker))
    assert len(refused) == 3, refused


def _refusals(engine: Engine) -> list[str]:
    """Which statements about the schema the database refuses."""
    refused = []
    for statement in ("DROP TABLE orth_job_log", "CREATE TABLE mine (a INT)", "ALTER TABLE orth_job_user ADD b INT"):
        try:
            with engine.begin() as connection:
                connection.execute(text(statement))
        except Exception as error:
            refused.append(f"{statement}: {type(error).__name__}")
    engine.dispose()
    return refused
