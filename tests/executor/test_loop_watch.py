import asyncio
import re
import threading
import time
from pathlib import Path

from orth.executor.context import JobContext
from orth.executor.handlers import Handlers
from tests.executor.bench import eventually
from tests.executor.conftest import MakeRig

HERE = Path(__file__).name


def blocked(text: str) -> list[tuple[float, str]]:
    """Each notice in a log: for how long, and where."""
    return [(float(span), place) for span, place in re.findall(r"blocked its event loop for ([\d.]+) s at (\S+)", text)]


def line_of(marker: str) -> int:
    return next(number for number, line in enumerate(Path(__file__).read_text().splitlines(), 1) if marker in line)


def test_a_handler_that_blocks_its_loop_is_told_where(app: Handlers, rig: MakeRig) -> None:
    @app.job
    async def fetch() -> str:
        await asyncio.sleep(0.01)
        time.sleep(2.2)  # noqa: ASYNC251  # the place
        await asyncio.sleep(0.01)
        return "fetched"

    ran = rig()
    assert ran.result(1, "fetch").handle_code == 200
    [(span, place)] = blocked(ran.text(1))
    assert 1.0 <= span < 5
    assert place == f"{HERE}:{line_of('# the place')}"


def test_a_block_at_the_very_end_is_told_too(app: Handlers, rig: MakeRig) -> None:
    @app.job
    class Fetch:
        async def execute(self) -> None:
            await asyncio.sleep(0.01)
            threading.Event().wait(2.2)  # the end

    ran = rig()
    assert ran.result(1, "Fetch").handle_code == 200
    [(_, place)] = blocked(ran.text(1))
    assert place == f"{HERE}:{line_of('# the end')}", "the author's line, not that of the library it called"


def test_a_handler_that_awaits_is_left_in_peace(app: Handlers, rig: MakeRig) -> None:
    done = threading.Event()

    @app.job
    async def patient(ctx: JobContext) -> None:
        await asyncio.sleep(1.6)
        done.set()

    ran = rig()
    ran.run(1, "patient")
    eventually(done.is_set, 15)
    assert ran.runtime.join_idle(10)
    assert "blocked" not in ran.text(1)


def test_one_thread_watches_them_all_and_belongs_to_no_job(app: Handlers, rig: MakeRig) -> None:
    @app.job
    async def quick() -> str:
        return str(sum(thread.name == "orth-loop-watch" for thread in threading.enumerate()))

    ran = rig()
    assert [ran.result(log_id, "quick").handle_msg for log_id in range(1, 6)] == ["1"] * 5
