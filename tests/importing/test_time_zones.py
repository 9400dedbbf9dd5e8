"""Cron expressions of an xxl-job mean its own time zone, which is asked for, checked and repaired."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from orth.coordinator.defining import edit, start_job
from orth.domain.audit import Actor, ActorKind, Deed
from orth.domain.jobs import GlueType, Job, ScheduleType
from orth.domain.schedules import parse_schedule
from orth.importing.report import Fate, Report
from orth.store.audit import record
from orth.store.glue_versions import GlueVersion, keep_glue_versions, list_glue_versions, set_glue_times
from orth.testing import ManualClock
from tests.importing.conftest import Install
from tests.importing.installations import Installation
from tests.importing.test_xxl_job import Store, fates, import_into, notes_of

SHANGHAI = ZoneInfo("Asia/Shanghai")
WEEK: dict[str, Callable[[datetime], bool]] = {
    "0 0 2 * * ?": lambda at: (at.hour, at.minute) == (2, 0),
    "0 30 8 ? * MON-FRI": lambda at: (at.hour, at.minute) == (8, 30) and at.weekday() < 5,
    "0 0/15 9-17 * * ?": lambda at: 9 <= at.hour <= 17 and at.minute % 15 == 0,
    "0 0 23 ? * 1": lambda at: (at.hour, at.minute) == (23, 0) and at.weekday() == 6,  # 1 is Sunday there
    "0 5 0 1 * ?": lambda at: (at.day, at.hour, at.minute) == (1, 0, 5),
    "0 59 23 L * ?": lambda at: (at.hour, at.minute) == (23, 59) and (at + timedelta(days=1)).day == 1,
    "0 15 7 ? * 2#1": lambda at: (at.hour, at.minute) == (7, 15) and at.weekday() == 0 and at.day <= 7,
    "0 0 */6 * * ?": lambda at: at.hour % 6 == 0 and at.minute == 0,
    "0 10,40 20 * * ? 2026": lambda at: at.hour == 20 and at.minute in (10, 40),
    "0 * * * * ?": lambda at: True,
}
"""Expressions of a Chinese installation, and which minutes on the clocks of Shanghai they mean."""


def _fires(fits: Callable[[datetime], bool], after: int, days: int) -> list[int]:
    """The instants in the days after ``after`` that are so on the clocks of Shanghai, minute by minute."""
    begin = datetime.fromtimestamp(after // 60_000 * 60, UTC)
    minutes = (begin + timedelta(minutes=number) for number in range(1, days * 1440 + 1))
    return [round(one.timestamp() * 1000) for one in minutes if fits(one.astimezone(SHANGHAI))]


def _chinese(there: Installation, now: int) -> None:
    """An xxl-job whose Java process runs in Shanghai: its running jobs have the instants that it has planned."""
    there.add("group", id=1, app_name="shop-executor", title="Shop", address_type=0)
    for number, (conf, fits) in enumerate(WEEK.items(), 1):
        planned = _fires(fits, now, 40)[0]
        common = {"job_group": 1, "job_desc": conf, "executor_handler": "work", "schedule_type": "CRON"}
        there.add("info", id=number, **common, schedule_conf=conf, trigger_status=1, trigger_next_time=planned)
    there.add(
        "info",
        id=100,
        job_group=1,
        job_desc="script",
        schedule_type="FIX_RATE",
        schedule_conf="30",
        glue_type="GLUE_SHELL",
        glue_source="true",
        glue_updatetime="2026-01-02 12:00:00",
    )


def _next(job: Job, after: int, days: int) -> list[int]:
    schedule = parse_schedule(job.schedule_type, job.schedule_conf, timezone=job.timezone)
    found: list[int] = []
    while (
        fire := schedule.next_after(found[-1] if found else after)
    ) is not None and fire <= after + days * 86_400_000:
        found.append(fire)
    return found


def _jobs_of(report: Report) -> set[Fate]:
    return {fate for kind, _id, fate in fates(report) if kind == "job"}


def test_a_week_of_an_installation_in_shanghai_fires_at_the_right_instants(install: Install, store: str) -> None:
    there, now = install("3.4"), ManualClock().now()
    _chinese(there, now)
    report = import_into(store, there.url, timezone="Asia/Shanghai", keep_running=True)
    jobs = Store(store).jobs()
    for conf, fits in WEEK.items():
        assert _next(jobs[conf], now, 7) == _fires(fits, now, 7), conf
        assert jobs[conf].trigger_next_time == _fires(fits, now, 40)[0], "as xxl-job has planned it"
    assert (report.timezone, report.zone_there) == ("Asia/Shanghai", None)
    lines = "\n".join(report.lines())
    assert "zone:    Asia/Shanghai" in lines
    assert "which is no fire" not in lines
    (daily,) = [one for one in report.schedules if one.conf == "0 0 2 * * ?"]
    assert dict(daily.fires)["Asia/Shanghai"] == tuple(_next(jobs["0 0 2 * * ?"], now, 3))
    assert dict(daily.fires)["UTC"] == tuple(fire + 8 * 3_600_000 for fire in dict(daily.fires)["Asia/Shanghai"])


def test_without_a_zone_jobs_with_cron_expressions_are_refused(install: Install, store: str) -> None:
    there, now = install("3.4"), ManualClock().now()
    _chinese(there, now)
    report = import_into(store, there.url, timezone=None)
    assert set(Store(store).jobs()) == {"script"}
    assert "--timezone ZONE, or --utc" in notes_of(report, "job", 1)
    assert report.zone_there == "UTC+08:00"
    lines = "\n".join(report.lines())
    assert "zone:    not given" in lines
    assert "fits UTC+08:00 only." in lines
    assert report.as_json()["timezone"] is None
    assert {zone for one in report.schedules for zone, _fires in one.fires} == {"UTC", "Asia/Shanghai"}
    import_into(store, there.url, timezone="Asia/Shanghai")
    before = Store(store).contents()
    assert _jobs_of(import_into(store, there.url, timezone=None)) == {Fate.THERE}
    assert Store(store).contents() == before


def test_another_zone_than_the_one_over_there_is_told(install: Install, sqlite_store: str) -> None:
    there = install("3.4")
    _chinese(there, ManualClock().now())
    report = import_into(sqlite_store, there.url, timezone="UTC")
    lines = "\n".join(report.lines())
    assert "What xxl-job has planned fits UTC+08:00 only, not UTC: check --timezone." in lines
    assert "which is no fire in UTC" in lines


def test_a_second_import_with_the_right_zone_repairs(install: Install, store: str) -> None:
    there, now = install("3.4"), ManualClock().now()
    _chinese(there, now)
    import_into(store, there.url, timezone="UTC", keep_running=True)
    here = Store(store)
    assert here.jobs()["0 0 2 * * ?"].trigger_next_time == now - now % 86_400_000 + 26 * 3_600_000
    again = import_into(store, there.url, timezone="Asia/Shanghai")
    assert _jobs_of(again) == {Fate.REPAIRED}
    assert notes_of(again, "job", 1) == "its time zone was UTC and is Asia/Shanghai now"
    jobs = here.jobs()
    for conf, fits in WEEK.items():
        assert _next(jobs[conf], now, 7) == _fires(fits, now, 7), conf
        assert jobs[conf].trigger_next_time == _fires(fits, now, 40)[0], "a started job waits for the right fire"
    noon_in_shanghai = int(datetime(2026, 1, 2, 4, tzinfo=UTC).timestamp() * 1000)
    assert jobs["script"].glue_updatetime == noon_in_shanghai
    assert "jobs:    11 repaired" in list(again.lines())
    before = here.contents()
    assert _jobs_of(import_into(store, there.url, timezone="Asia/Shanghai")) == {Fate.THERE}
    assert here.contents() == before


@pytest.mark.parametrize("change", [{"timezone": "Europe/Berlin"}, {"executor_timeout": 7}])
def test_what_somebody_has_edited_here_is_not_repaired(
    install: Install, sqlite_store: str, change: dict[str, Any]
) -> None:
    there = install("3.4")
    _chinese(there, ManualClock().now())
    import_into(sqlite_store, there.url, timezone="UTC")
    here = Store(sqlite_store)
    job = here.jobs()["0 0 2 * * ?"]
    with here.engine.begin() as connection:
        edit(connection, job, replace(job, **change), 1, True)
        record(connection, Actor(ActorKind.USER, "ann"), Deed("job.update", "job", str(job.id)), 1)
        start_job(connection, job.id, ManualClock().now())
    edited = here.jobs()["0 0 2 * * ?"]
    again = import_into(sqlite_store, there.url, timezone="Asia/Shanghai")
    (entry,) = [one for one in again.entries if one.id == job.id and one.origin.kind == "job"]
    assert entry.fate is Fate.DIFFERS
    assert "timezone" in entry.notes[0]
    assert here.jobs()["0 0 2 * * ?"] == edited


def _with_history(there: Installation) -> None:
    _chinese(there, ManualClock().now())
    for day, source in ((1, "echo 1"), (2, "echo 2"), (2, "echo 2"), (3, "echo 3")):
        at = {"add_time": f"2026-01-0{day} 12:00:00", "update_time": f"2026-01-0{day} 12:00:00"}
        there.add("logglue", job_id=100, glue_type="GLUE_SHELL", glue_source=source, glue_remark=f"day {day}", **at)


def _history(here: Store) -> list[tuple[str, int]]:
    """Source, and the hour in UTC, of each version of the script, oldest first."""
    with here.engine.begin() as connection:
        versions = list_glue_versions(connection, here.jobs()["script"].id)
    return [(one.source, datetime.fromtimestamp(one.saved_at / 1000, UTC).hour) for one in reversed(versions)]


def test_a_second_import_repairs_the_history_of_scripts(install: Install, store: str) -> None:
    there, here = install("3.4"), Store(store)
    _with_history(there)
    import_into(store, there.url, timezone="UTC")
    assert _history(here) == [("echo 1", 12), ("echo 2", 12), ("echo 2", 12), ("echo 3", 12)]
    with here.engine.begin() as connection:  # as if saved here: the import knows nothing of it
        keep_glue_versions(connection, here.jobs()["script"].id, [GlueVersion(GlueType.GLUE_SHELL, "own", "", 0)])
    again = import_into(store, there.url, timezone="Asia/Shanghai")
    assert notes_of(again, "job", 100) == (
        "its time zone was UTC and is Asia/Shanghai now; 4 versions of its script had the times of another time zone"
    )
    assert _history(here) == [("echo 1", 4), ("echo 2", 4), ("echo 2", 4), ("echo 3", 4), ("own", 0)]
    before = here.contents()
    assert _jobs_of(import_into(store, there.url, timezone="Asia/Shanghai")) == {Fate.THERE}
    assert here.contents() == before


def test_wrong_times_in_the_history_alone_are_repaired(install: Install, sqlite_store: str) -> None:
    there, here = install("3.4"), Store(sqlite_store)
    _with_history(there)
    import_into(sqlite_store, there.url, timezone="Asia/Shanghai")
    job = here.jobs()["script"]
    with here.engine.begin() as connection:
        rows = list_glue_versions(connection, job.id)
        set_glue_times(connection, {one.id: one.saved_at + 8 * 3_600_000 for one in rows})
    assert [hour for _source, hour in _history(here)] == [12] * 4
    without = import_into(sqlite_store, there.url, timezone=None)
    assert _jobs_of(without) == {Fate.THERE}, "without a zone nothing is compared that depends on it"
    again = import_into(sqlite_store, there.url, timezone="Asia/Shanghai")
    assert [one.origin.id for one in again.entries if one.fate is Fate.REPAIRED] == [100]
    assert [hour for _source, hour in _history(here)] == [4] * 4


def test_the_history_of_an_edited_script_is_left_alone(install: Install, sqlite_store: str) -> None:
    there, here = install("3.4"), Store(sqlite_store)
    _with_history(there)
    import_into(sqlite_store, there.url, timezone="UTC")
    with here.engine.begin() as connection:
        record(connection, Actor(ActorKind.USER, "ann"), Deed("script.save", "job", str(here.jobs()["script"].id)), 1)
    again = import_into(sqlite_store, there.url, timezone="Asia/Shanghai")
    assert notes_of(again, "job", 100) == "differs in timezone, glue_updatetime"
    assert [hour for _source, hour in _history(here)] == [12] * 4


def _with_own_zones(there: Installation) -> None:
    """An installation whose schema has a zone for each job."""
    _chinese(there, ManualClock().now())
    there.execute("ALTER TABLE xxl_job_info ADD COLUMN schedule_timezone varchar(64) DEFAULT NULL")
    there.execute("UPDATE xxl_job_info SET schedule_timezone = '' WHERE id = 2")
    for number, zone in ((201, "Europe/Berlin"), (202, "Mars/Base")):
        cron = {"schedule_type": "CRON", "schedule_conf": "0 0 2 * * ?", "schedule_timezone": zone}
        there.add("info", id=number, job_group=1, job_desc=zone, executor_handler="work", **cron)


def test_the_zone_of_a_job_itself_counts(install: Install, store: str) -> None:
    there, here = install("3.4"), Store(store)
    _with_own_zones(there)
    report = import_into(store, there.url, timezone="Asia/Shanghai")
    jobs = here.jobs()
    assert jobs["Europe/Berlin"].timezone == "Europe/Berlin"
    assert {jobs[conf].timezone for conf in WEEK} == {"Asia/Shanghai"}
    lost = jobs["Mars/Base"]
    assert (lost.schedule_type, lost.timezone) == (ScheduleType.NONE, "Asia/Shanghai")
    assert "There is no time zone 'Mars/Base'; it was taken over without a schedule" in notes_of(report, "job", 202)
    assert report.zone_there is None
    lines = list(report.lines())
    assert "zone:    Asia/Shanghai, 1 jobs have their own" in lines
    (berlin,) = [one for one in report.schedules if one.origin.id == 201]
    assert dict(berlin.fires)["Europe/Berlin"] == tuple(_next(jobs["Europe/Berlin"], ManualClock().now(), 3))
    assert berlin.as_json()["timezone"] == "Europe/Berlin"
    assert _jobs_of(import_into(store, there.url, timezone="Asia/Shanghai")) == {Fate.THERE}


def test_a_job_with_a_zone_of_its_own_needs_no_other(install: Install, sqlite_store: str) -> None:
    there, here = install("3.4"), Store(sqlite_store)
    _with_own_zones(there)
    report = import_into(sqlite_store, there.url, timezone=None)
    assert set(here.jobs()) == {"script", "Europe/Berlin", "Mars/Base"}
    assert "zone:    not given, 1 jobs have their own" in list(report.lines())
    there.execute("UPDATE xxl_job_info SET schedule_timezone = 'Asia/Tokyo' WHERE id = 201")
    again = import_into(sqlite_store, there.url, timezone=None)
    assert notes_of(again, "job", 201) == "its time zone was Europe/Berlin and is Asia/Tokyo now"
    assert here.jobs()["Europe/Berlin"].timezone == "Asia/Tokyo"
    assert _jobs_of(import_into(sqlite_store, there.url, timezone=None)) == {Fate.THERE, Fate.REFUSED}


def test_the_time_of_code_is_no_difference_where_there_is_none(install: Install, sqlite_store: str) -> None:
    there = install("3.4")
    there.add("group", id=1, app_name="shop-executor", title="Shop", address_type=0)
    there.add("info", id=1, job_group=1, job_desc="a", executor_handler="h", glue_updatetime="2026-01-02 12:00:00")
    import_into(sqlite_store, there.url)
    there.execute("UPDATE xxl_job_info SET glue_updatetime = '2026-01-03 12:00:00'")
    assert _jobs_of(import_into(sqlite_store, there.url)) == {Fate.THERE}
