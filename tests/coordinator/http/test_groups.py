"""Groups: made, edited, deleted, and following the registry."""

import pytest

from tests.coordinator.http.live import Caller, Site

GROUPS = "/api/v1/groups"


def beat(executor: Caller, app_name: str, address: str) -> None:
    executor.post("/api/registry", {"registryKey": app_name, "registryValue": address}).envelope()


def test_a_group_is_made_read_edited_and_deleted(admin: Caller) -> None:
    made = admin.post(GROUPS, {"app_name": "demo", "title": "Demo"})
    assert made.status == 201
    where = made.headers["location"]
    assert admin.get(where).json == made.json
    assert made.json == {
        "id": made.json["id"],
        "app_name": "demo",
        "title": "Demo",
        "address_type": 0,
        "address_list": [],
        "dialect": "auto",
        "scripts_allowed": False,
        "admission": "open",
        "unreadable": None,
    }
    manual = {"app_name": "demo", "address_type": 1, "address_list": "http://b:2/, http://a:1"}
    edited = admin.call("PUT", where, manual)
    assert edited.json == admin.get(where).json
    assert (edited.json["title"], edited.json["address_list"]) == ("demo", ["http://b:2", "http://a:1"])
    assert admin.call("DELETE", where).status == 204
    admin.get(where).problem(404)
    admin.call("DELETE", where).problem(404)


def test_an_app_name_is_taken_once(site: Site, admin: Caller) -> None:
    site.group("taken")
    before = site.state()
    assert admin.post(GROUPS, {"app_name": "taken"}).problem(409)["hint"]
    assert site.state() == before


def test_an_app_name_stays(site: Site, admin: Caller) -> None:
    group_id = site.group("first")
    admin.call("PUT", f"{GROUPS}/{group_id}", {"app_name": "second"}).problem(409)
    assert admin.get(f"{GROUPS}/{group_id}").json["app_name"] == "first"


def test_the_dialect_of_a_group_is_chosen_and_an_edit_of_it_is_an_edit(site: Site, admin: Caller) -> None:
    where = f"{GROUPS}/{site.group()}"
    before = admin.get(where).headers["etag"]
    chosen = admin.call("PUT", where, {"app_name": "demo", "dialect": "xxl35"})
    assert (chosen.json["dialect"], admin.get(where).json["dialect"]) == ("xxl35", "xxl35")
    assert chosen.headers["etag"] != before


def test_a_group_with_jobs_stays(site: Site, admin: Caller) -> None:
    group_id = site.group()
    job_id = site.job(job_group=group_id)
    assert "jobs" in admin.call("DELETE", f"{GROUPS}/{group_id}").problem(409)["detail"]
    assert admin.call("DELETE", f"/api/v1/jobs/{job_id}").status == 204
    assert admin.call("DELETE", f"{GROUPS}/{group_id}").status == 204


def test_an_edit_of_what_was_changed_meanwhile_is_refused(site: Site, admin: Caller) -> None:
    where = f"{GROUPS}/{site.group()}"
    read = admin.get(where).headers["etag"]
    renamed = admin.call("PUT", where, {"app_name": "demo", "title": "mine"}, headers={"If-Match": read})
    assert renamed.status == 200
    assert renamed.headers["etag"] != read
    before = site.state()
    for method, body in (("PUT", {"app_name": "demo", "title": "theirs"}), ("DELETE", None)):
        said = admin.call(method, where, body, headers={"If-Match": read}).problem(412)
        assert renamed.headers["etag"] in said["detail"]
    assert site.state() == before
    assert admin.call("DELETE", where, headers={"If-Match": f'"x", {renamed.headers["etag"]}'}).status == 204


def test_the_coming_and_going_of_executors_is_no_edit(site: Site, admin: Caller, executor: Caller) -> None:
    where = f"{GROUPS}/{site.group('demo')}"
    read = admin.get(where).headers["etag"]
    beat(executor, "demo", "http://10.0.0.1:9999")
    after = admin.get(where)
    assert (after.json["address_list"], after.headers["etag"]) == (["http://10.0.0.1:9999"], read)


def test_a_group_made_later_finds_the_executors_that_were_there_first(site: Site, executor: Caller) -> None:
    beat(executor, "early", "http://10.0.0.2:9999/")
    beat(executor, "early", "http://10.0.0.1:9999")
    beat(executor, "other", "http://10.0.0.3:9999")
    group_id = site.group("early")
    shown = site.admin().get(f"{GROUPS}/{group_id}").json
    assert shown["address_list"] == ["http://10.0.0.1:9999", "http://10.0.0.2:9999"]


def test_addresses_written_by_hand_are_left_alone(site: Site, admin: Caller, executor: Caller) -> None:
    group_id = site.group("demo", address_type=1, address_list=["http://a:1"])
    beat(executor, "demo", "http://10.0.0.1:9999")
    assert admin.get(f"{GROUPS}/{group_id}").json["address_list"] == ["http://a:1"]
    automatic = admin.call("PUT", f"{GROUPS}/{group_id}", {"app_name": "demo"})
    assert automatic.json["address_list"] == ["http://10.0.0.1:9999"]


def test_the_handlers_of_a_group_are_those_its_executors_announced(site: Site, executor: Caller) -> None:
    handlers = [{"name": "report", "description": "nightly", "schedule": "0 2 * * *"}, {"name": "clean"}]
    said = {"incarnation": "one", "handlers": handlers}
    beat_body = {"registryKey": "demo", "registryValue": "http://10.0.0.1:9999", "orth": said}
    executor.post("/api/registry", beat_body).envelope()
    group_id = site.group("demo")
    shown = site.admin().get(f"{GROUPS}/{group_id}/handlers").json
    assert [handler["name"] for handler in shown["items"]] == ["clean", "report"]
    assert (shown["items"][1]["schedule"], shown["items"][1]["description"]) == ("0 2 * * *", "nightly")
    site.admin().get(f"{GROUPS}/999/handlers").problem(404)


ADDRESS_LIST = "address_list"


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"app_name": ""}, "app_name"),
        ({"app_name": "abc"}, "app_name"),
        ({"app_name": "a" * 65}, "app_name"),
        ({"app_name": "has space"}, "app_name"),
        ({"app_name": "ünïcode"}, "app_name"),
        ({"app_name": "new\nline"}, "app_name"),
        ({"app_name": "nul\x00"}, "app_name"),
        ({"app_name": "../../etc"}, "app_name"),
        ({"app_name": None}, "app_name"),
        ({"app_name": ["demo"]}, "app_name"),
        ({"title": "a" * 65}, "title"),
        ({"title": "two\nlines"}, "title"),
        ({"title": "right\u202eto left"}, "title"),
        ({"address_type": 2}, "address_type"),
        ({"address_type": "manual"}, "address_type"),
        ({"address_type": 1}, "body"),
        ({"address_list": ["http://a:1"]}, "body"),
        ({"address_type": 1, "address_list": ["ftp://a:1"]}, ADDRESS_LIST),
        ({"address_type": 1, "address_list": ["http://user:secret@a:1"]}, ADDRESS_LIST),
        ({"address_type": 1, "address_list": ["http://a:1/x,http://b:2"]}, ADDRESS_LIST),
        ({"address_type": 1, "address_list": ["http://a:1\r\nX: y"]}, ADDRESS_LIST),
        ({"address_type": 1, "address_list": ["http://" + "a" * 300]}, ADDRESS_LIST),
        ({"address_type": 1, "address_list": [f"http://a:{n}" for n in range(1, 1002)]}, ADDRESS_LIST),
        ({"address_type": 1, "address_list": [f"http://a/{n:0200}" for n in range(400)]}, ADDRESS_LIST),
        ({"address_type": 1, "address_list": [1]}, "address_list.0"),
        ({"address_type": 1, "address_list": {"a": 1}}, ADDRESS_LIST),
        ({"dialect": "xxl36"}, "dialect"),
        ({"dialect": None}, "dialect"),
        ({"id": 7}, "id"),
        ({"owner": "me"}, "owner"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_what_cannot_be_a_group_is_refused(site: Site, admin: Caller, fields: dict[str, object], field: str) -> None:
    group_id = site.group("stays")
    before = site.state()
    said = admin.post(GROUPS, {"app_name": "demo", **fields}).problem(422)
    assert field in [error["field"] for error in said["errors"]]
    assert admin.call("PUT", f"{GROUPS}/{group_id}", {"app_name": "stays", **fields}).problem(422)["errors"]
    assert site.state() == before


@pytest.mark.parametrize("group_id", ["0", "-1", "2147483648", "9" * 30, "1.5", "x", "1e3", "%00", "٣x"])
def test_what_cannot_be_an_id_is_refused(admin: Caller, group_id: str) -> None:
    assert admin.get(f"{GROUPS}/{group_id}").problem(422)["errors"][0]["field"] == "group_id"


def test_pages_hold_every_group_once_in_order_of_id(site: Site, admin: Caller) -> None:
    ids = [site.group(f"group-{number}") for number in range(7)]
    seen, cursor = [], ""
    while True:
        page = admin.get(f"{GROUPS}?limit=3{cursor}").json
        seen += [group["id"] for group in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"
    assert seen == ids
