"""Every generation's spelling is read; each peer is written to in its own."""

import json
from collections.abc import Callable
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.domain.jobs import BlockStrategy, GlueType
from orth.errors import Invalid, InvalidMessage, TooLarge
from orth.wire.dialects import (
    Dialect,
    Malformed,
    auth_headers,
    callback_item_body,
    idle_beat_body,
    kill_body,
    log_body,
    log_payload,
    read_callback,
    read_idle_beat,
    read_kill,
    read_log_page,
    read_log_request,
    read_registry,
    read_reply,
    read_run,
    read_verdicts,
    registry_body,
    resolved,
    run_body,
    token_from,
    verdicts_payload,
)
from orth.wire.messages import (
    BODY_LIMIT,
    INT32_MAX,
    INT64_MAX,
    PARAMS_LIMIT,
    REGISTRY_BODY_LIMIT,
    SMALL_BODY_LIMIT,
    Announcement,
    CallbackItem,
    CallbackVerdict,
    Extension,
    HandlerInfo,
    LogPage,
    LogRequest,
    Message,
    RegistryRequest,
    Reply,
    RunRequest,
    Verdict,
)

ALL = frozenset(Extension)

M = TypeVar("M", bound=Message)

# --- strategies -------------------------------------------------------------------------------------------------------


def made(kind: type[M], **fields: st.SearchStrategy[object]) -> st.SearchStrategy[M]:
    """Messages by their Python names; ``st.builds`` would go by the aliases in the signature."""
    return st.fixed_dictionaries(fields).map(lambda members: kind(**members))


prose = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=60)
names = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=40)
int32 = st.integers(0, INT32_MAX)
int64 = st.integers(0, INT64_MAX)

runs = made(
    RunRequest,
    job_id=int32,
    executor_handler=names,
    executor_params=prose,
    executor_block_strategy=st.sampled_from(BlockStrategy),
    executor_timeout=int32,
    log_id=int64,
    log_date_time=int64,
    glue_type=st.sampled_from(GlueType),
    glue_source=prose,
    glue_updatetime=int64,
    broadcast_index=int32,
    broadcast_total=st.integers(1, INT32_MAX),
    executor_concurrency=st.integers(1, 64),
    schedule_time=st.none() | int64,
    resend_to=st.none() | names,
)
results = made(
    CallbackItem,
    log_id=st.integers(1, INT64_MAX),
    log_date_time=int64,
    handle_code=st.integers(1, INT32_MAX),
    handle_msg=prose,
    start_time=st.none() | st.integers(1, INT64_MAX),
    incarnation=st.none() | names,
)
handlers = made(
    HandlerInfo,
    name=names,
    description=prose,
    schedule=st.none() | names,
    timezone=st.none() | names,
    params_schema=st.none() | st.dictionaries(names, int32 | prose | st.lists(prose, max_size=3), max_size=3),
)
registrations = made(
    RegistryRequest,
    registry_key=st.text("abcdefg-", min_size=4, max_size=64),
    registry_value=st.sampled_from(["http://10.0.0.7:9999", "https://host/job"]),
    orth=st.none()
    | made(
        Announcement,
        incarnation=names,
        version=names,
        extensions=st.lists(names, max_size=3),
        handlers=st.lists(handlers, max_size=3),
    ),
)


class TestRoundTrips:
    @given(runs)
    def test_run(self, request: RunRequest) -> None:
        path, body = run_body(request, Dialect.AUTO, ALL)
        assert path == "/run"
        assert read_run(body) == request

    @given(st.lists(results, max_size=5))
    def test_callback(self, items: list[CallbackItem]) -> None:
        body = b"[" + b",".join(callback_item_body(item) for item in items) + b"]"
        assert read_callback(body) == items

    @given(registrations)
    def test_registry(self, request: RegistryRequest) -> None:
        assert read_registry(registry_body(request)) == request

    @given(int64, int64, st.integers(1, INT32_MAX))
    def test_log_request(self, log_id: int, time: int, line: int) -> None:
        request = LogRequest(log_id=log_id, log_date_time=time, from_line_num=line)
        assert read_log_request(log_body(request)) == request

    @given(st.integers(1, 10**6), st.integers(0, 10**6), prose, st.booleans())
    def test_log_page(self, first: int, count: int, content: str, end: bool) -> None:
        page = LogPage(from_line=first, to_line=first - 1 + count, content=content, end=end)
        reply = read_reply(200, Reply.success(log_payload(page)).to_bytes())
        assert read_log_page(reply.payload) == page

    @given(int32, st.none() | int64)
    def test_kill_and_idle_beat(self, job_id: int, log_id: int | None) -> None:
        assert read_kill(kill_body(job_id, log_id, ALL)).log_id == log_id
        assert read_idle_beat(idle_beat_body(job_id)).job_id == job_id

    @given(st.integers(), st.none() | prose)
    def test_reply(self, number: int, msg: str | None) -> None:
        reply = Reply(code=number % INT32_MAX, msg=msg, payload=[number])
        assert read_reply(200, reply.to_bytes()) == reply


class TestRegistry:
    BASE = '"registryGroup":"EXECUTOR","registryKey":"demo","registryValue":"http://10.0.0.7:9999"'

    @pytest.mark.parametrize(
        "text",
        [
            "{" + BASE + "}",
            "{" + BASE + ',"timestamp":"2026-01-01","extra":{"a":[1]}}',
            "{" + BASE + ',"orth":null}',
            '{"registryKey":"demo","registryValue":"http://10.0.0.7:9999/"}',
            '{"registryGroup":null,"registryKey":"demo","registryValue":"http://10.0.0.7:9999"}',
        ],
        ids=["three fields", "unknown keys", "null announcement", "no group, trailing slash", "null group"],
    )
    def test_registrations(self, text: str) -> None:
        request = read_registry(text.encode())
        assert request == RegistryRequest(registry_key="demo", registry_value="http://10.0.0.7:9999")

    @pytest.mark.parametrize(
        ("text", "field"),
        [
            ('{"registryValue":"http://a:1"}', "registryKey"),
            ('{"registryKey":" ","registryValue":"http://a:1"}', "registryKey"),
            ('{"registryKey":7,"registryValue":"http://a:1"}', "registryKey"),
            ('{"registryKey":{"a":1},"registryValue":"http://a:1"}', "registryKey"),
            ('{"registryKey":"demo"}', "registryValue"),
            ('{"registryGroup":"","registryKey":"demo","registryValue":"http://a:1"}', "registryGroup"),
            ('{"registryKey":"demo","registryValue":"http://a:1","orth":{}}', "orth.incarnation"),
            ('{"registryKey":"demo","registryValue":"http://a:1","orth":true}', "orth"),
        ],
    )
    def test_a_bad_field_is_named(self, text: str, field: str) -> None:
        with pytest.raises(InvalidMessage) as refused:
            read_registry(text.encode())
        assert refused.value.field == field

    def test_a_bad_address_is_unprocessable(self) -> None:
        with pytest.raises(Invalid) as refused:
            read_registry(b'{"registryKey":"demo","registryValue":"file:///etc/passwd"}')
        assert refused.value.status == 422


class TestRun:
    def test_a_trigger_of_the_original_has_no_extensions(self) -> None:
        request = read_run(
            b'{"jobId":1,"executorHandler":"h","executorParams":null,"executorBlockStrategy":"COVER_EARLY",'
            b'"executorTimeout":0,"logId":2,"logDateTime":1586629003729,"glueType":"BEAN","glueSource":null,'
            b'"glueUpdatetime":1586629003727,"broadcastIndex":0,"broadcastTotal":0,"somethingNew":{"a":1}}'
        )
        assert request == RunRequest(
            job_id=1,
            log_id=2,
            executor_handler="h",
            executor_block_strategy=BlockStrategy.COVER_EARLY,
            log_date_time=1586629003729,
            glue_updatetime=1586629003727,
        )

    @pytest.mark.parametrize("key", ["logDateTime", "logDateTim"])
    def test_both_time_spellings(self, key: str) -> None:
        assert read_run(b'{"jobId":1,"logId":2,"%s":7}' % key.encode()).log_date_time == 7

    def test_digits_and_objects_where_foreign_coordinators_put_them(self) -> None:
        request = read_run(b'{"jobId":"1","logId":"2","executorParams":{"a":1}}')
        assert (request.job_id, request.log_id, request.executor_params) == (1, 2, '{"a": 1}')

    @pytest.mark.parametrize(
        ("text", "field"),
        [
            ("{}", "jobId"),
            ('{"jobId":1}', "logId"),
            ('{"jobId":1.0,"logId":1}', "jobId"),
            ('{"jobId":true,"logId":1}', "jobId"),
            ('{"jobId":2147483648,"logId":1}', "jobId"),
            ('{"jobId":1,"logId":18446744073709551616}', "logId"),
            ('{"jobId":1,"logId":1,"glueType":"GLUE_COBOL"}', "glueType"),
            ('{"jobId":1,"logId":1,"executorHandler":{"a":1}}', "executorHandler"),
            ('{"jobId":1,"logId":1,"executorParams":"%s"}' % ("x" * (PARAMS_LIMIT + 1)), "executorParams"),
        ],
    )
    def test_a_bad_field_is_named(self, text: str, field: str) -> None:
        with pytest.raises(InvalidMessage) as refused:
            read_run(text.encode())
        assert refused.value.field == field
        assert len(str(refused.value)) < 200

    @pytest.mark.parametrize("body", [b"[]", b'"x"', b"null", b"7", b""])
    def test_only_an_object_is_a_trigger(self, body: bytes) -> None:
        with pytest.raises(InvalidMessage):
            read_run(body)


@pytest.mark.parametrize(
    ("read", "limit"),
    [
        (read_run, BODY_LIMIT),
        (read_callback, BODY_LIMIT),
        (read_registry, REGISTRY_BODY_LIMIT),
        (read_kill, SMALL_BODY_LIMIT),
        (read_idle_beat, SMALL_BODY_LIMIT),
        (read_log_request, SMALL_BODY_LIMIT),
    ],
)
def test_every_request_has_a_limit(read: Callable[[bytes], object], limit: int) -> None:
    with pytest.raises(TooLarge):
        read(b" " * (limit + 1))


class TestCallback:
    @pytest.mark.parametrize(
        "text",
        [
            '[{"logId":9,"logDateTim":5,"executeResult":{"code":500,"msg":"no","content":null}}]',
            '[{"logId":9,"logDateTim":5,"handleCode":500,"handleMsg":"no"}]',
            '[{"logId":9,"logDateTim":5,"handleCode":500,"handleMsg":"no","somethingNew":[1]}]',
            '{"callbackList":[{"logId":9,"logDateTime":5,"handleCode":500,"handleMsg":"no"}]}',
            '{"logId":9,"logDateTime":5,"handleCode":500,"handleMsg":"no"}',
            '[{"logId":"9","logDateTim":"5","handleCode":"500","handleMsg":"no"}]',
            '[{"logId":9,"logDateTim":5,"handleCode":null,"handleMsg":null,"executeResult":{"code":500,"msg":"no"}}]',
            '[{"logId":9,"logDateTim":5,"handleCode":500,"handleMsg":"no","executeResult":{"code":200,"msg":"yes"}}]',
        ],
        ids=["G1", "G2 G3 Orth", "unknown keys", "G4", "single", "digits", "nulls beside G1", "both forms"],
    )
    def test_every_generation(self, text: str) -> None:
        assert read_callback(text.encode()) == [
            CallbackItem(log_id=9, log_date_time=5, handle_code=500, handle_msg="no")
        ]

    @pytest.mark.parametrize(
        ("message", "text"),
        [
            ("null", ""),
            ('""', ""),
            ("12.5", "12.5"),
            ("true", "true"),
            ('{"rows":3}', '{"rows": 3}'),
            ('["a",null]', '["a", null]'),
            ('"cut in half \\ud83d"', "cut in half \ufffd"),
            ('"nul \\u0000"', "nul \ufffd"),
        ],
    )
    def test_any_value_is_a_message(self, message: str, text: str) -> None:
        (item,) = read_callback(f'[{{"logId":9,"handleCode":200,"handleMsg":{message}}}]'.encode())
        assert isinstance(item, CallbackItem)
        assert item.handle_msg == text

    @pytest.mark.parametrize("time", ["null", '"2026-01-01 00:00:00"', "1.5", "-1", "{}", "99999999999999999999"])
    def test_the_time_only_informs(self, time: str) -> None:
        (item,) = read_callback(f'[{{"logId":9,"handleCode":200,"logDateTim":{time},"startTime":{time}}}]'.encode())
        assert item == CallbackItem(log_id=9, handle_code=200)

    @pytest.mark.parametrize("code", ["0", "-1", '"0"'])
    def test_a_code_that_says_nothing_is_a_failure(self, code: str) -> None:
        (item,) = read_callback(f'[{{"logId":9,"handleCode":{code}}}]'.encode())
        assert isinstance(item, CallbackItem)
        assert item.handle_code == 500

    @pytest.mark.parametrize(
        ("item", "log_id"),
        [
            ("7", None),
            ("null", None),
            ("[]", None),
            ("{}", None),
            ('{"handleCode":200}', None),
            ('{"logId":9}', 9),
            ('{"logId":9,"handleCode":2.5}', 9),
            ('{"logId":9,"handleCode":99999999999}', 9),
            ('{"logId":9,"executeResult":{"msg":"x"}}', 9),
            ('{"logId":9,"executeResult":"x"}', 9),
            ('{"logId":9.5,"handleCode":200}', None),
            ('{"logId":"nine","handleCode":200}', None),
            ('{"logId":18446744073709551616,"handleCode":200}', None),
            ('{"logId":9,"handleCode":200,"incarnation":{"a":1}}', 9),
            ('{"logId":9,"handleCode":200,"incarnation":"\\ud800"}', 9),
        ],
    )
    def test_one_malformed_item_spoils_nothing(self, item: str, log_id: int | None) -> None:
        good = CallbackItem(log_id=1, handle_code=200)
        before, bad, after = read_callback(
            f'[{{"logId":1,"handleCode":200}},{item},{{"logId":1,"handleCode":200}}]'.encode()
        )
        assert (before, after) == (good, good)
        assert isinstance(bad, Malformed)
        assert bad.log_id == log_id
        assert bad.reason

    def test_a_thousand_results_with_one_malformed(self) -> None:
        items = [json.dumps({"logId": n, "handleCode": 200}) for n in range(1, 1000)]
        read = read_callback(("[" + ",".join([*items, '{"logId":"x"}']) + "]").encode())
        assert sum(isinstance(item, CallbackItem) for item in read) == 999
        assert isinstance(read[-1], Malformed)

    def test_nothing_to_report(self) -> None:
        assert read_callback(b"[]") == []
        assert read_callback(b'{"callbackList":null}') == []

    @pytest.mark.parametrize("body", [b"{}", b'{"a":1}', b"7", b"null", b'{"callbackList":7}', b"[", b"\xff"])
    def test_what_is_no_batch_is_refused(self, body: bytes) -> None:
        with pytest.raises(InvalidMessage):
            read_callback(body)


class TestReply:
    @pytest.mark.parametrize(
        ("body", "reply"),
        [
            (b'{"code":200}', Reply(code=200)),
            (b'{"code":200,"msg":null,"content":null}', Reply(code=200)),
            (b'{"code":200,"msg":"Success","data":{"a":1}}', Reply(code=200, msg="Success", payload={"a": 1})),
            (b'{"code":200,"content":{"a":1}}', Reply(code=200, payload={"a": 1})),
            (b'{"code":200,"content":"old","data":"new"}', Reply(code=200, payload="new")),
            (b'{"code":200,"content":"old","data":null}', Reply(code=200, payload="old")),
            (b'{"code":"200","unknown":[]}', Reply(code=200)),
            (b'\xef\xbb\xbf{"code":200}', Reply(code=200)),
            (b'{"code":500,"msg":{"why":"busy"}}', Reply(code=500, msg='{"why": "busy"}')),
            (b'{"code":200,"msg":"\xb3\xc9"}', Reply(code=200, msg="\ufffd\ufffd")),
            (b'{"code":410,"msg":"other code"}', Reply(code=410, msg="other code")),
        ],
    )
    def test_envelopes(self, body: bytes, reply: Reply) -> None:
        assert read_reply(200, body) == reply

    @pytest.mark.parametrize(
        ("status", "body", "said"),
        [
            (200, b"[]", "[]"),
            (200, b'["a"]', "a"),
            (200, b'"ok"', "ok"),
            (200, b"", "nothing"),
            (200, b"<html>login</html>", "login"),
            (200, b"\xff\xfe\x00", "HTTP 200"),
            (200, b'{"msg":"hello"}', "hello"),
            (200, b'{"code":200.0}', "without a code"),
            (200, b'{"code":99999999999,"msg":"huge"}', "huge"),
            (200, b"[" * 100_000, "["),
            (302, b"", "302"),
            (404, b"not found", "not found"),
            (500, b"500 Internal Server Error\n\nServer got itself in trouble", "got itself in trouble"),
            (400, b'{"code":200,"msg":null}', "400"),
            (401, b'{"code":401,"msg":"wrong token"}', "wrong token"),
            (422, b'{"title":"Bad","detail":"no such field"}', "no such field"),
            (503, b'{"error":"draining"}', "draining"),
        ],
    )
    def test_everything_else_is_a_failure_that_says_why(self, status: int, body: bytes, said: str) -> None:
        reply = read_reply(status, body)
        assert not reply.ok
        assert reply.msg is not None
        assert said in reply.msg
        assert len(reply.msg) < 300
        assert reply.payload is None


class TestLogPage:
    @pytest.mark.parametrize(
        ("payload", "page"),
        [
            (
                {"fromLineNum": 3, "toLineNum": 4, "logContent": "a\nb", "isEnd": False},
                LogPage(from_line=3, to_line=4, content="a\nb"),
            ),
            (
                {"fromLineNum": 3, "toLineNum": 4, "logContent": "a\nb", "end": True},
                LogPage(from_line=3, to_line=4, content="a\nb", end=True),
            ),
            ({"fromLineNum": 3, "toLineNum": 2, "logContent": ""}, LogPage(from_line=3, to_line=2)),
            ({"fromLineNum": 3, "toLineNum": 0, "logContent": None}, LogPage(from_line=3, to_line=2)),
            (
                {"fromLineNum": 1, "toLineNum": 0, "logContent": "not found", "isEnd": True},
                LogPage(from_line=1, to_line=0, content="not found", end=True),
            ),
            ({"toLineNum": 5, "logContent": "x"}, LogPage(from_line=3, to_line=5, content="x")),
            ({"fromLineNum": None, "toLineNum": None, "isEnd": None}, LogPage(from_line=3, to_line=2)),
            ({"fromLineNum": "3", "toLineNum": "4", "new": 1}, LogPage(from_line=3, to_line=4)),
            (None, LogPage(from_line=3, to_line=2)),
            ("text", LogPage(from_line=3, to_line=2)),
            ([], LogPage(from_line=3, to_line=2)),
        ],
        ids=[
            "isEnd",
            "end",
            "none yet, G2",
            "none yet, G3",
            "no file",
            "no from",
            "nulls",
            "digits",
            "no payload",
            "text",
            "list",
        ],
    )
    def test_pages(self, payload: object, page: LogPage) -> None:
        read = read_log_page(payload, asked_from=3)
        assert read == page
        assert read.to_line >= read.from_line - 1, "the next page starts at to_line + 1"

    def test_a_page_without_sense_is_refused(self) -> None:
        with pytest.raises(InvalidMessage):
            read_log_page({"fromLineNum": 1, "toLineNum": 2.5})

    def test_ours_is_read_by_everybody(self) -> None:
        payload = log_payload(LogPage(from_line=1, to_line=2, content="a\nb", end=True))
        assert payload == {"fromLineNum": 1, "toLineNum": 2, "logContent": "a\nb", "isEnd": True, "end": True}

    @pytest.mark.parametrize("line", [0, -5])
    def test_lines_begin_at_one(self, line: int) -> None:
        assert read_log_request(b'{"logId":1,"logDateTim":5,"fromLineNum":%d}' % line).from_line_num == 1


class TestVerdicts:
    ITEMS = (CallbackItem(log_id=1, handle_code=200), CallbackItem(log_id=2, handle_code=200))

    def test_told_item_by_item(self) -> None:
        told = [
            CallbackVerdict(log_id=2, verdict=Verdict.DUPLICATE),
            CallbackVerdict(log_id=1, verdict=Verdict.STORED),
        ]
        reply = read_reply(200, Reply.success(verdicts_payload(told)).to_bytes())
        assert read_verdicts(reply, self.ITEMS) == [told[1], told[0]]

    @pytest.mark.parametrize("payload", [None, "ok", [], {}, {"verdicts": None}])
    def test_a_coordinator_of_another_make_means_all(self, payload: object) -> None:
        read = read_verdicts(Reply.success(payload), self.ITEMS)
        assert [(v.log_id, v.verdict) for v in read] == [(1, Verdict.STORED), (2, Verdict.STORED)]

    @pytest.mark.parametrize(
        "told",
        [[], [{"logId": 1, "verdict": "stored"}], [{"logId": 1, "verdict": "stored"}, {"logId": 2, "verdict": "new"}]],
    )
    def test_an_item_without_a_known_verdict_is_sent_again(self, told: list[object]) -> None:
        assert read_verdicts(Reply.success({"verdicts": told}), self.ITEMS)[1].verdict is Verdict.RETRY


class TestWriting:
    REQUEST = RunRequest(
        job_id=1,
        log_id=2,
        executor_handler="h",
        executor_concurrency=3,
        schedule_time=7,
        executor_block_strategy=BlockStrategy.CONCURRENT,
    )
    BASE_KEYS = frozenset(
        {"jobId", "executorHandler", "executorParams", "executorBlockStrategy", "executorTimeout", "logId"}
        | {"logDateTime", "glueType", "glueSource", "glueUpdatetime", "broadcastIndex", "broadcastTotal"}
    )

    @pytest.mark.parametrize(
        ("dialect", "extensions", "path", "more"),
        [
            (Dialect.XXL, frozenset(), "/run", set()),
            (Dialect.XXL, ALL, "/run", set()),
            (Dialect.XXL35, frozenset(), "/trigger", set()),
            (Dialect.ORTH, frozenset(), "/run", {"executorConcurrency", "scheduleTime"}),
            (Dialect.AUTO, frozenset(), "/run", set()),
            (Dialect.AUTO, ALL, "/run", {"executorConcurrency", "scheduleTime"}),
        ],
    )
    def test_no_key_the_executor_does_not_know(
        self, dialect: Dialect, extensions: frozenset[str], path: str, more: set[str]
    ) -> None:
        written_path, body = run_body(self.REQUEST, dialect, extensions)
        assert written_path == path
        assert set(json.loads(body)) == self.BASE_KEYS | more

    def test_every_base_key_has_its_json_type(self) -> None:
        _, body = run_body(self.REQUEST, Dialect.XXL)
        kinds = {key: type(value) for key, value in json.loads(body).items()}
        texts = {key for key, kind in kinds.items() if kind is str}
        assert texts == {
            "executorHandler",
            "executorParams",
            "executorBlockStrategy",
            "glueType",
            "glueSource",
        }
        assert all(kinds[key] is int for key in self.BASE_KEYS - texts)

    def test_a_repetition_says_to_whom(self) -> None:
        again = self.REQUEST.model_copy(update={"resend_to": "abc"})
        _, body = run_body(again, Dialect.AUTO, frozenset({Extension.RESEND}))
        assert json.loads(body)["resendTo"] == "abc"

    @pytest.mark.parametrize(
        ("dialect", "extensions"),
        [
            (Dialect.AUTO, frozenset()),
            (Dialect.ORTH, frozenset()),
            (Dialect.ORTH, frozenset({Extension.KILL_EXECUTION})),
            (Dialect.XXL, ALL),
        ],
    )
    def test_nobody_else_is_asked_twice(self, dialect: Dialect, extensions: frozenset[str]) -> None:
        with pytest.raises(Invalid):
            run_body(self.REQUEST.model_copy(update={"resend_to": "abc"}), dialect, extensions)

    def test_auto_speaks_orth_to_those_that_announced_something(self) -> None:
        assert resolved(Dialect.AUTO, frozenset({"something"})) is Dialect.ORTH
        assert resolved(Dialect.AUTO, frozenset()) is Dialect.XXL
        assert resolved(Dialect.XXL35, ALL) is Dialect.XXL35

    def test_log_requests_carry_both_times(self) -> None:
        body = json.loads(log_body(LogRequest(log_id=1, log_date_time=5, from_line_num=2)))
        assert body == {"logId": 1, "logDateTime": 5, "logDateTim": 5, "fromLineNum": 2}

    def test_results_carry_both_times_and_no_empty_extensions(self) -> None:
        body = json.loads(callback_item_body(CallbackItem(log_id=1, log_date_time=5, handle_code=200)))
        assert body == {"logId": 1, "logDateTime": 5, "logDateTim": 5, "handleCode": 200, "handleMsg": ""}

    def test_kill_names_the_execution_only_to_those_that_can(self) -> None:
        assert json.loads(kill_body(1, 2)) == {"jobId": 1}
        assert json.loads(kill_body(1, 2, frozenset({Extension.KILL_EXECUTION}))) == {"jobId": 1, "logId": 2}

    def test_a_foreign_registration_has_three_keys(self) -> None:
        body = json.loads(registry_body(RegistryRequest(registry_key="demo", registry_value="http://a:1")))
        assert body == {"registryGroup": "EXECUTOR", "registryKey": "demo", "registryValue": "http://a:1"}


class TestHeaders:
    @pytest.mark.parametrize(
        ("dialect", "names"),
        [
            (Dialect.ORTH, {"ORTH-ACCESS-TOKEN"}),
            (Dialect.XXL, {"XXL-JOB-ACCESS-TOKEN"}),
            (Dialect.XXL35, {"XXL-JOB-ACCESS-TOKEN", "XXL-JOB-APPNAME"}),
            (Dialect.AUTO, {"ORTH-ACCESS-TOKEN", "XXL-JOB-ACCESS-TOKEN", "XXL-JOB-APPNAME"}),
        ],
    )
    def test_headers_of_each_dialect(self, dialect: Dialect, names: set[str]) -> None:
        headers = auth_headers("secret", dialect, "demo")
        assert set(headers) == names
        assert token_from(headers) == "secret"

    def test_no_token_no_header(self) -> None:
        assert auth_headers("", Dialect.AUTO) == {}

    def test_an_app_name_that_no_header_carries_stays_out(self) -> None:
        assert auth_headers("", Dialect.XXL35, "数据") == {}

    @pytest.mark.parametrize("token", ["a\r\nX: y", "a\0", " a", "é"])
    def test_a_token_cannot_make_headers(self, token: str) -> None:
        with pytest.raises(Invalid):
            auth_headers(token, Dialect.XXL)

    @pytest.mark.parametrize(
        ("headers", "token"),
        [
            ({"orth-access-token": "a"}, "a"),
            ({"Xxl-Job-Access-Token": "a"}, "a"),
            ({"XXL-RPC-ACCESS-TOKEN": "a"}, "a"),
            ({"authorization": "bEARER  a"}, "a"),
            ({"ORTH-ACCESS-TOKEN": " ", "XXL-JOB-ACCESS-TOKEN": "b"}, "b"),
            ({"Authorization": "Basic YTpi"}, None),
            ({"Authorization": "Bearer"}, None),
            ({"X-Other": "a"}, None),
            ({}, None),
        ],
    )
    def test_the_token_of_a_request(self, headers: dict[str, str], token: str | None) -> None:
        assert token_from(headers) == token
