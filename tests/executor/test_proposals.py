from datetime import timedelta
from typing import Any

import pytest

from orth.domain.jobs import BlockStrategy
from orth.errors import Invalid
from orth.executor.handlers import Handlers
from orth.executor.proposals import Retry


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
    ],
)
def test_a_retry_that_cannot_be_is_refused(options: dict[str, Any], complaint: str) -> None:
    with pytest.raises(Invalid, match=complaint):
        Retry(**options)


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
