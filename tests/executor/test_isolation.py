import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from orth.clock import SystemClock
from orth.domain.executions import EXECUTOR_MESSAGE_LIMIT
from orth.errors import CannotStart, Invalid
from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from orth.executor.isolation import WorkerLink, WorkerPool, target_of
from orth.executor.worker import FACTS
from orth.wire.messages import CallbackItem
from tests.executor.bench import NOON, Rig, eventually
from tests.executor.conftest import MakeRig
from tests.executor.isolated_jobs import app as isolated_app
from tests.executor.survivors import alive, is_gone, new_mark, nurseries_and_below, outcome, turning
from tests.forks import forked

ROOT = Path(__file__).parents[2]


@pytest.fixture
def isolated(tmp_path: Path) -> Iterator[MakeRig]:
    with ExitStack() as stack:

        def make(**settings: Any) -> Rig:
            made = Rig(isolated_app, tmp_path / "executor", **settings)
            stack.callback(made.runtime.close)
            return made

        yield make


def lines_of(rig: Rig, log_id: int) -> list[str]:
    return [line.partition(" ")[2] for line in rig.text(log_id).splitlines()[1:-1]]


def test_a_handler_runs_in_a_warm_worker_and_threads_do_not(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1)
    first, second = (ran.result(number, "where").handle_msg for number in (1, 2))
    assert first == second != str(os.getpid())
    assert ran.result(3, "in_a_thread").handle_msg == str(os.getpid())


def test_a_log_is_the_same_in_a_worker_and_in_a_thread_however_long_its_lines(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1)
    secrets = {"DB_PASSWORD": "correct horse"}
    for log_id, handler in ((1, "at_length"), (2, "at_length_in_a_thread")):
        assert ran.result(log_id, handler, secrets=secrets).handle_code == 200
    in_worker, in_thread = lines_of(ran, 1), lines_of(ran, 2)
    assert [len(line) for line in in_worker] == [len(line) for line in in_thread]
    assert in_worker == in_thread
    assert "".join(in_worker).count("X") == 70_000
    assert "".join(in_worker).count("ü漢🎉") == 20_000
    assert "correct" not in ran.text(1)
    assert "horse" not in ran.text(1)


def test_a_worker_keeps_to_the_capture_level_of_the_job(isolated: MakeRig) -> None:
    ran = isolated()
    assert ran.result(9, "chatty").handle_code == 200
    assert lines_of(ran, 9) == ["DEBUG tests.executor.isolated_jobs: of the job"]


def test_a_worker_keeps_to_the_capture_level_of_one_run(isolated: MakeRig) -> None:
    ran = isolated()
    heard = ["DEBUG tests.executor.isolated_jobs: of the job"]
    runs = [("usual", "DEBUG", heard), ("usual", None, []), ("chatty", "INFO", []), ("chatty", None, heard)]
    for log_id, (handler, level, lines) in enumerate(runs, 1):
        assert ran.result(log_id, handler, log_level=level).handle_code == 200
        assert lines_of(ran, log_id) == lines, (handler, level)


def test_a_worker_and_its_children_know_which_attempt_it_is(isolated: MakeRig) -> None:
    ran = isolated()
    item = ran.result(8, "attempt", run_key="orth-1-run-7", attempt=2, job_name="prices")
    assert item.handle_msg == "2 orth-1-run-7 prices"
    assert lines_of(ran, 8) == ["2 orth-1-run-7 prices"]


def test_context_parameters_log_and_progress_are_those_of_a_thread(isolated: MakeRig) -> None:
    ran = isolated()
    params = '{"day": "2026-01-30", "rows": 2}'
    item = ran.result(7, "talk", executor_params=params, broadcast_index=1, broadcast_total=3, schedule_time=NOON)
    assert item.handle_code == 200
    assert item.handle_msg == "30.01.2026 1/3 2025-06-15 15:06:40+00:00 rig-app"
    assert lines_of(ran, 7)[:5] == [
        "printed",
        "WARNING tests.executor.isolated_jobs: logged 2",
        "below Python",
        "2 rows",
        "child of 7",
    ]
    assert "progress 2/2 (100%) rows" in ran.text(7)


def test_parameters_that_do_not_fit_are_refused_before_the_worker(isolated: MakeRig) -> None:
    item = isolated().result(1, "talk", executor_params='{"day": "someday"}')
    assert (item.handle_code, "day" in item.handle_msg) == (500, True)


def test_async_handlers_and_objects(isolated: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    farewell = tmp_path / "farewell"
    monkeypatch.setenv("ORTH_TEST_FAREWELL", str(farewell))
    ran = isolated(warm_workers=1)
    assert ran.result(1, "asynchronous", executor_params="aloud").handle_msg == "ALOUD"
    assert lines_of(ran, 1) == [], "an async handler leaves nothing running"
    counts = [ran.result(number, "Counting").handle_msg for number in (2, 3)]
    assert [count.split()[0] for count in counts] == ["1", "2"], "one life per worker"
    ran.runtime.close()
    assert farewell.read_text().splitlines() == [counts[-1]]


class ClosedMeanwhile(WorkerPool):
    """Is closed by another thread while it makes a worker."""

    def _new(self) -> WorkerLink:
        made = super()._new()
        eventually(lambda: len(nurseries_and_below()) >= 3)  # nursery, guard and worker
        self.below = nurseries_and_below()
        closing = threading.Thread(target=self.close)
        closing.start()
        eventually(lambda: self._closed)
        return made


def test_a_worker_made_while_the_pool_is_closed_does_not_stay() -> None:
    pool = ClosedMeanwhile(isolated_app, 1, SystemClock(), os.environ)
    began = time.monotonic()
    pool.start()
    eventually(lambda: all(map(is_gone, pool.below)))
    assert time.monotonic() - began < 9, "nobody was waited for in vain"


def test_a_failure_that_would_come_again_is_final(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1)
    assert ran.result(1, "give_up", executor_params="key").final
    assert not ran.result(2, "give_up", executor_params="value").final


def test_a_huge_result_is_cut_by_the_worker_and_whole_in_the_log(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1)
    message = ran.result(1, "talkative", executor_params='{"size": 50000}').handle_msg
    assert len(message) == EXECUTOR_MESSAGE_LIMIT
    assert (message[:7], message[-10:]) == ("line 0\n", "line 49999")
    written = [line.partition(" ")[2] for line in ran.text(1).splitlines()]
    assert [line for line in written if line == "line 25000"] == ["line 25000"]


def test_structure_is_json_from_a_worker_too(isolated: MakeRig) -> None:
    assert isolated(warm_workers=1).result(1, "structured").handle_msg == '{"rows":[1,2]}'


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("message", "no data"),
        ("error", "ValueError: no number"),
        ("exit", "SystemExit: 3"),
        ("_exit", "The worker process died: exit value 7."),
        ("segfault", "The worker process died: killed by SIGSEGV."),
        ("abort", "The worker process died: killed by SIGABRT."),
    ],
)
def test_every_way_to_fail_is_one_result_and_the_pool_goes_on(isolated: MakeRig, how: str, message: str) -> None:
    ran = isolated(warm_workers=1)
    item = ran.result(1, "fails", executor_params=how)
    assert (item.handle_code, item.handle_msg.splitlines()[0]) == (500, message)
    assert ran.result(2, "where").handle_code == 200


def test_exiting_in_init_is_no_success(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1)
    item = ran.result(1, "ExitingInInit")
    assert (item.handle_code, item.handle_msg.splitlines()[0]) == (500, "It exited before execute was called.")
    assert ran.result(2, "where").handle_code == 200


def test_an_idle_worker_that_died_is_not_used(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1)
    first = int(ran.result(1, "where").handle_msg)
    os.kill(first, signal.SIGKILL)
    eventually(lambda: is_gone(first))
    item = ran.result(2, "where")
    assert item.handle_code == 200
    assert int(item.handle_msg) != first


@pytest.mark.parametrize(("how", "status"), [("return", 0), ("raise", 1), ("exit", 3)])
def test_a_forked_child_ends_where_the_handler_ends_and_never_speaks_for_the_worker(
    isolated: MakeRig, how: str, status: int
) -> None:
    ran = isolated(warm_workers=1)
    item = ran.result(1, "forks", executor_params=how)
    assert (item.handle_code, item.handle_msg) == (200, f"the worker saw {status}")
    assert {"the child", "progress 1/2 (50%)"} <= set(lines_of(ran, 1))
    assert ("ValueError: only in the child" in lines_of(ran, 1)) == (how == "raise")
    results = [ran.result(number, "where").handle_msg for number in (2, 3)]
    assert results[0] == results[1], "the same worker, which answers for itself"
    assert "the child" not in ran.text(2)


def test_a_child_forked_in_destroy_does_not_go_on_as_the_worker(
    isolated: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    farewell = tmp_path / "farewell"
    monkeypatch.setenv("ORTH_TEST_FAREWELL", str(farewell))
    ran = isolated(warm_workers=1)
    assert ran.result(1, "ForkingAtTheEnd").handle_code == 200
    count = ran.result(2, "Counting").handle_msg
    ran.runtime.close()
    assert farewell.read_text().splitlines() == [count], "the other handler is destroyed once"


def test_a_pool_of_processes_ends_without_a_word(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1)
    assert ran.result(1, "pool").handle_msg == "[0, 1, 4, 9]"
    assert lines_of(ran, 1) == []


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("end", "The worker process reported the end of log 2, and was ended."),
        ("garbage", "The worker process sent what is no message, and was ended."),
    ],
)
def test_a_worker_that_speaks_of_another_execution_is_replaced(isolated: MakeRig, what: str, message: str) -> None:
    ran = isolated(warm_workers=1)
    worker = int(ran.result(9, "where").handle_msg)
    item = ran.result(1, "speaks_out_of_turn", executor_params=what)
    assert (item.handle_code, item.handle_msg) == (500, message)
    assert lines_of(ran, 1) == ["said before"]
    eventually(lambda: is_gone(worker))
    assert int(ran.result(2, "where").handle_msg) != worker


def test_the_progress_of_another_execution_is_not_taken_for_this_ones(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1)
    assert ran.result(1, "speaks_out_of_turn", executor_params="progress").handle_code == 200
    assert lines_of(ran, 1) == ["said before"]


def end_by_limit(ran: Rig, handler: str, mark: str) -> tuple[CallbackItem, float]:
    before = time.monotonic()
    assert ran.run(1, handler, executor_params=mark, executor_timeout=1).ok
    return outcome(ran, 1), time.monotonic() - before


@pytest.mark.parametrize("handler", ["spin", "sleeps", "holds_the_gil", "stubborn"])
def test_whatever_a_handler_does_it_ends_within_limit_and_grace(isolated: MakeRig, handler: str) -> None:
    mark = new_mark()
    ran = isolated(kill_grace=0.5, warm_workers=1)
    worker = int(ran.result(9, "where").handle_msg)
    with turning(ran):
        item, took = end_by_limit(ran, handler, mark)
    assert item.handle_code == 502
    assert took < 1 + 5, "the result does not wait for the grace"
    eventually(lambda: is_gone(worker) and alive(mark) == [], 0.5 + 5)
    assert int(ran.result(2, "where").handle_msg) != worker
    assert ran.runtime.health()["abandoned"] == 0


@pytest.mark.parametrize(("often", "code"), [("once", 502), ("always", 500)])
def test_a_handler_that_stops_its_guard_ends_within_limit_and_grace(isolated: MakeRig, often: str, code: int) -> None:
    """One that does not let its guard be loses it, and its life, before that."""
    mark = new_mark()
    ran = isolated(kill_grace=0.5, warm_workers=1)
    worker = int(ran.result(9, "where").handle_msg)
    with turning(ran):
        item, _ = end_by_limit(ran, "stops_its_guard", f"{often} {mark}")
    assert (item.handle_code, "stopped it" in ran.text(1)) == (code, True)
    eventually(lambda: is_gone(worker) and alive(mark) == [], 0.5 + 5)
    assert ran.runtime.health()["abandoned"] == 0
    assert ran.result(2, "where").handle_code == 200


def test_a_handler_that_stops_its_guard_does_not_outlive_an_executor_that_is_stopped(isolated: MakeRig) -> None:
    mark = new_mark()
    ran = isolated(kill_grace=0.5, warm_workers=1)
    assert ran.run(1, "stops_its_guard", executor_params=f"once {mark}").ok
    eventually(lambda: alive(mark) != [])
    below = nurseries_and_below()
    ran.runtime.close()
    eventually(lambda: all(map(is_gone, below)) and alive(mark) == [])


def test_a_forked_child_of_the_executor_does_not_keep_workers_and_guards(
    isolated: MakeRig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    farewell = tmp_path / "farewell"
    monkeypatch.setenv("ORTH_TEST_FAREWELL", str(farewell))
    ran = isolated(warm_workers=1)
    assert ran.result(1, "Counting").handle_code == 200
    below = nurseries_and_below()
    with forked() as child:
        begun = time.monotonic()
        ran.runtime.close()
        assert time.monotonic() - begun < 4, "none had to be waited for and killed"
        assert not is_gone(child)
        assert all(map(is_gone, below))
    assert farewell.exists(), "the worker has seen that it may leave"


def test_within_the_grace_a_handler_leaves_through_its_finally_blocks(isolated: MakeRig) -> None:
    ran = isolated(kill_grace=10.0)
    with turning(ran):
        item, _ = end_by_limit(ran, "tidy", "none")
        eventually(lambda: "cleaned up" in ran.text(1), 8)
    assert item.handle_code == 502


def test_several_executions_of_one_job_run_at_once(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1)
    for number in range(1, 9):
        assert ran.run(number, "where", job_id=number).ok
    assert ran.runtime.join_idle(20)
    assert {item.handle_code for item in ran.waiting().values()} == {200}


def test_a_child_with_a_changed_copy_of_the_environment_knows_the_execution(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1)
    assert ran.result(5, "spawn_with_less", executor_params="p").handle_msg == "1 5 p"
    assert ran.result(7, "spawn_with_less", executor_params="q").handle_msg == "1 7 q", "in the same worker"


def test_the_access_token_is_not_in_the_environment_of_workers(
    isolated: MakeRig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORTH_SECURITY__ACCESS_TOKEN", "hidden")
    assert isolated().result(1, "secrets").handle_msg == ""


def test_an_executor_that_cannot_be_imported_is_refused_at_the_start(app: Handlers, rig: MakeRig) -> None:
    app.job("here", isolation="process")(lambda: None)
    with pytest.raises(CannotStart, match="not at the top level of any module"):
        rig()


def test_an_unknown_isolation_is_refused(app: Handlers) -> None:
    with pytest.raises(Invalid, match="Write thread or process"):
        app.job("here", isolation="container")  # type: ignore[call-overload]  # that is the test


def test_a_worker_knows_all_that_a_thread_knows() -> None:
    made_there = {"schedule_time", "trigger_time", "params", "secrets", "run_log", "clock", "on_progress"}
    made_there |= {"always_hidden"}  # what a worker writes is hidden by its executor, which has the token
    assert {field.name for field in fields(JobContext)} == {*FACTS, *made_there}


def test_the_target_is_the_module_the_handlers_are_in() -> None:
    file = str(ROOT / "tests/executor/isolated_jobs.py")
    assert target_of(isolated_app) == ("tests.executor.isolated_jobs:app", file)


PROGRAM = """
import threading, time
from pathlib import Path
from orth import Executor
from tests.executor.bench import Rig

app = Executor("program")

{top_level}

@app.job(isolation="process")
def hello():
    return __name__

if __name__ == "__main__":
    {main}
    rig = Rig(app, Path("data"))
    print(rig.result(1, "hello").handle_msg)
    rig.runtime.close()
"""


def outcome_of_program(folder: Path, *, top_level: str = "", main: str = "") -> tuple[str, str]:
    file = folder / "program.py"
    file.write_text(PROGRAM.format(top_level=top_level, main=main))
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    ran = subprocess.run(
        [sys.executable, str(file)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return ran.stdout.strip(), ran.stderr.strip().rpartition("\n")[2]


def test_the_main_program_is_imported_by_its_file(tmp_path: Path) -> None:
    assert outcome_of_program(tmp_path) == ("program", "")


@pytest.mark.parametrize(
    ("top_level", "main", "complaint"),
    [
        ("", "app.job('late', isolation='process')(lambda: None)", "does not register the handlers late"),
        ("threading.Thread(target=time.sleep, args=(60,), daemon=True, name='pulse').start()", "", "(pulse)"),
        ("app.job('x', isolation='process')(lambda: 1)\nRig(app, Path(__name__))", "", "starts an executor when it is"),
        ("if __name__ != '__main__': raise OSError('no file')", "", "no file"),
        ("if __name__ != '__main__': raise SystemExit(1)", "", "exits with code 1 while it is loaded"),
    ],
    ids=["registered only by the main program", "starts threads", "nested", "raises", "exits"],
)
def test_a_module_that_workers_cannot_use_is_refused_at_the_start(
    tmp_path: Path, top_level: str, main: str, complaint: str
) -> None:
    said, refused = outcome_of_program(tmp_path, top_level=top_level, main=main)
    assert said == ""
    assert complaint in refused


@pytest.mark.parametrize(
    ("what", "told"), [("thread", "1 thread"), ("child", "1 process"), ("orphan that writes", "1 process")]
)
def test_what_an_execution_leaves_running_ends_with_it_and_its_worker(isolated: MakeRig, what: str, told: str) -> None:
    ran = isolated(warm_workers=1)
    mark = new_mark()
    item = ran.result(1, "leaves", executor_params=f'{{"mark": "{mark}", "what": "{what}"}}')
    assert item.handle_code == 200
    assert alive(mark) == []
    assert f"It left {told} running; its worker process was ended with all below it." in ran.text(1)
    assert is_gone(int(item.handle_msg))
    assert ran.result(2, "where").handle_msg != item.handle_msg
    assert lines_of(ran, 2) == []


def test_what_init_starts_stays_with_its_worker(isolated: MakeRig) -> None:
    ran = isolated(warm_workers=1)
    first, second = (ran.result(number, "Keeps").handle_msg for number in (1, 2))
    assert first == second
    assert first.endswith("None"), "the child runs"
    assert "It left" not in ran.text(1)
