from hypothesis import given, settings
from hypothesis import strategies as st

from orth.domain.cron.times import Times, times_of


def some(size: int) -> st.SearchStrategy[frozenset[int]]:
    return st.frozensets(st.integers(0, size - 1), min_size=1)


@settings(deadline=None)
@given(some(60), some(60), some(24), st.integers(0, 86_399))
def test_searches_find_the_nearest_time_in_both_directions(
    seconds: frozenset[int], minutes: frozenset[int], hours: frozenset[int], time: int
) -> None:
    def admitted(candidate: int) -> bool:
        return candidate % 60 in seconds and candidate // 60 % 60 in minutes and candidate // 3600 in hours

    times = Times(seconds, minutes, hours)

    assert times.at_or_after(time) == next((t for t in range(time, 86_400) if admitted(t)), -1)
    assert times.at_or_before(time) == next((t for t in range(time, -1, -1) if admitted(t)), -1)
    assert times.first == next(t for t in range(86_400) if admitted(t))
    assert times.last == next(t for t in range(86_399, -1, -1) if admitted(t))


def test_equal_times_share_their_tables() -> None:
    quarter_hours = frozenset(range(0, 60, 15))
    assert times_of(frozenset({0}), quarter_hours, frozenset({8})) is times_of(
        frozenset({0}), frozenset({0, 15, 30, 45}), frozenset({8})
    )
