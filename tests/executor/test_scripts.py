import os
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orth.domain.jobs import GlueType
from orth.executor import scripts
from orth.executor.guarded_runs import ARGUMENT_LIMIT
from orth.executor.scripts import LANGUAGES, ScriptFile, clean_environment, interpreter_of
from orth.wire.messages import CallbackItem
from tests.executor.bench import NOON, Rig, eventually, request
from tests.executor.conftest import MakeRig
from tests.executor.survivors import alive, new_mark, outcome, turning


def shell(source: str, version: int = 1, **more: Any) -> dict[str, Any]:
    return {"glue_type": "GLUE_SHELL", "glue_source": source, "glue_updatetime": version, **more}


def result(ran: Rig, log_id: int, **script: Any) -> CallbackItem:
    return ran.result(log_id, "", **script)


def lines_of(ran: Rig, log_id: int) -> list[str]:
    return [line.partition(" ")[2] for line in ran.text(log_id).splitlines()[1:-1]]


def folder_of(ran: Rig) -> Path:
    return ran.runtime.settings.data_dir / "gluesource"


@pytest.fixture
def shells(rig: MakeRig) -> Rig:
    return rig(scripts=("shell",))


def test_output_arguments_and_success(shells: Rig) -> None:
    source = 'echo "$1|$2|$3"; echo err >&2; printf "no end"'
    item = result(shells, 1, **shell(source, executor_params="a 'b' $c", broadcast_index=1, broadcast_total=4))
    assert (item.handle_code, item.handle_msg) == (200, "")
    assert lines_of(shells, 1) == ["a 'b' $c|1|4", "err", "no end"]


@pytest.mark.parametrize(
    "param", ["$(touch hacked)", "`id`", "; exit 9", "--help", "-c", "line\nbreak", "é漢🎉", "{0.__class__}", "%s", "*"]
)
def test_a_parameter_is_one_literal_argument(shells: Rig, param: str) -> None:
    source = '[ "$1" = "$ORTH_JOB_PARAM" ] && [ $# = 3 ] && printf "%s" "$1" | od -An -tx1 | tr -d " \\n"'
    item = result(shells, 1, **shell(source, executor_params=param))
    assert item.handle_code == 200
    assert bytes.fromhex(lines_of(shells, 1)[-1]).decode() == param


def test_the_variables_of_an_execution(shells: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORTH_SECURITY__ACCESS_TOKEN", "hidden")
    item = result(shells, 5, **shell("env", job_id=8, executor_params="p", schedule_time=NOON, broadcast_total=2))
    assert item.handle_code == 200
    seen = dict(line.partition("=")[::2] for line in lines_of(shells, 5))
    noon = "2025-06-15T15:06:40+00:00"
    expected = {
        "ORTH_JOB_ID": "8",
        "ORTH_JOB_PARAM": "p",
        **dict.fromkeys(("ORTH_JOB_LOG_ID", "ORTH_LOG_ID"), "5"),
        **dict.fromkeys(("ORTH_JOB_SCHEDULE_TIME", "ORTH_SCHEDULE_TIME"), noon),
        **dict.fromkeys(("ORTH_JOB_TRIGGER_TIME", "ORTH_TRIGGER_TIME"), noon),
        **dict.fromkeys(("ORTH_JOB_SHARD_INDEX", "ORTH_SHARD_INDEX"), "0"),
        **dict.fromkeys(("ORTH_JOB_SHARD_TOTAL", "ORTH_SHARD_TOTAL"), "2"),
    }
    assert expected.items() <= seen.items()
    assert "hidden" not in seen.values()


def test_without_a_schedule_the_schedule_time_is_empty(shells: Rig) -> None:
    result(shells, 1, **shell('echo "[$ORTH_JOB_SCHEDULE_TIME]"'))
    assert lines_of(shells, 1) == ["[]"]


def test_a_script_is_told_the_log_level_of_its_run(shells: Rig) -> None:
    for log_id, level in ((1, "DEBUG"), (2, None)):
        result(shells, log_id, **shell('echo "[$ORTH_JOB_LOG_LEVEL]"'), log_level=level)
    assert (lines_of(shells, 1), lines_of(shells, 2)) == (["[DEBUG]"], ["[]"])


def test_only_harmless_and_named_variables_are_passed_on() -> None:
    environ = {"PATH": "/bin", "LC_ALL": "C", "AWS_SECRET": "x", "PROXY": "p", "LD_PRELOAD": "evil"}
    assert clean_environment(environ, ("PROXY",)) == {"PATH": "/bin", "LC_ALL": "C", "PROXY": "p"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("exit 3", "exit value 3"),
        ("kill -KILL $$", "killed by SIGKILL"),
        ("no-such-command", "exit value 127"),
        ("echo '::result half of it'; exit 2", "exit value 2: half of it"),
    ],
)
def test_failure_says_the_exit_value_or_the_signal(shells: Rig, source: str, message: str) -> None:
    item = result(shells, 1, **shell(source))
    assert (item.handle_code, item.handle_msg) == (500, message)


def test_lines_that_say_more(shells: Rig) -> None:
    source = "echo '::progress 40/100 loading'; echo '::progress x'; echo '::result 3 files'; echo '::group'"
    item = result(shells, 1, **shell(source))
    assert item.handle_msg == "3 files"
    assert lines_of(shells, 1) == ["progress 40/100 (40%) loading", "::progress x", "::group"]


def test_carriage_returns_of_an_editor_do_not_break_a_shell_script(shells: Rig) -> None:
    assert result(shells, 1, **shell("if true; then\r\n  echo ok\r\nfi\r\n")).handle_code == 200
    assert lines_of(shells, 1) == ["ok"]


@pytest.mark.parametrize("size", [ARGUMENT_LIMIT, ARGUMENT_LIMIT + 2])
def test_the_longest_parameter_a_program_can_take(shells: Rig, size: int) -> None:
    item = result(shells, 1, **shell("echo ${#1}", executor_params="é" * (size // 2)))
    if size <= ARGUMENT_LIMIT:
        assert item.handle_code == 200
    else:
        assert (item.handle_code, item.handle_msg.startswith(f"A text of {size} bytes cannot be")) == (500, True)


def test_binary_output_and_very_long_lines_do_no_harm(shells: Rig) -> None:
    item = result(shells, 1, **shell("head -c 300000 /dev/urandom; echo; head -c 10000000 /dev/zero | tr '\\0' x"))
    assert item.handle_code == 200
    assert "more bytes of this line are left out" in shells.text(1)


def test_the_file_is_private_and_older_versions_are_removed(shells: Rig) -> None:
    for version in (1, 2, 3):
        assert result(shells, version, **shell(f"echo {version}", version, job_id=4)).handle_code == 200
    folder_of(shells).chmod(0o777)
    result(shells, 10, **shell("true", 1, job_id=44))
    assert sorted(path.name for path in folder_of(shells).iterdir()) == ["44_1.sh", "4_3.sh"]
    assert stat.S_IMODE(folder_of(shells).stat().st_mode) == 0o700
    assert stat.S_IMODE((folder_of(shells) / "4_3.sh").stat().st_mode) == 0o600


def tampered(path: Path) -> None:
    path.write_text("echo evil")


def linked(path: Path) -> None:
    path.unlink()
    other = path.with_name("other")
    other.write_text("echo good")
    path.symlink_to(other)


def opened_up(path: Path) -> None:
    path.chmod(0o666)


@pytest.mark.parametrize("swap", [tampered, linked, opened_up, Path.unlink])
def test_a_file_that_somebody_changed_is_written_again(shells: Rig, swap: Any) -> None:
    result(shells, 1, **shell("echo good"))
    path = folder_of(shells) / "1_1.sh"
    swap(path)
    told = (
        []
        if swap is Path.unlink
        else [f"--- {path} does not hold the source that this trigger brought; it is written anew"]
    )
    result(shells, 2, **shell("echo good"))
    assert lines_of(shells, 2) == [*told, "good"]
    assert not path.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_another_source_under_the_same_version_is_another_script(shells: Rig) -> None:
    assert result(shells, 1, **shell("exit 1")).handle_code == 500
    assert result(shells, 2, **shell("exit 0")).handle_code == 200


def test_a_cache_that_cannot_be_written_fails_the_execution(shells: Rig) -> None:
    folder_of(shells).write_text("not a folder")
    item = result(shells, 1, **shell("true"))
    assert (item.handle_code, item.handle_msg.startswith("The script cannot be kept in")) == (500, True)


def test_a_python_script_runs_in_an_interpreter_of_its_own(rig: MakeRig) -> None:
    ran = rig(scripts=("python",))
    source = "import os, sys; print(sys.argv[1:], os.getppid() != int(sys.argv[1]))"
    script = {"glue_type": "GLUE_PYTHON", "glue_source": source, "executor_params": str(os.getpid())}
    assert result(ran, 1, **script).handle_code == 200
    assert lines_of(ran, 1) == [f"['{os.getpid()}', '0', '1'] True"]


_IN_NODE = """
const [param, index, total] = process.argv.slice(2)
console.log([param, index, total, process.env.ORTH_JOB_PARAM === param, process.env.ORTH_JOB_ID].join("|"))
console.error("err")
console.log("::result seen")
process.exit(param === "fail" ? 3 : 0)
"""
_IN_PHP = """<?php
[, $param, $index, $total] = $argv;
echo implode("|", [$param, $index, $total, getenv("ORTH_JOB_PARAM") === $param ? "true" : "false",
                   getenv("ORTH_JOB_ID")]), PHP_EOL;
fwrite(STDERR, "err\\n");
echo "::result seen\\n";
exit($param === "fail" ? 3 : 0);
"""


@pytest.mark.parametrize(
    ("kind", "source", "program"),
    [("GLUE_NODEJS", _IN_NODE, "node"), ("GLUE_PHP", _IN_PHP, "php")],
    ids=["node", "php"],
)
def test_a_script_in_its_own_language(
    rig: MakeRig, installed: Callable[[str], Path], kind: str, source: str, program: str
) -> None:
    installed(program)
    ran = rig(scripts=(LANGUAGES[GlueType(kind)].kind,))
    script = {"glue_type": kind, "glue_source": source, "job_id": 7, "broadcast_index": 1, "broadcast_total": 4}
    item = result(ran, 1, **script, executor_params="a $b 'c'; é漢")
    assert (item.handle_code, item.handle_msg) == (200, "seen")
    assert sorted(lines_of(ran, 1)) == ["a $b 'c'; é漢|1|4|true|7", "err"]
    item = result(ran, 2, **script, executor_params="fail")
    assert (item.handle_code, item.handle_msg) == (500, "exit value 3: seen")


@pytest.mark.parametrize(
    ("kind", "source", "program"),
    [
        ("GLUE_SHELL", "echo begun; sleep 3600", "sh"),
        ("GLUE_PYTHON", "import time; print('begun'); time.sleep(3600)", "python3"),
        ("GLUE_NODEJS", "console.log('begun'); setTimeout(() => 0, 3600000)", "node"),
        ("GLUE_PHP", "<?php echo 'begun', PHP_EOL; sleep(3600);", "php"),
    ],
    ids=["shell", "python", "node", "php"],
)
def test_what_a_script_prints_is_in_its_log_as_it_comes_and_stays_when_it_is_killed(
    rig: MakeRig, installed: Callable[[str], Path], kind: str, source: str, program: str
) -> None:
    installed(program)
    ran = rig(scripts=(LANGUAGES[GlueType(kind)].kind,))
    assert ran.run(1, "", glue_type=kind, glue_source=source).ok
    eventually(lambda: " begun" in ran.runtime.logs.read(1, NOON, 1, finished=False).content)
    ran.ask("/kill", b'{"jobId": 1}')
    assert outcome(ran, 1).handle_code == 500
    assert lines_of(ran, 1)[0] == "begun"


@pytest.mark.parametrize("kind", ["GLUE_PHP", "GLUE_POWERSHELL", "GLUE_NODEJS"])
def test_a_stand_in_for_an_interpreter_is_called_with_file_and_arguments(
    rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    language = LANGUAGES[GlueType(kind)]
    program = tmp_path / language.interpreters[0]
    program.write_text('#!/bin/sh\necho "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    ran = rig(scripts=(language.kind,))
    result(ran, 1, glue_type=kind, glue_source="anything", glue_updatetime=6, executor_params="p")
    path = folder_of(ran) / f"1_6{language.suffix}"
    assert lines_of(ran, 1) == [" ".join([*language.options, str(path), "p", "0", "1"])]
    assert path.read_text() == "anything"


def test_a_missing_interpreter_is_a_refusal(rig: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ran = rig(scripts=("php", "python"), python=Path("/no/such/python"))
    reply = ran.run(1, "", glue_type="GLUE_PHP", glue_source="x")
    assert reply.msg == "Refused: GLUE_PHP needs php, which is not installed here."
    reply = ran.run(2, "", glue_type="GLUE_PYTHON", glue_source="x")
    assert reply.msg == "Refused: GLUE_PYTHON needs /no/such/python, which is not installed here."


def test_without_bash_shell_scripts_run_in_sh(tmp_path: Path) -> None:
    (tmp_path / "sh").symlink_to("/bin/sh")
    assert interpreter_of(LANGUAGES[GlueType.GLUE_SHELL], "true", None, str(tmp_path)) == str(tmp_path / "sh")


@pytest.mark.parametrize(
    ("first_line", "shell_used"),
    [
        ("#!/bin/sh", "sh"),
        ("#! /usr/bin/env sh", "sh"),
        ("#!/bin/sh -e", "sh"),
        ("#!/bin/bash", "bash"),
        ("#!/usr/bin/env bash", "bash"),
        ("#!/bin/shady", "bash"),
        ("echo '#!/bin/sh'", "bash"),
    ],
)
def test_a_shell_script_may_ask_for_the_plain_shell(tmp_path: Path, first_line: str, shell_used: str) -> None:
    for name in ("sh", "bash"):
        (tmp_path / name).symlink_to("/bin/sh")
    found = interpreter_of(LANGUAGES[GlueType.GLUE_SHELL], f"{first_line}\ntrue", None, str(tmp_path))
    assert found == str(tmp_path / shell_used)


def test_a_source_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = ScriptFile.of(request(1, "", **shell("echo 1")), LANGUAGES[GlueType.GLUE_SHELL], tmp_path)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="No space"):
            script.ensure(print)
    assert list(tmp_path.iterdir()) == []
    assert script.ensure(print).read_bytes() == b"echo 1"


def test_a_file_that_was_compared_is_not_read_again_until_somebody_changes_it(
    shells: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "_SETTLED", -1)
    assert result(shells, 1, **shell("echo 1")).handle_code == 200
    with monkeypatch.context() as patch:
        patch.setattr(ScriptFile, "ensure", lambda *_: pytest.fail("it was read again"))
        assert result(shells, 2, **shell("echo 1")).handle_code == 200
    path = folder_of(shells) / "1_1.sh"
    before = path.stat()
    path.write_bytes(b"echo 2")  # the same length, and dated back
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert result(shells, 3, **shell("echo 1")).handle_code == 200
    told, written = lines_of(shells, 3)
    assert told.endswith("it is written anew")
    assert written == "1"
    path.unlink()
    assert result(shells, 4, **shell("echo 1")).handle_code == 200
    assert lines_of(shells, 4) == ["1"]


def test_a_file_written_a_moment_ago_is_compared_again(tmp_path: Path) -> None:
    script = ScriptFile.of(request(1, "", **shell("echo 1")), LANGUAGES[GlueType.GLUE_SHELL], tmp_path)
    path = script.ensure(print)
    path.write_bytes(b"echo 2")
    assert script.ensure(print).read_bytes() == b"echo 1"


STUBBORN = "trap '' TERM; echo up; (setsid sleep {mark} &); sleep {mark} & while :; do sleep {mark}; done"


@pytest.mark.parametrize("source", ["echo up; while :; do :; done", "echo up; sleep {mark}", STUBBORN])
def test_a_script_out_of_time_ends_within_its_grace_with_all_it_started(rig: MakeRig, source: str) -> None:
    mark = new_mark()
    ran = rig(scripts=("shell",), kill_grace=0.5)
    script = shell(source.format(mark=mark) + f" # {mark}", executor_params=mark, executor_timeout=1)
    before = time.monotonic()
    with turning(ran):
        assert ran.run(1, "", **script).ok
        eventually(lambda: alive(mark) != [])
        assert outcome(ran, 1).handle_code == 502
        eventually(lambda: alive(mark) == [], 0.5 + 5)
    assert time.monotonic() - before < 1 + 0.5 + 8
    assert "up" in lines_of(ran, 1)
    assert result(ran, 2, **shell("true")).handle_code == 200


def test_a_killed_script_ends_with_all_it_started(rig: MakeRig) -> None:
    mark = new_mark()
    ran = rig(scripts=("shell",), kill_grace=0.3)
    assert ran.run(1, "", **shell(STUBBORN.format(mark=mark))).ok
    eventually(lambda: len(alive(mark)) >= 3)
    ran.ask("/kill", b'{"jobId": 1}')
    assert outcome(ran, 1).handle_code == 500
    eventually(lambda: alive(mark) == [], 5)


def test_what_runs_when_the_executor_closes_is_killed(rig: MakeRig) -> None:
    mark = new_mark()
    ran = rig(scripts=("shell",))
    assert ran.run(1, "", **shell(STUBBORN.format(mark=mark))).ok
    eventually(lambda: len(alive(mark)) >= 3)
    ran.runtime.close()
    eventually(lambda: alive(mark) == [])


def test_signals_a_program_relies_on_have_their_default(shells: Rig) -> None:
    result(shells, 1, **shell("grep SigIgn /proc/self/status"))
    ignored = int(lines_of(shells, 1)[0].split()[1], 16)
    assert not ignored & (1 << signal.SIGPIPE - 1 | 1 << signal.SIGTERM - 1)
