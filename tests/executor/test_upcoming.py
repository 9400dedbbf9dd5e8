from orth.executor.handlers import Handlers, handler_of
from orth.executor.upcoming import UpcomingFire, instant_of, upcoming_fires


def test_a_schedule_that_ends_gives_what_it_has(app: Handlers) -> None:
    @app.job(schedule="0 0 0 1 1 ? 2030-2031")
    def new_year() -> None: ...

    fires = upcoming_fires(handler_of(new_year), 5, instant_of("2029-06-01", handler_of(new_year)))
    assert [fire.utc for fire in fires] == ["2030-01-01T00:00Z", "2031-01-01T00:00Z"]


def test_a_fire_is_written_as_exactly_as_it_needs() -> None:
    minute = UpcomingFire(1_769_767_200_000, "Asia/Kolkata")
    assert (minute.local, minute.utc) == ("2026-01-30T15:30+05:30", "2026-01-30T10:00Z")
    assert UpcomingFire(minute.instant + 1_000, "UTC").utc == "2026-01-30T10:00:01Z"
    assert UpcomingFire(minute.instant + 1, "UTC").utc == "2026-01-30T10:00:00.001Z"


def test_a_moment_without_offset_is_on_the_handlers_wall_clock(app: Handlers) -> None:
    @app.job(timezone="Asia/Kolkata")
    def there() -> None: ...

    assert instant_of("2026-01-30T15:30", handler_of(there)) == 1_769_767_200_000
    assert instant_of(1_769_767_200_000, handler_of(there)) == 1_769_767_200_000
