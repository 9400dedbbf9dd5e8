"""Callbacks of many results, or of many values: which are taken, and how the others are refused."""

import json

import pytest

from orth.coordinator.http import results
from orth.coordinator.refusals import Refusals
from orth.domain.audit import Deed
from orth.domain.reasons import ReportedReason
from orth.wire.dialects import callback_item_body
from orth.wire.fields import HANDLE_MSG_LIMIT, RESULTS_COUNT, RESULTS_VALUES
from orth.wire.messages import CallbackItem
from tests.coordinator.http.live import Answer, Caller, Site
from tests.coordinator.http.test_crowded_apps import token_of


def java(count: int, message: str = "x") -> bytes:
    """What Java executors send."""
    item = {"logDateTim": 1_700_000_000_000, "handleCode": 200, "handleMsg": message}
    return json.dumps([{"logId": 1_000_000 + number, **item} for number in range(count)]).encode()


def own(count: int, message: str) -> bytes:
    """What executors of ours send."""
    items = [
        CallbackItem(
            log_id=1_000_000 + number,
            log_date_time=1_700_000_000_000,
            handle_code=200,
            handle_msg=message,
            start_time=1_700_000_000_000,
            incarnation="a" * 64,
            final=True,
            reason=ReportedReason.EXECUTOR_STOPPED,
            still_inside=True,
            report_key="a" * 64,
        )
        for number in range(count)
    ]
    return b"[" + b",".join(map(callback_item_body, items)) + b"]"


def empty(count: int) -> bytes:
    return b"[" + b",".join([b"{}"] * count) + b"]"


def third_party(site: Site, app_name: str) -> Caller:
    """An executor of another make, with the token of its group."""
    return Caller(site.url, {"XXL-JOB-ACCESS-TOKEN": token_of(site, app_name).headers["ORTH-ACCESS-TOKEN"]})


def send(caller: Caller, body: bytes) -> Answer:
    return caller.call("POST", "/api/callback", raw=body)


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (empty(RESULTS_COUNT + 1), f"{RESULTS_COUNT:,} results"),
        (java(RESULTS_COUNT + 1), f"{RESULTS_COUNT:,} results"),
        (b'{"callbackList":' + empty(RESULTS_COUNT + 1) + b"}", f"{RESULTS_COUNT:,} results"),
        (b'[{"logId":1,"handleCode":200,"handleMsg":' + empty(RESULTS_VALUES) + b"}]", f"{RESULTS_VALUES:,} values"),
    ],
    ids=["empty results", "results", "wrapped results", "one result of many values"],
)
def test_more_than_executors_send_is_refused_in_the_envelope_that_each_reads(
    site: Site, body: bytes, told: str
) -> None:
    refused = send(third_party(site, "alpha"), body)
    assert (refused.status, refused.json["code"]) == (200, 500), "third-party executors read nothing else"
    assert told in refused.json["msg"]
    assert told in send(token_of(site, "alpha"), body).envelope(413)["msg"]


@pytest.mark.parametrize(
    "body",
    [
        java(RESULTS_COUNT),
        java(600, "m" * HANDLE_MSG_LIMIT),
        b'{"callbackList":' + java(5_000) + b"}",
        b'[{"logId":1,"handleCode":200,"handleMsg":' + json.dumps(list(range(200_000))).encode() + b"}]",
    ],
    ids=["very many", "long ones", "wrapped", "a long list"],
)
def test_what_executors_of_other_makes_send_is_taken(site: Site, body: bytes) -> None:
    send(third_party(site, "alpha"), body).envelope()


@pytest.mark.parametrize("path", ["/api/begun", "/api/openOffers"])
def test_other_calls_of_executors_have_as_many_values_as_they_need(executor: Caller, path: str) -> None:
    assert "values" in executor.call("POST", path, raw=empty(20_000)).envelope(413)["msg"]


def test_refused_results_of_one_request_are_told_to_the_audit_a_few_at_a_time(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []

    async def note(_self: Refusals, _key: object, _address: str, deed: Deed, _reason: str = "") -> None:
        told.extend([deed.object_id] if deed.action == "callback.refused" else [])

    monkeypatch.setattr(Refusals, "note_executor", note)
    monkeypatch.setattr(results, "_NOTED", 3)
    job = site.job()
    opened = [site.execution(job) for _ in range(5)]
    for one in opened:
        site.dispatched(one, "http://10.0.0.1:9999")
    reported = json.dumps([{"logId": one, "handleCode": 200} for one in opened]).encode()
    for app_name in ("demo", "other"):
        told.clear()
        send(token_of(site, app_name), reported)
        assert len(told) == 3, app_name
