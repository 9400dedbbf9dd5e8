"""Which days an expression admits: tables worked out on a calendar, and a walk through every day by ``datetime``."""

from calendar import monthrange
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orth.domain.cron import Cron
from orth.domain.cron.days import END, Days, date_of
from orth.domain.cron.expression import read
from orth.errors import InvalidSchedule

EPOCH = date(1970, 1, 1)


def noons(text: str, start: str, count: int) -> list[str]:
    """The dates of the next fires at noon, as MM-DD of one year or YYYY-MM-DD of several."""
    instant = int(datetime.fromisoformat(start).replace(tzinfo=UTC).timestamp()) * 1000
    fires = [datetime.fromtimestamp(fire / 1000, UTC) for fire in Cron.parse(text).next_n(instant, count)]
    assert {fire.hour for fire in fires} <= {12}
    years = {fire.year for fire in fires}
    return [fire.strftime("%m-%d" if len(years) == 1 else "%Y-%m-%d") for fire in fires]


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("0 0 12 L * ?", "01-31 02-28 03-31 04-30 05-31"),
        ("0 0 12 L-3 * ?", "01-28 02-25 03-28 04-27 05-28"),
        ("0 0 12 L-30 * ?", "01-01 03-01 05-01 07-01 08-01"),
        ("0 0 12 LW * ?", "01-30 02-27 03-31 04-30 05-29"),
        ("0 0 12 15W * ?", "01-15 02-16 03-16 04-15 05-15 06-15 07-15 08-14"),
        ("0 0 12 1W * ?", "01-01 02-02 03-02 04-01 05-01 06-01 07-01 08-03"),
        ("0 0 12 31W * ?", "01-30 03-31 05-29 07-31 08-31"),
        ("0 0 12 15,L * ?", "01-15 01-31 02-15 02-28 03-15"),
        ("0 0 12 1W,LW * ?", "01-01 01-30 02-02 02-27 03-02"),
        ("0 0 12 ? * L", "01-03 01-10 01-17"),
        ("0 0 12 ? * 7", "01-03 01-10 01-17"),
        ("0 0 12 ? * 6L", "01-30 02-27 03-27 04-24"),
        ("0 0 12 ? * FRIL", "01-30 02-27 03-27 04-24"),
        ("0 0 12 ? * 1L", "01-25 02-22 03-29 04-26"),
        ("0 0 12 ? * 6#3", "01-16 02-20 03-20 04-17"),
        ("0 0 12 ? * fri#3", "01-16 02-20 03-20 04-17"),
        ("0 0 12 ? * 2#5", "03-30 06-29 08-31 11-30"),
        ("0 0 12 ? * 1#1", "01-04 02-01 03-01 04-05"),
        ("0 0 12 ? * FRI-MON", "01-02 01-03 01-04 01-05 01-09"),
        ("0 0 12 ? * FRI-SUN", "01-02 01-03 01-04 01-09"),
        ("0 0 12 ? * 6-2/2", "01-02 01-04 01-09 01-11"),
        ("0 0 12 ? * 2/2", "01-02 01-05 01-07 01-09"),
        ("0 0 12 30-2 * ?", "01-01 01-02 01-30 01-31 02-01"),
        ("0 0 12 10/10 * ?", "01-10 01-20 01-30 02-10"),
        ("0 0 12 1 NOV-FEB ?", "01-01 02-01 11-01 12-01"),
        ("0 0 12 1 1/5 ?", "01-01 06-01 11-01"),
        ("0 12 L * *", "01-31 02-28 03-31"),
        ("0 12 LW * *", "01-30 02-27 03-31"),
        ("0 12 * * 5L", "01-30 02-27 03-27"),
        ("0 12 * * 0", "01-04 01-11 01-18"),
        ("0 12 * * 7", "01-04 01-11 01-18"),
        ("0 12 * * 7L", "01-25 02-22 03-29"),
        ("0 12 * * 0#2", "01-11 02-08 03-08"),
        ("0 12 * * SAT-SUN", "01-03 01-04 01-10"),
        ("0 12 * * 5-7", "01-02 01-03 01-04 01-09"),
        ("0 12 * * 1/3", "01-01 01-04 01-05"),  # from Monday to 7, which is Sunday too
    ],
)
def test_days_of_2026(text: str, dates: str) -> None:
    wanted = dates.split()
    assert noons(text, "2025-12-31T13:00", len(wanted)) == wanted


def test_both_day_fields_of_unix_are_joined_by_or() -> None:
    assert noons("0 12 13 * FRI", "2026-02-01", 6) == ["02-06", "02-13", "02-20", "02-27", "03-06", "03-13"]
    assert noons("0 12 1,2 * MON", "2026-06-01T13:00", 4) == ["06-02", "06-08", "06-15", "06-22"]


def test_a_unix_field_that_begins_with_a_star_is_not_restricted() -> None:
    # Odd days that are Mondays, as every crontab reads it.
    assert noons("0 12 */2 * MON", "2026-01-01", 4) == ["01-05", "01-19", "02-09", "02-23"]
    assert noons("0 12 1-7 * */2", "2026-01-01", 3) == ["01-01", "01-03", "01-04"]


def test_leap_days_are_found_over_long_distances() -> None:
    assert noons("0 12 29 2 *", "2026-01-01", 3) == ["2028-02-29", "2032-02-29", "2036-02-29"]
    assert noons("0 12 29 2 *", "2096-03-01", 2) == ["2104-02-29", "2108-02-29"]
    # A leap day that is a Monday comes every 28 years, and later when a century year is not a leap year.
    assert noons("0 0 12 ? 2 2#5", "2026-01-01", 3) == ["2044-02-29", "2072-02-29", "2112-02-29"]


def test_years_are_a_field_of_their_own() -> None:
    assert noons("0 0 12 1 1 ? 2028-2030", "2026-01-01", 9) == ["2028-01-01", "2029-01-01", "2030-01-01"]
    assert noons("0 0 12 1 1 ? 2027/100", "2026-01-01", 9) == ["2027-01-01", "2127-01-01"]
    assert noons("0 0 12 31 12 ? 2199", "2026-01-01", 9) == ["12-31"]
    assert noons("0 0 12 1 1 ? 1999", "2026-01-01", 9) == []
    assert Cron.parse("0 0 12 1 1 ? 1999").previous_before(1_767_225_600_000) == 915_192_000_000


def test_dates_are_counted_from_1970_to_2199() -> None:
    every_day = read("0 0 * * *").days
    assert every_day.at_or_after(-5) == 0
    assert every_day.at_or_before(-1) == -1
    assert every_day.at_or_after(END - 1) == END - 1
    assert every_day.at_or_after(END) == -1
    assert every_day.at_or_before(END + 9) == END - 1
    assert date_of(END) == date(2200, 1, 1)


def test_a_month_rule_is_asked_once_for_every_kind_of_year() -> None:
    asked = []

    def of_month(begins: int, length: int) -> int:
        asked.append((begins, length))
        return 1

    days = Days(of_month, frozenset({2}), None)
    day = days.at_or_after(0)
    while day >= 0:
        day = days.at_or_after(day + 1)
    assert len(asked) == 14
    assert len(set(asked)) == 14


# --- every day, by an independent evaluator -------------------------------------------------------------------------

Rule = tuple[str, Callable[[date], bool]]


def last_of(day: date) -> int:
    return monthrange(day.year, day.month)[1]


def workday_near(day: date, wanted: int) -> bool:
    if wanted > last_of(day):
        return False
    near = [d for d in range(1, last_of(day) + 1) if day.replace(day=d).isoweekday() <= 5]
    # The nearest one; Saturday looks back first, Sunday ahead, and neither is ever as near as the other.
    return day.day == min(near, key=lambda d: abs(d - wanted))


DOM_RULES: st.SearchStrategy[Rule] = st.one_of(
    st.integers(1, 31).map(lambda n: (str(n), lambda d: d.day == n)),
    st.tuples(st.integers(1, 31), st.integers(1, 31)).map(
        lambda p: (
            f"{p[0]}-{p[1]}",
            lambda d: p[0] <= d.day <= p[1] if p[0] <= p[1] else d.day >= p[0] or d.day <= p[1],
        )
    ),
    st.tuples(st.integers(1, 31), st.integers(1, 31)).map(
        lambda p: (f"{p[0]}/{p[1]}", lambda d: d.day >= p[0] and (d.day - p[0]) % p[1] == 0)
    ),
    st.integers(0, 30).map(lambda n: (f"L-{n}", lambda d: d.day == last_of(d) - n)),
    st.just(("LW", lambda d: workday_near(d, last_of(d)))),
    st.integers(1, 31).map(lambda n: (f"{n}W", lambda d: workday_near(d, n))),
)
DOW_RULES: st.SearchStrategy[Rule] = st.one_of(
    st.integers(1, 7).map(lambda n: (str(n), lambda d: d.isoweekday() % 7 + 1 == n)),
    st.integers(1, 7).map(
        lambda n: (f"{n}L", lambda d: d.isoweekday() % 7 + 1 == n and (d + timedelta(7)).month != d.month)
    ),
    st.tuples(st.integers(1, 7), st.integers(1, 5)).map(
        lambda p: (f"{p[0]}#{p[1]}", lambda d: d.isoweekday() % 7 + 1 == p[0] and (d.day + 6) // 7 == p[1])
    ),
)
YEARS = st.one_of(st.none(), st.integers(2000, 2030).map(lambda year: frozenset({year, year + 3})))


def days_of(text: str) -> Days | None:
    """The admitted days; None if the expression is refused because it has none."""
    try:
        return read(text).days
    except InvalidSchedule as error:
        if "never fires" in error.message:
            return None
        raise


@settings(deadline=None)
@given(
    rules=st.one_of(
        st.lists(DOM_RULES, min_size=1, max_size=3).map(lambda rules: (rules, "{} {} ?")),
        DOW_RULES.map(lambda rule: ([rule], "? {1} {0}")),
    ),
    months=st.frozensets(st.integers(1, 12), min_size=1, max_size=12),
    years=YEARS,
    start=st.dates(date(1995, 1, 1), date(2030, 1, 1)),
)
def test_every_day_of_three_years_is_admitted_as_the_definition_says(
    rules: tuple[list[Rule], str], months: frozenset[int], years: frozenset[int] | None, start: date
) -> None:
    days, form = rules
    fields = form.format(",".join(text for text, _ in days), ",".join(map(str, sorted(months))))
    text = f"0 0 0 {fields}" + (f" {','.join(map(str, sorted(years)))}" if years else "")
    wanted = [
        day
        for day in (start + timedelta(n) for n in range(3 * 366))
        if day.month in months and (years is None or day.year in years) and any(rule(day) for _, rule in days)
    ]
    first, end = (start - EPOCH).days, (start - EPOCH).days + 3 * 366
    admitted = days_of(text)
    if admitted is None:
        assert wanted == []
        return
    ahead, day = [], admitted.at_or_after(first)
    while 0 <= day < end:
        ahead.append(date_of(day))
        day = admitted.at_or_after(day + 1)
    behind, day = [], admitted.at_or_before(end - 1)
    while day >= first:
        behind.append(date_of(day))
        day = admitted.at_or_before(day - 1)
    assert ahead == wanted, text
    assert behind == wanted[::-1], text
