"""A coordinator killed with SIGKILL after a receiver has taken an alarm and before that is stored, real processes.

The next one sends it again, under the same id, and no execution is left waiting for its alarm.
"""

import signal
from pathlib import Path

import pytest
from sqlalchemy import select

from orth.store.database import open_database
from orth.store.tables import executions
from orth.testing.stores import prepare_store
from tests.receivers import WebhookReceiver
from tests.walk.processes import SHORT, Site, eventually

JOBS = Path(__file__).parents[1] / "walk" / "noting_jobs.py"
SETTINGS = {
    "ORTH_ALARMS__ALLOW_LOCAL": "true",
    "ORTH_ALARMS__QUIET": "500ms",
    "ORTH_ALARMS__TIMEOUT": "1s",
}


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'orth.db'}"
    found: str = request.getfixturevalue("postgres_url")
    return found


def alarm_status(url: str, execution_id: int) -> int:
    with open_database(url) as db, db.engine.begin() as connection:
        found = select(executions.c.alarm_status).where(executions.c.id == execution_id)
        return int(connection.execute(found).scalar_one())


def test_a_message_whose_sender_died_is_sent_again_under_the_same_id(url: str, tmp_path: Path) -> None:
    prepare_store(url)
    with WebhookReceiver() as receiver, Site(tmp_path, url, NOTES=str(tmp_path / "notes"), **SHORT, **SETTINGS) as site:
        first = site.coordinator(ORTH_FAILPOINTS="alarms.sent=kill")
        site.executor(JOBS)
        api = site.api()
        channel = {"name": "ops", "kind": "webhook", "definition": {"url": receiver.url}}
        api.call("POST", "/api/v1/alarms/channels", channel)
        group = api.call("POST", "/api/v1/groups", {"app_name": "walk-tests"})["id"]
        job = api.call("POST", "/api/v1/jobs", {"job_group": group, "job_desc": "fails", "executor_handler": "fail"})
        (execution_id,) = api.call("POST", f"/api/v1/jobs/{job['id']}/trigger", {})["execution_ids"]
        first.popen.wait(30)
        assert first.popen.returncode == -signal.SIGKILL, first.text()
        assert len(receiver.posted) == 1
        assert alarm_status(url, execution_id) == -1
        site.coordinator()
        sent, again = receiver.wait_for(2)
        assert sent.headers["Orth-Message-Id"] == again.headers["Orth-Message-Id"]
        assert sent.json == again.json
        api = site.api()
        told = eventually(lambda: api.items("/api/v1/alarms?state=told"), what="the alarm told")
        assert [(one["execution_id"], one["attempts"]) for one in told] == [(execution_id, 2)]
        assert alarm_status(url, execution_id) == 2
        assert len(receiver.posted) == 2
