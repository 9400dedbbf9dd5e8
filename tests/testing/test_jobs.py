"""The testing kit: a handler carried out as an executor would, without network or files."""

import asyncio
import logging
import os
import subprocess
import sys
import tempfile
import threading
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from orth import Executor, JobContext, JobFailed
from orth.domain.executions import Status
from orth.errors import Invalid
from orth.testing import ManualClock, next_fires, run_job, run_shards

app = Executor("tested")
log = logging.getLogger("tested")
steps: list[str] = []


@app.job("collectPrices", schedule="0 */5 * * * ?", timezone="Europe/Paris", timeout=600)
def collect(ctx: JobContext, market: str, symbols: list[str] | None = None, since: date | None = None) -> str:
    todo = ctx.my_share(symbols or [])
    log.info("%s since %s, due %s", market, since, ctx.schedule_time)
    for symbol in ctx.track(todo, desc="symbols"):
        if symbol == "bad":
            raise JobFailed(f"no data for {symbol}")
    return f"{len(todo)} symbols"


@app.job
class Copy:
    async def init(self, ctx: JobContext) -> None:
        steps.append(f"init {ctx.handler}")

    async def execute(self, batch: int = 500) -> int:
        steps.append(f"execute {batch}")
        return batch

    async def destroy(self) -> None:
        steps.append("destroy")


def test_a_report_says_all_there_is_to_say() -> None:
    report = run_job(
        collect, market="paris", symbols=["A", "B"], since=date(2026, 1, 2), schedule_time="2026-01-30T02:00:00Z"
    )
    assert (report.code, report.message, report.ok, report.status) == (200, "2 symbols", True, Status.SUCCESS)
    assert report.tag == "Success 200/200"
    assert report.params == {"market": "paris", "symbols": ["A", "B"], "since": date(2026, 1, 2)}
    assert report.progress is not None
    assert (report.progress.done, report.progress.total) == (2, 2)
    assert "paris since 2026-01-02, due 2026-01-30 02:00:00+00:00\n" in report.log_text
    assert "--- execution ends: 200" in report.log_text


def test_attempts_at_one_fire_have_one_key() -> None:
    def try_it(ctx: JobContext) -> str:
        return f"{ctx.attempt} {ctx.run_key} {ctx.job_name}"

    handler = Executor("trying").job("tryIt")(try_it)
    due = "2026-01-30T02:00:00Z"
    told = [run_job(handler, attempt=number, schedule_time=due).message.split() for number in (1, 2)]
    other = run_job(handler, schedule_time="2026-01-30T03:00:00Z").message.split()
    assert [one[0] for one in told] == ["1", "2"]
    assert told[0][1:] == told[1][1:]
    assert (other[0], other[2]) == ("1", "tryIt")
    assert other[1] != told[0][1]


def test_a_level_that_somebody_set_holds() -> None:
    root = logging.getLogger()
    before = root.level
    assert "INFO tested: paris since" in run_job(collect, market="paris").log_text
    assert root.level == before
    try:
        root.setLevel(logging.ERROR)
        assert "paris since" not in run_job(collect, market="paris").log_text
    finally:
        root.setLevel(before)


def test_a_failure_is_reported_not_raised() -> None:
    report = run_job(collect, market="paris", symbols=["A", "bad", "C"])
    assert (report.code, report.message, report.tag) == (500, "no data for bad", "Failed 200/500")
    assert report.progress is not None
    assert report.progress.done == 1


def test_parameters_are_validated_as_an_executor_would() -> None:
    report = run_job(collect, market=["not", "text"], symbols="A")
    assert report.code == 500
    assert "market: " in report.message
    assert "symbols: " in report.message
    assert report.params == {}
    assert run_job(collect, param="not json").code == 500
    assert run_job(collect, param='{"market": "nyse"}').params == {"market": "nyse"}


def fetch(url: str, timeout: int = 5, shard: str = "", total: int = 0) -> str:
    return f"{url} {timeout} {shard} {total}"


def open_ended(**words: int) -> str:
    return str(words)


@pytest.mark.parametrize("given", [{"timeout": 3}, {"shard": (0, 1)}, {"timeout": None}])
def test_a_name_that_two_could_mean_is_refused(given: dict[str, Any]) -> None:
    [name] = given
    with pytest.raises(Invalid, match=rf"^{name} may be meant for handler fetch or .* params={{'{name}': …}}"):
        run_job(fetch, url="x", **given)
    with pytest.raises(Invalid, match="may be meant for handler open_ended"):
        run_job(open_ended, **given)
    with pytest.raises(Invalid, match=r"^total may be meant"):
        run_shards(fetch, total=2, url="x")


def test_params_are_the_handlers_and_nobody_elses() -> None:
    assert run_job(fetch, params={"url": "x", "timeout": 3, "shard": "s"}).message == "x 3 s 0"
    report = run_job(fetch, params={"url": "x", "timeout": 3}, timeout=7, shard=(1, 2))
    assert report.message == "x 3  0"
    assert run_job(fetch, url="x").message == "x 5  0"
    assert [report.message for report in run_shards(fetch, 2, params={"url": "x", "total": 9})] == ["x 5  9"] * 2
    assert run_job(open_ended, params={"timeout": 3}).message == "{'timeout': 3}"
    for twice in ({"params": {"url": "x"}, "url": "x"}, {"param": "{}", "url": "x"}, {"param": "{}", "params": {}}):
        with pytest.raises(Invalid, match="are given twice"):
            run_job(fetch, **twice)


def test_the_whole_life_of_an_object_is_lived() -> None:
    steps.clear()
    assert run_job(Copy, batch=7).message == "7"
    assert steps == ["init Copy", "execute 7", "destroy"]


def test_a_time_limit_ends_it() -> None:
    def forever(ctx: JobContext) -> None:
        remaining.append(ctx.remaining())
        while not ctx.cancelled:
            threading.Event().wait(0.01)

    remaining: list[float | None] = []
    report = run_job(forever, timeout=timedelta(seconds=1))
    assert (report.code, report.tag) == (502, "Timeout 200/502")
    [left] = remaining
    assert left is not None
    assert 0.5 < left <= 1


def test_on_a_manual_clock_time_passes_when_it_is_moved() -> None:
    clock = ManualClock()

    def slow(ctx: JobContext) -> str:
        clock.move(30)
        while ctx.remaining() == 0 and not ctx.cancelled:
            threading.Event().wait(0.01)
        return f"{ctx.remaining()} left"

    assert run_job(slow, timeout=100, clock=clock).message == "70.0 left"
    assert run_job(slow, timeout=20, clock=clock).code == 502


def test_the_shards_cover_everything_once() -> None:
    reports = run_shards(collect, total=3, market="paris", symbols=list("ABCDEFG"))
    assert [report.message for report in reports] == ["3 symbols", "2 symbols", "2 symbols"]
    assert sum(report.progress.total or 0 for report in reports if report.progress) == 7


@pytest.mark.parametrize("shard", [(3, 3), (-1, 3), (0, 0)])
def test_a_shard_that_cannot_be_is_refused(shard: tuple[int, int]) -> None:
    with pytest.raises(Invalid, match="There is no shard"):
        run_job(collect, shard=shard, market="paris")


def test_a_text_handler_gets_its_text_and_others_say_what_they_lack() -> None:
    def greet(name: str = "world") -> str:
        return f"hello {name}"

    assert run_job(greet, name="5").message == "hello 5"
    assert run_job(greet).message == "hello world"
    with pytest.raises(Invalid, match="takes no parameters"):
        run_job(lambda: None, surprise=1)


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    threads = set(threading.enumerate())
    streams = (sys.stdout, sys.stderr)
    run_job(collect, market="paris")
    assert list(tmp_path.iterdir()) == []
    assert set(threading.enumerate()) == threads
    assert (sys.stdout, sys.stderr) == streams


async def test_it_runs_where_an_event_loop_runs_already() -> None:
    async def sleepy() -> str:
        await asyncio.sleep(0)
        return "done"

    assert run_job(sleepy).message == "done"


def test_fires_in_local_time_and_utc_across_the_change_to_summer_time() -> None:
    [fire] = next_fires(collect, 1, after="2026-03-29T01:59+01:00")
    assert (fire.local, fire.utc) == ("2026-03-29T03:00+02:00", "2026-03-29T01:00Z")
    two = next_fires(collect, 2, after=datetime(2026, 1, 30, 10, 4, 59, tzinfo=UTC))
    assert [fire.utc for fire in two] == ["2026-01-30T10:05Z", "2026-01-30T10:10Z"]
    assert next_fires(collect, 1, after="2026-01-30T11:04")[0].utc == "2026-01-30T10:05Z", (
        "the handler's own wall clock"
    )
    assert next_fires(collect, 1)[0].instant % 300_000 == 0


def test_fires_to_the_second_where_they_need_it() -> None:
    other = Executor("other-app")

    @other.job(schedule="7 * * * * ?")
    def often() -> None: ...

    assert next_fires(often, 1, after=1_769_767_200_000)[0].local == "2026-01-30T10:00:07+00:00"


def test_without_a_schedule_there_are_no_fires_to_ask_for() -> None:
    with pytest.raises(Invalid, match="Copy proposes no schedule"):
        next_fires(Copy)


WITHOUT_SERVER = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"fastapi", "sqlalchemy", "aiohttp", "alembic", "rich"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
import orth.testing
print([name for name in ("pydantic", "orth.executor") if name in sys.modules])
from orth.testing import run_job
print(run_job(lambda: "fine").message)
"""


def test_the_kit_needs_no_server_and_importing_it_loads_nothing(tmp_path: Path) -> None:
    run: Any = subprocess.run(
        [sys.executable, "-c", WITHOUT_SERVER], capture_output=True, text=True, cwd=tmp_path, env=dict(os.environ)
    )
    assert run.stdout == "[]\nfine\n", run.stderr


def test_an_unknown_name_is_unknown() -> None:
    import orth.testing

    with pytest.raises(AttributeError, match="no attribute 'run_jobs'"):
        _ = orth.testing.run_jobs
    assert [name for name in orth.testing.__all__ if not hasattr(orth.testing, name)] == []


@pytest.mark.parametrize("count", [0, -1])
def test_none_to_look_at_is_no_test(count: int) -> None:
    with pytest.raises(Invalid, match="at least 1 shards"):
        run_shards(collect, total=count, market="X")
    with pytest.raises(Invalid, match="at least 1 fires"):
        next_fires(collect, count)
