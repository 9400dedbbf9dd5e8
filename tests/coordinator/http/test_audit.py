"""The audit over the API: listed, filtered, and exported whole."""

import csv
import io
import json

import pytest

from orth.domain.audit import Actor, ActorKind, Deed
from orth.store.audit import record
from tests.coordinator.http.live import Caller, Site

AUDIT = "/api/v1/audit"
ADMIN = Actor(ActorKind.USER, "admin", "127.0.0.1")


def write(site: Site, *deeds: Deed, actor: Actor = ADMIN) -> None:
    for deed in deeds:
        site.tx(record, actor, deed, site.clock.now())


def seqs(caller: Caller, query: str) -> list[int]:
    return [one["seq"] for one in caller.get(f"{AUDIT}?{query}").json["items"]]


@pytest.fixture
def first(site: Site, admin: Caller) -> int:
    """The number of the first entry that a test writes."""
    return int(admin.get(f"{AUDIT}/head").json["seq"]) + 1


def test_entries_are_listed_newest_first_page_by_page(site: Site, admin: Caller, first: int) -> None:
    write(site, *(Deed("job.update", "job", str(n), 2, {"n": 0}, {"n": n + 1}) for n in range(5)))
    page = admin.get(f"{AUDIT}?limit=2").json
    assert [one["seq"] for one in page["items"]] == [first + 4, first + 3]
    newest = page["items"][0]
    assert (newest["actor_kind"], newest["actor"], newest["address"]) == ("user", "admin", "127.0.0.1")
    assert (newest["action"], newest["object_kind"], newest["object_id"]) == ("job.update", "job", "4")
    assert (newest["group_id"], newest["before"], newest["after"]) == (2, {"n": 0}, {"n": 5})
    assert newest["previous_digest"] == page["items"][1]["digest"]
    assert seqs(admin, f"limit=2&cursor={page['next_cursor']}") == [first + 2, first + 1]


def test_filters(site: Site, admin: Caller, first: int) -> None:
    write(site, Deed("job.update", "job", "1"), Deed("job.delete", "job", "2"), Deed("group.delete", "group", "1"))
    site.clock.move(1800)
    write(site, Deed("job.update", "job", "1"), actor=Actor(ActorKind.TOKEN, "robot"))
    assert seqs(admin, "actor=robot") == [first + 3]
    assert seqs(admin, "action=job.update") == [first + 3, first]
    assert seqs(admin, "object=job") == [first + 3, first + 1, first]
    assert seqs(admin, "object=job:1") == [first + 3, first]
    assert seqs(admin, "since=10m") == [first + 3]
    assert first in seqs(admin, "until=10m")
    admin.get(f"{AUDIT}?since=1m&until=2m").problem(422)


def test_the_whole_is_exported_in_order(site: Site, admin: Caller, first: int) -> None:
    write(site, *(Deed("job.update", "job", str(n)) for n in range(2500)))
    lines = [json.loads(line) for line in admin.get(f"{AUDIT}?format=jsonl").body.splitlines()]
    assert [one["seq"] for one in lines][-2500:] == list(range(first, first + 2500))
    answer = admin.get(f"{AUDIT}?format=csv&object=job:7")
    rows = list(csv.DictReader(io.StringIO(answer.body.decode())))
    assert [row["object_id"] for row in rows] == ["7"]
    assert answer.content_type == "text/csv"
    assert "attachment" in answer.headers["content-disposition"]


@pytest.mark.parametrize("begin", "=+-@\t\r")
def test_no_cell_of_a_table_is_a_formula(site: Site, admin: Caller, begin: str) -> None:
    write(site, Deed("job.update", "job", f"{begin}cmd|'/c calc'!A1"))
    answer = admin.get(f"{AUDIT}?format=csv&object=job")
    [row] = csv.DictReader(io.StringIO(answer.body.decode(), newline=""))
    assert row["object_id"] == f"'{begin}cmd|'/c calc'!A1"


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_there_is_no_verb_that_changes_it(admin: Caller, method: str) -> None:
    admin.call(method, AUDIT, {}).problem(405)
    assert admin.call(method, f"{AUDIT}/1", {}).status in (404, 405)


def test_strangers_are_told_nothing(stranger: Caller, executor: Caller) -> None:
    for caller in (stranger, executor):
        for path in (AUDIT, f"{AUDIT}/head", f"{AUDIT}?format=csv"):
            caller.get(path).problem(401)


def test_a_job_is_named_as_long_as_it_is_there(site: Site, admin: Caller) -> None:
    job_id = site.job(job_desc="Weigh the parcels")
    write(site, *(Deed("job.trigger", "job", object_id) for object_id in (str(job_id), "9" * 40, "\u0663")))
    found = {one["object_id"]: one["object_name"] for one in admin.get(f"{AUDIT}?action=job.trigger").json["items"]}
    assert found == {str(job_id): "Weigh the parcels", "9" * 40: None, "\u0663": None}
