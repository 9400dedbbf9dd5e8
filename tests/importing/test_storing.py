"""An import that is repeated: relations of jobs that nobody has edited are repaired, all else that differs is told."""

from pathlib import Path

import pytest

from orth.domain.jobs import AddressType
from orth.importing.report import Fate, Report
from orth.store.groups import list_groups
from tests.importing.repeated import GROUP, Importing, job
from tests.importing.test_xxl_job import notes_of

MANUAL = {**GROUP, "address_type": 1, "address_list": "http://10.0.0.1:9999/,http://10.0.0.2:9999/"}


@pytest.fixture
def importing(sqlite_store: str, tmp_path: Path) -> Importing:
    return Importing(sqlite_store, tmp_path)


def told(report: Report, kind: str = "job") -> dict[int, Fate]:
    return {entry.origin.id: entry.fate for entry in report.entries if entry.origin.kind == kind}


def test_an_unedited_job_gets_the_relations_that_it_has_over_there(store: str, tmp_path: Path) -> None:
    importing = Importing(store, tmp_path)
    importing.take(job(1), job(2), job(4))
    jobs = job(1, childJobId="2,3"), job(2, superTaskId=3), job(3, childJobId="4"), job(4)
    again = importing.take(*jobs)
    assert told(again) == {1: Fate.REPAIRED, 2: Fate.REPAIRED, 3: Fate.CREATED, 4: Fate.THERE}
    here = {name: one.id for name, one in importing.here.jobs().items()}
    assert notes_of(again, "job", 1) == f"its child_jobid was empty and is {here['job 2']},{here['job 3']} now"
    assert notes_of(again, "job", 2) == f"its super_task_id was empty and is {here['job 3']} now"
    assert importing.family() == {
        "job 1": (["job 2", "job 3"], ""),
        "job 2": ([], "job 3"),
        "job 3": (["job 4"], ""),
    }
    assert {"jobs:    1 new, 1 already here, 2 repaired", "Already here, and repaired:"} <= set(again.lines())
    before = importing.here.contents()
    assert set(told(importing.take(*jobs)).values()) == {Fate.THERE}
    assert importing.here.contents() == before


@pytest.mark.parametrize("action", ["job.update", "script.save"])
def test_new_relations_of_an_edited_job_are_told(importing: Importing, action: str) -> None:
    importing.take(job(1), job(2), job(4))
    importing.edited("job 1", action)
    importing.edited("job 2", action)
    before = importing.here.jobs()
    again = importing.take(job(1, childJobId="2,3"), job(2, superTaskId=3), job(3, childJobId="4"), job(4))
    assert told(again) == {1: Fate.DIFFERS, 2: Fate.DIFFERS, 3: Fate.CREATED, 4: Fate.THERE}
    assert notes_of(again, "job", 1) == "differs in child_jobid"
    assert notes_of(again, "job", 2) == "differs in super_task_id"
    after = importing.here.jobs()
    assert {name: after[name] for name in before} == before
    assert importing.family() == {"job 3": (["job 4"], "")}
    assert {"jobs:    1 new, 1 already here, 2 different", "Already here, and different; left as it is:"} <= set(
        again.lines()
    )


def test_relations_that_are_gone_over_there_go_from_an_unedited_job(importing: Importing) -> None:
    importing.take(job(1, childJobId="2,3"), job(2, superTaskId=3), job(3))
    again = importing.take(job(1, childJobId="3"), job(2), job(3))
    assert told(again) == {1: Fate.REPAIRED, 2: Fate.REPAIRED, 3: Fate.THERE}
    assert importing.family() == {"job 1": (["job 3"], "")}


def test_relations_that_are_gone_over_there_are_told_of_an_edited_job(importing: Importing) -> None:
    importing.take(job(1, childJobId="2,3"), job(2, superTaskId=3), job(3))
    importing.edited("job 1")
    importing.edited("job 2")
    before = importing.family()
    again = importing.take(job(1, childJobId="3"), job(2), job(3))
    assert told(again) == {1: Fate.DIFFERS, 2: Fate.DIFFERS, 3: Fate.THERE}
    assert notes_of(again, "job", 1) == "differs in child_jobid"
    assert notes_of(again, "job", 2) == "differs in super_task_id"
    assert importing.family() == before


@pytest.mark.parametrize(("parent", "child"), [(1, 2), (2, 1)])
def test_a_relation_that_was_turned_around_is_repaired(importing: Importing, parent: int, child: int) -> None:
    importing.take(job(child), job(parent, childJobId=str(child)))
    again = importing.take(job(parent), job(child, childJobId=str(parent)))
    assert set(told(again).values()) == {Fate.REPAIRED}
    assert importing.family() == {f"job {child}": ([f"job {parent}"], "")}


def test_a_relation_that_cannot_be_is_told(importing: Importing) -> None:
    importing.take(job(1, superTaskId=2), job(2), job(3))
    importing.edited("job 1")
    again = importing.take(job(1), job(2, superTaskId=3), job(3))
    assert told(again) == {1: Fate.DIFFERS, 2: Fate.DIFFERS, 3: Fate.THERE}
    assert notes_of(again, "job", 2).startswith("differs in super_task_id; ")
    assert importing.family() == {"job 1": ([], "job 2")}


def test_an_import_with_a_zone_gives_jobs_the_relations_that_one_without_lost(importing: Importing) -> None:
    cron = {"scheduleType": "CRON", "scheduleConf": "0 0 2 * * ?"}
    jobs = job(1, childJobId="2"), job(2, **cron), job(3, superTaskId=2)
    lost = importing.take(*jobs, timezone=None)
    assert told(lost) == {1: Fate.CREATED, 2: Fate.REFUSED, 3: Fate.CREATED}
    again = importing.take(*jobs)
    assert told(again) == {1: Fate.REPAIRED, 2: Fate.CREATED, 3: Fate.REPAIRED}
    assert importing.family() == {"job 1": (["job 2"], ""), "job 3": ([], "job 2")}


def test_another_child_and_another_super_task_are_told_with_what_else_differs(importing: Importing) -> None:
    importing.take(job(1, childJobId="2", superTaskId=2), job(2), job(3))
    again = importing.take(job(1, childJobId="3", superTaskId=3, executorTimeout=5), job(2), job(3))
    assert notes_of(again, "job", 1) == "differs in executor_timeout, child_jobid, super_task_id"


def test_the_same_relations_under_other_ids_and_in_another_order_are_the_same(importing: Importing) -> None:
    importing.take(job(1, childJobId="2,3"), job(2, superTaskId=3), job(3))
    again = importing.take(
        job(70, jobDesc="job 3", executorHandler="h3"),
        job(80, jobDesc="job 2", executorHandler="h2", superTaskId=70),
        job(2, jobDesc="job 1", executorHandler="h1", childJobId="70,80"),
    )
    assert set(told(again).values()) == {Fate.THERE}


def test_what_was_left_out_before_makes_no_difference(importing: Importing) -> None:
    leaves = [job(1000 + n) for n in range(120)]
    jobs = [
        job(1, childJobId="1,2,404"),  # leads back, and to one that is nowhere
        job(2, childJobId="3"),
        job(3, childJobId="1"),
        job(4, superTaskId=5),
        job(5, superTaskId=6),
        job(6, superTaskId=404),
        job(7, childJobId=[leaf["id"] for leaf in leaves]),  # more than fit
        *leaves,
    ]
    first = importing.take(*jobs)
    before = importing.here.contents()
    again = importing.take(*jobs)
    assert set(told(again).values()) == {Fate.THERE}
    for number in range(1, 8):
        assert notes_of(again, "job", number) == notes_of(first, "job", number), number
    # A newcomer that stands first would have left out another child of this circle.
    later = importing.take(job(9, childJobId="3"), *jobs)
    assert {number: fate for number, fate in told(later).items() if fate is not Fate.THERE} == {9: Fate.CREATED}
    after = importing.here.contents()
    assert after["orth_job_info"][: len(jobs)] == before["orth_job_info"]


def test_jobs_that_only_their_relations_tell_apart_are_each_known_again(importing: Importing) -> None:
    twin = {"jobDesc": "twin", "executorHandler": "twin"}
    jobs = [job(1, **twin, superTaskId=3), job(2, **twin, childJobId="3"), job(3), job(4, **twin)]
    importing.take(*jobs)
    assert set(told(importing.take(*jobs)).values()) == {Fate.THERE}
    assert set(told(importing.take(*reversed(jobs))).values()) == {Fate.THERE}


def test_relations_to_jobs_that_are_not_in_this_export_are_not_compared(importing: Importing) -> None:
    importing.take(job(1, childJobId="2,3", superTaskId=4), job(2), job(3), job(4))
    one = importing.take(job(1, childJobId="2,3", superTaskId=4), job(3))
    assert told(one) == {1: Fate.THERE, 3: Fate.THERE}
    assert notes_of(one, "job", 1) == (
        "its child 2 was not found, so it was not compared; its super task 4 was not found, so it was not compared"
    )
    assert notes_of(importing.take(job(1, childJobId="2", superTaskId=4)), "job", 1).startswith(
        "differs in child_jobid;"
    )


def test_manual_addresses_are_compared_by_what_they_mean(importing: Importing) -> None:
    importing.take(job(1), group=MANUAL)
    same = importing.take(job(1), group={**MANUAL, "address_list": "HTTP://10.0.0.1:9999, http://10.0.0.2:9999"})
    assert told(same, "group") == {1: Fate.THERE}
    before = importing.here.contents()
    for address_list in (
        "http://10.0.0.7:9999/",
        "http://10.0.0.2:9999/,http://10.0.0.1:9999/",  # FIRST is another machine
        "http://10.0.0.1:9999",
        MANUAL["address_list"] + ",http://10.0.0.3:9999",
    ):
        changed = importing.take(job(1), group={**MANUAL, "address_list": address_list})
        assert told(changed, "group") == {1: Fate.DIFFERS}
        assert notes_of(changed, "group", 1) == "differs in address_list"
    assert importing.here.contents() == before
    automatic = importing.take(job(1), group={**GROUP, "access_token": "its own"})
    assert notes_of(automatic, "group", 1) == "differs in address_type, dialect"


def test_a_named_group_that_the_export_holds_keeps_its_manual_addresses(importing: Importing) -> None:
    report = importing.take(job(1), group=MANUAL, app_names={1: "shop-executor", 0: "mail-executor"})
    created = [(entry.origin.name, entry.fate) for entry in report.entries if entry.origin.kind == "group"]
    assert created == [("mail-executor", Fate.CREATED), ("shop-executor", Fate.CREATED)]
    with importing.here.engine.begin() as connection:
        (group,) = [one for one in list_groups(connection, 0, 10) if one.app_name == "shop-executor"]
    assert (group.address_type, group.title) == (AddressType.MANUAL, "Shop")
    assert group.addresses == ("http://10.0.0.1:9999", "http://10.0.0.2:9999")
    assert importing.here.jobs()["job 1"].job_group == group.id
