"""Executors of other makes, scripted: on real sockets, with every habit that their makers gave them.

``ForeignExecutor`` answers as an obedient one would; a test replaces what it does with a call. What it got is kept, and
what it reports goes to a real coordinator. ``Recorded`` is one that follows an exchange from ``exchanges/``: it takes
what its generation takes, letter by letter, and complains about everything else.
"""

import json
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import urllib3

from tests.walk.processes import TOKEN
from tests.wire.peers import Exchange, Peer

EXCHANGES = Path(__file__).parent / "exchanges"
HTTP = urllib3.PoolManager(retries=False, timeout=urllib3.Timeout(total=10), maxsize=10)

Body = dict[str, Any]
Reaction = Callable[[Exchange, Body], None]


def envelope(code: int = 200, **members: object) -> bytes:
    return json.dumps({"code": code, **members}).encode()


class ForeignExecutor:
    """One process of another make, as far as the network can tell."""

    def __init__(self, coordinator: str, app_name: str, *, path: str = "") -> None:
        self.coordinator = coordinator
        self.app_name = app_name
        self.running: set[int] = set()
        self.calls: list[tuple[str, Body]] = []
        self.reactions: dict[str, Reaction] = {"run": self._take, "trigger": self._take}
        self._path = path
        self._peer = Peer(self._serve)

    def __enter__(self) -> Self:
        self._peer.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._peer.__exit__(kind, error, trace)

    @property
    def address(self) -> str:
        return self._peer.address + self._path

    def got(self, call: str) -> list[Body]:
        """The bodies of every call of that name."""
        return [body for name, body in self.calls if name == call]

    def headers_of(self, call: str) -> dict[str, str]:
        """The headers of the last call of that name."""
        found = [one for one in self._peer.requests if one.path == f"{self._path}/{call}"]
        return found[-1].headers

    # --- what it says ---

    def register(self, value: str | None = None) -> None:
        told = self.post("/api/registry", self.registration(value))
        assert told["code"] == 200, told

    def leave(self) -> None:
        assert self.post("/api/registryRemove", self.registration())["code"] == 200

    def registration(self, value: str | None = None) -> Body:
        return {"registryGroup": "EXECUTOR", "registryKey": self.app_name, "registryValue": value or self.address}

    def report(self, log_id: int, code: int = 200, message: object = "done") -> Body:
        """Report one result as most do; the answer."""
        self.running.discard(log_id)
        times = [body["logDateTime"] for _name, body in self.calls if body.get("logId") == log_id]
        item = {"logId": log_id, "logDateTim": (times or [0])[0], "handleCode": code, "handleMsg": message}
        return self.post("/api/callback", [item])

    def post(self, path: str, body: object, headers: Mapping[str, str] | None = None) -> Body:
        """Call the coordinator; its envelope, which must be one."""
        sent = {"Content-Type": "application/json", "XXL-JOB-ACCESS-TOKEN": TOKEN} if headers is None else headers
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        answer = HTTP.request("POST", self.coordinator + path, body=data, headers=dict(sent))
        assert answer.headers["content-type"].startswith("application/json"), answer.headers
        told: Body = json.loads(answer.data)
        assert isinstance(told["code"], int)
        for key in ("content", "data"):  # some read a text there; an object would make them say everything again
            assert told[key] is None or isinstance(told[key], str), told
        return told

    # --- what it does when it is called ---

    def _serve(self, exchange: Exchange) -> None:
        name = exchange.request.path.removeprefix(f"{self._path}/")
        body = json.loads(exchange.request.body) if exchange.request.body else {}
        self.calls.append((name, body))
        reaction = self.reactions.get(name)
        if reaction is not None:
            reaction(exchange, body)
        elif name == "idleBeat":
            exchange.respond(envelope(500 if self.running else 200, msg="busy" if self.running else None))
        elif name in ("beat", "kill"):
            exchange.respond(envelope())
        else:
            exchange.respond(envelope(500, msg=f"invalid request, uri-mapping({name}) not found."))

    def _take(self, exchange: Exchange, body: Body) -> None:
        self.running.add(body["logId"])
        exchange.respond(envelope())


class Recorded(ForeignExecutor):
    """An executor of one generation that does what was recorded."""

    def __init__(self, name: str, coordinator: str, app_name: str) -> None:
        super().__init__(coordinator, app_name)
        self.recording = json.loads((EXCHANGES / f"{name}.json").read_text())
        self.complaints: list[str] = []
        self._heard: dict[str, object] = {"logId": 0, "logDateTime": 0}
        by_path = {call["path"].removeprefix("/"): (name, call) for name, call in self.recording["calls"].items()}
        self.reactions = {path: self._reaction(*named) for path, named in by_path.items()}

    def say(self, report: str) -> Body:
        """Send one of the recorded reports; the answer."""
        if report in ("succeeded", "killed"):
            self.running.clear()
        told = self.recording["reports"][report]
        headers = {"Content-Type": "application/json;charset=UTF-8", **self._filled(told["headers"])}
        return self.post(told["path"], self._filled(told["body"]), headers)

    def _reaction(self, name: str, call: Body) -> Reaction:
        def react(exchange: Exchange, body: Body) -> None:
            complaints = [*self._wrong_headers(call, exchange), *_wrong_body(call, body)]
            if complaints:
                self.complaints += [f"{name}: {complaint}" for complaint in complaints]
                exchange.respond("; ".join(complaints).encode(), 500, "text/plain")
                return
            self._heard |= {key: body[key] for key in self._heard if key in body}
            if name == "run":
                self.running.add(body["logId"])
            reply = self._reply(name, call, body)
            exchange.respond(json.dumps(reply["body"]).encode(), content_type=reply["type"])

        return react

    def _reply(self, name: str, call: Body, body: Body) -> Body:
        if name == "log":
            return dict(call["replies"][str(body["fromLineNum"])])
        if name == "idleBeat":
            return dict(call["replies"]["busy" if self.running else "idle"])
        return dict(call["reply"])

    def _wrong_headers(self, call: Body, exchange: Exchange) -> list[str]:
        wanted: dict[str, str] = self._filled(call["headers"])
        got = exchange.request.headers
        return [f"header {name} is {got.get(name)!r}" for name, value in wanted.items() if got.get(name) != value]

    def _filled(self, value: Any) -> Any:
        """``value`` with the placeholders filled in; one that is a whole text keeps its type."""
        known = {"token": TOKEN, "app": self.app_name, "address": self.address, **self._heard}
        if isinstance(value, dict):
            return {key: self._filled(member) for key, member in value.items()}
        if isinstance(value, list):
            return [self._filled(member) for member in value]
        if not isinstance(value, str):
            return value
        return known[value[1:-1]] if value[1:-1] in known and value[0] == "{" else value.format(**known)


def _wrong_body(call: Body, body: Body) -> list[str]:
    """What a picky reader would not take: a key too many or too few, a value of another type."""
    exact = "body" in call
    pattern: Body = call["body"] if exact else call["reads"]
    wrong = [f"{key} is missing" for key in pattern if key not in body]
    if exact:
        wrong += [f"{key} is not known" for key in body if key not in pattern]
    kinds = {"<int>": int}
    for key, wanted in pattern.items():
        fits = type(body.get(key)) is kinds[wanted] if wanted in kinds else body.get(key) == wanted
        if key in body and not fits:
            wrong.append(f"{key} is {body[key]!r}")
    return wrong


def later(action: Callable[[], object]) -> threading.Thread:
    """Do it in a thread of its own."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    return thread
