"""The short form of the fuzz run: the same inputs every time, in a few seconds of processor time."""

import pytest
from hypothesis import HealthCheck, given, settings

from tests.fuzz import channels, journals, lines, logs, schedules, wire
from tests.fuzz import settings as setting_files
from tests.fuzz.target import MEMORY_BOUND, Tally, Target, examine

ALL = [
    target
    for room in (schedules, wire, channels, lines, logs, journals, setting_files)
    for target in room.TARGETS
]  # fmt: skip


@pytest.mark.parametrize("target", ALL, ids=lambda target: target.name)
def test_nothing_escapes_and_nothing_takes_long(target: Target) -> None:
    tally = Tally()

    @settings(
        max_examples=target.examples,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs)
    def check(value: object) -> None:
        examine(target, value, tally)

    check()
    assert tally.inputs >= target.examples // 2
    assert tally.refused < tally.inputs, "nothing got past the door: the inputs show nothing"
    assert tally.grown <= MEMORY_BOUND
