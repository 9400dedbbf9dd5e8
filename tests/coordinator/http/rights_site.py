"""A coordinator with things in two groups and people of every role, for the tests of rights."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from orth.domain.access import Role
from orth.store.dead_letters import add_dead_letters
from orth.store.executions import find_execution
from orth.store.registry import Beat, record_beats
from orth.store.users import add_user, find_user, set_grants
from tests.coordinator.http.live import Caller, Site

EVERYWHERE = {"idle": "", "overseer": "viewer", "chief": "editor", "administrator": "admin"}
"""Who has a role everywhere, or none at all."""
OURS = {"viewer": Role.VIEWER, "operator": Role.OPERATOR, "editor": Role.EDITOR, "group admin": Role.ADMIN}
THEIRS = {"other viewer": Role.VIEWER, "other editor": Role.EDITOR}
PEOPLE = ("nobody", "idle", *THEIRS, *OURS, "overseer", "chief", "administrator")


@dataclass(frozen=True)
class Things:
    """One of each kind, all of one group."""

    group: int
    app_name: str
    job: int
    execution: int
    ended: int
    batch: int
    silence: int


class RightsSite:
    """Two groups, each with one of everything; ``ours`` and ``theirs`` are the groups that people have roles in."""

    def __init__(self, site: Site, *, theirs: str = "theirs") -> None:
        """``theirs`` is the app name of the group that most people have no role in."""
        self.site = site
        self.ours = self._things("ours")
        self.theirs = self._things(theirs)
        admin = site.admin()
        hook = {"name": "hook", "kind": "webhook", "definition": {"url": "https://alarms.example.org/hook"}}
        self.channel = _made(admin, "/api/v1/alarms/channels", hook)
        self.calendar = _made(admin, "/api/v1/calendars", {"name": "weekdays", "definition": {"weekdays": [1, 2, 3]}})
        site.tx(record_beats, [Beat("unclaimed", "http://10.0.0.9:9999")], site.clock.now())
        self.users = {name: self._person(name) for name in PEOPLE if name != "nobody"}
        self.callers = {name: self._caller(name) for name in PEOPLE}
        self.before = site.contents()

    def restore(self) -> None:
        """Let everything be as it was made."""
        self.site.put_back(self.before)

    def _caller(self, name: str) -> Caller:
        return self.site.stranger() if name == "nobody" else self.site.bearer(self.site.access_token(name))

    def _person(self, name: str) -> int:
        def add(connection: Connection) -> int:
            add_user(connection, name, "no hash", EVERYWHERE.get(name, ""), 0)
            user = find_user(connection, name)
            assert user is not None
            grants = {self.ours.group: OURS[name]} if name in OURS else {}
            set_grants(connection, user.id, {self.theirs.group: THEIRS[name]} if name in THEIRS else grants)
            return user.id

        return self.site.tx(add)

    def _things(self, app_name: str) -> Things:
        site, admin = self.site, self.site.admin()
        group = site.group(app_name, scripts_allowed=True)
        schedule = {"schedule_type": "CRON", "schedule_conf": "0 0 * * * ?"}
        job = site.job(job_group=group, job_desc=f"job of {app_name}", **schedule)
        ended = site.execution(job)
        assert admin.post(f"/api/v1/executions/{ended}/kill").status == 202
        site.tx(_keep_letter, ended, site.clock.now())
        span = {"start": "2026-01-01T00:00:00Z", "end": "2026-01-01T03:00:00Z"}
        batch = admin.post(f"/api/v1/jobs/{job}/trigger-batch", span)
        silence = {"job_id": job, "lasts": "2h", "reason": f"works at {app_name}"}
        site.tx(record_beats, [Beat(app_name, f"http://{app_name}.example.org:9999")], site.clock.now())
        return Things(
            group,
            app_name,
            job,
            site.execution(job),
            ended,
            batch.json["batch_id"],
            _made(admin, "/api/v1/alarms/silences", silence),
        )


def _made(admin: Caller, path: str, body: dict[str, Any]) -> int:
    answer = admin.post(path, body)
    assert answer.status == 201, answer.body
    return int(answer.json["id"])


def _keep_letter(connection: Connection, execution_id: int, now: int) -> None:
    execution = find_execution(connection, execution_id)
    assert execution is not None
    add_dead_letters(connection, [execution], now)
