"""A coordinator's HTTP side on a real socket, with a real SQLite store behind it and a clock moved by hand.

The loops do not turn: nothing is planned or dispatched unless a test does it, so what a request wrote is all there is.
"""

import asyncio
import json
import secrets
import socket
import sqlite3
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import urllib3
from argon2 import PasswordHasher
from fastapi import FastAPI
from sqlalchemy import Connection, insert, select, update

from orth.cluster.election import Node
from orth.coordinator.http.from_executors import JOB_CALLS
from orth.coordinator.node import Coordinator
from orth.coordinator.refusals import Bounds
from orth.coordinator.rooms import Surroundings
from orth.coordinator.signing import Claim, Refresh, Signing
from orth.coordinator.signing_in.sessions import Begun, Lifetimes, Origin, begin_session
from orth.domain.sessions import SessionKind, Way
from orth.events import Events
from orth.serving import Server, loop_factory
from orth.settings import Settings
from orth.settings.sections import CoordinatorSection, SecuritySection
from orth.store.all_tables import metadata
from orth.store.database import Database, open_database
from orth.store.dispatching import Assignment, assign_executions, record_accepted
from orth.store.executions import find_execution
from orth.store.sign_in_tables import sessions
from orth.store.users import add_user, find_user
from orth.testing import ManualClock
from orth.testing.stores import prepare_store
from orth.wire.dialects import is_foreign
from orth.wire.executor_calls import ExecutorCalls
from tests.emptying import empty, tables_with_rows

ACCESS_TOKEN = "what-executors-show"
PASSWORD = "what-admin-types"
ADMIN_SESSION = "ad" * 16
"""A session of the administrator that is there from the start, so that to be signed in changes nothing in the store."""
LOG_PATIENCE = 3.0
"""Seconds for each page of a log that is read while it comes."""
LOG_TIMEOUT = timedelta(milliseconds=500)
START_TIMEOUT = 10.0

INSIDE = (b"Traceback", b'File "', b".py", b"SELECT ", b"INSERT ", b"UPDATE ", b"sqlite", b"sqlalchemy", b"orth_job_")

QUICK = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
"""Makes true hashes at a thousandth of the cost, for all that is not about the cost."""

REFUSALS = ("api.unauthenticated", "api.refused", "api.misdirected")

EXECUTOR_CALLS = ("registry", "registryRemove", "callback", "enrolment", *JOB_CALLS)
TOO_LARGE = 413

P = ParamSpec("P")
T = TypeVar("T")


def assert_tells_nothing_inside(body: bytes) -> None:
    """No stack trace, no statement, no name of a table or a file."""
    assert [word for word in INSIDE if word.lower() in body.lower()] == []


def but_refusals(contents: Mapping[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """All rows but what the audit tells of callers who were refused, and the end of its chain."""
    kept = {name: rows for name, rows in contents.items() if name != "orth_audit_head"}
    kept["orth_audit"] = [row for row in contents["orth_audit"] if row["action"] not in REFUSALS]
    return kept


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    to_third_party: bool = False
    """Whether it answers what an executor of another make calls: it reads nothing but HTTP 200."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def is_unauthenticated(self) -> bool:
        """Whether it wants a credential; to executors of another make the envelope alone says so."""
        in_envelope = self.to_third_party and self.status == 200 and self.json["code"] != 200
        return self.status == 401 or (in_envelope and "access token" in self.json["msg"])

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "").partition(";")[0]

    def problem(self, status: int) -> dict[str, Any]:
        """The problem this answer is, with ``status``; fails when it is anything else, or tells too much."""
        assert (self.status, self.content_type) == (status, "application/problem+json"), self.body
        said: dict[str, Any] = self.json
        assert said["status"] == status
        assert said["type"].startswith("urn:orth:problem:")
        assert said["title"]
        assert said["detail"]
        assert_tells_nothing_inside(self.body)
        return said

    def envelope(self, status: int = 200) -> dict[str, Any]:
        """The envelope executors know; its payload under both names."""
        sent_as = 200 if self.to_third_party and status != TOO_LARGE else status
        assert (self.status, self.content_type) == (sent_as, "application/json"), self.body
        said: dict[str, Any] = self.json
        assert set(said) == {"code", "msg", "content", "data"}
        assert said["content"] == said["data"]
        assert (said["code"] == 200) == (status == 200)
        assert_tells_nothing_inside(self.body)
        return said


@dataclass
class Caller:
    """Somebody who sends requests; ``headers`` go along with each of them."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._pool = urllib3.PoolManager(retries=False, timeout=20.0)

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        raw: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """Send ``body`` as JSON, or ``raw`` as it is."""
        sent = {**self.headers, **(headers or {})}
        if body is not None:
            raw = json.dumps(body).encode()
        if raw is not None and not any(name.lower() == "content-type" for name in sent):
            sent["Content-Type"] = "application/json"
        got = self._pool.request(method, self.url + path, body=raw, headers=sent, redirect=False)
        called = path.partition("?")[0].rpartition("/")[2]
        return Answer(got.status, got.headers, got.data, called in EXECUTOR_CALLS and is_foreign(sent))

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path: str, body: object = None, **headers: str) -> Answer:
        return self.call("POST", path, body, headers={name.replace("_", "-"): value for name, value in headers.items()})


class Site:
    """A coordinator that serves, from ``__enter__`` on."""

    def __init__(self, database: Path, settings: Settings | None = None, *, url: str | None = None) -> None:
        """``url``: of a store on a server, in the place of the file."""
        self.clock = ManualClock()
        self.settings = settings or Settings(
            coordinator=CoordinatorSection(dispatch_timeout=LOG_TIMEOUT),
            security=SecuritySection(rate_burst=1_000_000, stranger_burst=1_000_000),  # time stands still here
        )
        self.file = database
        self.db: Database = open_database(url or f"sqlite:///{database}")
        self.secret = secrets.token_hex(32)
        self._began = self.clock.now()
        self._first_contents = self.contents()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, name="coordinator", daemon=True)
        self._started = threading.Event()
        self.app: FastAPI
        self.server: Server

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(START_TIMEOUT)
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self._thread.join(START_TIMEOUT)
        assert not self._thread.is_alive()
        self._listening.close()
        self.db.close()

    def _serve(self) -> None:
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            runner.run(self._serve_here())

    async def _serve_here(self) -> None:
        timeout = self.settings.coordinator.dispatch_timeout.total_seconds()
        async with ExecutorCalls(timeout=timeout, log_patience=LOG_PATIENCE) as link:
            given = Surroundings(
                settings=self.settings,
                node=Node("node", secrets.token_hex(8)),
                db=self.db,
                link=link,
                clock=self.clock,
                events=Events(),
                access_token=ACCESS_TOKEN,
                signing_secret=self.secret,
            )
            self.app = Coordinator(given).app()
            self.server = Server(self.app, keep_alive=5)
            self._started.set()
            await self.server.serve(sockets=[self._listening])

    @property
    def port(self) -> int:
        port: int = self._listening.getsockname()[1]
        return port

    def stranger(self) -> Caller:
        """Somebody without any credential."""
        return Caller(self.url)

    def bearer(self, token: str) -> Caller:
        return Caller(self.url, {"Authorization": f"Bearer {token}"})

    def admin(self) -> Caller:
        """The administrator, signed in: the password is checked in the tests of signing in, which is slow by design."""
        return self.bearer(self.access_token())

    def access_token(self, username: str = "admin") -> str:
        """An access token of that user: of a new session, except for the administrator, who always has one."""
        session_id = ADMIN_SESSION if username == "admin" else self.session(username).session.id
        return self.signing.access_token(Claim(username, session_id))

    def refresh_token(self) -> str:
        """A refresh token of a new session of the administrator."""
        begun = self.session()
        session = begun.session
        return self.signing.refresh_token(Refresh(session.id, session.generation, begun.secret), session.idle_until)

    def session(self, username: str = "admin", kind: SessionKind = SessionKind.TOKENS) -> Begun:
        """A new session of that user."""

        def begin(connection: Connection) -> Begun:
            user = find_user(connection, username)
            assert user is not None
            lifetimes, now = Lifetimes.of(self.settings), self.clock.now()
            here = Origin("127.0.0.1", "tests")
            return begin_session(connection, user, kind, Way.PASSWORD, here, lifetimes=lifetimes, now=now)

        return self.tx(begin)

    @property
    def signing(self) -> Signing:
        """What the coordinator signs sessions with."""
        return Signing(self.secret, self.clock, access=self.settings.security.access_token_ttl)

    def executor(self) -> Caller:
        """An executor of ours, which knows the access token."""
        return Caller(self.url, {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN, "ORTH-EXTENSIONS": "verdicts"})

    def tx(self, fn: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a verb of the store, as the coordinator's own loops would."""
        with self.db.engine.begin() as connection:
            return fn(connection, *args, **kwargs)

    def group(self, app_name: str = "demo", **fields: object) -> int:
        """A new group; its id."""
        answer = self.admin().post("/api/v1/groups", {"app_name": app_name, **fields})
        assert answer.status == 201, answer.body
        return int(answer.json["id"])

    def job(self, **fields: object) -> int:
        """A new job, in a new group unless one is named; its id."""
        if "job_group" not in fields:
            fields["job_group"] = self.group()
        body = {"job_desc": "nightly report", "executor_handler": "report", **fields}
        answer = self.admin().post("/api/v1/jobs", body)
        assert answer.status == 201, answer.body
        return int(answer.json["id"])

    def execution(self, job_id: int, **fields: object) -> int:
        """A new execution, triggered by hand; its id."""
        answer = self.admin().post(f"/api/v1/jobs/{job_id}/trigger", fields)
        assert answer.status == 202, answer.body
        return int(answer.json["execution_ids"][0])

    def contents(self) -> dict[str, list[dict[str, Any]]]:
        """Every row of every table."""
        with self.db.engine.begin() as connection:
            filled = tables_with_rows(connection)
            read = {table: [dict(row) for row in connection.execute(select(table)).mappings()] for table in filled}
            return {table.name: read.get(table, []) for table in metadata.sorted_tables}

    def state(self) -> dict[str, list[dict[str, Any]]]:
        """What must be the same after a request that was refused."""
        return but_refusals(self.contents())

    def reset(self) -> None:
        """Go back to the start, in data and in time: cheaper than serving anew for every test."""
        self.clock.jump((self._began - self.clock.now()) / 1000)
        tools = self.app.state.tools
        tools.refusals._bounds = Bounds()  # what one test had refused leaves the next its room
        for known in (tools.callbacks.beat_sources._sources, tools.callbacks.beat_sources._urls):
            known.clear()  # where the beats of one test came from says nothing to the next
        self.put_back(self._first_contents)

    def put_back(self, contents: Mapping[str, list[dict[str, Any]]]) -> None:
        """Let every table have the rows it had when ``contents`` was read."""
        with self.db.engine.begin() as connection:
            empty(connection)
            for table in metadata.sorted_tables:
                if rows := contents[table.name]:
                    connection.execute(insert(table), rows)

    def trigger_time(self, execution_id: int) -> int:
        with self.db.engine.connect() as connection:
            found = find_execution(connection, execution_id)
        assert found is not None
        return found.trigger_time

    def dispatched(self, execution_id: int, address: str, *, keyed: bool = False) -> None:
        """Let an execution have been taken by the executor at ``address``; ``keyed``, with a report key."""
        self.sent(execution_id, address, keyed=keyed)
        self.tx(record_accepted, [execution_id], self.clock.now())

    def sent(self, execution_id: int, address: str, *, keyed: bool = False) -> None:
        """Let an execution be on its way to the executor at ``address``."""
        self.tx(assign_executions, [Assignment(execution_id, address, None, "by hand", keyed)], 1, self.clock.now())


def prepared_database(file: Path) -> Path:
    """A database with the schema and the administrator, to be copied: making it costs a migration."""
    prepare_with_admin(f"sqlite:///{file}")
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return file


def prepare_with_admin(url: str) -> None:
    """Put the schema and the administrator into an empty database."""
    prepare_store(url)
    with open_database(url) as db, db.engine.begin() as connection:
        add_user(connection, "admin", QUICK.hash(PASSWORD), "admin", 0)
        admin = find_user(connection, "admin")
        assert admin is not None
        for_ever = Lifetimes(dict.fromkeys(SessionKind, 2**47), 2**47)
        here = Origin("127.0.0.1", "tests")
        begun = begin_session(connection, admin, SessionKind.TOKENS, Way.PASSWORD, here, lifetimes=for_ever, now=0)
        connection.execute(update(sessions).where(sessions.c.id == begun.session.id).values(id=ADMIN_SESSION))
