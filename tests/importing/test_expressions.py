"""What xxl-job takes for a cron expression and we do not, or otherwise."""

from pathlib import Path
from typing import Any

import pytest

from orth.domain.jobs import ScheduleType
from orth.domain.schedules import parse_schedule
from orth.importing.expressions import translated, unreadable
from tests.importing.test_json import import_json
from tests.importing.test_xxl_job import Store, notes_of

GROUP = {"id": 1, "appName": "shop-executor", "title": "Shop", "addressType": 0}


@pytest.mark.parametrize(
    ("there", "here"),
    [
        ("0 /5 * * * ?", "0 */5 * * * ?"),
        ("/10 * * * * ?", "*/10 * * * * ?"),
        ("0 */0 * * * ?", "0 * * * * ?"),
        ("0 7/0 * * * ?", "0 7 * * * ?"),
        ("0,,30 * * * * ?", "0,30 * * * * ?"),
        ("0 0 2 * * ? 2099 rest of it", "0 0 2 * * ? 2099"),
        ("0 0 9 ? * MON-FRI/2", "0 0 9 ? * MON-FRI"),
        ("0 0 9 ? * mon/2,SUN", "0 0 9 ? * mon,SUN"),
        ("0 0 9 1 JAN/3 ?", "0 0 9 1 JAN ?"),
        ("0 0 9 1 JAN-DEC/5 ?", "0 0 9 1 JAN-DEC ?"),
        ("0 0 9-18/0 * * ?", "0 0 9 * * ?"),
        ("0 0 18-9/00 * * ?", "0 0 18 * * ?"),
        ("0 0 9 ? * 2-6/0", "0 0 9 ? * 2"),
        ("0 0 9 1 * ? 2098-2099/0", "0 0 9 1 * ? 2098"),
        ("0 0 9 ? * MON-FRI/0", "0 0 9 ? * MON-FRI"),
        ("0 0 9 ? * TUESDAY", "0 0 9 ? * TUE"),
        ("0 0 9 ? * Tues,Thurs", "0 0 9 ? * Tue,Thu"),
        ("0 0 9 1 JANUARY,Sept ?", "0 0 9 1 JAN,Sep ?"),
        ("0 0 9 ? * MON-FRIDAY", "0 0 9 ? * MON-FRI"),
        ("0 0 9 ? * MON-FRIDAY/2", "0 0 9 ? * MON-FRI"),
        ("0 0 9 ? * MONDAY-FRIDAY", "0 0 9 ? * MON"),
        ("0 0 9 ? * MONDAY/2", "0 0 9 ? * MON"),
        ("0 0 9 ? * FRIDAY#2", "0 0 9 ? * FRI"),
        ("0 0 9 ? * FRIDAYL", "0 0 9 ? * FRI"),
        ("0 0 9 1 JANUARY-MARCH ?", "0 0 9 1 JAN ?"),
        ("0 0 9 1,15W * ?", "0 0 9 1W * ?"),
        ("0 0 9 15w,1W * ?", "0 0 9 1W * ?"),
        ("0 0 9 10-12,15W * ?", "0 0 9 10W * ?"),
        ("0 0 9 15W,*/5 * ?", "0 0 9 1W * ?"),
        ("0 0 9 20,31W * ?", "0 0 9 20W * ?"),
        ("0 0 9 31W * ?", "0 0 9 31W * ?"),
    ],
)
def test_what_has_one_meaning_there_is_taken_over(there: str, here: str) -> None:
    ours, notes = translated(there)
    assert ours == here
    assert notes
    parse_schedule(ScheduleType.CRON, ours, timezone="UTC")


@pytest.mark.parametrize(
    "conf",
    [
        "0 0 2 * * ?",
        "0 0/5 9-17 * * ?",
        "0 0 0 L * ?",
        "0 0 0 ? * 2#1",
        "0 0 0 ? * 2/2",
        "* * * * *",
        "",
        "0 0 0 ? * 6#3,2",
        "0 0 9 ? * MON-WED-FRI",
        "0 0 12H * * ?",
        "0 0 0 1 1-12/5 ?",
        "0 0 9 15W * ?",
        "0 0 9 28W * ?",
        "0 0 9 ? * FRIL",
        "0 0 9 ? * FRI#2",
        "0 0 9 L,15W * ?",
        ", * * * * ?",
        "0 0 0 L-3W * ?",
    ],
)
def test_all_else_stays_as_it_is(conf: str) -> None:
    assert translated(conf) == (conf, [])


@pytest.mark.parametrize(
    ("conf", "told"),
    [
        (
            "0 0 9 ? * MONDAY-FRIDAY",
            "xxl-job reads the first three letters of 'MONDAY-FRIDAY' and ignores the rest: "
            "it was taken over as 'MON', which fires as there; all of it would be 'MON-FRI'",
        ),
        (
            "0 0 9-18/0 * * ?",
            "xxl-job reads the first value of '9-18/0' alone: it was taken over as '9', which fires as there; "
            "without the step it would be '9-18'",
        ),
        (
            "0 0 9 1,15W * ?",
            "xxl-job reads '1,15W' as the workday nearest to its lowest day alone: it was taken over as '1W', "
            "which fires as there; in Orth the list would be each of its days",
        ),
        (
            "0 0 9 31W * ?",
            "xxl-job also fires in some months that have no day 31, on their last day; "
            "'31W' fires here only in months that have this day",
        ),
    ],
)
def test_another_meaning_than_the_written_one_is_told(conf: str, told: str) -> None:
    assert translated(conf)[1] == [told]


@pytest.mark.parametrize(
    ("conf", "told"),
    [
        ("0 0 0 L-3W * ?", "'L-3W', the workday nearest to L-3, cannot be expressed: Orth has L-3 and LW only"),
        ("0 0 9 ? * MON-WED-FRI", "'-FRI' in 'MON-WED-FRI' cannot be read; xxl-job ignores it and reads 'MON-WED'"),
        ("0 0 9 1 janx ?", "'x' in 'janx' cannot be read; xxl-job ignores it and reads 'jan'"),
        ("0 0 12H * * ?", "'H' in '12H' cannot be read; xxl-job ignores it and reads '12'"),
        ("0 0 1-5-7 * * ?", "'-7' in '1-5-7' cannot be read; xxl-job ignores it and reads '1-5'"),
        ("0 0 9 ? * 6#3,2", "'6#3' cannot stand in a list; xxl-job reads '6#3,2' as '2#3'"),
        ("0 0 9 ? * MON-WED,FRI#2", "'FRI#2' cannot stand in a list; xxl-job reads 'MON-WED,FRI#2' as '2#2'"),
        ("0 0 9 ? * 6#3,2#1", None),
        ("0 0 9 ? * MON-W", None),
        ("0 0 12/5H * * ?", None),
        ("0 0 25 * * ?", None),
        ("0 0 9 ? * MON#2", None),
    ],
)
def test_what_only_xxl_job_can_read_is_named(conf: str, told: str | None) -> None:
    assert unreadable(conf) == told


def test_an_import_names_both_meanings(sqlite_store: str, tmp_path: Path) -> None:
    def job(number: int, conf: str) -> dict[str, Any]:
        common = {"jobGroup": 1, "executorHandler": "work", "scheduleType": "CRON"}
        return {"id": number, "jobDesc": f"job {number}", "scheduleConf": conf, **common}

    jobs = [job(1, "0 /5 * * * ?"), job(2, "0 0 9 ? * MON-FRI/2"), job(3, "0 0 9 ? * MON-WED-FRI")]
    report = import_json(sqlite_store, tmp_path, {"groups": [GROUP], "jobs": jobs})
    here = Store(sqlite_store).jobs()
    assert here["job 1"].schedule_conf == "0 */5 * * * ?"
    assert here["job 2"].schedule_conf == "0 0 9 ? * MON-FRI"
    assert notes_of(report, "job", 2) == (
        "xxl-job ignores the step in 'MON-FRI/2': it was taken over as 'MON-FRI', which fires as there; "
        "with the step it would be every 2. of them"
    )
    assert here["job 3"].schedule_type is ScheduleType.NONE
    assert "taken over without a schedule" in notes_of(report, "job", 3)
    again = import_json(sqlite_store, tmp_path, {"groups": [GROUP], "jobs": jobs})
    assert {entry.fate.value for entry in again.entries} == {"there"}


@pytest.mark.parametrize(
    ("schedule", "told"),
    [
        (("CRON", "0 /5 9-18/70 * * ? * 每五分钟"), "A step of 70 does not fit the hour field"),
        (("CRON", "0 0 12H * * ? * 每天"), "'H' in '12H' cannot be read; xxl-job ignores it and reads '12'"),
        (
            ("FIX_RATE", "40000000"),
            "a period of 463.0 days is longer than 366 days, the longest period in Orth",
        ),
    ],
)
def test_a_schedule_that_is_lost_is_told_with_its_own_fault(
    sqlite_store: str, tmp_path: Path, schedule: tuple[str, str], told: str
) -> None:
    kind, conf = schedule
    job = {"id": 1, "jobGroup": 1, "jobDesc": "a", "executorHandler": "a", "scheduleType": kind, "scheduleConf": conf}
    report = import_json(sqlite_store, tmp_path, {"groups": [GROUP], "jobs": [job]})
    assert notes_of(report, "job", 1) == f"{kind} '{conf}': {told}; it was taken over without a schedule"
