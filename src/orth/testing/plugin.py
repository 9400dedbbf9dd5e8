"""The pytest plugin: fixtures for tests of jobs.

* ``orth_run`` is ``orth.testing.run_job``; in a test that also asks for ``orth_clock``, executions go by that clock.
* ``orth_clock`` is a ``ManualClock``: it stands still until the test, or the handler, moves it.

It is loaded by every pytest run in an environment where Orth is installed, so it imports nothing until it is used.
"""

from functools import partial
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from orth.testing.clocks import ManualClock
    from orth.testing.jobs import RunReport


@pytest.fixture
def orth_clock() -> "ManualClock":
    """A clock that is moved by hand."""
    from orth.testing.clocks import ManualClock

    return ManualClock()


@pytest.fixture
def orth_run(request: pytest.FixtureRequest) -> "Callable[..., RunReport]":
    """``orth_run(handler, market="paris")``: carry out a handler once."""
    from orth.testing.jobs import run_job

    if "orth_clock" in request.fixturenames:
        return partial(run_job, clock=request.getfixturevalue("orth_clock"))
    return run_job
