import asyncio
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from orth.executor.compiling import PREPARING_LIMIT, Compiler
from orth.executor.context import Cancelled
from orth.executor.glue import GluePerformer
from orth.executor.run_logs import RunLogs
from orth.wire.messages import Reply
from tests.executor.bench import HEADERS, NOON, Ears, HandClock, Rig, eventually, make_context, request
from tests.executor.conftest import MakeRig

HANGS = """
import threading
thread = threading.current_thread()
if thread.name == "hangs":
    thread.inside = True
    thread.gate.wait(60)
made = []
def execute():
    made.append(1)
    return len(made)
"""


class Loading:
    """What a source finds in this module, to be held in its first line."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.executed: list[int] = []
        self.go = threading.Event()


LOADING = Loading()


def glue(source: str, version: int = 1, **more: Any) -> dict[str, Any]:
    return {"glue_type": "GLUE", "glue_source": source, "glue_updatetime": version, **more}


@pytest.fixture
def ran(rig: MakeRig) -> Rig:
    return rig(scripts=("glue",))


def test_a_function_with_typed_parameters(ran: Rig) -> None:
    source = """
from orth import JobContext

def execute(ctx: JobContext, rows: int, name: str = "x"):
    ctx.log("in {} {}", ctx.log_id, ctx.params["rows"])
    return rows * name
"""
    item = ran.result(4, "", **glue(source, executor_params='{"rows": 3}'))
    assert (item.handle_code, item.handle_msg) == (200, "xxx")
    assert " in 4 3\n" in ran.text(4)
    unfit = ran.result(5, "", **glue(source, executor_params='{"rows": "many"}'))
    assert (unfit.handle_code, "rows" in unfit.handle_msg) == (500, True)


def test_an_async_function(ran: Rig) -> None:
    assert (
        ran.result(1, "", **glue("async def execute(text: str):\n    return text", executor_params="t")).handle_msg
        == "t"
    )


def test_the_top_level_runs_once_per_version(ran: Rig) -> None:
    source = "made = []\ndef execute():\n    made.append(1)\n    return len(made)"
    assert [ran.result(number, "", **glue(source)).handle_msg for number in (1, 2)] == ["1", "2"]
    assert ran.result(3, "", **glue(source, version=2)).handle_msg == "1"


def test_a_class_lives_until_another_version_comes(ran: Rig) -> None:
    source = """
class Work:
    def init(self): self.count = 0
    def execute(self):
        self.count += 1
        return f"{VERSION} {self.count}"
    def destroy(self): print("farewell")
"""
    one, two = f"VERSION = 1\n{source}", f"VERSION = 2\n{source}"
    assert ran.result(1, "", **glue(one)).handle_msg == "1 1"
    assert ran.result(2, "", **glue(one)).handle_msg == "1 2"
    assert ran.result(3, "", **glue(two, version=2)).handle_msg == "2 1"


FUTURE = "from __future__ import annotations\n"


@pytest.mark.parametrize(
    "source",
    [
        FUTURE
        + """
from dataclasses import dataclass
@dataclass
class P:
    x: int = 5
def execute(): return P().x
""",
        FUTURE
        + """
from pydantic import BaseModel
class Q(BaseModel):
    x: int = 5
class R(BaseModel):
    q: Q = Q()
def execute(): return R().q.x
""",
        """
import pickle
class P:
    x = 5
def execute(): return pickle.loads(pickle.dumps(P())).x
""",
        FUTURE
        + """
from dataclasses import dataclass
@dataclass
class Work:
    x: int = 5
    def execute(self): return self.x
""",
    ],
    ids=["dataclass", "pydantic", "pickle", "a dataclass that is the handler"],
)
def test_classes_find_their_module(ran: Rig, source: str) -> None:
    assert ran.result(1, "", **glue(source)).handle_msg == "5"


def modules_of_glue() -> list[str]:
    return sorted(name for name in sys.modules if name.startswith("orth_glue_"))


def test_a_module_is_known_as_long_as_its_version_is_used(ran: Rig) -> None:
    source = "import sys\ndef execute(): return __name__ + str(sys.modules[__name__].VERSION)"
    for version in (1, 2, 3):
        item = ran.result(version, "", **glue(f"VERSION = {version}\n{source}", version, job_id=77))
        assert item.handle_code == 200, item.handle_msg
        assert item.handle_msg.endswith(str(version)), "it finds itself"
    eventually(lambda: len([name for name in modules_of_glue() if name.startswith("orth_glue_77")]) == 1)
    assert ran.result(9, "", **glue("1 / 0\ndef execute(): pass", 4, job_id=78)).handle_code == 500
    assert [name for name in modules_of_glue() if name.startswith("orth_glue_78")] == []
    ran.runtime.close()
    del item
    eventually(lambda: modules_of_glue() == [])


def test_two_versions_at_a_time_are_two_modules() -> None:
    sources = [f"VERSION = {version}\ndef execute(): return VERSION" for version in (1, 2)]
    compiler = Compiler()
    loaded = [compiler.compile(request(1, "", **glue(source, job_id=79))).load() for source in sources]
    compiler.close()
    names = [handler.target.__module__ for handler in loaded]
    assert names == ["orth_glue_79", "orth_glue_79_2"]
    assert [sys.modules[name].VERSION for name in names] == [1, 2]
    del loaded[0]
    assert "orth_glue_79" not in sys.modules
    del loaded[0]
    assert "orth_glue_79_2" not in sys.modules


def test_a_traceback_shows_the_source(ran: Rig) -> None:
    item = ran.result(1, "", **glue("def execute():\n    return 1 / 0  # here", job_id=6, glue_updatetime=9))
    assert item.handle_msg.splitlines()[0] == "ZeroDivisionError: division by zero"
    assert 'File "<GLUE job 6 version 9>", line 2, in execute' in item.handle_msg
    assert "return 1 / 0  # here" in item.handle_msg


def test_a_signature_that_cannot_be_called_fails_its_execution(ran: Rig) -> None:
    item = ran.result(1, "", **glue("def execute(first, /): pass"))
    assert (item.handle_code, item.handle_msg.startswith("Argument first of handler execute can only")) == (500, True)


def test_a_top_level_that_raises_fails_its_execution(ran: Rig) -> None:
    item = ran.result(1, "", **glue("import no_such_module\ndef execute(): pass"))
    assert (item.handle_code, "no_such_module" in item.handle_msg) == (500, True)


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def execute(:\n  pass", "line 1, column 13: invalid syntax"),
        ("def execute():\n    return\n  x", "line 3, column 4: unindent does not match any outer indentation level"),
        ("x = 1", "it must define execute(ctx, …) or one class with such a method; it defines nothing"),
        (
            "class A:\n  def execute(self): pass\nclass B:\n  def execute(self): pass",
            "it must define execute(ctx, …) or one class with such a method; it defines A and B",
        ),
    ],
)
def test_a_source_that_cannot_work_is_refused_before_it_is_queued(ran: Rig, source: str, reason: str) -> None:
    reply = ran.run(1, "", **glue(source, job_id=3))
    assert reply.msg == f"Refused: the source of job 3 cannot be used: {reason}."
    assert ran.runtime.quiet()


def test_a_very_deep_source_is_refused(ran: Rig) -> None:
    reply = ran.run(1, "", **glue("x = " + "(" * 5000 + ")" * 5000 + "\ndef execute(): pass"))
    assert str(reply.msg).startswith("Refused: the source of job 1 cannot be used")


def large(body: str) -> str:
    """So much that the compiler takes a second or more."""
    step = "def f{0}(a, b=1):\n    return {{'k': [a + {0} * b for c in range(10) if c % 2], 'v': a.b.c(d=1)}}\n"
    filler = "".join(map(step.format, range(400_000 // len(step))))
    return f"{filler}\n{body}\n"


def test_a_large_source_is_a_source_like_any_other(ran: Rig) -> None:
    source = large("def execute():\n    return f7(1, 2)['k'] if 0 else 1 / 0  # here")
    assert ran.run(1, "", **glue(source)).ok
    assert ran.runtime.join_idle(30)
    item = ran.waiting()[1]
    assert item.handle_msg.startswith("ZeroDivisionError")
    assert "1 / 0  # here" in item.handle_msg
    line = source.count("\n") - 1  # where execute is defined
    reply = ran.run(2, "", **glue(large("def execute(:\n  pass"), version=2))
    assert reply.msg == f"Refused: the source of job 1 cannot be used: line {line}, column 13: invalid syntax."
    reply = ran.run(3, "", **glue(large("x = 1"), version=3))
    assert str(reply.msg).endswith("it defines nothing.")


def test_while_a_large_source_is_compiled_others_are_answered(ran: Rig) -> None:
    """The compiler takes seconds; it holds neither the interpreter nor the lock of admission."""
    replies: list[Reply] = []
    source = large("def execute():\n    return 'compiled'")
    slow = threading.Thread(target=lambda: replies.append(ran.run(1, "", **glue(source))))
    slow.start()
    waits = []
    while slow.is_alive():
        begun = time.monotonic()
        assert ran.ask("/beat").ok
        assert ran.ask("/idleBeat", b'{"jobId": 2}').ok
        waits.append(time.monotonic() - begun)
        slow.join(0.01)
    assert replies[0].ok
    assert len(waits) > 10, "it was over too soon to show anything"
    assert max(waits) < 0.5
    assert ran.runtime.join_idle(30)
    assert ran.waiting()[1].handle_msg == "compiled"


async def asked(ran: Rig, path: str, body: bytes) -> bytes:
    """The answer at the HTTP door."""
    said: list[bytes] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body}

    async def send(message: Any) -> None:
        said.append(message.get("body", b""))

    headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
    await ran.runtime.http({"type": "http", "method": "POST", "path": path, "headers": headers}, receive, send)
    return b"".join(said)


async def test_the_loop_that_serves_requests_does_not_wait_for_the_compiler(ran: Rig) -> None:
    source = large("def execute(): pass")
    trigger = {"jobId": 1, "logId": 1, "glueType": "GLUE", "glueSource": source, "logDateTime": NOON}
    slow = asyncio.create_task(asked(ran, "/run", json.dumps(trigger).encode()))
    beats = 0
    while not slow.done():
        assert b"200" in await asked(ran, "/beat", b"")
        beats += 1
        await asyncio.sleep(0.01)
    assert b"200" in slow.result()
    assert beats > 10


async def test_while_sources_are_compiled_other_work_of_threads_goes_on(ran: Rig) -> None:
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(1))
    source = large("def execute(): pass")
    triggers = [
        {"jobId": number, "logId": number, "glueType": "GLUE", "glueSource": source, "logDateTime": NOON}
        for number in range(1, 4)
    ]
    slow = [asyncio.create_task(asked(ran, "/run", json.dumps(trigger).encode())) for trigger in triggers]
    small = json.dumps({**triggers[0], "jobId": 8, "logId": 8, "glueSource": "def execute(): pass"}).encode()
    await asyncio.sleep(0.1)
    assert b"200" in await asked(ran, "/log", b'{"logId": 9, "logDateTim": 1}')
    assert b"200" in await asked(ran, "/run", small), "not even the line of the compilers is for small ones"
    assert not any(task.done() for task in slow)
    assert all(b"200" in answer for answer in await asyncio.gather(*slow))


def test_the_line_of_sources_has_an_end(ran: Rig) -> None:
    replies: dict[int, Reply] = {}
    source = large("def execute(): return 'compiled'")[-60_000:].partition("\ndef ")[2]

    def run(number: int) -> None:
        replies[number] = ran.run(number, "", job_id=number, **glue(f"def {source}"))

    callers = [threading.Thread(target=run, args=(number,)) for number in range(1, PREPARING_LIMIT + 4)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    refused = [number for number, reply in replies.items() if not reply.ok]
    assert 0 < len(refused) <= 3
    told = {replies[number].msg for number in refused}
    assert told == {"Refused: this executor is busy compiling other sources; try again."}
    run(refused[0])
    assert replies[refused[0]].ok


def test_a_top_level_that_hangs_once_does_not_keep_the_job(tmp_path: Path) -> None:
    gate = threading.Event()
    logs = RunLogs(tmp_path, HandClock(), Ears())
    compiler = Compiler()
    performer = GluePerformer(compiler.compile(request(1, "", **glue(HANGS))))
    compiler.close()

    def perform(log_id: int) -> Any:
        return performer.perform(make_context(logs.open(log_id, NOON), log_id=log_id), {})

    abandoned = make_context(logs.open(1, NOON), log_id=1)

    def hang() -> None:
        with suppress(Cancelled):
            performer.perform(abandoned, {})

    hanging = threading.Thread(target=hang, name="hangs", daemon=True)
    hanging.gate = gate  # type: ignore[attr-defined]  # for the source
    hanging.start()
    eventually(lambda: not gate.is_set() and "inside" in vars(hanging))
    abandoned.cancel()
    performer.abandon(abandoned)
    told: list[Any] = []
    later = threading.Thread(target=lambda: told.append(perform(2)), daemon=True)
    later.start()
    later.join(10)
    assert told == [1]
    gate.set()
    hanging.join(10)
    assert perform(3) == 2, "what the abandoned one has loaded is not taken"


def test_one_that_is_killed_while_another_loads_the_source_runs_nothing_of_it(ran: Rig) -> None:
    source = """
import sys
gate = sys.modules["tests.executor.test_glue"].LOADING
gate.begun.append(1)
gate.go.wait(20)
def execute(ctx):
    return gate.executed.append(ctx.log_id)
"""
    LOADING.__init__()  # type: ignore[misc]  # as new
    both = glue(source, executor_block_strategy="CONCURRENT", executor_concurrency=2)
    assert ran.run(1, "", **both).ok
    eventually(lambda: LOADING.begun == [1])
    assert ran.run(2, "", **both).ok
    eventually(lambda: 2 in ran.runtime.tools.contexts)
    ran.runtime.threads.kill(1, 2)
    eventually(lambda: 2 in ran.waiting())
    assert ran.waiting()[2].handle_msg == "Ended: it was killed on request."
    LOADING.go.set()
    assert ran.runtime.join_idle(10)
    assert (LOADING.begun, LOADING.executed) == ([1], [1])


def test_refusing_does_not_run_anything(ran: Rig) -> None:
    assert not ran.run(1, "", **glue("raise SystemExit('ran')\nx = 1")).ok
    eventually(ran.runtime.quiet)


@pytest.mark.parametrize(
    ("source", "code", "message"),
    [
        ("import sys\nsys.exit(0)\ndef execute(): pass", 500, "It exited before execute was called."),
        ("import sys\nsys.exit()\ndef execute(): pass", 500, "It exited before execute was called."),
        ("import sys\nsys.exit(3)\ndef execute(): pass", 500, "SystemExit: 3"),
        ("import sys\ndef execute(): sys.exit(0)", 200, ""),
    ],
)
def test_exiting_is_a_return_only_in_execute(ran: Rig, source: str, code: int, message: str) -> None:
    item = ran.result(1, "", **glue(source))
    assert (item.handle_code, item.handle_msg.partition("\n")[0]) == (code, message)


def test_it_is_off_unless_allowed(rig: MakeRig) -> None:
    reply = rig(scripts=("shell", "python")).run(1, "", **glue("def execute(): pass"))
    told = "Refused: GLUE is not allowed on this executor; its setting executor.scripts would have to name glue."
    assert reply.msg == told
