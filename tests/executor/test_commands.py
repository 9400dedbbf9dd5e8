import json
import time
from pathlib import Path
from typing import Any

import pytest

from orth.wire.messages import CallbackItem
from tests.executor.bench import Rig, eventually
from tests.executor.conftest import MakeRig
from tests.executor.survivors import alive, new_mark, outcome


@pytest.fixture
def ran(rig: MakeRig) -> Rig:
    return rig(builtin=("command",), kill_grace=0.3)


def command(ran: Rig, log_id: int = 1, **param: Any) -> CallbackItem:
    return ran.result(log_id, "orth.command", executor_params=json.dumps(param))


def test_no_shell_reads_the_arguments(ran: Rig) -> None:
    assert command(ran, argv=["echo", "$HOME", "a b", ";", "exit 3"]).handle_code == 200
    assert " $HOME a b ; exit 3\n" in ran.text(1)


def test_folder_and_variables(ran: Rig, tmp_path: Path) -> None:
    item = command(
        ran, argv=["sh", "-c", "pwd; echo $EXTRA $ORTH_JOB_LOG_ID"], cwd=str(tmp_path), env={"EXTRA": "more"}
    )
    assert item.handle_code == 200
    assert f" {tmp_path}\n" in ran.text(1)
    assert " more 1\n" in ran.text(1)


@pytest.mark.parametrize(
    ("param", "message"),
    [
        ({"argv": ["sh", "-c", "exit 4"]}, "exit value 4"),
        ({"argv": ["sh", "-c", "kill -9 $$"]}, "killed by SIGKILL"),
        ({"argv": ["no-such-program"]}, "There is no program no-such-program here."),
        ({"argv": ["true"], "cwd": "/no/such/folder"}, "cannot be started: No such file or directory."),
        ({"argv": ["echo", "a\0b"]}, "A NUL character cannot be passed to a program."),
        ({"argv": []}, "argv"),
        ({"argv": "rm -rf /"}, "argv"),
        ({"argv": ["true"], "shell": True}, "shell"),
        ({"argv": ["true"], "timeout": 0}, "timeout"),
    ],
)
def test_failures(ran: Rig, param: dict[str, Any], message: str) -> None:
    item = command(ran, **param)
    assert item.handle_code == 500
    assert message in item.handle_msg


def test_its_own_limit_is_502_and_ends_everything(ran: Rig) -> None:
    mark = new_mark()
    before = time.monotonic()
    item = command(
        ran, argv=["sh", "-c", f"trap '' TERM; setsid sleep {mark} & while :; do sleep {mark}; done"], timeout=0.3
    )
    assert (item.handle_code, item.handle_msg) == (502, "The command took longer than its limit of 0.3 s.")
    assert time.monotonic() - before < 8
    assert alive(mark) == []


def test_it_can_be_killed(ran: Rig) -> None:
    mark = new_mark()
    assert ran.run(1, "orth.command", executor_params=json.dumps({"argv": ["sleep", mark]})).ok
    eventually(lambda: alive(mark) != [])
    ran.ask("/kill", b'{"jobId": 1}')
    assert outcome(ran, 1).handle_code == 500
    eventually(lambda: alive(mark) == [])


def test_it_is_announced_with_its_schema_only_where_it_is_allowed(ran: Rig) -> None:
    announced = ran.runtime.registration.orth
    assert announced is not None
    (info,) = announced.handlers
    assert info.name == "orth.command"
    assert info.params_schema is not None
    assert set(info.params_schema["properties"]) == {"argv", "cwd", "env", "timeout"}


def test_it_is_off_unless_allowed(rig: MakeRig) -> None:
    reply = rig(builtin=("http",)).run(1, "orth.command", executor_params='{"argv": ["true"]}')
    setting = "its setting executor.builtin would have to name command"
    assert reply.msg == f"Refused: orth.command is not allowed on this executor; {setting}."
