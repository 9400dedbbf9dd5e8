"""Two coordinators and an executor, each a real process on a host of its own, and an attacker's host beside them.

``Form`` says how much of what protects them is switched on. The executor runs scripts of every kind: nothing but its
credentials keeps an attacker's code out.
"""

import asyncio
import json
import ssl
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

import urllib3
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from orth.clock import SystemClock
from orth.coordinator.contests import REMEMBERED
from orth.coordinator.sealing import Sealing
from orth.coordinator.work_keys import WorkKeys
from orth.domain.nodes import ExecutorEntry
from orth.executor.own_key import FILE
from orth.store.database import open_database
from orth.store.executor_entries import list_executors
from orth.testing.stores import prepare_store
from orth.wire.signatures import RECEIVER_HEADER, Key, Signer
from orth.wire.work_keys import work_key_of
from tests.security.hosts import METADATA, Canary, Host, Network
from tests.walk.processes import MASTER_KEY, PASSWORD, TOKEN, Api, Process, eventually

JOBS = """
import time
from pathlib import Path

from orth import Executor

app = Executor("reports")


@app.job("hold")
def hold() -> str:
    while not Path("go").exists():
        time.sleep(0.05)
    return "went on"


@app.job("say")
def say(ctx, text: str) -> None:
    ctx.log("{}", text)
"""
EDITOR = "editor"
MARKUP = "<img src=x onerror=alert(1)><script>alert(1)</script>"


class Form(StrEnum):
    PLAIN = "plain"  # one token that all share, shown or proved
    SIGNED = "signed"  # a token for each app, and nothing without a signature
    MTLS = "mtls"  # that, and certificates on both sides


@dataclass(frozen=True)
class Certificate:
    file: Path
    key: Path


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    @property
    def refused(self) -> int:
        """The status; for a coordinator of another make, which reads it in the envelope alone, what that says."""
        in_envelope = self.status == 200 and isinstance(self.json, dict) and "code" in self.json
        return 401 if in_envelope and self.json["code"] != 200 and "token" in self.json["msg"] else self.status


class Caller:
    """Somebody on a host, who asks over HTTP."""

    def __init__(self, host: Host, tls: ssl.SSLContext | None = None) -> None:
        self.host = host
        self._tls = tls
        self._pool = urllib3.PoolManager(ssl_context=tls, retries=False, timeout=10)

    def ask(self, method: str, url: str, body: Any = None, **headers: str) -> Answer:
        """The headers' names with _ for -."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        named |= {"Content-Type": "application/json"} if data is not None else {}
        found = self.host.do(lambda: self._pool.request(method, url, body=data, headers=named, redirect=False))
        return Answer(found.status, {name.lower(): value for name, value in found.headers.items()}, found.data)

    def post(self, url: str, body: Any = None, **headers: str) -> Answer:
        return self.ask("POST", url, body, **headers)

    def signature(self, token: str | Key, address: str, path: str, body: bytes, method: str = "POST") -> dict[str, str]:
        """The headers of a signed request that whoever is at ``address`` takes, once."""
        signer = Signer("captured", SystemClock())
        hello = signer.header(token, address, method, path, body)
        answer = self.ask(method, address + path, body or None, **hello)
        # An attacker believes what no honest caller would: where the key is not known, nothing proves the refusal.
        signer.expect(address, answer.headers.get(RECEIVER_HEADER.lower(), ""))
        return signer.header(token, address, method, path, body)

    def proved(self, token: str | Key, address: str, path: str, body: Any) -> Answer:
        """The answer to a request that is signed with ``token``, or a key made from one."""
        data = json.dumps(body).encode()
        return self.post(address + path, data, **self.signature(token, address, path, data))

    def listens(self, url: str, origin: str | None = None, **headers: str) -> str:
        """What becomes of a WebSocket: why it was refused or closed, or the first message it got."""

        def listen() -> str:
            try:
                with connect(url, origin=origin, additional_headers=headers, ssl=self._tls, open_timeout=10) as line:  # type: ignore[arg-type]  # the library has a type of its own for origins
                    line.send("{}")
                    return str(line.recv(timeout=10))
            except InvalidStatus as refused:
                return str(refused.response.status_code)
            except ConnectionClosed as closed:
                return str(closed.rcvd.code if closed.rcvd else "gone")

        return self.host.do(listen)


class Desk(Api):
    """The admin API, from the host of those who run all this."""

    def __init__(self, caller: Caller, url: str, username: str = "admin", password: str = PASSWORD) -> None:
        super().__init__(url)
        self._caller, self._who = caller, {"username": username, "password": password}

    def ask(self, method: str, path: str, body: Any = None) -> Answer:
        return self._caller.ask(method, self.url + path, body, Authorization=f"Bearer {self._signed_in()}")

    def call(self, method: str, path: str, body: object = None, *, expect: int | None = None) -> Any:
        answer = self.ask(method, path, body)
        assert answer.status < 400 if expect is None else answer.status == expect, f"{method} {path}: {answer}"
        return answer.json

    def _signed_in(self) -> str:
        if self._token is None:
            answer = self._caller.post(f"{self.url}/api/v1/auth/login", self._who)
            assert answer.status == 200, answer
            self._token = str(answer.json["access_token"])
        return self._token


class AttackedSite:
    """All of them. Leaving it ends every process and removes every host."""

    def __init__(self, form: Form, folder: Path) -> None:
        self.form, self.folder = form, folder
        self.work = folder / "executor"
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            network = stack.enter_context(Network())
            self.nodes = [network.host(11), network.host(12)]
            self.worker, self.thief = network.host(21), network.host(66)
            scheme = "https" if self.form is Form.MTLS else "http"
            self.urls = [f"{scheme}://{host.address}:5080" for host in self.nodes]
            self.executor_url = f"{scheme}://{self.worker.address}:9999"
            self._prepare(network)
            self.metadata = Canary(network.desk, METADATA, 80)
            self.inside = Canary(self.nodes[0], "127.0.0.1", 8500)
            stack.callback(self.metadata.close)
            stack.callback(self.inside.close)
            self._start(stack)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_exc: object) -> None:
        self._stack.close()

    # --- what is looked at

    def state(self) -> dict[str, Any]:
        """Everything that an attack could have changed."""
        executions = self.desk.items("/api/v1/executions")
        return {
            "executions": [(one["id"], one["status"], one["handle_code"]) for one in executions],
            "executors": sorted((one["app_name"], one["address"]) for one in self.desk.items("/api/v1/executors")),
            "jobs": self.desk.items("/api/v1/jobs"),
            "groups": self.desk.items("/api/v1/groups"),
            "users": self.desk.items("/api/v1/users"),
            "files": sorted(file.name for file in self.folder.rglob("owned*")),
            "called": [*self.metadata.asked, *self.inside.asked],
        }

    def told(self, action: str, address: str = "") -> list[dict[str, Any]]:
        """Entries of the audit about what was done from ``address``, or the attacker's."""
        found = self.desk.items(f"/api/v1/audit?action={action}")
        return [one for one in found if one["address"] == (address or self.thief.address)]

    def audited(self, action: str, *objects: str) -> None:
        """Wait until the audit tells that the attacker has done this to each of these."""

        def all_told() -> bool:
            return {one["object_id"] for one in self.told(action)} >= set(objects)

        eventually(all_told, within=15, what=f"{action} of {objects} in the audit")

    def _entry(self) -> ExecutorEntry:
        with open_database(self._settings["ORTH_STORE__URL"]) as db:
            (entry,) = asyncio.run(db.read(list_executors, "reports"))
        return entry

    def incarnation(self) -> str:
        """Of the executor that is registered."""
        found = self._entry().incarnation
        assert found is not None
        return found

    def restart_executor(self) -> None:
        """Kill it, and start another one at its address, not sooner than a process that begins from nothing could."""
        self.executor.popen.kill()
        self.executor.popen.wait(10)
        time.sleep(REMEMBERED)
        self._start_executor(self._stack)

    def restart_all(self) -> None:
        """The same, and the second coordinator with it."""
        self.second.popen.kill()
        self.second.popen.wait(10)
        self._coordinator(self._stack, 1)
        self.restart_executor()
        self._ready(f"{self.urls[1]}/health/ready", "the second coordinator")

    def work_key(self) -> Key:
        """What coordinators ask the executor for work with: in the database, under the master key."""
        entry = self._entry()
        work_key = WorkKeys(Sealing(bytes.fromhex(MASTER_KEY))).opened(entry)
        assert work_key is not None
        return work_key_of((self.work / "data" / FILE).read_text().strip(), work_key)

    def execution(self, job: str) -> int:
        (found,) = self.desk.call("POST", f"/api/v1/jobs/{self.jobs[job]}/trigger")["execution_ids"]
        return int(found)

    def status(self, execution: int) -> str:
        return str(self.desk.call("GET", f"/api/v1/executions/{execution}")["status"])

    # --- how it is made

    def _prepare(self, network: Network) -> None:
        self.work.mkdir()
        (self.work / "jobs.py").write_text(JOBS)
        self._settings = {
            "ORTH_STORE__URL": f"sqlite:///{self.folder}/orth.db",
            "ORTH_CHANNELS__URL": "database://",
            "ORTH_SECURITY__ACCESS_TOKEN": TOKEN,
            "ORTH_SECURITY__ADMIN_PASSWORD": PASSWORD,
            "ORTH_SECURITY__MASTER_KEY": MASTER_KEY,
            "ORTH_SECURITY__STRANGER_BURST": "100000",
            "ORTH_CLUSTER__LEASE": "3s",
            "ORTH_CLUSTER__LEASE_RENEW": "500ms",
        }
        tls: ssl.SSLContext | None = None
        if self.form is not Form.PLAIN:
            self._settings["ORTH_SECURITY__REQUIRE_SIGNATURES"] = "true"
            self._settings["ORTH_SECURITY__GLOBAL_EXECUTOR_TOKEN"] = "false"
        if self.form is Form.MTLS:
            authority = certificate(self.folder / "authority")
            node = certificate(self.folder / "node", of=authority, hosts=[*self.nodes, self.worker])
            self.authority, self.stranger = authority.file, certificate(self.folder / "stranger")
            self._settings |= {
                "ORTH_SECURITY__TLS_CERTIFICATE": str(node.file),
                "ORTH_SECURITY__TLS_KEY": str(node.key),
                "ORTH_SECURITY__TLS_CLIENT_CA": str(authority.file),
                "ORTH_SECURITY__TLS_VERIFY_CLIENTS": "true",
            }
            tls = context(authority.file, node)
        self.desk = Desk(Caller(network.desk, tls), self.urls[0])
        self.attacker = Caller(self.thief, tls)
        """With certificates, one who has stolen that of a machine: those without one do not get far enough to ask."""

    def _start(self, stack: ExitStack) -> None:
        prepare_store(self._settings["ORTH_STORE__URL"])
        for number in (0, 1):
            self._coordinator(stack, number)
        self._ready(f"{self.urls[0]}/health/ready", "the first coordinator")
        self.groups = {name: self._group(name) for name in ("reports", "ledger")}
        self.tokens = {name: self._token(name) for name in ("reports", "ledger")}
        self.executor_token = TOKEN if self.form is Form.PLAIN else self.tokens["reports"]
        self._start_executor(stack)
        self._define()
        self._ready(f"{self.urls[1]}/health/ready", "the second coordinator")
        eventually(lambda: self.desk.items("/api/v1/executors"), what="the executor is registered")

    def _start_executor(self, stack: ExitStack) -> None:
        own = {
            "ORTH_SECURITY__ACCESS_TOKEN": self.executor_token,
            "ORTH_EXECUTOR__LISTEN": f"{self.worker.address}:9999",
            "ORTH_EXECUTOR__COORDINATORS": ",".join(self.urls),
            "ORTH_EXECUTOR__DATA_DIR": str(self.work / "data"),
            "ORTH_EXECUTOR__HEARTBEAT": "500ms",
            "ORTH_EXECUTOR__SCRIPTS": "shell,python,glue",
            "ORTH_EXECUTOR__SCRIPTS_SHARE_USER": "true",
        }
        self.executor = self._run(stack, "executor", ["executor", "jobs.py"], self.worker, own)

    def _coordinator(self, stack: ExitStack, number: int) -> None:
        name = f"node-{number + 1}"
        own = {
            "ORTH_COORDINATOR__LISTEN": f"{self.nodes[number].address}:5080",
            "ORTH_COORDINATOR__URL": self.urls[number],
            "ORTH_COORDINATOR__NODE_ID": name,
            "ORTH_COORDINATOR__DATA_DIR": str(self.folder / name),
        }
        self.second = self._run(stack, name, ["server"], self.nodes[number], own)

    def _run(self, stack: ExitStack, name: str, words: list[str], host: Host, own: dict[str, str]) -> Process:
        process = Process(name, words, self._settings | own, self.work, network=host.network)
        stack.callback(process.popen.wait, 10)
        stack.callback(process.popen.kill)
        return process

    def _ready(self, url: str, what: str) -> None:
        def answers() -> bool:
            try:
                return self.desk._caller.ask("GET", url).status == 200
            except urllib3.exceptions.HTTPError:
                return False

        eventually(answers, what=f"{what} ready")

    def _group(self, name: str) -> int:
        body = {"app_name": name, "title": MARKUP, "scripts_allowed": True}
        return int(self.desk.call("POST", "/api/v1/groups", body)["id"])

    def _token(self, name: str) -> str:
        made = self.desk.call("POST", "/api/v1/tokens", {"kind": "executor", "name": name, "app_names": [name]})
        return str(made["token"])

    def _define(self) -> None:
        self.jobs = {}
        for name, group, more in (
            ("hold", "reports", {"executor_handler": "hold"}),
            ("say", "reports", {"executor_handler": "say", "executor_param": json.dumps({"text": MARKUP})}),
            ("shell", "reports", {"glue_type": "GLUE_SHELL", "glue_source": "touch allowed", "glue_remark": "first"}),
            ("other", "ledger", {"executor_handler": "count"}),
        ):
            body = {"job_group": self.groups[group], "job_desc": MARKUP, **more}
            self.jobs[name] = int(self.desk.call("POST", "/api/v1/jobs", body)["id"])
        grants = [{"group_id": group, "role": "editor"} for group in self.groups.values()]
        self.desk.call("POST", "/api/v1/users", {"username": EDITOR, "password": PASSWORD, "grants": grants})
        self.editor = Desk(self.desk._caller, self.urls[0], EDITOR)


def context(authority: Path, shown: Certificate | None) -> ssl.SSLContext:
    made = ssl.create_default_context(cafile=str(authority))
    if shown is not None:
        made.load_cert_chain(shown.file, shown.key)
    return made


def certificate(path: Path, *, of: Certificate | None = None, hosts: list[Host] | None = None) -> Certificate:
    """A certificate for these hosts, vouched for by ``of``; without it, by itself alone."""
    made = Certificate(path.with_suffix(".pem"), path.with_suffix(".key"))
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-keyout", str(made.key), "-out", str(made.file), "-days", "1", "-subj", f"/CN={path.name}"]
    if of is not None:
        names = ",".join(f"IP:{host.address}" for host in hosts or [])
        command += ["-CA", str(of.file), "-CAkey", str(of.key), "-addext", f"subjectAltName={names}"]
        command += ["-addext", "extendedKeyUsage=serverAuth,clientAuth", "-addext", "basicConstraints=CA:FALSE"]
    subprocess.run(command, check=True, capture_output=True)
    return made
