"""Our executor before a scripted coordinator of each generation: requests as it writes them, replies as it reads.

The bodies are spelled out here, key by key, and never made by our own code: what is checked is the wire.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from orth.clock import SystemClock
from orth.executor.handlers import Handlers
from orth.executor.outbox import Outbox
from orth.executor.results import Result
from orth.wire.coordinator_calls import CoordinatorCalls
from orth.wire.messages import MISDIRECTED, Announcement, HandlerInfo, RegistryRequest, Verdict
from orth.wire.signatures import Signer
from tests.executor.bench import NOON, TOKEN, Ears, HandClock, Rig, eventually
from tests.executor.conftest import MakeRig

XXL = {"XXL-JOB-ACCESS-TOKEN": TOKEN, "Content-Type": "application/json;charset=UTF-8"}
XXL35 = {**XXL, "XXL-JOB-APPNAME": "rig-app"}
ORTH = {"ORTH-ACCESS-TOKEN": TOKEN, "Content-Type": "application/json;charset=UTF-8"}
RPC = {"xxl-rpc-access-token": TOKEN}

BASE_RUN = {
    "jobId": 1,
    "executorHandler": "echo",
    "executorParams": "hello",
    "executorBlockStrategy": "SERIAL_EXECUTION",
    "executorTimeout": 0,
    "logId": 7,
    "logDateTime": NOON,
    "glueType": "BEAN",
    "glueSource": "",
    "glueUpdatetime": NOON,
    "broadcastIndex": 0,
    "broadcastTotal": 1,
}
ORTH_RUN = {**BASE_RUN, "executorConcurrency": 1, "scheduleTime": NOON}

GENERATIONS = {
    "2.3": (XXL, "/run", BASE_RUN),
    "3.2": (XXL, "/run", {**BASE_RUN, "glueSource": None}),
    "3.4": (XXL, "/run", {**BASE_RUN, "glueSource": None, "executorParams": None}),
    "3.5": (XXL35, "/trigger", BASE_RUN),
    "orth": (ORTH, "/run", ORTH_RUN),
    "old header": (RPC, "/run", BASE_RUN),
}
HEADERS_OF = {name: headers for name, (headers, _path, _body) in GENERATIONS.items()}


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def ran(app: Handlers, rig: MakeRig, release: threading.Event) -> Rig:
    @app.job("echo")
    def echo(ctx: Any) -> str:
        ctx.log("shard {} of {}", ctx.shard_index, ctx.shard_total)
        return f"got {ctx.param!r}"

    app.job("hold")(lambda: release.wait(20) and None)
    made: Rig = rig()
    return made


def ask(ran: Rig, headers: dict[str, str], path: str, body: object, *, raw: bytes | None = None) -> dict[str, Any]:
    """The envelope of an answer: HTTP 200, JSON, and the keys every generation looks for."""
    status, answer = ran.runtime.handle(path, json.dumps(body).encode() if raw is None else raw, headers)
    assert status == 200, answer
    envelope: dict[str, Any] = json.loads(answer)
    assert set(envelope) == {"code", "msg", "content", "data"}
    assert type(envelope["code"]) is int
    assert envelope["msg"] is None or type(envelope["msg"]) is str
    assert envelope["content"] == envelope["data"], "older coordinators read content, newer ones data"
    return envelope


# --- /run and /trigger ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_trigger_is_taken_carried_out_and_answered_field_by_field(ran: Rig, generation: str) -> None:
    headers, path, body = GENERATIONS[generation]
    envelope = ask(ran, headers, path, body)
    assert envelope == {"code": 200, "msg": None, "content": None, "data": None}
    assert ran.runtime.join_idle(10)
    result = ran.waiting()[7]
    assert (result.log_id, result.log_date_time, result.handle_code) == (7, NOON, 200)
    assert result.handle_msg == f"got {body['executorParams'] or ''!r}"
    assert ran.runtime.logs.path_of(7, NOON).parent.name == "2025-06-15"


@pytest.mark.parametrize("path", ["/run", "/trigger"])
@pytest.mark.parametrize(
    "change",
    [
        {"executorParams": None},
        {"executorBlockStrategy": None},
        {"executorBlockStrategy": "SOMETHING_NEWER"},
        {"executorTimeout": None},
        {"executorTimeout": -1},
        {"glueType": None},
        {"glueSource": None, "glueUpdatetime": None},
        {"broadcastIndex": None, "broadcastTotal": None},
        {"broadcastTotal": 0},
        {"executorConcurrency": 0},
        {"scheduleTime": None},
        {"logId": "7", "jobId": "1"},
        {"somethingNew": {"deep": [1, 2]}, "another": None},
    ],
    ids=json.dumps,
)
def test_missing_null_odd_and_unknown_fields_are_no_reason_to_refuse(
    ran: Rig, path: str, change: dict[str, object]
) -> None:
    assert ask(ran, XXL, path, BASE_RUN | change)["code"] == 200
    without = {key: value for key, value in BASE_RUN.items() if key not in change} | {"logId": 8, "jobId": 2}
    assert ask(ran, XXL, path, without)["code"] == 200
    assert ran.runtime.join_idle(10)
    assert {log_id: item.handle_code for log_id, item in ran.waiting().items()} == {7: 200, 8: 200}


@pytest.mark.parametrize("spelling", ["logDateTime", "logDateTim"])
def test_both_spellings_of_the_time_name_the_log(ran: Rig, spelling: str) -> None:
    body = {key: value for key, value in BASE_RUN.items() if key != "logDateTime"} | {spelling: NOON}
    assert ask(ran, XXL, "/run", body)["code"] == 200
    assert ran.runtime.join_idle(10)
    assert ran.runtime.logs.path_of(7, NOON).exists()


def test_shards_reach_the_handler(ran: Rig) -> None:
    assert ask(ran, XXL, "/run", BASE_RUN | {"broadcastIndex": 2, "broadcastTotal": 5})["code"] == 200
    assert ran.runtime.join_idle(10)
    assert "shard 2 of 5" in ran.text(7)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"executorHandler": "nobody"}, "nobody"),
        ({"glueType": "GLUE_SHELL", "glueSource": "true"}, "GLUE_SHELL"),
        ({"glueType": "GLUE_PYTHON2", "glueSource": "pass"}, "GLUE_PYTHON2"),
        ({"glueType": "GLUE_GROOVY", "glueSource": "x"}, "GLUE_GROOVY"),
    ],
)
def test_a_refusal_is_a_500_in_the_envelope_and_no_result_follows(
    ran: Rig, change: dict[str, object], said: str
) -> None:
    envelope = ask(ran, XXL, "/run", BASE_RUN | change)
    assert (envelope["code"], envelope["data"]) == (500, None)
    assert said in envelope["msg"]
    assert ran.runtime.quiet()
    assert ran.waiting() == {}


@pytest.mark.parametrize(
    "raw", [b"", b"null", b"[]", b"{}", b"{", b'{"jobId":1}', b'{"jobId":1.5,"logId":7}', b"\xff\xfe", b'"text"']
)
@pytest.mark.parametrize("generation", HEADERS_OF)
def test_what_is_no_trigger_is_refused_in_the_envelope(ran: Rig, raw: bytes, generation: str) -> None:
    if generation == "orth":
        status, answer = ran.runtime.handle("/run", raw, ORTH)
        assert (status, json.loads(answer)["code"]) == (400, 500)
    else:
        refused = ask(ran, HEADERS_OF[generation], "/run", None, raw=raw)
        assert (refused["code"], refused["data"]) == (500, None)
        assert refused["msg"]
    assert ran.runtime.quiet()


def test_discard_later_is_answered_in_the_reply_itself(ran: Rig, release: threading.Event) -> None:
    hold = BASE_RUN | {"executorHandler": "hold", "executorParams": ""}
    assert ask(ran, XXL, "/run", hold)["code"] == 200
    refused = ask(ran, XXL, "/run", hold | {"logId": 8, "executorBlockStrategy": "DISCARD_LATER"})
    assert refused["code"] == 500
    assert "DISCARD_LATER" in refused["msg"]
    release.set()
    assert ran.runtime.join_idle(10)
    assert ran.waiting().keys() == {7}


# --- /beat, /idleBeat, /kill ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", HEADERS_OF)
@pytest.mark.parametrize("raw", [b"", b"{}", b"null", b'""'])
def test_a_beat_is_answered_whatever_its_body(ran: Rig, generation: str, raw: bytes) -> None:
    assert ask(ran, HEADERS_OF[generation], "/beat", None, raw=raw)["code"] == 200


@pytest.mark.parametrize("generation", HEADERS_OF)
def test_an_idle_beat_tells_busy_from_idle_per_job(ran: Rig, release: threading.Event, generation: str) -> None:
    headers = HEADERS_OF[generation]
    assert ask(ran, headers, "/idleBeat", {"jobId": 1})["code"] == 200
    assert ask(ran, headers, "/run", BASE_RUN | {"executorHandler": "hold", "executorParams": ""})["code"] == 200
    busy = ask(ran, headers, "/idleBeat", {"jobId": 1, "more": None})
    assert busy["code"] == 500
    assert busy["msg"]
    assert ask(ran, headers, "/idleBeat", {"jobId": 2})["code"] == 200
    release.set()
    assert ran.runtime.join_idle(10)
    assert ask(ran, headers, "/idleBeat", {"jobId": "1"})["code"] == 200


@pytest.mark.parametrize("generation", HEADERS_OF)
def test_a_kill_by_job_is_always_a_yes_and_reports_every_execution(
    ran: Rig, release: threading.Event, generation: str
) -> None:
    headers = HEADERS_OF[generation]
    assert ask(ran, headers, "/kill", {"jobId": 1})["code"] == 200
    for log_id in (7, 8, 9):
        run = BASE_RUN | {"executorHandler": "hold", "executorParams": "", "logId": log_id}
        assert ask(ran, headers, "/run", run)["code"] == 200
    eventually(lambda: len(ran.runtime.tools.contexts) == 1)
    assert ask(ran, headers, "/kill", {"jobId": 1})["code"] == 200
    release.set()
    assert ran.runtime.join_idle(20)
    assert {log_id: item.handle_code for log_id, item in ran.waiting().items()} == {7: 500, 8: 500, 9: 500}
    assert all(item.handle_msg for item in ran.waiting().values())


# --- /log -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generation", HEADERS_OF)
@pytest.mark.parametrize("spelling", ["logDateTim", "logDateTime"])
def test_a_log_is_read_line_by_line_to_its_end(ran: Rig, generation: str, spelling: str) -> None:
    headers = HEADERS_OF[generation]
    ask(ran, headers, "/run", BASE_RUN)
    assert ran.runtime.join_idle(10)
    page = ask(ran, headers, "/log", {spelling: NOON, "logId": 7, "fromLineNum": 1})["data"]
    assert set(page) == {"fromLineNum", "toLineNum", "logContent", "isEnd", "end"}
    assert (page["fromLineNum"], page["isEnd"], page["end"]) == (1, True, True)
    assert page["toLineNum"] == len(page["logContent"].split("\n")) >= 3
    second = ask(ran, headers, "/log", {spelling: NOON, "logId": 7, "fromLineNum": 2})["data"]
    assert second["logContent"] == page["logContent"].split("\n", 1)[1]
    beyond = ask(ran, headers, "/log", {spelling: NOON, "logId": 7, "fromLineNum": page["toLineNum"] + 1})["data"]
    assert beyond["fromLineNum"] > beyond["toLineNum"]
    assert beyond["logContent"] == ""


@pytest.mark.parametrize("odd", [0, -5, None, "1"])
def test_a_line_number_before_the_first_is_the_first(ran: Rig, odd: object) -> None:
    ask(ran, XXL, "/run", BASE_RUN)
    assert ran.runtime.join_idle(10)
    page = ask(ran, XXL, "/log", {"logDateTim": NOON, "logId": 7, "fromLineNum": odd})["data"]
    assert page["fromLineNum"] == 1
    assert page["toLineNum"] >= 3


def test_a_missing_log_is_a_yes_that_ends_the_viewer(ran: Rig) -> None:
    envelope = ask(ran, XXL, "/log", {"logDateTim": NOON, "logId": 99, "fromLineNum": 1})
    page = envelope["content"]
    assert (envelope["code"], page["toLineNum"], page["isEnd"]) == (200, 0, True)
    assert page["logContent"]


def test_a_log_that_still_grows_is_not_at_its_end(ran: Rig, release: threading.Event) -> None:
    ask(ran, XXL, "/run", BASE_RUN | {"executorHandler": "hold", "executorParams": ""})
    eventually(lambda: len(ran.runtime.tools.contexts) == 1)
    page = ask(ran, XXL, "/log", {"logDateTim": NOON, "logId": 7, "fromLineNum": 1})["data"]
    assert (page["isEnd"], page["end"]) == (False, False)
    release.set()
    assert ran.runtime.join_idle(10)


# --- tokens -----------------------------------------------------------------------------------------------------------


PATHS = ("/run", "/trigger", "/beat", "/idleBeat", "/kill", "/log")
NO_TOKEN = [
    {},
    {"XXL-JOB-ACCESS-TOKEN": ""},
    {"XXL-JOB-ACCESS-TOKEN": "wrong"},
    {"XXL-JOB-ACCESS-TOKEN": TOKEN + "x"},
    {"XXL-JOB-APPNAME": "rig-app"},
    {"xxl-rpc-access-token": "wrong", "Authorization": "Basic eDp5"},
]


@pytest.mark.parametrize("path", PATHS)
def test_without_the_token_nothing_happens_and_the_reason_is_read(ran: Rig, path: str) -> None:
    answers = [ask(ran, headers, path, BASE_RUN) for headers in NO_TOKEN]
    assert answers[0]["code"] == 500
    assert "token" in answers[0]["msg"]
    assert answers == [answers[0]] * len(NO_TOKEN), "a wrong token tells no more than a missing one"
    assert ran.runtime.quiet()


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("named", ["other-app", "", "rig-app2", "RIG-APP"])
def test_a_coordinator_that_means_another_application_is_refused(ran: Rig, path: str, named: str) -> None:
    refused = ask(ran, {**XXL, "xxl-job-appname": named}, path, BASE_RUN)
    assert (refused["code"], "app name" in refused["msg"]) == (500, True)
    assert ran.runtime.quiet()
    assert ask(ran, {**XXL, "XXL-JOB-APPNAME": " rig-app "}, "/beat", {})["code"] == 200


def test_ours_say_in_the_trigger_whom_they_mean(ran: Rig) -> None:
    """They are answered that they came to the wrong address, which is more than a refusal."""
    headers = {**XXL35, **ORTH, "XXL-JOB-APPNAME": "other-app"}
    assert ask(ran, headers, "/beat", {})["code"] == 200
    assert ask(ran, headers, "/run", BASE_RUN | {"appName": "other-app"})["code"] == MISDIRECTED


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "headers", [{"ORTH-ACCESS-TOKEN": "wrong"}, {"orth-access-token": ""}, {"Authorization": "Bearer wrong"}]
)
def test_those_who_know_us_are_told_by_the_status_too(ran: Rig, headers: dict[str, str], path: str) -> None:
    status, answer = ran.runtime.handle(path, json.dumps(BASE_RUN).encode(), headers)
    assert (status, json.loads(answer)["code"]) == (401, 500)
    assert ran.runtime.quiet()


@pytest.mark.parametrize("path", ["/", "/nowhere", "/run/", "/runs/x", "/health", "/metrics"])
def test_an_unknown_path_is_a_500_in_the_envelope(ran: Rig, path: str) -> None:
    for headers in (XXL, XXL35, {}):
        refused = ask(ran, headers, path, {})
        assert (refused["code"], refused["data"]) == (500, None)
        assert refused["msg"]
    assert ran.runtime.handle(path, b"{}", ORTH)[0] in (404, 405)
    assert ran.runtime.handle("/nowhere", b"", XXL, method="GET")[0] == 404
    assert ran.runtime.handle("/run", b"", XXL, method="GET")[0] == 405


def test_a_bug_of_ours_is_told_in_the_envelope_too(ran: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ran.runtime.admission, "is_open", lambda _: 1 / 0)
    refused = ask(ran, XXL, "/log", {"logDateTim": NOON, "logId": 7, "fromLineNum": 1})
    assert (refused["code"], "process log" in refused["msg"]) == (500, True)


# --- what we send to a coordinator of another make --------------------------------------------------------------------


class Admin:
    """A coordinator of another make on a real port: it keeps what it is sent and answers as told."""

    def __init__(self, status: int, kind: str, answer: bytes) -> None:
        self.calls: list[tuple[str, dict[str, str], Any]] = []
        admin = self

        class Door(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                admin.calls.append((self.path, headers, body))
                said, text = admin.answer(self.path, headers, body)
                self.send_response(said)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_: object) -> None:
                return

        self._said = (status, answer)
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Door)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/xxl-job-admin"

    def answer(self, path: str, headers: dict[str, str], body: Any) -> tuple[int, bytes]:
        return self._said

    @contextmanager
    def open(self) -> Iterator["Admin"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield self
        self._server.shutdown()
        self._server.server_close()
        thread.join()


class Strict(Admin):
    """One that takes a request only as its generation writes it."""

    def __init__(self, judge: Callable[[str, dict[str, str], Any], tuple[int, bytes] | None]) -> None:
        super().__init__(200, "application/json", b'{"code":200}')
        self._judge = judge

    def answer(self, path: str, headers: dict[str, str], body: Any) -> tuple[int, bytes]:
        return self._judge(path, headers, body) or super().answer(path, headers, body)


def wants_the_header(path: str, headers: dict[str, str], body: Any) -> tuple[int, bytes] | None:
    """3.3.0 and the fork: their framework answers before they are asked."""
    if "orth-access-token" in headers and "xxl-job-access-token" in headers:
        return None
    return 400, b'{"timestamp":"2026-02-26T10:00:00.000+00:00","status":400,"error":"Bad Request","path":"/api"}'


def wants_an_object(path: str, headers: dict[str, str], body: Any) -> tuple[int, bytes] | None:
    """3.5: both headers, and results as the list of an object."""
    if not (headers.get("xxl-job-access-token") and headers.get("xxl-job-appname")):
        return 200, b'{"code":500,"msg":"The access token is wrong."}'
    if path.endswith("/callback") and not (isinstance(body, dict) and isinstance(body.get("callbackList"), list)):
        return 200, b'{"code":500,"msg":"Cannot deserialize value of type CallbackRequest from Array value"}'
    return None


RESULTS = [
    Result(log_id=7, log_date_time=NOON, handle_code=200, handle_msg="done", incarnation="i"),
    Result(log_id=8, log_date_time=NOON, handle_code=502, handle_msg=""),
]


@pytest.mark.parametrize("judge", [wants_the_header, wants_an_object])
def test_who_insists_on_its_own_form_is_registered_with_and_told_of_results(
    judge: Callable[[str, dict[str, str], Any], tuple[int, bytes] | None],
) -> None:
    with Strict(judge).open() as admin:
        signer = Signer("process-1", SystemClock(), shows_token=True)
        link = CoordinatorCalls([admin.url], TOKEN, 3.0, app_name="rig-app", signer=signer)
        assert link.register(RegistryRequest(registry_key="rig-app", registry_value="http://127.0.0.1:9999")) is None
        for round_ in (1, 2):
            verdicts = link.call_back(RESULTS)
            assert [(one.log_id, one.verdict) for one in verdicts] == [(7, Verdict.STORED), (8, Verdict.STORED)], round_
        link.close()
    refused = [judge(*call) is not None for call in admin.calls]
    assert refused == ([True, False, False, False] if judge is wants_the_header else [True, False, True, False, False])


async def delivered(admin: Admin, tmp_path: Path) -> Outbox:
    link = CoordinatorCalls([admin.url], TOKEN, 3.0, app_name="rig-app")
    outbox = Outbox(tmp_path / "outbox", link, retry=30.0, clock=HandClock(), events=Ears())
    for result in RESULTS:
        outbox.add(result)
    outbox.join_recorded()
    await outbox.turn()
    link.close()
    return outbox


@pytest.mark.parametrize(
    ("kind", "answer"),
    [
        ("application/json", b'{"code":200,"msg":null,"content":null}'),
        ("application/json;charset=UTF-8", b'{"code":200,"msg":"Success","data":null}'),
        ("text/html;charset=UTF-8", b'{"code":200}'),
        ("text/html", b'\xef\xbb\xbf{"code":200,"content":"ok"}'),
        ("application/json", b'{"code":"200","msg":null}'),
    ],
)
async def test_a_yes_without_verdicts_means_all_of_them(tmp_path: Path, kind: str, answer: bytes) -> None:
    with Admin(200, kind, answer).open() as admin:
        outbox = await delivered(admin, tmp_path)
        assert len(outbox) == 0
        outbox.close()
        [(path, headers, body)] = admin.calls
    assert path == "/xxl-job-admin/api/callback"
    assert (headers["xxl-job-access-token"], headers["xxl-job-appname"]) == (TOKEN, "rig-app")
    assert headers["content-type"].startswith("application/json")
    assert [item["logId"] for item in body] == [7, 8]
    for item in body:
        assert item["logDateTim"] == item["logDateTime"] == NOON
        assert type(item["handleCode"]) is int
        assert type(item["handleMsg"]) is str


@pytest.mark.parametrize(
    ("status", "kind", "answer"),
    [
        (200, "application/json", b'{"code":500,"msg":"The access token is wrong."}'),
        (200, "text/html", b"<html>login</html>"),
        (302, "text/html", b""),
        (500, "application/json", b'{"code":200}'),
        (502, "text/html", b"Bad Gateway"),
        (200, "application/json", b""),
    ],
)
async def test_anything_but_a_yes_keeps_every_result(tmp_path: Path, status: int, kind: str, answer: bytes) -> None:
    with Admin(status, kind, answer).open() as admin:
        outbox = await delivered(admin, tmp_path)
        assert [item.log_id for item in outbox.waiting()] == [7, 8]
        outbox.close()


def test_a_registration_is_the_one_they_know_with_ours_beside_it() -> None:
    said = Announcement(incarnation="i", handlers=(HandlerInfo(name="echo"),), running=(7,))
    request = RegistryRequest(registry_key="rig-app", registry_value="http://10.0.0.7:9999/", orth=said)
    with Admin(200, "application/json", b'{"code":200}').open() as admin:
        link = CoordinatorCalls([admin.url], TOKEN, 3.0, app_name="rig-app")
        link.register(request)
        link.unregister(request)
        link.close()
    for path, (called, _headers, body) in zip(("registry", "registryRemove"), admin.calls, strict=True):
        assert called == f"/xxl-job-admin/api/{path}"
        assert (body["registryGroup"], body["registryKey"]) == ("EXECUTOR", "rig-app")
        assert body["registryValue"] == "http://10.0.0.7:9999"
        assert set(body) - {"registryGroup", "registryKey", "registryValue"} == {"orth"}
        assert body["orth"]["running"] == [7]
