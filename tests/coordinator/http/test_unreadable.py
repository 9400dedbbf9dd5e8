"""Groups, executors and executions this version cannot read, through the API: shown with the reason."""

import pytest
from sqlalchemy import Connection, Table, update

from orth.store.tables import executions, groups, handler_lists, registry
from tests.coordinator.http.live import Caller, Site


def write(connection: Connection, table: Table, **values: object) -> None:
    """Write what no verb of the store would."""
    connection.execute(update(table).values(**values))


@pytest.mark.parametrize(("column", "value"), [("dialect", "xxl36"), ("address_type", 7)])
def test_a_group_is_shown_as_it_is_and_written_again(site: Site, admin: Caller, column: str, value: object) -> None:
    where = f"/api/v1/groups/{site.group('demo')}"
    tag = admin.get(where).headers["etag"]
    site.tx(write, groups, **{column: value})
    (listed,) = admin.get("/api/v1/groups").json["items"]
    shown = admin.get(where)
    assert listed == shown.json
    assert (listed[column], listed["unreadable"]) == (value, f"{column} is {str(value)!r}")
    assert shown.headers["etag"] != tag
    mended = admin.call("PUT", where, {"app_name": "demo"}).json
    assert (mended["dialect"], mended["address_type"], mended["unreadable"]) == ("auto", 0, None)


def test_an_executor_is_listed_without_the_labels_nobody_can_read(site: Site, admin: Caller, executor: Caller) -> None:
    group = site.group("demo")
    beat = {"registryKey": "demo", "registryValue": "http://10.0.0.1:9999"}
    executor.post("/api/registry", beat | {"orth": {"incarnation": "one", "handlers": [{"name": "only"}]}}).envelope()
    site.tx(write, registry, labels="[1,")
    assert [one["name"] for one in admin.get(f"/api/v1/groups/{group}/handlers").json["items"]] == ["only"]
    site.tx(write, handler_lists, handlers='{"handlers": [{"name": 1}]}')
    (shown,) = admin.get("/api/v1/executors").json["items"]
    assert (shown["labels"], shown["unreadable"]) == ({}, "labels is '[1,'")
    assert admin.get(f"/api/v1/groups/{group}/handlers").json["items"] == []
    site.tx(write, handler_lists, handlers='{"handlers": [{"name": "only"}]}')
    assert admin.get(f"/api/v1/groups/{group}/handlers").json["items"] == []


@pytest.mark.parametrize(("column", "value"), [("cause", "quantum"), ("phase", "limbo")])
def test_an_execution_is_shown_with_what_is_stored(site: Site, admin: Caller, column: str, value: str) -> None:
    (one,) = admin.post(f"/api/v1/jobs/{site.job()}/trigger").json["execution_ids"]
    where = f"/api/v1/executions/{one}"
    before = admin.get(where).json
    del before["progress"], before["left_behind"]  # told of one, not of many
    site.tx(write, executions, **{column: value})
    answer = admin.get("/api/v1/executions")
    assert answer.status == 200
    assert answer.json["items"] == [{**before, column: value, "unreadable": f"{column} is {value!r}"}]
    assert admin.get(where).json == {**answer.json["items"][0], "progress": None, "left_behind": None}
    contents = site.contents()
    for method, path in (("GET", "/why"), ("POST", "/kill"), ("GET", "/log")):
        said = admin.call(method, where + path, None).problem(409)
        assert said["type"] == "urn:orth:problem:unreadable"
        assert f"{column} is {value!r}" in said["detail"]
    assert site.contents() == contents
