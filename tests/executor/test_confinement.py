"""Limits and users of child processes: real scripts that take what they can get (A34, A35)."""

import os
import pwd
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from orth.errors import CannotStart
from orth.executor.confinement import Confinement, identity_of, let_in, limits_of
from orth.executor.handlers import Handlers
from orth.wire.messages import CallbackItem
from tests.executor.bench import Rig
from tests.executor.conftest import MakeRig
from tests.executor.isolated_jobs import app as isolated_app
from tests.executor.test_scripts import lines_of, shell

IS_ROOT = os.geteuid() == 0
OTHER = "nobody"
MEBIBYTE = 1024 * 1024


def result(ran: Rig, log_id: int, source: str) -> CallbackItem:
    return of_handler(ran, log_id, "", **shell(source, version=log_id))


def of_handler(ran: Rig, log_id: int, handler: str, **more: Any) -> CallbackItem:
    """As ``Rig.result``, for what takes seconds of processor time: on a busy machine that is a while."""
    assert ran.run(log_id, handler, **more).ok
    assert ran.runtime.join_idle(60)
    return ran.waiting()[log_id]


def lives(ran: Rig) -> bool:
    """Whether the executor goes on as if nothing had been."""
    return result(ran, 99, "echo fine").handle_code == 200 and lines_of(ran, 99) == ["fine"]


def test_limits_are_read_by_name() -> None:
    assert limits_of(("cpu=60", "memory=1073741824")) == {"cpu": 60, "memory": 1073741824}
    assert Confinement().message is None


def test_a_spinner_is_stopped_and_the_result_says_why(rig: MakeRig) -> None:
    ran = rig(scripts=("shell",), script_limits=("cpu=1",))
    item = result(ran, 1, "while :; do :; done")
    assert item.handle_code == 500
    assert item.handle_msg == "killed by SIGXCPU, because it used more processor time than it may"
    assert lives(ran)


def test_a_spinner_that_ignores_the_first_signal_is_killed(rig: MakeRig) -> None:
    ran = rig(scripts=("shell",), script_limits=("cpu=1",))
    item = result(ran, 1, "trap '' XCPU; while :; do :; done")
    assert item.handle_msg == "killed by SIGKILL"
    assert lives(ran)


def test_a_memory_hog_fails(rig: MakeRig) -> None:
    ran = rig(scripts=("shell", "python"), script_limits=(f"memory={512 * MEBIBYTE}",))
    source = "kept = bytearray(2 * 1024 ** 3)"
    item = ran.result(1, "", glue_type="GLUE_PYTHON", glue_source=source, glue_updatetime=1)
    assert item.handle_code == 500
    assert "MemoryError" in ran.text(1)
    assert lives(ran)


def test_a_disk_filler_is_stopped(rig: MakeRig, tmp_path: Path) -> None:
    ran = rig(scripts=("shell",), script_limits=(f"file_size={MEBIBYTE}",))
    filled = tmp_path / "filled"
    item = result(ran, 1, f"exec cat /dev/zero > {filled}")
    assert item.handle_msg == "killed by SIGXFSZ, because it wrote a larger file than it may"
    assert filled.stat().st_size == MEBIBYTE
    assert lives(ran)


def test_open_files_are_limited(rig: MakeRig) -> None:
    ran = rig(scripts=("shell",), script_limits=("open_files=16",))
    result(ran, 1, "ulimit -n; ulimit -Hn; ulimit -n 4096 2>/dev/null || echo refused")
    assert lines_of(ran, 1)[:2] == ["16", "16"]
    if not IS_ROOT:  # root raises what it likes, unless it runs scripts as somebody else
        assert lines_of(ran, 1)[2:] == ["refused"]


def test_what_cannot_be_started_under_its_limits_fails_in_words(rig: MakeRig) -> None:
    ran = rig(builtin=("command",), script_limits=("cpu=60",))
    folder = ran.runtime.settings.data_dir.parent
    (folder / "no-program").write_text("neither a script nor a program")
    (folder / "no-program").chmod(0o755)
    item = ran.result(1, "orth.command", executor_params=f'{{"argv": ["{folder}/no-program"]}}')
    assert item.handle_code == 500
    assert "cannot be started" in item.handle_msg
    ok = ran.result(2, "orth.command", executor_params='{"argv": ["sh", "-c", "ulimit -t"]}')
    assert ok.handle_code == 200
    assert lines_of(ran, 2) == ["60"]


def test_confined_scripts_are_started_like_any_other(rig: MakeRig) -> None:
    """A session of its own, no input, no descriptors, default signals: as without limits."""
    told = "ls /proc/$$/fd | tr '\\n' ' '; cat; echo; grep SigIgn /proc/$$/status; cut -d' ' -f6 /proc/$$/stat; echo $$"
    shown = []
    for settings in ({}, {"script_limits": ("cpu=60",)}):
        ran = rig(scripts=("shell",), **settings)
        assert result(ran, 1, told).handle_code == 200
        descriptors, ignored, session, own = lines_of(ran, 1)
        assert session == own
        shown.append((descriptors.split()[:3], ignored))
        ran.runtime.close()
    assert shown[0] == shown[1]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"scripts": ("shell", "python")}, "executor.script_user"),
        ({"builtin": ("command",)}, "executor.script_user"),
        ({"scripts": ("shell",), "script_user": pwd.getpwuid(os.geteuid()).pw_name}, "executor.script_user"),
        *([({"scripts": ("glue",), "script_user": OTHER}, "glue out of executor.scripts")] if IS_ROOT else []),
        ({"scripts": ("shell", "glue")}, "glue out of executor.scripts"),
    ],
)
def test_code_of_jobs_does_not_run_as_the_user_who_can_read_the_token(
    open_rig: MakeRig, settings: dict[str, Any], told: str
) -> None:
    with pytest.raises(CannotStart) as refused:
        open_rig(**settings, scripts_share_user=False)
    assert refused.value.hint is not None
    assert told in refused.value.hint
    assert "executor.scripts_share_user = true" in refused.value.hint
    assert ("one script_user for each group" in refused.value.hint) == (told == "executor.script_user")


@pytest.mark.parametrize(
    "settings",
    [{"builtin": ("http",)}, {"scripts": ()}, *([{"scripts": ("shell",), "script_user": OTHER}] if IS_ROOT else [])],
)
def test_what_cannot_read_the_token_needs_no_consent(open_rig: MakeRig, settings: dict[str, Any]) -> None:
    ran = open_rig(**settings, scripts_share_user=False)
    if settings.get("scripts"):
        assert result(ran, 1, "true").handle_code == 200


@pytest.fixture
def open_rig(app: Handlers) -> Iterator[MakeRig]:
    """Runtimes in a folder that everybody can enter."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.chmod(0o755)

        def make(**settings: Any) -> Rig:
            made = Rig(app, folder / "executor", **settings)
            stack.callback(made.runtime.close)
            return made

        yield make


def test_scripts_of_another_user_cannot_read_what_is_the_executors(
    open_rig: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A34: neither its environment nor its files nor its descriptors."""
    if not IS_ROOT:
        with pytest.raises(CannotStart, match="Only root"):
            identity_of(OTHER)
        return
    monkeypatch.setenv("ORTH_SECURITY__ACCESS_TOKEN", "hidden-token")
    ran = open_rig(scripts=("shell",), script_user=OTHER)
    journal = ran.runtime.settings.data_dir / "journal"
    item = result(
        ran,
        1,
        f"id -un; id -G; echo $HOME; env; cat /proc/{os.getpid()}/environ; ls /proc/{os.getpid()}/fd; "
        f"ls {journal.parent}/gluesource; echo x >> $0; kill -0 {os.getpid()}; ls /proc/self/fd | wc -l; exit 0",
    )
    assert item.handle_code == 200
    text = ran.text(1)
    assert lines_of(ran, 1)[:3] == [OTHER, str(pwd.getpwnam(OTHER).pw_gid), pwd.getpwnam(OTHER).pw_dir]
    assert "hidden-token" not in text
    assert text.count("Permission denied") >= 4
    assert "not permitted" in text.lower()


def test_a_fork_bomb_of_another_user_ends_with_its_script(open_rig: MakeRig) -> None:
    if not IS_ROOT:
        with pytest.raises(CannotStart):
            identity_of(OTHER)
        return
    ran = open_rig(scripts=("shell",), script_user=OTHER, script_limits=("processes=40", "cpu=5"))
    item = result(ran, 1, "bomb() { bomb | bomb & }; bomb; sleep 0.2; exit 3")
    assert item.handle_code == 500
    listed = subprocess.run(["ps", "-u", OTHER, "-o", "pid="], capture_output=True, text=True, check=False)
    assert not listed.stdout.split()
    assert lives(ran)


def test_a_folder_that_the_other_user_cannot_enter_is_refused_at_the_start(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    found = pwd.getpwnam(OTHER)
    if not IS_ROOT:
        with pytest.raises(CannotStart):
            identity_of(OTHER)
        return
    identity = identity_of(OTHER)
    assert identity is not None
    assert identity.uid == found.pw_uid
    with pytest.raises(CannotStart, match="cannot enter"):
        let_in(closed / "data", identity)


def test_nobody_by_that_name_is_refused() -> None:
    with pytest.raises(CannotStart, match="no user"):
        identity_of("somebody-who-is-not-here")


def test_ones_own_name_changes_nothing() -> None:
    assert identity_of(pwd.getpwuid(os.geteuid()).pw_name) is None


@pytest.fixture
def isolated(tmp_path: Path) -> Iterator[MakeRig]:
    with ExitStack() as stack:

        def make(**settings: Any) -> Rig:
            made = Rig(isolated_app, tmp_path / "executor", **settings)
            stack.callback(made.runtime.close)
            return made

        yield make


def test_a_handler_in_a_process_is_limited_too(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1, process_limits=(f"memory={1024 * MEBIBYTE}", "cpu=1"))
    assert ran.result(1, "take_memory", executor_params='{"megabytes": 1}').handle_code == 200
    hungry = ran.result(2, "take_memory", executor_params='{"megabytes": 4096}')
    assert (hungry.handle_code, "MemoryError" in hungry.handle_msg) == (500, True)
    busy = of_handler(ran, 3, "burn", executor_params='{"seconds": 60}')
    assert busy.handle_code == 500
    assert "SIGXCPU" in busy.handle_msg
    assert ran.result(4, "where").handle_code == 200


def test_processor_time_is_that_of_one_execution_not_of_the_worker(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1, process_limits=("cpu=2",))
    pids = {ran.result(1, "where").handle_msg}
    for number in (2, 3, 4):
        assert (
            of_handler(ran, number, "burn", executor_params=f'{{"seconds": {(number - 1) * 1.2}}}').handle_msg == "done"
        )
    assert pids == {ran.result(5, "where").handle_msg}


def test_the_executor_itself_keeps_its_limits(rig: MakeRig) -> None:
    before = resource.getrlimit(resource.RLIMIT_CPU)
    ran = rig(scripts=("shell",), script_limits=("cpu=5", "open_files=32"))
    assert lives(ran)
    assert resource.getrlimit(resource.RLIMIT_CPU) == before
