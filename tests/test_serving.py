import asyncio
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from orth.errors import CannotStart
from orth.serving import LastResort, Server, asked_to_stop, bound, loop_factory, reload_on_hangup, tls_of
from orth.settings import Address, Settings
from tests.forks import INTERRUPTED, ended_by, forked
from tests.servers.processes import wait_until

Factory = Callable[[], asyncio.AbstractEventLoop] | None


@pytest.mark.parametrize("factory", [None, loop_factory()], ids=["asyncio", "the loop we use"])
@pytest.mark.parametrize(("number", "ended"), [(signal.SIGTERM, -signal.SIGTERM), (signal.SIGINT, INTERRUPTED)])
def test_a_signal_asks_for_a_stop_and_one_to_a_forked_child_does_not(
    factory: Factory, number: signal.Signals, ended: int
) -> None:
    async def signalled() -> tuple[int, bool]:
        stopping = asked_to_stop()
        with forked() as child:
            os.kill(child, number)
            code = ended_by(child)
        await asyncio.sleep(0.05)  # what the child had written would be read in the very next turn
        heard_of_child = stopping.is_set()
        os.kill(os.getpid(), number)
        async with asyncio.timeout(10):
            await stopping.wait()
        return code, heard_of_child

    with asyncio.Runner(loop_factory=factory) as runner:
        assert runner.run(signalled()) == (ended, False)


@pytest.mark.parametrize("factory", [None, loop_factory()], ids=["asyncio", "the loop we use"])
def test_a_hangup_means_reload_and_one_to_a_forked_child_ends_the_child(factory: Factory) -> None:
    async def hung_up() -> tuple[int, list[str], bool]:
        stopping, asked = asked_to_stop(), asyncio.Event()
        heard: list[str] = []

        def reload() -> None:
            heard.append("reload")
            asked.set()

        reload_on_hangup(reload, stopping)
        with forked() as child:
            os.kill(child, signal.SIGHUP)
            code = ended_by(child)
        await asyncio.sleep(0.05)  # what the child had written would be read in the very next turn
        assert heard == []
        os.kill(os.getpid(), signal.SIGHUP)
        async with asyncio.timeout(10):
            await asked.wait()
        return code, heard, stopping.is_set()

    with asyncio.Runner(loop_factory=factory) as runner:
        assert runner.run(hung_up()) == (-signal.SIGHUP, ["reload"], False)


IN_A_TERMINAL = """
import asyncio, signal, sys
from orth.serving import LastResort, asked_to_stop, reload_on_hangup
if sys.argv[1] == "nohup":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
def say(word):
    with open(sys.argv[2], "a") as out:
        out.write(word + " ")
async def main():
    stopping = asked_to_stop()
    reload_on_hangup(lambda: say("reload"), stopping)
    say("ready")
    await stopping.wait()
    say("stopped")
asyncio.run(main())
"""


@pytest.mark.parametrize(("way", "said"), [("plain", "stopped"), ("nohup", "reload")])
def test_a_terminal_that_is_closed_still_stops_what_was_started_in_it(tmp_path: Path, way: str, said: str) -> None:
    out = tmp_path / "said"
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-c", IN_A_TERMINAL, way, str(out)])
    try:
        wait_until(lambda: out.exists() and out.read_text() == "ready ", "it is ready")
        os.close(terminal)
        wait_until(lambda: out.read_text() == f"ready {said} ", said)
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_a_handler_that_the_program_has_put_there_since_is_its_own() -> None:
    async def replaced() -> int:
        asked_to_stop()
        signal.signal(signal.SIGTERM, lambda *_: os._exit(7))
        with forked() as child:
            os.kill(child, signal.SIGTERM)
            return ended_by(child)

    with asyncio.Runner() as runner:
        assert runner.run(replaced()) == 7


def test_a_forked_child_does_not_hold_the_port(free_port: int) -> None:
    here = Address("127.0.0.1", free_port)
    with bound(here) as listening, forked():
        with pytest.raises(CannotStart, match="is taken"), bound(here):
            pass
        listening.close()
        with bound(here) as again:
            assert again.getsockname()[1] == free_port


def test_a_process_that_cannot_stop_ends_all_the_same() -> None:
    """As when a thread waits for somebody who never answers: the interpreter would wait for it for ever."""
    program = (
        "import threading\n"
        "from orth.serving import LastResort\n"
        "with LastResort() as last_resort:\n"
        "    threading.Thread(target=threading.Event().wait).start()\n"
        "    last_resort.end_within(0.2)\n"
        "    threading.Event().wait()\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=False)
    assert ended.returncode == 1
    assert "stopping has taken 0.2 s" in ended.stderr


def test_one_that_stops_in_time_is_left_alone() -> None:
    with LastResort() as last_resort:
        last_resort.end_within(3600)
        timers = [one for one in threading.enumerate() if isinstance(one, threading.Timer)]
    for timer in timers:
        timer.join(10)
    assert not any(timer.is_alive() for timer in timers)


async def test_the_date_of_answers_is_written_down_at_every_tick() -> None:
    server = Server(None, keep_alive=5)
    server.config.load()
    for counter in (3, 4):
        server.server_state.default_headers = []
        await server.on_tick(counter)
        assert "date" in {name.decode().lower() for name, _value in server.server_state.default_headers}


def test_files_for_tls_that_cannot_be_used_are_told_before_the_start(tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("no certificate")
    for certificate in (tmp_path / "missing.pem", tmp_path / "cert.pem"):
        security = {"tls_certificate": certificate, "tls_key": tmp_path / "cert.pem"}
        with pytest.raises(CannotStart, match=r"No TLS with .*Correct security\.tls_certificate"):
            tls_of(Settings.model_validate({"security": security}))
    assert tls_of(Settings()) is None
