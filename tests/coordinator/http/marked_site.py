"""A coordinator whose every text tells whose it is: what only one group may see, and what nobody may ever read.

``RightsSite`` has things in two groups. Here all that ``theirs`` has bears a mark of its own kind: names, parameters,
code, a log, a secret, a token, a silence, an alarm, and with them the audit. And all that is secret is known, as it is
stored and as it is shown once. So an answer that tells too much is found by looking for what it must not hold.
"""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from orth.coordinator.logs.blocks import packed
from orth.coordinator.logs.pages import Lines
from orth.domain.alarms import AlarmKind, Standing
from orth.store.alarms import Message, keep_standings, store_messages
from orth.store.audit_tables import job_secrets
from orth.store.glue_versions import list_glue_versions
from orth.store.log_archives import ArchivedLog, keep_archive
from orth.store.record_tables import alarm_channels
from orth.store.sign_in_tables import sessions
from orth.store.tables import users
from orth.store.token_tables import token_secrets
from tests.coordinator.http.live import ACCESS_TOKEN, PASSWORD, Caller, Site
from tests.coordinator.http.rights_site import RightsSite, Things

MARK = "unseen7q"
KINDS = ("app", "param", "code", "remark", "log", "secret", "token", "alarm")
"""What of ``theirs`` is marked; each mark is the word and one of these."""
WHO_MAY_MOST = "administrator"
_NEVER = "never7q"
_STORED_SECRETS = (
    users.c.password,
    token_secrets.c.digest,
    token_secrets.c.sealed,
    sessions.c.digest,
    sessions.c.previous_digest,
    job_secrets.c.sealed,
)


def marks(whose: str) -> dict[str, str]:
    """A text of each kind, as answers would show it: in small letters."""
    return {kind: f"{whose}{'_' if kind == 'secret' else '-'}{kind}" for kind in KINDS}


THEIR_MARKS = frozenset(marks(MARK).values())


@dataclass(frozen=True)
class Belongings:
    """What a group has beside its ``Things``."""

    script: int
    version: int
    token: int
    token_text: str
    secret: str


class MarkedSite:
    """A site with everything in it, who calls it, and what each of them must not be told."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.rights = rights = RightsSite(site, theirs=marks(MARK)["app"])
        self.ours = self._belongings(rights.ours, "ours")
        self.theirs = self._belongings(rights.theirs, MARK)
        self.callers = self._callers()
        self._plant_secrets()
        self.secrets = self._known_secrets()
        self._before = site.contents()

    def restore(self) -> None:
        """Let everything be as it was made."""
        self.site.put_back(self._before)

    def forbidden(self, who: str) -> frozenset[str]:
        """What no answer to this caller may hold, in small letters."""
        return self.secrets if who == WHO_MAY_MOST else self.secrets | THEIR_MARKS

    def aims(self, *, at_theirs: bool) -> dict[str, Any]:
        """What leads to the things of a group, by the names that paths, queries and bodies have for it."""
        rights = self.rights
        things, own = (rights.theirs, self.theirs) if at_theirs else (rights.ours, self.ours)
        user = rights.users["other viewer" if at_theirs else "viewer"]
        return {
            "group_id": things.group,
            "job_group": things.group,
            "job_id": things.job,
            "execution_id": things.ended,
            "batch_id": things.batch,
            "silence_id": things.silence,
            "channel_id": rights.channel,
            "user_id": user,
            "token_id": own.token,
            "version_id": own.version,
            "from": own.version,
            "app_name": things.app_name,
            "name": own.secret,
            "q": "line",
        }

    def script_of(self, *, at_theirs: bool) -> int:
        """The job that the routes of scripts are asked about."""
        return (self.theirs if at_theirs else self.ours).script

    def _callers(self) -> dict[str, Caller]:
        """Who asks, those first who may least: what one of them changes, the next one finds changed."""
        site, people = self.site, self.rights.callers
        narrow = {"name": "narrow", "group_roles": {str(self.rights.ours.group): "viewer"}}
        return {
            "nobody": site.stranger(),
            "executor": Caller(site.url, {"ORTH-ACCESS-TOKEN": self.ours.token_text}),
            "viewer": people["viewer"],
            "narrow token": site.bearer(_posted(site, "/api/v1/tokens", narrow)["token"]),
            "operator": people["operator"],
            "editor": people["editor"],
            WHO_MAY_MOST: people[WHO_MAY_MOST],
        }

    def _belongings(self, things: Things, whose: str) -> Belongings:
        site, text = self.site, marks(whose)
        code = {"glue_type": "GLUE_SHELL", "glue_source": f"echo {text['code']}", "glue_remark": text["remark"]}
        job = {"job_group": things.group, "job_desc": f"script of {things.app_name}", "executor_param": text["param"]}
        script = site.job(executor_handler="", **job, **code)
        secret = text["secret"].upper()
        path = f"/api/v1/secrets/{secret}?job_group={things.group}"
        assert site.admin().call("PUT", path, {"value": f"{_NEVER}-value-of-{whose}"}).status == 201
        body = {"kind": "executor", "name": text["token"], "app_names": [things.app_name]}
        token = _posted(site, "/api/v1/tokens", body)
        site.tx(_keep_log, things.ended, text["log"], site.clock.now())
        site.tx(_raise_alarm, things, text["alarm"], site.clock.now())
        version = site.tx(list_glue_versions, script, 1, None)[0].id
        return Belongings(script, version, token["id"], token["token"], secret)

    def _plant_secrets(self) -> None:
        """What is secret and of no group."""
        hook = {"url": f"https://alarms.example.org/{_NEVER}-path", "headers": {"X-Key": f"{_NEVER}-channel"}}
        _posted(self.site, "/api/v1/alarms/channels", {"name": "secretive", "kind": "webhook", "definition": hook})

    def _known_secrets(self) -> frozenset[str]:
        with self.site.db.engine.begin() as connection:
            stored = {text for column in _STORED_SECRETS for text in connection.execute(select(column)).scalars()}
            channels = connection.execute(select(alarm_channels.c.definition)).scalars()
            sealed = {definition["sealed"] for definition in map(json.loads, channels)}
        shown_once = {caller.headers.get("Authorization", "Bearer ").removeprefix("Bearer ") for caller in self._all()}
        shown_once |= {self.ours.token_text, self.theirs.token_text}
        known = stored | sealed | shown_once | {_NEVER, ACCESS_TOKEN, PASSWORD, self.site.secret}
        return frozenset(text.lower() for text in known if text and text != "no hash")

    def _all(self) -> list[Caller]:
        return [*self.callers.values(), *self.rights.callers.values(), self.site.admin()]


def _posted(site: Site, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = site.admin().post(path, body)
    assert answer.status == 201, answer.body
    found: dict[str, Any] = answer.json
    return found


def _keep_log(connection: Connection, execution_id: int, text: str, now: int) -> None:
    lines = Lines(1, 2, ["a line of the log", text])
    kept = ArchivedLog(execution_id=execution_id, stored_at=now, lines=2, size=40, complete=True, place=None)
    keep_archive(connection, kept, packed(lines))


def _raise_alarm(connection: Connection, things: Things, text: str, now: int) -> None:
    told = Message(things.ended, things.job, AlarmKind.FIRST, text, "{}")
    store_messages(connection, [told], now)
    keep_standings(connection, {things.job: Standing(things.job, things.ended, now, 0, 1)})
