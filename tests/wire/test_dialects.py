"""Every generation's spelling is read."""

import json
from collections.abc import Callable

import pytest

from orth.domain.executions import STORED_MESSAGE_LIMIT
from orth.domain.jobs import BlockStrategy
from orth.errors import Invalid, InvalidMessage, TooLarge
from orth.wire.dialects import (
    FITS_NO_EXECUTION,
    Malformed,
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
    verdicts_payload,
)
from orth.wire.fields import BODY_LIMIT, PARAMS_LIMIT, REGISTRY_BODY_LIMIT, RESULTS_LIMIT, SMALL_BODY_LIMIT
from orth.wire.messages import CallbackItem, CallbackVerdict, LogPage, RegistryRequest, Reply, RunRequest, Verdict


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
            ('{"registryGroup":"  ","registryKey":"demo","registryValue":"http://a:1"}', "registryGroup"),
            ('{"registryGroup":"ADMIN","registryKey":"demo","registryValue":"http://a:1"}', "registryGroup"),
            ('{"registryGroup":"executor","registryKey":"demo","registryValue":"http://a:1"}', "registryGroup"),
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

    @pytest.mark.parametrize("version", ["\\u0000", "1\\n2", "\\u202e1"])
    def test_a_version_nobody_can_read_is_refused(self, version: str) -> None:
        text = "{" + self.BASE + ',"orth":{"incarnation":"one","version":"' + version + '"}}'
        with pytest.raises(InvalidMessage) as refused:
            read_registry(text.encode())
        assert refused.value.field == "orth.version"


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
            ('{"jobId":1.5,"logId":1}', "jobId"),
            ('{"jobId":1,"logId":9007199254740992.0}', "logId"),
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
        (read_callback, RESULTS_LIMIT),
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
            '[{"logId":9.0,"logDateTim":5.0,"handleCode":5e2,"handleMsg":"no"}]',
            '[{"logId":9.0,"logDateTim":5.0,"executeResult":{"code":500.0,"msg":"no"}}]',
            '[{"logId":9,"logDateTim":5,"handleCode":null,"handleMsg":null,"executeResult":{"code":500,"msg":"no"}}]',
            '[{"logId":9,"logDateTime":null,"logDateTim":5,"handleCode":500,"handleMsg":"no"}]',
            '[{"logId":9,"logDateTim":5,"handleCode":500,"handleMsg":"no","executeResult":{"code":200,"msg":"yes"}}]',
        ],
        ids=[
            "G1",
            "G2 G3 Orth",
            "unknown keys",
            "G4",
            "single",
            "digits",
            "floats",
            "floats in G1",
            "nulls beside G1",
            "null time",
            "both forms",
        ],
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
        times = f'"logDateTim":{time},"startTime":{time},"durationMs":{time}'
        (item,) = read_callback(f'[{{"logId":9,"handleCode":200,{times}}}]'.encode())
        assert item == CallbackItem(log_id=9, handle_code=200)

    @pytest.mark.parametrize(
        ("times", "read"),
        [
            ('"logDateTime":7,"logDateTim":7', 7),
            ('"logDateTime":7,"logDateTim":"7"', 7),
            ('"logDateTime":0,"logDateTim":7', 7),
            ('"logDateTime":7,"logDateTim":null', 7),
            ('"logDateTime":7,"logDateTim":8', FITS_NO_EXECUTION),
            ('"logDateTime":8,"logDateTim":7', FITS_NO_EXECUTION),
        ],
    )
    def test_two_times_that_differ_fit_no_execution(self, times: str, read: int) -> None:
        (item,) = read_callback(f'[{{"logId":9,"handleCode":200,{times}}}]'.encode())
        assert isinstance(item, CallbackItem)
        assert item.log_date_time == read

    @pytest.mark.parametrize(("written", "duration"), [("0", 0), ("17", 17), ('"17"', 17)])
    def test_the_measured_duration_may_be_nothing(self, written: str, duration: int) -> None:
        (item,) = read_callback(f'[{{"logId":9,"handleCode":200,"durationMs":{written}}}]'.encode())
        assert item == CallbackItem(log_id=9, handle_code=200, duration_ms=duration)

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
            ('{"logId":9007199254740992.0,"handleCode":200}', None),
            ('{"logId":9.0,"handleCode":1e300}', 9),
            ('{"logId":9,"handleCode":1e999}', 9),
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
            (b'{"code":200.0}', Reply(code=200)),
            (b'{"code":5e2,"msg":"no"}', Reply(code=500, msg="no")),
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
            (200, b'{"code":200.5}', "without a code"),
            (200, b'{"code":1e300}', "without a code"),
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

    def test_a_long_message_is_cut(self) -> None:
        reply = read_reply(200, Reply.failure("head" + "x" * 10**6 + "tail").to_bytes())
        assert reply.msg is not None
        assert len(reply.msg) == STORED_MESSAGE_LIMIT
        assert reply.msg.endswith("tail")


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
            ({"fromLineNum": 3, "isEnd": None, "end": True}, LogPage(from_line=3, to_line=2, end=True)),
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
            "null and end",
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

    @pytest.mark.parametrize("payload", [None, "ok", [], {}])
    def test_a_coordinator_of_another_make_means_all(self, payload: object) -> None:
        read = read_verdicts(Reply.success(payload), self.ITEMS)
        assert [(v.log_id, v.verdict) for v in read] == [(1, Verdict.STORED), (2, Verdict.STORED)]

    @pytest.mark.parametrize(
        "told",
        [
            None,
            "x",
            [],
            [{"logId": 1, "verdict": "stored"}],
            [{"logId": 1, "verdict": "stored"}, {"logId": 2, "verdict": "new"}],
        ],
    )
    def test_an_item_without_a_known_verdict_is_sent_again(self, told: object) -> None:
        assert read_verdicts(Reply.success({"verdicts": told}), self.ITEMS)[1].verdict is Verdict.RETRY
