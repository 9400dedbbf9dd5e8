import re
from datetime import timedelta
from typing import Any

import pytest

from orth.domain.jobs import BlockStrategy
from orth.errors import Invalid
from orth.executor.handlers import Handlers
from orth.executor.proposals import Retry, whole_seconds


def test_everything_the_author_proposes_is_announced(app: Handlers) -> None:
    @app.job(
        timeout=timedelta(minutes=10),
        block="concurrent",
        concurrency=3,
        retry=Retry(attempts=3, delay="10s", backoff=2.0, jitter=True, give_up_on=(ValueError,)),
    )
    def sync() -> None: ...

    [info] = app.infos()
    assert (info.timeout, info.block, info.concurrency) == (600, BlockStrategy.CONCURRENT, 3)
    assert info.model_dump(mode="json", by_alias=True)["retry"] == {
        "attempts": 3,
        "delay": 10_000,
        "backoff": 2.0,
        "jitter": True,
        "giveUpOn": ["builtins.ValueError"],
    }


def test_nothing_is_proposed_by_default(app: Handlers) -> None:
    app.job(lambda: None)
    [info] = app.infos()
    assert (info.schedule, info.timeout, info.retry) == (None, None, None)
    assert (info.block, info.concurrency) == (BlockStrategy.SERIAL_EXECUTION, 1)


@pytest.mark.parametrize(("delay", "milliseconds"), [("1m", 60_000), (2.5, 2500), (timedelta(hours=1), 3_600_000)])
def test_a_delay_is_written_as_one_likes(delay: Any, milliseconds: int) -> None:
    assert Retry(delay=delay).info().delay == milliseconds


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"attempts": 0}, "1 to 100 attempts, not 0"),
        ({"attempts": 101}, "not 101"),
        ({"delay": "soon"}, "'soon' is not a duration"),
        ({"delay": -1}, "between 0 and 1 day, not -1"),
        ({"delay": "2d"}, "not 2d"),
        ({"delay": 1e300}, "cannot be 1e"),
        ({"backoff": 0.5}, "at least 1, not 0.5"),
        ({"backoff": float("inf")}, "not inf"),
        ({"backoff": float("nan")}, "not nan"),
        ({"backoff": "2"}, "at least 1, not '2'"),
        ({"attempts": "3"}, "are a whole number, not '3'"),
        ({"delay": None}, "cannot be None"),
        ({"give_up_on": ValueError}, "a tuple of exceptions, not <class 'ValueError'>"),
    ],
)
def test_a_retry_that_cannot_be_is_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(Invalid, match=complaint):
        Retry(**options)


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [("90s", 90), ("1h30m", 5400), (90, 90), (90.0, 90), (timedelta(milliseconds=200), 1), ("0s", 0)],
)
def test_a_time_limit_is_written_as_one_likes(limit: Any, seconds: int) -> None:
    assert whole_seconds(limit) == seconds


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"timeout": "200ms"}, "A time limit is in whole seconds, not '200ms'."),
        ({"timeout": 1.5}, "A time limit is in whole seconds, not 1.5."),
        ({"timeout": float("inf")}, "A time limit is in whole seconds, not inf."),
        ({"timeout": [3]}, "A time limit is in whole seconds, not [3]."),
        ({"timeout": "soon"}, "'soon' is not a duration."),
        ({"timeout": -1}, "A time limit cannot be negative: -1."),
        ({"schedule": 5}, "A schedule is a text, not 5."),
        ({"timezone": 5}, "There is no time zone 5."),
        ({"block": 5}, "There is no block strategy 5."),
        ({"concurrency": "3", "block": "concurrent"}, "Executions beside each other are a whole number, not '3'."),
        ({"retry": 3}, "Retries are proposed with a Retry, not 3."),
        ({"log_level": 1.5}, "There is no log level 1.5."),
    ],
)
def test_a_proposal_of_a_wrong_kind_is_refused_in_words(app: Handlers, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(Invalid, match=re.escape(complaint)):
        app.job("it", **options)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"concurrency": 0}, "Between 1 and 64"),
        ({"concurrency": 65, "block": "concurrent"}, "not 65"),
        ({"concurrency": 2}, 'needs the block strategy concurrent. Add block="concurrent".'),
    ],
)
def test_a_concurrency_that_cannot_be_is_refused(app: Handlers, options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(Invalid, match=complaint):
        app.job("it", **options)
