"""``python jobs.py run | list | next``: what a job author does at a terminal."""

import signal
import threading
from pathlib import Path

import pytest

from orth import Executor, JobContext, JobFailed
from orth.executor.app import Executor as App


@pytest.fixture
def author() -> Executor:
    app = Executor("author-app")

    @app.job("collectPrices", schedule="0 */5 * * * ?", timezone="Europe/Paris", timeout=1)
    def collect(ctx: JobContext, market: str, count: int = 1, patience: bool = True) -> str:
        """Fetch closing prices."""
        print(f"shard {ctx.shard_index} of {ctx.shard_total}, due {ctx.schedule_time}")
        if market == "none":
            raise JobFailed("no such market")
        while not patience and not ctx.cancelled:
            threading.Event().wait(0.01)
        return f"{count} of {market}"

    @app.job
    def greet(name: str = "world") -> str:
        return f"hello {name}"

    return app


def ended(app: App, *words: str) -> int:
    with pytest.raises(SystemExit) as end:
        app.main(words)
    code = end.value.code
    return code if isinstance(code, int) else 0


def test_a_run_shows_its_log_and_its_tag(author: Executor, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "run",
        "collectPrices",
        "--shard",
        "0/3",
        "market=paris",
        "--schedule-time",
        "2026-01-30T02:00Z",
        "count=5",
    ]
    assert ended(author, *words) == 0
    lines = capsys.readouterr().out.splitlines()
    assert 'begins: collectPrices, parameter: {"market":"paris","count":5}' in lines[0]
    assert lines[1].endswith("shard 0 of 3, due 2026-01-30 02:00:00+00:00")
    assert lines[-1] == "Success 200/200  5 of paris"


@pytest.mark.parametrize(
    ("words", "code", "tag"),
    [
        (["run", "collect", "market=none"], 10, "Failed 200/500  no such market"),
        (["run", "collect", "count=1"], 10, "Failed 200/500  The parameters do not fit: market: Field required."),
        (["run", "collect", "market=x", "patience=false"], 11, "Timeout 200/502  "),
        (["run", "greet", "name=5"], 0, "Success 200/200  hello 5"),
        (["run", "greet", "--param", "you all"], 0, "Success 200/200  hello you all"),
    ],
)
def test_the_exit_code_is_the_outcome(
    author: Executor, capsys: pytest.CaptureFixture[str], words: list[str], code: int, tag: str
) -> None:
    assert ended(author, *words) == code
    assert capsys.readouterr().out.splitlines()[-1].startswith(tag)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["run", "nobody"], "orth: There is no handler nobody; there are: collectPrices, greet."),
        (["run", "greet", "Ann"], "orth: 'Ann' is not a parameter. Write name=value."),
        (["run", "greet", "--shard", "3/3"], "orth: '3/3' is not a shard."),
        (["run", "greet", "--shard", "one"], "orth: 'one' is not a shard."),
        (["run", "greet", "--shard", "0/99999999999"], "orth: No coordinator could send this: the number of shards: "),
        (["run", "greet", "--timeout", "99999999999"], "orth: No coordinator could send this: the time limit: "),
        (["run", "greet", f"name={'x' * 70_000}"], "orth: No coordinator could send this: the parameter has 70000 "),
        (["run", "greet", "name=x", "--param", "y"], "orth: A run takes either k=v or --param, not both."),
        (["run", "greet", "--schedule-time", "soon"], "orth: 'soon' is not a point in time."),
        (["next", "greet"], "orth: Handler greet proposes no schedule."),
    ],
)
def test_what_cannot_be_is_one_line(
    author: Executor, capsys: pytest.CaptureFixture[str], words: list[str], complaint: str
) -> None:
    assert ended(author, *words) == 1
    told = capsys.readouterr()
    assert told.err.startswith(complaint)
    assert told.err.count("\n") == 1
    assert told.out == ""


def test_a_wrong_command_is_wrong_usage(author: Executor, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(author, "rum") == 2
    assert "No such command 'rum'" in capsys.readouterr().err


def test_the_handlers_are_listed(author: Executor, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(author, "list") == 1
    told = capsys.readouterr()
    assert told.out.splitlines() == [
        "collectPrices  [0 */5 * * * ? Europe/Paris] Fetch closing prices.",
        "greet",
    ]
    assert told.err.endswith("By its schedule it gets no parameters: market: it is missing. Give it a default.\n")


def test_the_next_fires_are_shown(author: Executor, capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(author, "next", "collectPrices", "-n", "2", "--after", "2026-03-29T01:56+01:00") == 0
    assert capsys.readouterr().out.splitlines() == [
        "2026-03-29T03:00+02:00  2026-03-29T01:00Z",
        "2026-03-29T03:05+02:00  2026-03-29T01:05Z",
    ]
    assert ended(author, "next", "collect") == 0
    assert len(capsys.readouterr().out.splitlines()) == 5


@pytest.mark.parametrize("words", [[], ["start"]])
def test_without_a_command_it_serves(
    author: Executor,
    words: list[str],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    before = signal.getsignal(signal.SIGTERM)
    assert ended(author, *words) == 1, "there is no coordinator's token in an empty folder"
    assert capsys.readouterr().err.startswith("orth: There is no access token")
    assert signal.getsignal(signal.SIGTERM) == before
