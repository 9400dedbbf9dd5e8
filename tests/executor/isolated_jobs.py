"""Handlers for worker processes: the well-behaved, the broken, and those that can only be killed."""

import asyncio
import ctypes
import io
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import date

from orth import Executor, JobContext, JobFailed, Retry
from orth.executor.worker import WorkerContext

app = Executor("isolated-app")
log = logging.getLogger(__name__)


@app.job(isolation="process")
def where() -> int:
    """The process that ran it."""
    return os.getpid()


@app.job(isolation="process")
def talk(ctx: JobContext, day: date, rows: int = 2) -> str:
    print("printed")
    log.warning("logged %d", rows)
    os.write(2, b"below Python\n")
    ctx.log("{} rows", rows)
    subprocess.run(["sh", "-c", "echo child of $ORTH_JOB_LOG_ID"], check=True)
    for _ in ctx.track(range(rows), "rows"):
        pass
    return f"{day:%d.%m.%Y} {ctx.shard_index}/{ctx.shard_total} {ctx.schedule_time} {ctx.executor}"


@app.job(isolation="process")
def takes_stdout() -> int:
    sys.stdout = sys.stderr = io.StringIO()
    print("kept to itself")
    return os.getpid()


@app.job(isolation="process")
def prints() -> int:
    print("printed")
    return os.getpid()


@app.job(isolation="process")
def usual() -> None:
    log.debug("of the job")


@app.job(isolation="process", log_level="DEBUG")
def chatty() -> None:
    log.debug("of the job")


@app.job(isolation="process")
def attempt(ctx: JobContext) -> str:
    child = "echo $ORTH_JOB_ATTEMPT $ORTH_JOB_RUN_KEY $ORTH_JOB_NAME"
    print(subprocess.run(["sh", "-c", child], check=True, capture_output=True, text=True).stdout, end="")
    return f"{ctx.attempt} {ctx.run_key} {ctx.job_name}"


@app.job(isolation="process", retry=Retry(give_up_on=(LookupError,)))
def give_up(kind: str) -> None:
    raise {"key": KeyError, "value": ValueError}[kind]("x")


@app.job(isolation="process")
def talkative(size: int) -> str:
    return "\n".join(f"line {number}" for number in range(size))


@app.job(isolation="process")
def structured() -> dict[str, list[int]]:
    return {"rows": [1, 2]}


@app.job(isolation="process")
async def asynchronous(text: str) -> str:
    await asyncio.sleep(0)
    return text.upper()


@app.job(isolation="process")
class Counting:
    def init(self) -> None:
        self.count = 0

    def execute(self, ctx: JobContext) -> None:
        self.count += 1
        ctx.ok(f"{self.count} in {os.getpid()}")

    def destroy(self) -> None:
        path = os.environ.get("ORTH_TEST_FAREWELL")
        if path:
            with open(path, "a") as file:
                file.write(f"{self.count} in {os.getpid()}\n")


@app.job(isolation="process")
class ExitingInInit:
    def init(self) -> None:
        sys.exit(0)

    def execute(self) -> None: ...


@app.job(isolation="process")
def fails(how: str) -> None:
    if how == "message":
        raise JobFailed("no data")
    if how == "error":
        raise ValueError("no number")
    if how == "exit":
        sys.exit(3)
    if how == "_exit":
        os._exit(7)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "abort":
        os.abort()


@app.job(isolation="process")
def secrets() -> str:
    return ",".join(sorted(name for name in os.environ if name.startswith("ORTH_SECURITY")))


@app.job(isolation="process")
def spin() -> None:
    print("spinning")
    while True:
        pass


@app.job(isolation="process")
def sleeps() -> None:
    print("sleeping")
    time.sleep(3600)


@app.job(isolation="process")
def holds_the_gil() -> None:
    print("holding")
    ctypes.PyDLL(None).sleep(3600)  # unlike CDLL, PyDLL keeps the lock while it is in C


@app.job(isolation="process")
def stubborn(mark: str) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    subprocess.Popen(["sleep", mark])
    subprocess.Popen(["sh", "-c", f"trap '' TERM; sleep {mark}; sleep {mark}"], start_new_session=True)
    print("stubborn")
    while True:
        time.sleep(1)


@app.job(isolation="process")
def tidy(mark: str) -> None:
    try:
        print("working")
        time.sleep(3600)
    finally:
        print("cleaned up")


@app.job(isolation="process")
def forks(ctx: JobContext, how: str) -> str:
    """Both sides of a fork come to the end of the handler, which is a mistake, and a common one."""
    child = os.fork()
    if child == 0:
        print("the child", end="")
        ctx.progress(1, 2)
        if how == "raise":
            raise ValueError("only in the child")
        if how == "exit":
            sys.exit(3)
        return "the child"
    _, status = os.waitpid(child, 0)
    return f"the worker saw {os.waitstatus_to_exitcode(status)}"


@app.job(isolation="process")
class ForkingAtTheEnd:
    def execute(self) -> None:
        return

    def destroy(self) -> None:
        child = os.fork()
        if child:
            os.waitpid(child, 0)


def square(number: int) -> int:
    return number * number


@app.job(isolation="process")
def pool() -> str:
    with multiprocessing.get_context("fork").Pool(2) as workers:
        return str(workers.map(square, range(4)))


@app.job(isolation="process")
def speaks_out_of_turn(ctx: JobContext, what: str) -> None:
    assert isinstance(ctx, WorkerContext)
    print("said before")
    if what == "progress":
        ctx.link.send({"log_id": ctx.log_id + 1, "progress": [7, 7, "of another"]})
    elif what == "end":
        ctx.link.send({"log_id": ctx.log_id + 1, "ended": [200, "of another"]})
    else:
        os.write(ctx.link.fileno(), b"\0\0\0\2\xff\xff")


@app.job(isolation="process")
def stops_its_guard(mark: str) -> None:
    """``once``, or ``always``: as often as the guard is let go on."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    guard = os.getppid()
    often, _, mark = mark.partition(" ")
    subprocess.Popen(["sleep", mark], start_new_session=True)
    os.kill(guard, signal.SIGSTOP)
    print("stopped it")
    while True:
        time.sleep(0.01)
        if often == "always":
            os.kill(guard, signal.SIGSTOP)


@app.job
def in_a_thread() -> int:
    return os.getpid()


@app.job(isolation="process")
def leaves(mark: str, what: str) -> int:
    """Returns while something of it goes on."""
    if what == "thread":
        threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    elif what == "child":
        subprocess.Popen(["sleep", mark], start_new_session=True)
    else:
        subprocess.run(
            ["sh", "-c", f"trap '' TERM; (while :; do echo foreign; sleep 0.05; done; : {mark}) &"], check=True
        )
    return os.getpid()


@app.job(isolation="process")
class Keeps:
    """What ``init`` starts stays with the worker."""

    def init(self) -> None:
        self.child = subprocess.Popen(["sleep", "60"])
        threading.Thread(target=self.child.wait, daemon=True).start()

    async def execute(self) -> str:
        return f"{os.getpid()} {self.child.poll()}"

    def destroy(self) -> None:
        self.child.kill()


@app.job(isolation="process")
def meddles() -> int:
    """Changes everything that belongs to its process."""
    signal.alarm(1)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    os.chdir("/")
    os.umask(0o777)
    os.environ["ORTH_TEST_MEDDLED"] = "yes"
    os.environ.pop("PATH", None)
    os.set_blocking(1, False)
    return os.getpid()


@app.job(isolation="process")
def looks() -> str:
    """What a handler finds; longer than the alarm of ``meddles`` would take."""
    time.sleep(1.5)
    umask = os.umask(0o022)
    os.umask(umask)
    blocked = sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    ours = callable(signal.getsignal(signal.SIGTERM)) and signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL
    meddled = os.environ.get("ORTH_TEST_MEDDLED"), "PATH" in os.environ
    return f"{os.getpid()} {os.getcwd()} {umask} {blocked} {ours} {meddled} {os.get_blocking(1)}"


@app.job(isolation="process")
def closes_output() -> int:
    os.close(1)
    os.close(2)
    return os.getpid()


@app.job(isolation="process")
def sets_handlers_in_c() -> int:
    ctypes.CDLL(None).signal(int(signal.SIGUSR2), ctypes.CDLL(None).abort)
    return os.getpid()


def speaks_at_length(ctx: JobContext) -> None:
    value = ctx.secrets["DB_PASSWORD"]
    print("X" * 70_000)
    print("ü漢🎉" * 20_000)
    print("y" * (32 * 1024 - 4) + value)
    log.warning("z" * 40_000)
    ctx.log("one\rtwo\r\nthree\x0bfour")
    ctx.log("w" * (32 * 1024 - 4) + value + "\n\nend")
    print("10 %\r50 %\r100 %")


app.job("at_length", isolation="process")(speaks_at_length)
app.job("at_length_in_a_thread")(speaks_at_length)


@app.job(isolation="process")
def tell_secret(ctx: JobContext) -> str:
    value = ctx.secrets["DB_PASSWORD"]
    print(value[:6], end="")
    print(value[6:])
    os.write(1, f"below Python {os.environ['DB_PASSWORD']}\n".encode())
    os.write(1, b"x" * (6 * 32 * 1024 - 8) + value.encode() + b"\n")
    log.warning("logged %s", value)
    ctx.progress(1, 2, f"with {value}")
    return f"it is {value}"


@app.job(isolation="process")
def spawn_with_less() -> str:
    """Starts a child with a copy of the environment from which something was taken."""
    environment = os.environ.copy()
    environment.pop("HOME", None)
    say = 'echo "$ORTH_JOB_ID $ORTH_JOB_LOG_ID $ORTH_JOB_PARAM"'
    return subprocess.run(["sh", "-c", say], env=environment, capture_output=True, text=True, check=True).stdout.strip()


@app.job(isolation="process")
def secret_left() -> str:
    return os.environ.get("DB_PASSWORD", "nothing")


@app.job(isolation="process")
def take_memory(megabytes: int) -> int:
    return len(bytearray(megabytes * 1024 * 1024))


@app.job(isolation="process")
def burn(seconds: float) -> str:
    while time.thread_time() < seconds:
        pass
    return "done"
