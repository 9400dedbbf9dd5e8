import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from orth.clock import SystemClock
from orth.errors import Unavailable
from orth.executor import processes as processes_module
from orth.executor.exits import Exit
from orth.executor.guard import descendants, process_tree
from orth.executor.processes import Command, GuardLost, Processes
from tests.executor.bench import eventually
from tests.executor.survivors import alive, is_gone, new_mark, nurseries_and_below
from tests.forks import forked

PATH = {"PATH": os.environ["PATH"]}


@pytest.fixture
def processes() -> Iterator[Processes]:
    made = Processes(SystemClock(), PATH)
    yield made
    made.close()


def run(processes: Processes, script: str, **more: float) -> tuple[Exit, list[str]]:
    lines: list[str] = []
    guard = processes.take()
    try:
        ended = guard.run(Command(["/bin/sh", "-c", script], PATH, Path("/"), **more), lines.extend)
    finally:
        processes.give_back(guard)
    return ended, lines


def test_output_and_exit_value(processes: Processes) -> None:
    assert run(processes, "echo one; echo two >&2; printf three; exit 5") == (Exit(5), ["one", "two", "three"])


def test_the_folder_the_executor_was_started_in_may_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "release-1"
    home.mkdir()
    monkeypatch.chdir(home)
    processes = Processes(SystemClock(), PATH)
    try:
        assert run(processes, "echo one") == (Exit(0), ["one"])
        monkeypatch.chdir(tmp_path)
        home.rmdir()
        assert run(processes, "echo two; pwd") == (Exit(0), ["two", "/"])
        assert run(processes, "echo three") == (Exit(0), ["three"])
    finally:
        processes.close()


def test_a_child_sees_nothing_of_the_executor(processes: Processes) -> None:
    os.environ["ORTH_TEST_SECRET"] = "hidden"
    with open(os.devnull) as held:
        os.set_inheritable(held.fileno(), True)
        _, lines = run(processes, "env; ls /proc/self/fd | tr '\\n' ' '; ps -o sid= -p $$; cat; echo $$; pwd")
    del os.environ["ORTH_TEST_SECRET"]
    shown = "\n".join(lines)
    assert "hidden" not in shown
    assert any(line.split()[:-1] == ["0", "1", "2", "3"] for line in lines), f"3 is the folder ls reads: {lines}"
    assert lines[-1] == "/"
    assert lines[-3].split()[-1] == lines[-2], "it leads a session of its own; its stdin is empty"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_a_signal_is_reported_by_name(processes: Processes, number: signal.Signals) -> None:
    ended, _ = run(processes, f"kill -{number.value} $$")
    assert str(ended) == f"killed by {number.name}"


def test_what_cannot_be_started_is_told_and_the_guard_goes_on(processes: Processes) -> None:
    guard = processes.take()
    with pytest.raises(OSError, match="No such file"):
        guard.run(Command(["/no/such/program"], PATH, Path("/")), print)
    with pytest.raises(OSError, match="No such file"):
        guard.run(Command(["/bin/true"], PATH, Path("/no/such/folder")), print)
    assert guard.run(Command(["/bin/true"], PATH, Path("/")), print) == Exit(0)
    processes.give_back(guard)


def test_a_guard_serves_one_run_after_the_other(processes: Processes) -> None:
    parents = {run(processes, "echo $PPID")[1][0] for _ in range(3)}
    assert len(parents) == 1


def test_a_run_is_over_when_everything_it_started_is(processes: Processes) -> None:
    mark = new_mark()
    before = time.monotonic()
    ended, _ = run(processes, f"setsid sleep {mark} & (sleep {mark} &) ; sleep {mark} & exit 0")
    assert ended == Exit(0)
    assert alive(mark) == []
    assert time.monotonic() - before < 10


def test_a_limit_ends_the_whole_tree_within_its_grace(processes: Processes) -> None:
    mark = new_mark()
    tree = f"trap '' TERM; setsid sh -c \"trap '' TERM; sleep {mark}; sleep {mark}\" & (sleep {mark} &); sleep {mark}"
    before = time.monotonic()
    ended, _ = run(processes, f"{tree}; while :; do sleep {mark}; done", limit=0.5, grace=0.5)
    assert (ended.code, ended.overdue, ended.survivors) == (-signal.SIGKILL, True, ())
    assert alive(mark) == []
    assert 1.0 <= time.monotonic() - before < 6


def test_within_the_grace_a_child_may_clean_up(processes: Processes) -> None:
    ended, lines = run(
        processes, "trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done", limit=1, grace=9
    )
    assert (ended.code, lines[0], lines[-1]) == (3, "up", "bye")


def test_ten_megabytes_in_one_line_are_cut(processes: Processes) -> None:
    ended, lines = run(processes, "head -c 10000000 /dev/zero | tr '\\0' x; echo; echo after")
    assert ended == Exit(0)
    assert lines[0].endswith("more bytes of this line are left out")
    assert lines[1] == "after"


def test_one_whose_first_thread_has_left_is_ended_all_the_same(processes: Processes, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    headless = f"""if True:
        import ctypes, os, pathlib, signal, threading, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))
        ctypes.CDLL(None).pthread_exit(None)"""
    guard = processes.take()
    command = Command([sys.executable, "-c", headless], PATH, Path("/"), limit=2.0, grace=0.2)
    ended = guard.run(command, print)
    assert (ended.code, ended.survivors, ended.overdue) == (-signal.SIGKILL, (), True)
    assert not Path(f"/proc/{pid_file.read_text()}").exists()
    processes.give_back(guard)


def test_what_one_does_to_its_output_is_not_done_to_the_next(processes: Processes) -> None:
    guard = processes.take()
    spoil = "import os; os.set_blocking(1, False); os.set_blocking(2, False)"
    assert guard.run(Command([sys.executable, "-c", spoil], PATH, Path("/")), print) == Exit(0)
    look = "import os; print(os.get_blocking(1), os.get_blocking(2))"
    lines: list[str] = []
    assert guard.run(Command([sys.executable, "-c", look], PATH, Path("/")), lines.extend) == Exit(0)
    assert lines == ["True True"]
    processes.give_back(guard)


def test_a_limit_of_months_is_a_limit(processes: Processes) -> None:
    assert run(processes, "echo done", limit=100 * 86_400.0) == (Exit(0), ["done"])


def test_nothing_of_a_flood_is_lost_or_told_twice(processes: Processes) -> None:
    for _ in range(2):
        ended, lines = run(processes, "seq 200000")
        assert ended == Exit(0)
        assert lines == [str(number) for number in range(1, 200_001)]


def test_a_flood_that_nobody_takes_is_ended_all_the_same(processes: Processes) -> None:
    mark = new_mark()
    full, taken = threading.Event(), threading.Event()

    def take_nothing(_: list[str]) -> None:
        full.set()
        taken.wait(30)

    guard = processes.take()
    command = Command(["/bin/sh", "-c", f"yes {mark}"], PATH, Path("/"))
    running = threading.Thread(target=guard.run, args=(command, take_nothing))
    running.start()
    try:
        assert full.wait(10)
        guard.ask_end(0.1)
        eventually(lambda: alive(mark) == [], 5)
    finally:
        taken.set()
        running.join(30)
    told: list[str] = []
    assert guard.run(Command(["/bin/echo", "next"], PATH, Path("/")), told.extend) == Exit(0)
    assert told == ["next"]
    processes.give_back(guard)


def test_ending_from_another_thread(processes: Processes) -> None:
    mark = new_mark()
    guard = processes.take()
    ended: list[Exit] = []
    command = Command(["/bin/sleep", mark], PATH, Path("/"))
    thread = threading.Thread(target=lambda: ended.append(guard.run(command, print)))
    thread.start()
    eventually(lambda: alive(mark) != [])
    assert guard.ask_end(5.0).wait(5.0)
    thread.join()
    assert ended == [Exit(-signal.SIGTERM)]
    processes.give_back(guard)


def test_a_killed_guard_takes_its_children_with_it_and_is_replaced(processes: Processes) -> None:
    mark = new_mark()
    guard = processes.take()
    lines: list[str] = []

    def kill_the_guard() -> None:
        eventually(lambda: len(alive(mark)) >= 2)
        os.kill(int(lines[0]), signal.SIGKILL)

    killer = threading.Thread(target=kill_the_guard)
    killer.start()
    script = f"echo $PPID; setsid sleep {mark} & sleep {mark}"
    with pytest.raises(GuardLost):
        guard.run(Command(["/bin/sh", "-c", script], PATH, Path("/")), lines.extend)
    killer.join()
    eventually(lambda: alive(mark) == [])
    processes.give_back(guard)
    assert run(processes, "exit 4")[0] == Exit(4)


def test_a_killed_nursery_is_replaced(processes: Processes) -> None:
    parent = int(run(processes, "ps -o ppid= -p $PPID")[1][0])
    taken = processes.take()
    os.kill(parent, signal.SIGKILL)
    eventually(lambda: is_gone(parent))
    made = processes.new_guard()
    assert made.run(Command(["/bin/true"], PATH, Path("/")), print) == Exit(0)
    assert taken.run(Command(["/bin/true"], PATH, Path("/")), print) == Exit(0), "guards outlive their nursery"
    processes.give_back(made)
    processes.give_back(taken)


def test_children_do_not_depend_on_the_thread_that_started_them(processes: Processes) -> None:
    lines: list[str] = []
    thread = threading.Thread(target=processes.start)
    thread.start()
    thread.join()
    guard = processes.take()
    command = Command(["/bin/sh", "-c", "echo up; sleep 0.3; echo still"], PATH, Path("/"))
    assert guard.run(command, lines.extend) == Exit(0)
    assert lines == ["up", "still"]
    processes.give_back(guard)


def test_after_closing_nothing_is_started_and_nothing_is_left() -> None:
    processes = Processes(SystemClock(), PATH)
    processes.start()
    run(processes, "true")
    ours = nurseries_and_below()
    processes.close()
    assert all(is_gone(pid) for pid in ours)
    with pytest.raises(Unavailable):
        processes.take()


def test_a_forked_child_keeps_no_guard(processes: Processes) -> None:
    run(processes, "true")
    taken, idle = processes.take(), processes.new_guard()
    ours = nurseries_and_below()
    with forked() as child:
        taken.close()
        idle.close()
        begun = time.monotonic()
        processes.close()
        assert time.monotonic() - begun < 5, "nothing had to be killed"
        assert not is_gone(child)
    assert all(map(is_gone, ours))


@pytest.mark.parametrize("who", ["the guard", "guard and nursery"])
def test_what_was_stopped_is_closed_all_the_same(who: str) -> None:
    processes = Processes(SystemClock(), PATH)
    guard, nursery = map(int, run(processes, "echo $PPID; ps -o ppid= -p $PPID")[1])
    ours = nurseries_and_below()
    for pid in (nursery, guard) if who == "guard and nursery" else (guard,):
        os.kill(pid, signal.SIGSTOP)
    processes.close()
    assert all(map(is_gone, ours))


@pytest.mark.parametrize("often", ["once", "again and again"])
def test_a_stopped_nursery_is_roused_or_replaced(
    processes: Processes, often: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes_module, "_ROUSED_AFTER", 0.1)
    nursery = int(run(processes, "ps -o ppid= -p $PPID")[1][0])
    os.kill(nursery, signal.SIGSTOP)
    over = threading.Event()

    def stop_it_again() -> None:
        while not over.wait(0.0005) and not is_gone(nursery):
            os.kill(nursery, signal.SIGSTOP)

    stopper = threading.Thread(target=stop_it_again if often == "again and again" else over.wait)
    stopper.start()
    try:
        made = processes.new_guard()
        assert made.run(Command(["/bin/true"], PATH, Path("/")), print) == Exit(0)
        processes.give_back(made)
    finally:
        over.set()
        stopper.join()


def test_a_stopped_nursery_does_not_outlive_a_killed_executor() -> None:
    program = (
        "import os, time; from pathlib import Path; from orth.clock import SystemClock;"
        "from orth.executor.processes import *; made = Processes(SystemClock(), {}); made.start();"
        "print(made._nursery.pid, flush=True); time.sleep(600)"
    )
    executor = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert executor.stdout is not None
    nursery = int(executor.stdout.readline())
    os.kill(nursery, signal.SIGSTOP)
    executor.kill()
    executor.communicate()
    eventually(lambda: is_gone(nursery))


def test_nothing_outlives_a_killed_executor(tmp_path: Path) -> None:
    mark = new_mark()
    executor = subprocess.Popen(
        [sys.executable, "-m", "tests.executor.killed_executor", str(tmp_path), mark], stdout=subprocess.PIPE
    )
    assert executor.stdout is not None
    assert executor.stdout.readline() == b"ready\n"
    eventually(lambda: len(alive(mark)) >= 6, 30)
    below = descendants(executor.pid)
    for nursery in process_tree()[executor.pid]:
        os.kill(nursery, signal.SIGSTOP)
    executor.kill()
    executor.communicate()
    eventually(lambda: all(is_gone(pid) for pid in below))
    assert alive(mark) == []
