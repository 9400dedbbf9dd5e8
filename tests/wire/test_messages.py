"""The canonical messages: their limits, and what their fields refuse, repair and tolerate."""

import json
import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orth.domain.jobs import BlockStrategy, GlueType, Overlap
from orth.domain.selectors import parse_selector
from orth.errors import Invalid
from orth.wire.addresses import checked_address
from orth.wire.fields import (
    ADDRESS_LIMIT,
    APP_NAME_LONGEST,
    HANDLE_MSG_LIMIT,
    INT32_MAX,
    INT64_MAX,
    PARAMS_LIMIT,
    STANDING_LIMIT,
    as_text,
)
from orth.wire.messages import (
    Announcement,
    CallbackItem,
    HandlerInfo,
    Load,
    LogPage,
    RegistryRequest,
    Reply,
    RunRequest,
)


class TestIntegers:
    @pytest.mark.parametrize(
        ("given_id", "read"),
        [(7, 7), ("7", 7), (0, 0), (str(INT64_MAX), INT64_MAX), (7.0, 7), (1e3, 1000), (2.0**53 - 1, 2**53 - 1)],
    )
    def test_integers_and_digits_are_taken(self, given_id: object, read: int) -> None:
        assert RunRequest(job_id=1, log_id=given_id).log_id == read

    @pytest.mark.parametrize(
        "value",
        [
            1.5,
            2.0**53,
            1e300,
            math.nan,
            math.inf,
            -math.inf,
            -1.0,
            True,
            None,
            "",
            " 7",
            "7.0",
            "1e3",
            "0x7",
            "٧",
            "9" * 40,
            -1,
            2**63,
            [7],
            {"a": 7},
            b"7",
        ],
    )
    def test_nothing_else_is_an_id(self, value: object) -> None:
        with pytest.raises(ValidationError):
            RunRequest(job_id=1, log_id=value)

    def test_job_ids_end_where_their_column_ends(self) -> None:
        assert RunRequest(job_id=INT32_MAX, log_id=1).job_id == INT32_MAX
        with pytest.raises(ValidationError):
            RunRequest(job_id=INT32_MAX + 1, log_id=1)


class TestRunRequest:
    def test_wire_names_are_camel_case(self) -> None:
        body = json.loads(RunRequest(job_id=3, log_id=9, glue_updatetime=5).model_dump_json(by_alias=True))
        assert body == {
            "jobId": 3,
            "executorHandler": "",
            "executorParams": "",
            "executorBlockStrategy": "SERIAL_EXECUTION",
            "executorTimeout": 0,
            "logId": 9,
            "logDateTime": 0,
            "glueType": "BEAN",
            "glueSource": "",
            "glueUpdatetime": 5,
            "broadcastIndex": 0,
            "broadcastTotal": 1,
            "executorConcurrency": 1,
            "scheduleTime": None,
            "resendTo": None,
            "startIn": None,
            "startTick": None,
            "tickOf": None,
            "appName": None,
            "sourceDigest": None,
            "draft": None,
            "runKey": None,
            "attempt": None,
            "jobName": None,
            "logLevel": None,
            "overlap": None,
            "secrets": None,
            "reportKey": None,
        }

    def test_an_unknown_block_strategy_queues(self) -> None:
        request = RunRequest(job_id=1, log_id=1, executor_block_strategy="SOMETHING_NEW")
        assert request.executor_block_strategy is BlockStrategy.SERIAL_EXECUTION

    @pytest.mark.parametrize("level", ["TRACE", "debug", "", 10, ["DEBUG"]])
    def test_an_unknown_log_level_is_none(self, level: object) -> None:
        assert RunRequest(job_id=1, log_id=1, log_level="DEBUG").log_level == "DEBUG"
        assert RunRequest(job_id=1, log_id=1, log_level=level).log_level is None

    @pytest.mark.parametrize("overlap", ["galaxy", "CLUSTER", "", 1, ["cluster"]])
    def test_an_unknown_overlap_is_none(self, overlap: object) -> None:
        assert RunRequest(job_id=1, log_id=1, overlap="cluster").overlap is Overlap.CLUSTER
        assert RunRequest(job_id=1, log_id=1, overlap=overlap).overlap is None

    def test_an_unknown_glue_type_is_refused(self) -> None:
        assert RunRequest(job_id=1, log_id=1, glue_type="GLUE_PHP").glue_type is GlueType.GLUE_PHP
        with pytest.raises(ValidationError):
            RunRequest(job_id=1, log_id=1, glue_type="GLUE_COBOL")

    def test_numbers_below_their_meaning_are_lifted(self) -> None:
        request = RunRequest(job_id=1, log_id=1, executor_timeout=-1, broadcast_total=0, executor_concurrency=0)
        assert (request.executor_timeout, request.broadcast_total, request.executor_concurrency) == (0, 1, 1)

    def test_parameters_have_a_limit(self) -> None:
        assert len(RunRequest(job_id=1, log_id=1, executor_params="x" * PARAMS_LIMIT).executor_params) == PARAMS_LIMIT
        with pytest.raises(ValidationError):
            RunRequest(job_id=1, log_id=1, executor_params="x" * (PARAMS_LIMIT + 1))

    @pytest.mark.parametrize("name", ["a\nb", "a\0b", "a\u202eb", "a\u200bb", "a\ud800b", "x" * 256])
    def test_handler_names_are_visible(self, name: str) -> None:
        with pytest.raises(ValidationError):
            RunRequest(job_id=1, log_id=1, executor_handler=name)

    def test_a_script_has_no_nul(self) -> None:
        with pytest.raises(ValidationError):
            RunRequest(job_id=1, log_id=1, glue_source="echo \0")

    def test_messages_do_not_change(self) -> None:
        request = RunRequest(job_id=1, log_id=1)
        with pytest.raises(ValidationError):
            request.job_id = 2  # type: ignore[misc]  # the point of the test


class TestReports:
    def test_a_long_result_message_is_cut_not_refused(self) -> None:
        item = CallbackItem(log_id=1, handle_code=500, handle_msg="head" + "x" * 10**6 + "tail")
        assert len(item.handle_msg) == HANDLE_MSG_LIMIT
        assert item.handle_msg.startswith("head")
        assert item.handle_msg.endswith("tail")

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (None, ""),
            ("é", "é"),
            (3, "3"),
            (True, "true"),
            ({"a": [1, "é"]}, '{"a": [1, "é"]}'),
            ("a\0b", "a\ufffdb"),
            ("half \ud83d", "half \ufffd"),
            ("\ud83d\ude00", "\U0001f600"),
            ({"a": "\ud83d"}, '{"a": "\ufffd"}'),
        ],
    )
    def test_any_value_becomes_text_that_can_be_stored(self, value: object, text: str) -> None:
        assert as_text(value) == text

    @given(st.text(st.characters(), max_size=50))  # every code point, surrogates too
    def test_text_is_always_storable(self, text: str) -> None:
        stored = CallbackItem(log_id=1, handle_code=200, handle_msg=text).handle_msg
        assert "\0" not in stored.encode().decode()

    @pytest.mark.parametrize("code", [0, -1, 2**31])
    def test_a_result_has_a_code_that_says_something(self, code: int) -> None:
        with pytest.raises(ValidationError):
            CallbackItem(log_id=1, handle_code=code)

    def test_a_page_of_log_is_repaired(self) -> None:
        assert LogPage(from_line=1, to_line=1, content="\udc80").content == "\ufffd"


class TestAddress:
    @pytest.mark.parametrize(
        "address",
        [
            "http://10.0.0.7:9999",
            "https://executor.example.org",
            "http://[::1]:9999",
            "http://my_service:9999/job",
            "http://host:9999/a/b-c",
        ],
    )
    def test_addresses_of_executors(self, address: str) -> None:
        assert checked_address(address) == address
        assert checked_address(address + "/") == address

    def test_capital_letters_count_only_in_the_path(self) -> None:
        assert checked_address("HTTP://Host.Example:1/Job/") == "http://host.example:1/Job"
        assert checked_address("http://[FE80::1]:9999") == "http://[fe80::1]:9999"

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "10.0.0.7:9999",
            "file:///etc/passwd",
            "gopher://a:70/x",
            "ftp://a",
            "http://",
            "http://:9999",
            "http://user@host:1",
            "http://user:secret@host:1",
            "http://host@other:1",
            "http://host:1/@x",
            "http://host:1\r\nX: y",
            "http://host:1\n",
            "http://ho\0st",
            "http://host:0",
            "http://host:65536",
            "http://host:99999999",
            "http://host:",
            "http://host:1?x=1",
            "http://host:1#x",
            "http://host\\evil",
            "http://ho st",
            "http://0.0.0.0:9999",
            "http://[::]:9999",
            "http://[::ffff:0.0.0.0]:9999",
            "http://224.0.0.1",
            "http://255.255.255.255",
            "http://2130706433",
            "http://0x7f.1",
            "http://127.1",
            "http://999.1.1.1",
            "http://[::g]",
            "http://-a.b",
            "http://a..b",
            "http://" + "a" * 64 + ".b",
            "http://host/../x",
            "http://ｈｏｓｔ",
            "http://host/" + "x" * ADDRESS_LIMIT,
            "x" * 70_000,
        ],
    )
    def test_everything_else_is_refused(self, text: str) -> None:
        with pytest.raises(Invalid) as refused:
            checked_address(text)
        assert refused.value.status == 422
        assert refused.value.field == "registryValue"

    @given(st.text(string.printable + "\0\u202e", max_size=40))
    def test_what_is_accepted_has_nothing_hidden(self, text: str) -> None:
        try:
            accepted = checked_address("http://" + text)
        except Invalid:
            return
        assert accepted.isascii()
        assert accepted.isprintable()
        assert not set('@?#\\ "<>') & set(accepted)


class TestRegistration:
    def test_the_address_gets_its_normal_spelling(self) -> None:
        assert RegistryRequest(registry_key="demo", registry_value="http://a:1/").registry_value == "http://a:1"

    def test_twins_of_one_name_are_one_name(self) -> None:
        composed = RegistryRequest(registry_key="caf\u00e9", registry_value="http://a:1")
        decomposed = RegistryRequest(registry_key="cafe\u0301 ", registry_value="http://a:1")
        assert composed == decomposed

    @pytest.mark.parametrize("name", ["", "  ", "a\u200bb", "a\nb", "x" * (APP_NAME_LONGEST + 1)])
    def test_app_names_are_visible_and_short(self, name: str) -> None:
        with pytest.raises(ValidationError):
            RegistryRequest(registry_key=name, registry_value="http://a:1")

    def test_an_announcement_says_what_is_there_and_a_long_list_is_no_reason_to_refuse_it(self) -> None:
        said = {"incarnation": "i", "running": list(range(STANDING_LIMIT + 5)), "unacknowledged": ["7"]}
        read = Announcement.model_validate({**said, "load": {"running": 1, "queued": "1004", "somethingNew": 1}})
        assert read.running == tuple(range(STANDING_LIMIT))
        assert read.unacknowledged == (7,)
        assert read.load == Load(running=1, queued=1004)
        assert Announcement(incarnation="i").load is None
        written = json.loads(read.model_dump_json(by_alias=True))
        assert Announcement.model_validate(written) == read

    def test_labels_are_what_a_selector_can_ask_for(self) -> None:
        labels = {"zone": "eu", "example.com/gpu": "a100:2", "empty": ""}
        announced = Announcement(incarnation="i", labels=labels).labels
        assert all(parse_selector(f"{key}={value}").admits(announced) for key, value in labels.items())

    @pytest.mark.parametrize(
        "labels", [{"": "x"}, {"a b": "x"}, {"a=b": "x"}, {"a": "x,y"}, {"a": "x\n"}, {"a": 1}, {"a": "x" * 64}]
    )
    def test_other_labels_are_refused(self, labels: dict[str, str]) -> None:
        with pytest.raises(ValidationError):
            Announcement(incarnation="i", labels=labels)

    def test_an_announcement_has_limits(self) -> None:
        handler = HandlerInfo(name="a")
        assert len(Announcement(incarnation="i", handlers=[handler] * 1000).handlers) == 1000
        with pytest.raises(ValidationError):
            Announcement(incarnation="i", handlers=[handler] * 1001)
        with pytest.raises(ValidationError):
            Announcement(incarnation="i", labels={f"label-{number}": "x" for number in range(33)})
        with pytest.raises(ValidationError):
            Announcement(incarnation="")


class TestReply:
    def test_the_payload_goes_under_both_keys(self) -> None:
        body = json.loads(Reply.success({"a": 1}).to_bytes())
        assert body == {"code": 200, "msg": None, "content": {"a": 1}, "data": {"a": 1}}

    def test_a_failure_says_why(self) -> None:
        reply = Reply.failure("no such handler")
        assert not reply.ok
        assert json.loads(reply.to_bytes()) == {"code": 500, "msg": "no such handler", "content": None, "data": None}

    def test_a_message_with_half_a_character_can_be_sent(self) -> None:
        assert json.loads(Reply.failure("\ud800").to_bytes())["msg"] == "\ufffd"
