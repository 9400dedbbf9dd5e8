import asyncio
import os
import signal
from collections.abc import Callable

import pytest

from orth.errors import CannotStart
from orth.serving import asked_to_stop, bound, loop_factory
from orth.settings import Address
from tests.forks import INTERRUPTED, ended_by, forked

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
