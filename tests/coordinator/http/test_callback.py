"""Results as every generation of executors reports them, one by one and by the thousand."""

from typing import Any

import pytest

from orth.coordinator.finishing import finish
from orth.domain import reasons
from orth.domain.executions import EXECUTOR_MESSAGE_LIMIT, STORED_MESSAGE_LIMIT
from orth.domain.reasons import ReportedReason
from orth.store.executions import Ending
from orth.wire.report_keys import ReportKeys
from tests.coordinator.http.live import ACCESS_TOKEN, Caller, Site

ADDRESS = "http://127.0.0.1:9999"


@pytest.fixture
def execution_id(site: Site) -> int:
    """An execution an executor has taken."""
    opened = site.execution(site.job())
    site.dispatched(opened, ADDRESS)
    return opened


def report(executor: Caller, body: object) -> list[tuple[int, str]]:
    told = executor.post("/api/callback", body).envelope()["data"]["verdicts"]
    return [(verdict["logId"], verdict["verdict"]) for verdict in told]


@pytest.mark.parametrize("prefix", ["/api", "/xxl-job-admin/api", "/orth-admin/api"])
@pytest.mark.parametrize(
    "headers",
    [
        {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN},
        {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN, "XXL-JOB-APPNAME": "demo"},
        {"XXL-RPC-ACCESS-TOKEN": ACCESS_TOKEN},
        {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN},
        {"Authorization": f"Bearer {ACCESS_TOKEN}"},
        {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN, "ORTH-EXTENSIONS": "resend, others"},
    ],
    ids=["xxl-job", "xxl-job 3.5", "oldest", "the fork", "bearer", "announces something else"],
)
def test_only_who_announced_to_read_verdicts_is_told_any(
    site: Site, execution_id: int, headers: dict[str, str], prefix: str
) -> None:
    told = Caller(site.url, headers).post(f"{prefix}/callback", [{"logId": execution_id, "handleCode": 200}, {}])
    assert told.envelope() == {"code": 200, "msg": None, "content": None, "data": None}
    assert shown(site, execution_id)["status"] == "success"


@pytest.mark.parametrize("announced", ["verdicts", "resend,verdicts", " newer , verdicts "])
def test_who_announced_to_read_verdicts_is_told_them(site: Site, execution_id: int, announced: str) -> None:
    ours = Caller(site.url, {"ORTH-ACCESS-TOKEN": ACCESS_TOKEN, "orth-extensions": announced})
    assert report(ours, [{"logId": execution_id, "handleCode": 200}]) == [(execution_id, "stored")]


def shown(site: Site, execution_id: int) -> dict[str, Any]:
    found: dict[str, Any] = site.admin().get(f"/api/v1/executions/{execution_id}").json
    return found


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda item, time: [{**item, "handleCode": 200, "handleMsg": "done"}],
        lambda item, time: [{**item, "logDateTim": time, "handleCode": 200, "handleMsg": "done"}],
        lambda item, time: [{**item, "logDateTim": time, "executeResult": {"code": 200, "msg": "done"}}],
        lambda item, time: {"callbackList": [{**item, "logDateTime": time, "handleCode": 200, "handleMsg": "done"}]},
        lambda item, time: {**item, "handleCode": 200, "handleMsg": "done"},
        lambda item, time: [
            {"logId": str(item["logId"]), "logDateTim": str(time), "handleCode": "200", "handleMsg": "done"}
        ],
        lambda item, time: [
            {"logId": float(item["logId"]), "logDateTim": float(time), "handleCode": 200.0, "handleMsg": "done"}
        ],
        lambda item, time: [{**item, "handleCode": 200, "handleMsg": "done", "incarnation": "one", "newer": {}}],
    ],
    ids=["bare", "without its last letter", "first form", "wrapped", "single", "digits in strings", "floats", "newer"],
)
def test_every_dialect_reports_the_same_result(site: Site, executor: Caller, execution_id: int, wrapped: Any) -> None:
    result = wrapped({"logId": execution_id}, site.trigger_time(execution_id))
    assert report(executor, result) == [(execution_id, "stored")]
    ended = shown(site, execution_id)
    assert (ended["tag"], ended["handle_msg"]) == ("Success 200/200", "done")


@pytest.mark.parametrize(
    ("message", "stored"),
    [
        (None, ""),
        ({"rows": 3}, '{"rows": 3}'),
        ([1, "two"], '[1, "two"]'),
        (42, "42"),
        (True, "true"),
        ("nul\x00", "nul\ufffd"),
        ("日本語 🙂", "日本語 🙂"),
    ],
    ids=str,
)
def test_whatever_stands_where_a_message_belongs_is_kept_as_text(
    site: Site, executor: Caller, execution_id: int, message: object, stored: str
) -> None:
    report(executor, [{"logId": execution_id, "handleCode": 200, "handleMsg": message}])
    assert shown(site, execution_id)["handle_msg"] == stored


def test_half_a_letter_does_not_cost_a_result(site: Site, executor: Caller, execution_id: int) -> None:
    raw = b'[{"logId": %d, "handleCode": 200, "handleMsg": "cut \\ud83d"}]' % execution_id
    executor.call("POST", "/api/callback", raw=raw).envelope()
    ended = shown(site, execution_id)
    assert (ended["status"], ended["handle_msg"]) == ("success", "cut \ufffd")


def test_a_long_message_is_cut_with_head_and_tail(site: Site, executor: Caller, execution_id: int) -> None:
    message = "head" + "x" * 2 * EXECUTOR_MESSAGE_LIMIT + "tail"
    report(executor, [{"logId": execution_id, "handleCode": 500, "handleMsg": message}])
    kept = shown(site, execution_id)["handle_msg"]
    assert len(kept) == STORED_MESSAGE_LIMIT
    assert (kept[:4], kept[-4:]) == ("head", "tail")
    assert "left out" in kept


@pytest.mark.parametrize(
    ("code", "status", "tag"),
    [
        (200, "success", "Success 200/200"),
        (500, "failed", "Failed 200/500"),
        (502, "timeout", "Timeout 200/502"),
        (404, "failed", "Failed 200/404"),
        (0, "failed", "Failed 200/500"),
        (-1, "failed", "Failed 200/500"),
    ],
)
def test_the_code_decides_the_status(
    site: Site, executor: Caller, execution_id: int, code: int, status: str, tag: str
) -> None:
    report(executor, [{"logId": execution_id, "handleCode": code}])
    ended = shown(site, execution_id)
    assert (ended["status"], ended["tag"]) == (status, tag)


def test_the_first_result_stands(site: Site, executor: Caller, execution_id: int) -> None:
    first = {"logId": execution_id, "handleCode": 200, "handleMsg": "first"}
    second = {"logId": execution_id, "handleCode": 500, "handleMsg": "second"}
    assert report(executor, [first, second]) == [(execution_id, "stored"), (execution_id, "duplicate")]
    before = site.state()
    assert report(executor, [second]) == [(execution_id, "duplicate")]
    assert report(executor, [first]) == [(execution_id, "duplicate")]
    assert site.state() == before
    assert shown(site, execution_id)["handle_msg"] == "first"


@pytest.mark.parametrize(
    ("said", "code", "reason"),
    [
        *((one.value, 500, one.value) for one in ReportedReason),
        (None, 502, reasons.TIMED_OUT),
        ("invented_by_a_newer_version", 500, None),
        (7, 500, None),
        (None, 500, None),
        ("covered", 200, None),
    ],
)
def test_a_reason_that_an_executor_reports_is_kept_if_it_is_known(
    site: Site, executor: Caller, execution_id: int, said: object, code: int, reason: str | None
) -> None:
    result = {"logId": execution_id, "handleCode": code, "handleMsg": "x"} | ({} if said is None else {"reason": said})
    assert report(executor, [result]) == [(execution_id, "stored")]
    assert shown(site, execution_id)["reason_code"] == reason


@pytest.mark.parametrize(("retries", "statuses"), [(0, ["failed"]), (1, ["failed", "init"])])
def test_what_waited_in_a_stopping_executor_is_retried_only_where_the_job_has_retries(
    site: Site, executor: Caller, retries: int, statuses: list[str]
) -> None:
    execution_id = site.execution(site.job(executor_fail_retry_count=retries))
    site.dispatched(execution_id, ADDRESS)
    told = "Not executed: the executor stopped."
    result = {"logId": execution_id, "handleCode": 500, "handleMsg": told, "reason": reasons.EXECUTOR_STOPPED}
    report(executor, [result])
    ended = shown(site, execution_id)
    assert (ended["tag"], ended["reason_code"]) == ("Failed 200/500", reasons.EXECUTOR_STOPPED)
    found = site.admin().get("/api/v1/executions").json["items"]
    assert [one["status"] for one in sorted(found, key=lambda one: one["id"])] == statuses


@pytest.mark.parametrize("code", [reasons.RESULT_LOST, reasons.NEVER_RESOLVED])
def test_a_result_of_what_was_given_up_is_written_down_once_and_not_applied(
    site: Site, executor: Caller, execution_id: int, code: str
) -> None:
    lost = Ending(
        execution_id=execution_id, trigger_code=200, handle_code=500, handle_msg="Result lost: gone.", reason_code=code
    )
    site.tx(finish, [lost], site.clock.now())
    given_up = shown(site, execution_id)
    late = {"logId": execution_id, "handleCode": 200, "handleMsg": "did it after all"}
    assert report(executor, [late, late]) == [(execution_id, "duplicate")] * 2
    before = site.state()
    assert report(executor, [late]) == [(execution_id, "duplicate")]
    assert report(executor, [{**late, "handleCode": 500}]) == [(execution_id, "duplicate")]
    assert site.state() == before, "the first late word is kept, and nothing else changes"
    assert shown(site, execution_id) == {**given_up, "late_code": 200}
    last = site.admin().get(f"/api/v1/executions/{execution_id}/why").json["steps"][-1]
    assert last["code"] == "late_result"
    assert last["text"].startswith("Its executor reported 200 ")
    assert last["text"].endswith("not applied: did it after all")


@pytest.mark.parametrize(("first", "late"), [(200, 500), (500, 200), (502, 500), (404, 502)])
def test_a_result_that_says_otherwise_is_kept_once_and_not_applied(
    site: Site, executor: Caller, execution_id: int, first: int, late: int
) -> None:
    report(executor, [{"logId": execution_id, "handleCode": first, "handleMsg": "first"}])
    ended = shown(site, execution_id)
    for code in (late, first, 200, 500):
        assert report(executor, [{"logId": execution_id, "handleCode": code}]) == [(execution_id, "duplicate")]
    assert shown(site, execution_id) == {**ended, "late_code": late}
    (row,) = site.contents()["orth_job_log"]
    assert row["late_code"] == late
    noted = [note["message"] for note in site.contents()["orth_execution_note"]]
    assert noted == [f"Its executor reported {late} after it had ended; not applied"]


def test_a_result_that_comes_twice_leaves_no_note(site: Site, executor: Caller, execution_id: int) -> None:
    result = {"logId": execution_id, "handleCode": 200}
    assert report(executor, [result]) == [(execution_id, "stored")]
    assert report(executor, [result]) == [(execution_id, "duplicate")]
    steps = site.admin().get(f"/api/v1/executions/{execution_id}/why").json["steps"]
    assert "late_result" not in {step["code"] for step in steps}


def test_nobody_can_report_on_what_was_never_sent(site: Site, executor: Caller) -> None:
    opened = site.execution(site.job())
    before = site.state()
    assert report(executor, [{"logId": opened, "handleCode": 200}]) == [(opened, "unknown")]
    assert report(executor, [{"logId": 4711, "handleCode": 200}]) == [(4711, "unknown")]
    assert report(executor, [{"logId": 0, "handleCode": 200}]) == [(0, "unknown")]
    assert report(executor, [{"logId": 2**63 - 1, "handleCode": 200}]) == [(2**63 - 1, "unknown")]
    assert site.state() == before
    assert shown(site, opened)["phase"] == "opened"


def test_a_result_may_overtake_the_answer_to_its_dispatch(site: Site, executor: Caller) -> None:
    opened = site.execution(site.job())
    site.sent(opened, ADDRESS)
    assert report(executor, [{"logId": opened, "handleCode": 200}]) == [(opened, "stored")]
    site.dispatched(opened, ADDRESS)  # the answer, late
    assert shown(site, opened)["tag"] == "Success 200/200"


@pytest.mark.parametrize("told", [0, -5, 1, 2**62, 2**63, 2**64, "yesterday", 1.5, None, {}])
def test_an_executor_s_clock_may_say_anything(site: Site, executor: Caller, execution_id: int, told: object) -> None:
    item = {"logId": execution_id, "handleCode": 200, "startTime": told}
    assert report(executor, [item]) == [(execution_id, "stored")]
    ended = shown(site, execution_id)
    assert (ended["status"], ended["handle_time"]) == ("success", "2026-01-30T10:00:00.000Z")
    assert ended["start_time"] == ("1970-01-01T00:00:00.001Z" if told == 1 else None)
    del ended["progress"], ended["left_behind"]  # told of one, not of many
    assert site.admin().get("/api/v1/executions").json["items"] == [ended]


SENT_ELSEWHERE = "http://10.0.0.1:9999"
JAVA, PYTHON = "Java/17.0.15", "Python/3.11 aiohttp/3.13"


@pytest.mark.parametrize("spelling", ["logDateTim", "logDateTime"])
@pytest.mark.parametrize(
    ("agent", "off"), [(JAVA, -1), (JAVA, 1), (JAVA, -3_600_000), (PYTHON, -3_600_000), (PYTHON, 3_600_000)]
)
def test_a_result_with_another_trigger_time_is_of_another_scheduler(
    site: Site, execution_id: int, spelling: str, agent: str, off: int
) -> None:
    right = site.trigger_time(execution_id)
    stray = {"logId": execution_id, spelling: right + off, "handleCode": 200, "handleMsg": "of another scheduler"}
    client = Caller(site.url, {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN, "User-Agent": agent})
    before = shown(site, execution_id)
    refused = client.post("/xxl-job-admin/api/callback", [stray]).json  # so that it asks the next of its admins
    assert (refused["code"], "trigger time" in refused["msg"]) == (500, True)
    assert shown(site, execution_id) == before
    audited = [one for one in site.admin().get("/api/v1/audit").json["items"] if one["action"] == "callback.refused"]
    assert [one["object_id"] for one in audited] == [str(execution_id)]
    why = site.admin().get(f"/api/v1/executions/{execution_id}/why").json
    refusals = [one["text"] for one in why["steps"] if one["code"] == "result_refused"]
    assert len(refusals) == 1
    assert "another trigger time" in refusals[0]
    mixed = [stray, {**stray, spelling: right, "handleMsg": "mine"}]
    answer = client.post("/xxl-job-admin/api/callback", mixed).json
    assert answer["code"] == (500 if agent == JAVA else 200), "a Java executor offers all of it to its next admin"
    ended = shown(site, execution_id)
    assert (ended["status"], ended["handle_msg"]) == ("success", "mine")
    client.post("/xxl-job-admin/api/callback", [{**stray, "handleCode": 500}]).envelope()
    assert shown(site, execution_id) == ended, "nobody keeps it once the execution has ended, and it leaves no note"


@pytest.mark.parametrize("agent", [JAVA, PYTHON])
@pytest.mark.parametrize("wrong", ["logDateTime", "logDateTim"])
def test_a_result_with_two_trigger_times_is_refused(site: Site, execution_id: int, wrong: str, agent: str) -> None:
    right = site.trigger_time(execution_id)
    client = Caller(site.url, {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN, "User-Agent": agent})
    result = {"logId": execution_id, "logDateTime": right, "logDateTim": right, "handleCode": 200}
    client.post("/api/callback", [{**result, wrong: 1_700_000_000_000}]).envelope(403)
    assert shown(site, execution_id)["status"] == "pending"
    client.post("/api/callback", [result]).envelope()
    assert shown(site, execution_id)["status"] == "success"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (("XXL-JOB-ACCESS-TOKEN",), 200),
        (("XXL-RPC-ACCESS-TOKEN",), 200),
        (("ORTH-ACCESS-TOKEN",), 403),
        (("ORTH-ACCESS-TOKEN", "XXL-JOB-ACCESS-TOKEN"), 403),
    ],
)
def test_a_result_that_does_not_fit_is_refused_by_status_to_executors_of_orth_only(
    site: Site, execution_id: int, headers: tuple[str, ...], status: int
) -> None:
    """Executors of Orth that show their token send it in both headers, and decide by the status what to do next."""
    stray = {"logId": execution_id, "logDateTim": 1_700_000_000_000, "handleCode": 200}
    client = Caller(site.url, dict.fromkeys(headers, ACCESS_TOKEN))
    refused = client.post("/api/callback", [stray])
    assert (refused.status, refused.json["code"]) == (status, 500)
    assert shown(site, execution_id)["status"] == "pending"


@pytest.mark.parametrize("off", [-60_000, -1, 1, 60_000])
def test_executors_in_other_languages_send_the_time_of_their_own_clock(site: Site, execution_id: int, off: int) -> None:
    """pyxxl sends when it began, pyxxljob the second in which it reports, xxl-job of npm when it reports."""
    client = Caller(site.url, {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN, "User-Agent": PYTHON})
    result = {"logId": execution_id, "logDateTim": site.trigger_time(execution_id) + off, "handleCode": 200}
    assert client.post("/xxl-job-admin/api/callback", [result]).json["code"] == 200
    assert shown(site, execution_id)["status"] == "success"


NAMED = "http://executor.example.org:9999"


def from_elsewhere(site: Site, address: str, off: int) -> tuple[int, str]:
    """The code of the answer to a result from loopback of an execution at ``address``, and the status after it."""
    one = site.execution(site.job())
    site.dispatched(one, address)
    client = Caller(site.url, {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN, "User-Agent": PYTHON})
    result = {"logId": one, "logDateTim": site.trigger_time(one) + off, "handleCode": 200}
    code = client.post("/xxl-job-admin/api/callback", [result]).json["code"]
    return code, shown(site, one)["status"]


REFUSED, APPLIED = (500, "pending"), (200, "success")


@pytest.mark.parametrize("address", [SENT_ELSEWHERE, NAMED])
@pytest.mark.parametrize(("off", "told"), [(-540_000, REFUSED), (-1, REFUSED), (1, REFUSED), (0, APPLIED)])
def test_from_elsewhere_than_the_beats_of_its_executor_only_the_trigger_time_fits(
    site: Site, address: str, off: int, told: tuple[int, str]
) -> None:
    site.app.state.tools.callbacks.beat_sources.note(address, "10.0.0.1")
    assert from_elsewhere(site, address, off) == told


@pytest.mark.parametrize(("off", "told"), [(-1, REFUSED), (1, REFUSED), (0, APPLIED)])
def test_from_elsewhere_than_its_executor_s_ip_address_only_the_trigger_time_fits(
    site: Site, off: int, told: tuple[int, str]
) -> None:
    site.clock.move(100)
    assert from_elsewhere(site, SENT_ELSEWHERE, off) == told


@pytest.mark.parametrize(("off", "told"), [(-60_000, REFUSED), (1, APPLIED)])
def test_an_ip_address_does_not_decide_before_the_first_beats_after_a_start(
    site: Site, off: int, told: tuple[int, str]
) -> None:
    """The first beat may show that the executor is behind a NAT."""
    assert from_elsewhere(site, SENT_ELSEWHERE, off) == told


@pytest.mark.parametrize(
    ("off", "told"), [(-540_000, REFUSED), (-60_000, REFUSED), (-3_000, APPLIED), (1, APPLIED), (60_000, APPLIED)]
)
def test_from_an_unknown_address_a_result_is_not_older_than_the_trigger(
    site: Site, off: int, told: tuple[int, str]
) -> None:
    site.clock.move(100)
    assert from_elsewhere(site, NAMED, off) == told


@pytest.mark.parametrize("off", [-60_000, 1, 60_000])
def test_from_where_the_beats_of_its_executor_arrive_a_result_has_the_time_of_its_clock(site: Site, off: int) -> None:
    site.app.state.tools.callbacks.beat_sources.note(SENT_ELSEWHERE, "127.0.0.1")
    site.clock.move(100)
    assert from_elsewhere(site, SENT_ELSEWHERE, off) == APPLIED


@pytest.mark.parametrize("told", [{}, {"logDateTim": 0}, {"logDateTim": None}, {"logDateTime": "yesterday"}])
@pytest.mark.parametrize(
    ("address", "verdict"),
    [
        (SENT_ELSEWHERE, "retry"),
        ("http://executor.example.org:9999", "retry"),
        ("http://127.0.0.1:9999", "stored"),
        ("http://[::1]:9999/xxl", "stored"),
    ],
)
def test_a_result_without_a_trigger_time_is_taken_from_its_executor_s_address_only(
    site: Site, executor: Caller, told: dict[str, Any], address: str, verdict: str
) -> None:
    one = site.execution(site.job())
    site.dispatched(one, address)
    assert report(executor, [{"logId": one, "handleCode": 200, **told}]) == [(one, verdict)]
    assert report(executor, [{"logId": one, "logDateTim": site.trigger_time(one), "handleCode": 200}]) == [
        (one, "stored" if verdict == "retry" else "duplicate")
    ]


def test_a_result_from_where_only_another_executor_beats_is_not_taken(site: Site, executor: Caller) -> None:
    one = site.execution(site.job())
    site.dispatched(one, SENT_ELSEWHERE)
    result = {"logId": one, "logDateTim": site.trigger_time(one), "handleCode": 200}
    tools = site.app.state.tools
    tools.callbacks.beat_sources.note(SENT_ELSEWHERE, "10.0.0.1")
    executor.post("/api/registry", {"registryKey": "demo", "registryValue": "http://127.0.0.1:9999"}).envelope()
    assert report(executor, [result]) == [(one, "retry")]
    executor.post("/api/registry", {"registryKey": "demo", "registryValue": SENT_ELSEWHERE}).envelope()
    timeless = {**result, "logDateTim": 0}
    assert report(executor, [timeless]) == [(one, "stored")], "its own beats come from here, too"


MALFORMED: list[Any] = [
    None,
    7,
    "x",
    [],
    {},
    {"handleCode": 200},
    {"logId": None, "handleCode": 200},
    {"logId": "x", "handleCode": 200},
    {"logId": 1.5, "handleCode": 200},
    {"logId": 2.0**53, "handleCode": 200},
    {"logId": True, "handleCode": 200},
    {"logId": -1, "handleCode": 200},
    {"logId": 2**63, "handleCode": 200},
    {"logId": {"$gt": 0}, "handleCode": 200},
    {"logId": 10**6},
    {"logId": 10**6, "handleCode": "ok"},
    {"logId": 10**6, "handleCode": 200.5},
    {"logId": 10**6, "handleCode": 2**31},
    {"logId": 10**6, "handleCode": True},
    {"logId": 10**6, "handleCode": None},
    {"logId": 10**6, "handleCode": 200, "incarnation": "a" * 65},
]


@pytest.mark.parametrize("item", MALFORMED, ids=str)
def test_a_malformed_item_spoils_nothing(site: Site, executor: Caller, execution_id: int, item: Any) -> None:
    good = {"logId": execution_id, "handleCode": 200}
    told = report(executor, [item, good])
    assert told[-1] == (execution_id, "stored")
    assert [verdict for _, verdict in told[:-1]] in ([], ["malformed"])
    assert shown(site, execution_id)["status"] == "success"


@pytest.mark.parametrize(
    ("written", "stored"),
    [
        (b"NaN", "NaN"),
        (b'{"mean": -Infinity, "n": 1.5}', '{"mean": "-Infinity", "n": 1.5}'),
        (b"[1e999]", '["1e999"]'),
    ],
)
def test_numbers_that_are_none_are_text_and_spoil_nothing(
    site: Site, executor: Caller, execution_id: int, written: bytes, stored: str
) -> None:
    odd = b'{"logId": %d, "handleCode": 200, "handleMsg": %s}' % (execution_id, written)
    nameless = b'{"logId": 1000000, "handleCode": NaN}'
    told = executor.call("POST", "/api/callback", raw=b"[%s, NaN, %s]" % (nameless, odd)).envelope()
    verdicts = [(one["logId"], one["verdict"]) for one in told["data"]["verdicts"]]
    assert verdicts == [(1000000, "malformed"), (execution_id, "stored")]
    assert (shown(site, execution_id)["status"], shown(site, execution_id)["handle_msg"]) == ("success", stored)


def test_a_malformed_report_ends_nothing(site: Site, executor: Caller, execution_id: int) -> None:
    before = site.state()
    assert report(executor, [{"logId": execution_id, "handleCode": "ok"}]) == [(execution_id, "malformed")]
    assert site.state() == before


@pytest.mark.parametrize("body", [b"", b"{", b"null", b"7", b'"x"', b"{}", b"[" * 100_000, b"NaN", b"\xff"])
def test_what_is_no_callback_is_refused_in_the_envelope(site: Site, executor: Caller, body: bytes) -> None:
    before = site.state()
    assert executor.call("POST", "/api/callback", raw=body).envelope(400)["msg"]
    assert site.state() == before


@pytest.mark.parametrize("body", [[], {"callbackList": []}, {"callbackList": None}], ids=str)
def test_no_results_are_taken_as_well(executor: Caller, body: object) -> None:
    assert report(executor, body) == []


def test_a_thousand_results_with_three_odd_ones(site: Site, executor: Caller) -> None:
    job_id = site.job()
    first = site.execution(job_id)
    site.dispatched(first, ADDRESS)
    executor.post("/api/callback", [{"logId": first, "handleCode": 200}]).envelope()
    ids = [site.execution(job_id) for _ in range(100)]
    for execution_id in ids:
        site.dispatched(execution_id, ADDRESS)
    strangers = list(range(10**6, 10**6 + 897))
    batch = [{"logId": one, "handleCode": 200, "handleMsg": "x" * 100} for one in [*ids, *strangers]]
    batch.insert(500, {"logId": 10**7, "handleCode": "ok"})
    batch.insert(50, {"logId": first, "handleCode": 500})
    batch.append({"logId": ids[0], "handleCode": 500})
    assert len(batch) == 1000
    told = report(executor, batch)
    assert [log_id for log_id, _ in told] == [item["logId"] for item in batch]  # each is answered, in order
    counted = {verdict: [one for _, one in told].count(verdict) for _, verdict in told}
    assert counted == {"stored": 100, "unknown": 897, "malformed": 1, "duplicate": 2}
    assert len(site.admin().get("/api/v1/executions?status=success&limit=200").json["items"]) == 101


def test_a_failed_execution_is_tried_again_once_per_failure(site: Site, executor: Caller) -> None:
    opened = site.execution(site.job(executor_fail_retry_count=1))
    site.dispatched(opened, ADDRESS)
    for _ in range(3):
        report(executor, [{"logId": opened, "handleCode": 500, "handleMsg": "no"}] * 2)
    again = site.admin().get("/api/v1/executions?status=init").json["items"]
    assert [(one["cause"], one["attempt"], one["executor_fail_retry_count"]) for one in again] == [("retry", 2, 0)]


@pytest.mark.parametrize("told", [{}, {"reportKey": "0" * 64}, {"reportKey": 7}, {"reportKey": "Ж" * 64}])
def test_a_result_without_the_report_key_of_its_execution_is_refused_and_audited(
    site: Site, executor: Caller, told: dict[str, Any]
) -> None:
    job = site.job()
    keyed, other = (site.execution(job) for _ in range(2))
    site.dispatched(keyed, ADDRESS, keyed=True)
    site.dispatched(other, ADDRESS)
    forged = {"logId": keyed, "handleCode": 200, **told}
    assert report(executor, [forged]) == [(keyed, "retry")]
    assert sorted(report(executor, [forged, {"logId": other, "handleCode": 200}])) == [
        (keyed, "retry"),
        (other, "stored"),
    ]
    stranger = Caller(site.url, {"XXL-JOB-ACCESS-TOKEN": ACCESS_TOKEN})  # which would drop what is answered with 200
    stranger.post("/api/callback", [forged]).envelope(403)
    assert shown(site, keyed)["status"] == "pending"
    entries = site.admin().get("/api/v1/audit").json["items"]
    refused = {(one["object_id"], one["after"]["reason"]) for one in entries if one["action"] == "callback.refused"}
    assert [one for one, _reason in refused] == [str(keyed)]
    assert "report key" in str(refused)


def test_a_report_key_is_shown_nowhere(site: Site, executor: Caller) -> None:
    opened = site.execution(site.job())
    site.dispatched(opened, ADDRESS, keyed=True)
    found = shown(site, opened)
    key = ReportKeys(site.secret).key_of(opened, site.trigger_time(opened))
    assert not [name for name in found if "key" in name and name != "trigger_key"]
    assert report(executor, [{"logId": opened, "handleCode": 200, "reportKey": key}]) == [(opened, "stored")]
    assert key not in str(site.contents())
