"""Cron expressions of an xxl-job mean its own time zone, which is asked for, checked and repaired."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy import update

from orth.domain.audit import Actor, ActorKind, Deed
from orth.domain.calendars import Calendar
from orth.domain.jobs import GlueType, Job, MisfireStrategy, Overlap, ScheduleType
from orth.domain.schedules import parse_schedule
from orth.importing.report import Entry, Fate, Report
from orth.store.audit import record
from orth.store.calendars import create_calendar
from orth.store.glue_versions import GlueVersion, keep_glue_versions, list_glue_versions, set_glue_times
from orth.store.tables import calendars
from orth.testing import ManualClock
from tests.importing.conftest import Install
from tests.importing.installations import Installation
from tests.importing.repeated import Importing, job
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


CRON = {"scheduleType": "CRON", "scheduleConf": "0 0 2 * * ?"}


@pytest.fixture
def importing(sqlite_store: str, tmp_path: Path) -> Importing:
    return Importing(sqlite_store, tmp_path)


def _entry_of(report: Report, number: int) -> Entry:
    (entry,) = [one for one in report.entries if (one.origin.kind, one.origin.id) == ("job", number)]
    return entry


@pytest.mark.parametrize(
    "change",
    [
        {"overlap": Overlap.CLUSTER, "alarm_email": "a@b.cn"},
        {"executor_timeout": 7},
        {"tags": ("night",), "misfire_strategy": MisfireStrategy.FIRE_ONCE_NOW},
    ],
)
def test_edits_of_other_fields_do_not_keep_a_wrong_zone(store: str, tmp_path: Path, change: dict[str, Any]) -> None:
    importing = Importing(store, tmp_path)
    importing.take(job(3, **CRON, triggerStatus=1), timezone="UTC", keep_running=True)
    importing.edit("job 3", **change)
    edited = importing.here.jobs()["job 3"]
    again = importing.take(job(3, **CRON, triggerStatus=1), timezone="Asia/Shanghai", keep_running=True)
    mended = importing.here.jobs()["job 3"]
    assert (mended.timezone, mended.trigger_status) == ("Asia/Shanghai", True)
    assert datetime.fromtimestamp(mended.trigger_next_time / 1000, SHANGHAI).hour == 2
    assert {name: getattr(mended, name) for name in change} == change
    assert mended.executor_handler == edited.executor_handler
    entry = _entry_of(again, 3)
    assert entry.fate is Fate.REPAIRED
    assert entry.notes[0] == "its time zone was UTC and is Asia/Shanghai now"
    assert entry.notes[1].startswith("differs in ")
    assert all(name in entry.notes[1] for name in change)
    assert "timezone" not in entry.notes[1]
    assert not any("orth job edit" in line for line in again.lines())
    before = importing.here.contents()
    once_more = _entry_of(importing.take(job(3, **CRON, triggerStatus=1), timezone="Asia/Shanghai"), 3)
    assert (once_more.fate, once_more.notes) == (Fate.DIFFERS, entry.notes[1:])
    assert importing.here.contents() == before


def test_a_change_over_there_does_not_keep_a_wrong_zone(importing: Importing) -> None:
    importing.take(job(3, **CRON), timezone="UTC")
    again = importing.take(job(3, **CRON, executorTimeout=5), timezone="Asia/Shanghai")
    assert importing.here.jobs()["job 3"].timezone == "Asia/Shanghai"
    assert _entry_of(again, 3).notes == (
        "its time zone was UTC and is Asia/Shanghai now",
        "differs in executor_timeout",
    )


def test_an_edited_job_with_the_zone_of_its_own_is_repaired(importing: Importing) -> None:
    importing.take(job(3, **CRON, scheduleTimezone="Europe/Berlin"), timezone=None)
    importing.edit("job 3", overlap=Overlap.CLUSTER)
    again = importing.take(job(3, **CRON, scheduleTimezone="Asia/Tokyo"), timezone=None)
    assert importing.here.jobs()["job 3"].timezone == "Asia/Tokyo"
    assert _entry_of(again, 3).fate is Fate.REPAIRED


def test_without_a_zone_an_edited_job_does_not_differ_in_what_depends_on_it(importing: Importing) -> None:
    importing.take(job(3, **CRON))
    importing.edit("job 3", overlap=Overlap.CLUSTER)
    again = importing.take(job(3, **CRON), timezone=None)
    assert _entry_of(again, 3).notes == ("differs in overlap",)
    assert importing.here.jobs()["job 3"].timezone == "Asia/Shanghai"


@pytest.mark.parametrize(
    ("change", "differs", "command"),
    [
        ({"timezone": "Europe/Berlin"}, "timezone", "orth job edit 1 --timezone Asia/Shanghai"),
        (
            {"schedule_conf": "0 0 18 * * ?", "overlap": Overlap.CLUSTER},
            "schedule_conf, timezone, overlap",
            "orth job edit 1 --schedule '0 0 2 * * ?' --timezone Asia/Shanghai",
        ),
    ],
)
@pytest.mark.parametrize("running", [True, False])
def test_a_schedule_that_a_user_has_edited_is_told_with_the_command_that_mends_it(
    importing: Importing, change: dict[str, Any], differs: str, command: str, running: bool
) -> None:
    importing.take(job(3, **CRON, triggerStatus=1), timezone="UTC", keep_running=running)
    importing.edit("job 3", **change)
    before = importing.here.jobs()
    again = importing.take(job(3, **CRON, triggerStatus=1), timezone="Asia/Shanghai", keep_running=True)
    assert importing.here.jobs() == before
    zone = before["job 3"].timezone
    fires = "still fires" if running else "will fire, once it is started,"
    assert _entry_of(again, 3).fate is Fate.DIFFERS
    assert _entry_of(again, 3).notes == (
        f"differs in {differs}",
        f"it {fires} in the time zone {zone}, not in Asia/Shanghai; to change this: {command}",
    )


def test_a_zone_that_was_edited_and_put_back_is_repaired(importing: Importing) -> None:
    importing.take(job(3, **CRON), timezone="UTC")
    importing.edit("job 3", timezone="Europe/Berlin")
    importing.edit("job 3", timezone="UTC")
    importing.take(job(3, **CRON), timezone="Asia/Shanghai")
    assert importing.here.jobs()["job 3"].timezone == "Asia/Shanghai"


def test_a_job_that_was_made_by_hand_keeps_its_zone(importing: Importing) -> None:
    importing.take(job(3, **CRON), timezone="UTC")
    importing.edited("job 3", "job.create")
    again = importing.take(job(3, **CRON), timezone="Asia/Shanghai")
    assert importing.here.jobs()["job 3"].timezone == "UTC"
    assert "orth job edit 1 --timezone Asia/Shanghai" in _entry_of(again, 3).notes[1]


def test_a_job_whose_zone_cannot_be_changed_is_told(importing: Importing) -> None:
    importing.take(job(3, **CRON), timezone="UTC")
    with importing.here.engine.begin() as connection:
        calendar_id = create_calendar(connection, "holidays", Calendar(), 1)
    importing.edit("job 3", calendar_id=calendar_id)
    with importing.here.engine.begin() as connection:
        connection.execute(update(calendars).values(definition="{"))  # nobody can read it any more
    again = importing.take(job(3, **CRON), job(4), timezone="Asia/Shanghai")
    assert _entry_of(again, 4).fate is Fate.CREATED
    entry = _entry_of(again, 3)
    assert (entry.fate, entry.notes[0]) == (Fate.DIFFERS, "differs in timezone, calendar_id")
    assert "calendar" in entry.notes[1]
    assert "orth job edit 1 --timezone Asia/Shanghai" in entry.notes[2]
    assert importing.here.jobs()["job 3"].timezone == "UTC"


def test_the_zone_of_a_job_without_a_schedule_by_the_clock_makes_no_command(importing: Importing) -> None:
    importing.take(job(3), timezone="UTC")
    importing.edit("job 3", timezone="Europe/Berlin")
    again = importing.take(job(3), timezone="Asia/Shanghai")
    assert _entry_of(again, 3).notes == ("differs in timezone",)


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
    deed = Deed("script.save", "job", str(here.jobs()["script"].id), before={"remark": ""}, after={"remark": "x"})
    with here.engine.begin() as connection:
        record(connection, Actor(ActorKind.USER, "ann"), deed, 1)
    again = import_into(sqlite_store, there.url, timezone="Asia/Shanghai")
    assert notes_of(again, "job", 100) == ("its time zone was UTC and is Asia/Shanghai now; differs in glue_updatetime")
    assert [hour for _source, hour in _history(here)] == [12] * 4


def test_other_edits_do_not_keep_the_times_of_a_script_from_repair(
    install: Install, sqlite_store: str, tmp_path: Path
) -> None:
    there, importing = install("3.4"), Importing(sqlite_store, tmp_path)
    _with_history(there)
    import_into(sqlite_store, there.url, timezone="UTC")
    importing.edit("script", overlap=Overlap.CLUSTER)
    again = import_into(sqlite_store, there.url, timezone="Asia/Shanghai")
    assert notes_of(again, "job", 100) == (
        "its time zone was UTC and is Asia/Shanghai now; "
        "4 versions of its script had the times of another time zone; differs in overlap"
    )
    assert [hour for _source, hour in _history(importing.here)] == [4] * 4


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


@pytest.mark.parametrize(
    ("there", "here"),
    [("GMT+8", "Etc/GMT-8"), ("UTC+08:00", "Etc/GMT-8"), ("GMT-5", "Etc/GMT+5"), ("UTC+0:00", "UTC")],
)
def test_an_offset_of_a_job_becomes_a_zone_with_this_offset(importing: Importing, there: str, here: str) -> None:
    report = importing.take(job(3, **CRON, scheduleTimezone=there), timezone=None)
    kept = importing.here.jobs()["job 3"]
    assert (kept.schedule_type, kept.schedule_conf, kept.timezone) == (ScheduleType.CRON, "0 0 2 * * ?", here)
    assert _entry_of(report, 3).notes == (f"its time zone {there!r} was taken over as {here!r}, which has this offset",)
    assert "zone:    not given, 1 jobs have their own" in list(report.lines())
    again = importing.take(job(3, **CRON, scheduleTimezone=there), timezone=None)
    assert _entry_of(again, 3).fate is Fate.THERE


def test_an_offset_of_a_job_without_an_expression_is_not_told(importing: Importing) -> None:
    report = importing.take(job(3, scheduleTimezone="GMT+8"), timezone="UTC")
    assert importing.here.jobs()["job 3"].timezone == "UTC"
    assert _entry_of(report, 3).notes == ()


@pytest.mark.parametrize(
    ("zone", "hint"),
    [
        ("+08:00", "Zones with this offset: Asia/Shanghai, Etc/GMT-8."),
        ("CST", "Zones that it may mean: Asia/Shanghai, America/Chicago"),
        ("asia/shanghai", "Did you mean Asia/Shanghai?"),
    ],
)
def test_a_zone_of_a_job_that_is_none_is_told_with_the_right_form(importing: Importing, zone: str, hint: str) -> None:
    report = importing.take(job(3, **CRON, scheduleTimezone=zone), timezone="UTC")
    assert importing.here.jobs()["job 3"].schedule_type is ScheduleType.NONE
    (note,) = _entry_of(report, 3).notes
    assert "it was taken over without a schedule. " in note
    assert hint in note


def test_the_time_of_code_is_no_difference_where_there_is_none(install: Install, sqlite_store: str) -> None:
    there = install("3.4")
    there.add("group", id=1, app_name="shop-executor", title="Shop", address_type=0)
    there.add("info", id=1, job_group=1, job_desc="a", executor_handler="h", glue_updatetime="2026-01-02 12:00:00")
    import_into(sqlite_store, there.url)
    there.execute("UPDATE xxl_job_info SET glue_updatetime = '2026-01-03 12:00:00'")
    assert _jobs_of(import_into(sqlite_store, there.url)) == {Fate.THERE}
