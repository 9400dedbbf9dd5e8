import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orth.executor import retention
from orth.executor.facts import LogsKept, LogsRemoved
from orth.executor.retention import Retention
from orth.executor.run_logs import RunLogs
from tests.executor.bench import NOON, Ears, HandClock

DAY = 86_400
TODAY = datetime.fromtimestamp(NOON / 1000, UTC).date()


@pytest.fixture
def logs(tmp_path: Path, clock: HandClock, ears: Ears) -> RunLogs:
    return RunLogs(tmp_path / "logs", clock, ears)


@pytest.fixture
def keeping(logs: RunLogs, clock: HandClock, ears: Ears) -> Retention:
    """Three days are kept."""
    return Retention(logs, 3.0 * DAY, clock, ears)


def written(logs: RunLogs, days_ago: int, log_id: int = 1) -> Path:
    log = logs.open(log_id, NOON - days_ago * DAY * 1000)
    log.write("text")
    log.close()
    return log.path


def days(logs: RunLogs) -> list[int]:
    """How many days ago each folder is."""
    names = [datetime.fromisoformat(path.name).date() for path in logs.directory.iterdir()]
    return sorted((TODAY - name).days for name in names)


async def test_a_day_goes_once_all_of_it_is_older_than_the_retention(
    logs: RunLogs, keeping: Retention, clock: HandClock, ears: Ears
) -> None:
    for days_ago in range(7):
        written(logs, days_ago)
    assert await keeping.turn() == 3600
    assert days(logs) == [0, 1, 2, 3]
    assert [(told.day, told.files) for told in ears.of(LogsRemoved)] == [
        (str(TODAY - timedelta(days=ago)), 1) for ago in (6, 5, 4)
    ]
    clock.advance(DAY)
    await keeping.turn()
    assert days(logs) == [0, 1, 2]


async def test_a_day_that_is_still_written_stays_whole(logs: RunLogs, keeping: Retention) -> None:
    other = written(logs, 9, log_id=1)
    running = logs.open(2, NOON - 9 * DAY * 1000)
    running.write("still here")
    await keeping.turn()
    assert other.exists()
    assert running.path.read_text().endswith("still here\n")
    running.close()
    await keeping.turn()
    assert days(logs) == []


async def test_a_turn_does_a_bounded_amount_of_work(
    logs: RunLogs, keeping: Retention, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "FILES_PER_TURN", 4)
    for log_id in range(6):
        written(logs, 9, log_id)
    written(logs, 8)
    pauses = [await keeping.turn()]
    assert len(list(logs.directory.rglob("*.log"))) == 3
    pauses.append(await keeping.turn())
    assert days(logs) == []
    assert pauses == [0.2, 3600]


async def test_nothing_is_touched_but_logs_in_folders_of_days(
    logs: RunLogs, keeping: Retention, tmp_path: Path, ears: Ears
) -> None:
    old = written(logs, 9).parent
    (old / "notes.txt").write_text("somebody's own")
    (old / "8.log").symlink_to(tmp_path / "elsewhere.log")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "7.log").write_text("not ours to remove")
    (logs.directory / "2001-01-01").symlink_to(elsewhere)
    for name in ("2001-02-30", "2001-1-1", "archive"):
        (logs.directory / name).mkdir()
        (logs.directory / name / "1.log").write_text("kept")
    await keeping.turn()
    assert sorted(os.listdir(old)) == ["8.log", "notes.txt"]
    assert (elsewhere / "7.log").exists()
    assert len(list(logs.directory.glob("*/1.log"))) == 3
    assert [told.folder for told in ears.of(LogsKept)] == ["2001-01-01"]


async def test_the_index_of_a_long_log_goes_with_it(logs: RunLogs, keeping: Retention) -> None:
    log = logs.open(1, NOON - 9 * DAY * 1000)
    log.write("\n".join("line" for _ in range(5000)))
    log.close()
    assert log.path.with_suffix(".index").exists()
    await keeping.turn()
    assert days(logs) == []


async def test_a_missing_directory_is_told_and_tried_again(keeping: Retention, ears: Ears) -> None:
    assert await keeping.turn() == 3600
    assert [told.folder for told in ears.of(LogsKept)] == ["logs"]
