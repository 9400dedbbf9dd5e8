"""What xxl-job takes for a cron expression and we do not, or otherwise."""

from pathlib import Path
from typing import Any

import pytest

from orth.domain.jobs import ScheduleType
from orth.domain.schedules import parse_schedule
from orth.importing.expressions import translated
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
        "0 1-10/0 * * * ?",
        ", * * * * ?",
        "0 0 0 L-3W * ?",
    ],
)
def test_all_else_stays_as_it_is(conf: str) -> None:
    assert translated(conf) == (conf, [])


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
    ],
)
def test_a_schedule_that_is_lost_is_told_with_its_own_fault(
    sqlite_store: str, tmp_path: Path, schedule: tuple[str, str], told: str
) -> None:
    kind, conf = schedule
    job = {"id": 1, "jobGroup": 1, "jobDesc": "a", "executorHandler": "a", "scheduleType": kind, "scheduleConf": conf}
    report = import_json(sqlite_store, tmp_path, {"groups": [GROUP], "jobs": [job]})
    assert notes_of(report, "job", 1) == f"{kind} '{conf}': {told}; it was taken over without a schedule"
