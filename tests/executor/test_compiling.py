import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from orth.executor.compiling import Allowance, Compiler, Uncompiled
from orth.executor.guard import descendants
from orth.wire.messages import Reply
from tests.executor.bench import HEADERS, NOON, Rig, eventually, request
from tests.executor.conftest import MakeRig
from tests.executor.survivors import is_gone


def bomb(depth: int) -> str:
    """Some hundred characters; each level doubles what the compiler makes of it."""
    lines = ["def execute(ctx):"]
    for level in range(1, depth + 1):
        indent = "\t" * level
        lines += [f"{indent}try:", f"{indent}\tif a(): return", f"{indent}finally:"]
    return "\n".join([*lines, "\t" * (depth + 1) + "b()"])


def glue(source: str, version: int = 1, **more: Any) -> dict[str, Any]:
    return {"glue_type": "GLUE", "glue_source": source, "glue_updatetime": version, **more}


@pytest.fixture
def ran(rig: MakeRig) -> Rig:
    return rig(scripts=("glue",))


def compilers() -> set[int]:
    found = set()
    for pid in descendants(os.getpid()):
        try:
            if b"glue_compiler" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
        except OSError:
            continue
    return found


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


@pytest.mark.parametrize("path", ["/run", "/runs"])
async def test_a_short_source_that_takes_for_ever_is_refused_and_holds_up_nobody(ran: Rig, path: str) -> None:
    trigger: dict[str, Any] = {"jobId": 1, "logId": 1, "glueType": "GLUE", "glueSource": bomb(13), "logDateTime": NOON}
    body = trigger if path == "/run" else {"requests": [trigger]}
    slow = asyncio.create_task(asked(ran, path, json.dumps(body).encode()))
    longest = 0.0
    while not slow.done():
        begun = time.monotonic()
        assert b"200" in await asked(ran, "/beat", b"")
        assert b"200" in await asked(ran, "/idleBeat", b'{"jobId": 2}')
        longest = max(longest, time.monotonic() - begun)
        await asyncio.sleep(0.01)
    assert b"the source of job 1 cannot be used: it " in slow.result()
    assert longest < 1.0
    assert ran.runtime.quiet()


def test_a_refusal_that_would_be_the_same_again_costs_nothing(ran: Rig) -> None:
    first = ran.run(1, "", **glue(bomb(13)))
    before = compilers()
    again = ran.run(2, "", **glue(bomb(13)))
    assert (first.ok, again.msg) == (False, first.msg)
    assert compilers() == before


def test_a_source_that_was_compiled_once_needs_no_compiler_for_the_next_trigger(ran: Rig) -> None:
    assert ran.result(1, "", **glue("def execute(): return 7")).handle_msg == "7"
    assert ran.runtime.admission.is_prepared([request(2, "", **glue("def execute(): return 7"))])
    assert not ran.runtime.admission.is_prepared([request(3, "", **glue("def execute(): return 8", version=2))])


def test_a_batch_of_many_new_sources_is_taken_as_a_whole(ran: Rig) -> None:
    batch = [request(n, "", **glue(f"def execute(): return {n}", job_id=n)) for n in range(1, 60)]
    assert {answer.code for answer in ran.runtime.admission.run_all(batch)} == {200}
    assert ran.runtime.join_idle(30)
    assert ran.waiting()[59].handle_msg == "59"


def test_a_compiler_that_was_killed_is_started_again(ran: Rig) -> None:
    assert ran.run(1, "", **glue("def execute(): pass")).ok
    (pid,) = compilers()
    subprocess.run(["kill", "-9", str(pid)], check=True)
    eventually(lambda: is_gone(pid) or Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z")
    refused = ran.run(2, "", **glue("def execute(): return 2", version=2))
    assert refused.ok or "the compiler died of it: signal SIGKILL" in str(refused.msg)
    assert ran.run(3, "", **glue("def execute(): return 2", version=2)).ok, "such a refusal does not last"


def test_without_a_thread_for_the_compiler_that_is_what_is_said(ran: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as short:
        short.setattr(threading.Thread, "start", none_left)
        refused = ran.run(1, "", **glue("def execute(): return 7"))
    assert not refused.ok
    assert "it cannot be compiled now: can't start new thread" in str(refused.msg)
    assert ran.result(2, "", **glue("def execute(): return 7")).handle_msg == "7"


@pytest.mark.parametrize(
    ("allowance", "told"),
    [
        (
            Allowance(seconds=1.0, memory=16 << 30, answer=1 << 26),
            "it takes more than 1 s of processor time to compile",
        ),
        (Allowance(seconds=30.0, memory=64 << 20, answer=1 << 26), "memory"),
        (Allowance(seconds=30.0, memory=2 << 30, answer=1 << 10), "bytes of code, more than the 1024"),
    ],
)
def test_each_limit_is_told(allowance: Allowance, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Allowance, "of", lambda _text: allowance)
    depth = 5 if allowance.answer == 1 << 10 else 13
    compiler = Compiler()
    try:
        with pytest.raises(Uncompiled, match=told) as refused:
            compiler.compile(request(1, "", **glue(bomb(depth))))
        assert refused.value.lasting
        monkeypatch.undo()
        assert compiler.compile(request(1, "", **glue("def execute(): pass"))).load().name == "execute"
    finally:
        compiler.close()


DYING = """
import os, sys, threading
from orth.executor import compiling
from tests.executor.bench import request
from tests.executor.test_compiling import bomb, compilers, glue

compiling.Allowance.of = lambda _text: compiling.Allowance(30.0, 2 << 30, 1 << 26)
compiler = compiling.Compiler()
compiler.compile(request(1, "", **glue("def execute(): pass")))
threading.Thread(target=compiler.compile, args=(request(1, "", **glue(bomb(16))),), daemon=True).start()
print(*compilers(), flush=True)
sys.stdin.read()
"""


def test_a_compiler_ends_with_its_executor_even_in_the_middle_of_a_source() -> None:
    root = Path(__file__).parents[2]
    dying = subprocess.Popen(
        [sys.executable, "-c", DYING], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert dying.stdout is not None
        compiler = int(dying.stdout.readline())
        ticks = int(Path(f"/proc/{compiler}/stat").read_text().split()[13])
        eventually(lambda: int(Path(f"/proc/{compiler}/stat").read_text().split()[13]) > ticks + 5)
    finally:
        dying.kill()
        dying.communicate()
    eventually(lambda: is_gone(compiler), 3.0)


def test_closing_ends_a_compiler_at_work(ran: Rig) -> None:
    replies: list[Reply] = []
    caller = threading.Thread(target=lambda: replies.append(ran.run(1, "", **glue(bomb(16) + "\n#" * 9000))))
    caller.start()
    eventually(lambda: bool(compilers()))
    ran.runtime.sources.close()
    caller.join(10)
    assert not caller.is_alive()
    assert not replies[0].ok
    eventually(lambda: not compilers())
