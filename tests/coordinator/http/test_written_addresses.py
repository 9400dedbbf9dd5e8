"""Addresses that people wrote down for a group: nobody watches them, so who may operate the group calls them."""

from tests.coordinator.http.live import Caller, Site
from tests.servers.processes import free_port


def test_an_address_that_was_written_down_is_called_and_no_other(site: Site, admin: Caller) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    site.group("fleet", address_type=1, address_list=[address])
    site.group("other", address_type=1, address_list=["http://127.0.0.1:1"])
    answer = admin.post("/api/v1/executors/ping", {"app_name": "fleet", "address": address})
    assert (answer.status, answer.json["answered"]) == (200, False)
    assert address.removeprefix("http://") in answer.json["reason"]
    for stranger in ("http://127.0.0.1:1", f"{address}/path", "http://127.0.0.1"):
        admin.post("/api/v1/executors/ping", {"app_name": "fleet", "address": stranger}).problem(404)


def test_what_a_group_once_had_is_called_no_more(site: Site, admin: Caller) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    group = site.group("fleet", address_type=1, address_list=[address])
    admin.call("PUT", f"/api/v1/groups/{group}", {"app_name": "fleet", "address_type": 0})
    admin.post("/api/v1/executors/ping", {"app_name": "fleet", "address": address}).problem(404)
