"""What executors say of a log that is not there is known to the console, which says it in its own languages."""

from pathlib import Path

from orth.clock import SystemClock
from orth.events import Events
from orth.executor.run_logs import RunLogs

KNOWN = Path(__file__).parents[2] / "console/src/parts/log/ending.test.ts"


def test_the_console_knows_how_an_executor_says_that_it_has_no_log(tmp_path: Path) -> None:
    clock = SystemClock()
    page = RunLogs(tmp_path, clock, Events()).read(7, clock.now(), 1, finished=True)
    assert page.end
    assert f"'{page.content}'" in KNOWN.read_text(encoding="utf-8")
