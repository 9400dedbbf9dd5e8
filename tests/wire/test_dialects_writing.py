"""Each peer is written to in what it speaks, and what ours write ours read back."""

import json
from typing import TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.domain.jobs import BlockStrategy, GlueType, Overlap
from orth.errors import Invalid, InvalidMessage
from orth.wire.dialects import (
    Dialect,
    auth_headers,
    callback_item_body,
    idle_beat_body,
    is_foreign,
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
    registry_body,
    resolved,
    run_body,
    token_from,
)
from orth.wire.fields import INT32_MAX, INT64_MAX
from orth.wire.messages import (
    Announcement,
    CallbackItem,
    Extension,
    HandlerInfo,
    LogPage,
    LogRequest,
    Message,
    ProgressTold,
    RegistryRequest,
    Reply,
    RunRequest,
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

    def test_only_those_that_can_are_asked_for_the_end_of_a_log_or_to_wait(self) -> None:
        request = LogRequest(log_id=1, log_date_time=5, tail=10, wait=20)
        assert set(json.loads(log_body(request))) == {"logId", "logDateTime", "logDateTim", "fromLineNum"}
        assert read_log_request(log_body(request, frozenset({Extension.FOLLOW_LOG}))) == request

    def test_longer_pages_are_asked_of_those_who_give_them(self) -> None:
        request = LogRequest(log_id=1, log_date_time=5, lines=9000)
        assert "lines" not in json.loads(log_body(request, frozenset({Extension.FOLLOW_LOG})))
        assert json.loads(log_body(request, frozenset({Extension.LONG_PAGES})))["lines"] == 9000

    def test_only_those_that_can_are_asked_how_far_an_execution_is(self) -> None:
        request = LogRequest(log_id=1, log_date_time=5, tail=1, progress=True)
        assert "progress" not in json.loads(log_body(request, frozenset({Extension.FOLLOW_LOG})))
        both = frozenset({Extension.FOLLOW_LOG, Extension.PROGRESS})
        assert read_log_request(log_body(request, both)) == request

    def test_progress_goes_with_a_page_of_log_and_nonsense_spoils_no_page(self) -> None:
        told = ProgressTold(done=2, total=4, message="rows")
        page = LogPage(from_line=1, to_line=1, content="a", progress=told)
        payload = log_payload(page)
        assert payload["progress"] == {"done": 2, "total": 4, "message": "rows"}
        assert read_log_page(payload) == page
        assert "progress" not in log_payload(page.model_copy(update={"progress": None}))
        for nonsense in (None, 7, "half", [], {"total": 4}, {"done": "x"}):
            read = read_log_page({**payload, "progress": nonsense})
            assert (read.content, read.progress) == ("a", None)

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

    @pytest.mark.parametrize(
        ("headers", "foreign"),
        [
            ({}, True),
            ({"Content-Type": "application/json"}, True),
            ({"xxl-job-access-token": "a"}, True),
            ({"XXL-JOB-APPNAME": "demo", "Authorization": "Bearer a"}, True),
            ({"XXL-RPC-ACCESS-TOKEN": ""}, True),
            ({"orth-access-token": ""}, False),
            ({"ORTH-ACCESS-TOKEN": "a", "XXL-JOB-ACCESS-TOKEN": "a"}, False),
            ({"authorization": "Bearer a"}, False),
        ],
    )
    def test_who_is_of_another_make(self, headers: dict[str, str], foreign: bool) -> None:
        assert is_foreign(headers) is foreign


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize("extensions", [frozenset(), frozenset({Extension.RESEND}), ALL])
def test_a_trigger_is_sent_ahead_only_where_its_start_is_held_back(
    dialect: Dialect, extensions: frozenset[str]
) -> None:
    ahead = RunRequest(job_id=1, log_id=2, start_in=500)
    if dialect in (Dialect.AUTO, Dialect.ORTH) and Extension.NOT_BEFORE in extensions:
        assert json.loads(run_body(ahead, dialect, extensions)[1])["startIn"] == 500
    else:
        with pytest.raises(Invalid, match="not sent ahead"):
            run_body(ahead, dialect, extensions)


@pytest.mark.parametrize("dialect", [Dialect.XXL, Dialect.XXL35])
def test_a_log_level_is_told_to_our_own_only(dialect: Dialect) -> None:
    request = RunRequest(job_id=1, log_id=2, log_level="DEBUG")
    ours = run_body(request, Dialect.AUTO, frozenset({Extension.LOG_LEVEL}))[1]
    assert json.loads(ours)["logLevel"] == "DEBUG"
    assert read_run(ours) == request
    assert "logLevel" not in json.loads(run_body(request, dialect, ALL)[1])
    assert "logLevel" not in json.loads(run_body(RunRequest(job_id=1, log_id=2), Dialect.ORTH, ALL)[1])


@pytest.mark.parametrize("dialect", [Dialect.XXL, Dialect.XXL35])
def test_an_overlap_is_told_to_our_own_only(dialect: Dialect) -> None:
    request = RunRequest(job_id=1, log_id=2, overlap=Overlap.CLUSTER)
    ours = run_body(request, Dialect.AUTO, frozenset({Extension.OVERLAP}))[1]
    assert json.loads(ours)["overlap"] == "cluster"
    assert read_run(ours) == request
    assert "overlap" not in json.loads(run_body(request, dialect, ALL)[1])
    assert "overlap" not in json.loads(run_body(RunRequest(job_id=1, log_id=2), Dialect.ORTH, ALL)[1])


@pytest.mark.parametrize("dialect", [Dialect.XXL, Dialect.XXL35])
def test_what_attempts_share_is_told_to_our_own_only(dialect: Dialect) -> None:
    request = RunRequest(job_id=1, log_id=2, run_key="orth-1-run-2", attempt=2, job_name="prices")
    ours = run_body(request, Dialect.ORTH, frozenset({Extension.RUN_KEY}))[1]
    assert {"runKey": "orth-1-run-2", "attempt": 2, "jobName": "prices"}.items() <= json.loads(ours).items()
    assert read_run(ours) == request
    theirs = json.loads(run_body(request, dialect, frozenset())[1])
    assert theirs.keys().isdisjoint({"runKey", "attempt", "jobName"})
    unsaid = json.loads(run_body(RunRequest(job_id=1, log_id=2), Dialect.ORTH, ALL)[1])
    assert unsaid.keys().isdisjoint({"runKey", "attempt", "jobName"})


class TestSecrets:
    REQUEST = RunRequest(job_id=1, log_id=2, secrets={"API_KEY": "canary"})

    def test_they_go_to_those_who_announced_to_hide_them(self) -> None:
        _path, body = run_body(self.REQUEST, Dialect.ORTH, frozenset({Extension.SECRETS}))
        assert json.loads(body)["secrets"] == {"API_KEY": "canary"}
        assert read_run(body).secrets == {"API_KEY": "canary"}

    @pytest.mark.parametrize("dialect", [Dialect.AUTO, Dialect.ORTH, Dialect.XXL, Dialect.XXL35])
    def test_they_go_to_nobody_else(self, dialect: Dialect) -> None:
        announced = frozenset({Extension.RESEND}) if dialect is Dialect.ORTH else frozenset[str]()
        with pytest.raises(Invalid) as refused:
            run_body(self.REQUEST, dialect, announced)
        assert "canary" not in str(refused.value)

    def test_without_them_nothing_is_said(self) -> None:
        _path, body = run_body(RunRequest(job_id=1, log_id=2), Dialect.ORTH, frozenset({Extension.SECRETS}))
        assert b"secrets" not in body

    @pytest.mark.parametrize(
        "wrong", [{"lower": "v"}, {"A": "nul\x00"}, {"A": "x" * 16_385}, {f"A{n}": "v" for n in range(21)}]
    )
    def test_what_cannot_be_one_is_refused_without_repeating_it(self, wrong: dict[str, str]) -> None:
        body = json.dumps({"jobId": 1, "logId": 2, "secrets": wrong}).encode()
        with pytest.raises(InvalidMessage) as refused:
            read_run(body)
        assert "xxxx" not in str(refused.value)
