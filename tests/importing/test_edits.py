"""Which parts of a job count as edited, by the entries of the audit log."""

import json

import pytest

from orth.domain.audit_chain import Entry
from orth.domain.jobs import Job, ScheduleType
from orth.importing.edits import Edits, edits_among

JOB = Job(id=7, job_group=1, job_desc="report", schedule_type=ScheduleType.CRON, schedule_conf="0 0 2 * * ?")
EVERYTHING = Edits(job=True, schedule=True, script=True)


def _entry(before: dict[str, object] | None, action: str = "job.update") -> Entry:
    former = None if before is None else json.dumps(before)
    return Entry(
        seq=1,
        at=1,
        actor_kind="user",
        actor="ann",
        address="",
        action=action,
        object_kind="job",
        object_id="7",
        group_id=1,
        before=former,
        after="{}",
        previous_digest="",
    )


@pytest.mark.parametrize(
    ("before", "edits"),
    [
        ([], Edits(job=False, schedule=False, script=False)),
        ([{}], Edits(job=True, schedule=False, script=False)),
        ([{"overlap": "executor", "tags": []}], Edits(job=True, schedule=False, script=False)),
        ([{"timezone": "Asia/Tokyo"}], Edits(job=True, schedule=True, script=False)),
        ([{"schedule_conf": "0 0 3 * * ?"}], Edits(job=True, schedule=True, script=False)),
        ([{"schedule_type": "NONE"}], Edits(job=True, schedule=True, script=False)),
        ([{"timezone": "UTC"}, {"timezone": "Asia/Tokyo"}], Edits(job=True, schedule=False, script=False)),
        ([{"timezone": "Asia/Tokyo"}, {"timezone": "UTC"}], Edits(job=True, schedule=True, script=False)),
        ([{"overlap": "executor"}, None], EVERYTHING),
        ([{}] * 1000, EVERYTHING),
    ],
)
def test_a_schedule_is_edited_if_it_has_another_value_than_before_all_edits(
    before: list[dict[str, object] | None], edits: Edits
) -> None:
    assert edits_among([_entry(one) for one in before], JOB) == edits


def test_a_saved_script_is_an_edit_of_the_script_alone() -> None:
    entries = [_entry({"remark": "", "glue_type": "GLUE_SHELL"}, "script.save"), _entry({})]
    assert edits_among(entries, JOB) == Edits(job=True, schedule=False, script=True)


def test_a_job_that_a_user_created_counts_as_edited() -> None:
    assert edits_among([_entry(None, "job.create")], JOB) == EVERYTHING
