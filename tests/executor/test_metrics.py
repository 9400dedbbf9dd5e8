import re
import threading

import pytest

from orth.executor import outbox as outbox_module
from orth.executor.facts import ExecutionFinished, LogUnwritable, TriggerRefused
from orth.executor.handlers import Handlers
from orth.executor.metrics import REFUSALS, Metrics, Standing, refusal_word
from orth.wire.messages import Verdict
from tests.executor.bench import HEADERS, Rig, eventually
from tests.executor.conftest import MakeRig

NOTHING = Standing(
    running=0,
    queued=0,
    threads=0,
    abandoned=0,
    outbox_results=0,
    outbox_bytes=0,
    outbox_oldest=0.0,
    fsyncs=0,
    verdicts={},
    not_taken=0,
    log_bytes=0,
    registered=False,
    turned_away={},
)
SAMPLE = re.compile(r'([a-z_]+(?:\{[a-z]+="[^"\n]*"(?:,[a-z]+="[^"\n]*")*\})?) ([0-9.e+-]+)')


def samples(text: bytes) -> dict[str, float]:
    """Every sample by its name and labels; fails on a line that is neither that nor a comment."""
    found = {}
    for line in text.decode().splitlines():
        if not line.startswith("# "):
            match = SAMPLE.fullmatch(line)
            assert match is not None, line
            found[match[1].removeprefix("orth_executor_")] = float(match[2])
    return found


def asked(ran: Rig) -> dict[str, float]:
    status, body = ran.runtime.handle("/metrics", b"", HEADERS, method="GET")
    assert status == 200
    return samples(body)


def test_every_family_is_explained_before_its_samples() -> None:
    text = Metrics("1.2", "i").text(NOTHING).decode()
    assert text.endswith("\n")
    for block in text.split("# HELP ")[1:]:
        name, _, rest = block.partition(" ")
        kind = re.search(rf"^# TYPE {name} (counter|gauge)$", rest, re.MULTILINE)
        assert kind is not None
        assert (kind[1] == "counter") == name.endswith("_total")
        assert all(line.startswith(name) for line in rest.splitlines()[2:])


def test_label_values_cannot_break_out() -> None:
    text = Metrics('1"} 1\nforged 2', "back\\slash").text(NOTHING).decode()
    assert 'version="1\\"} 1\\nforged 2",incarnation="back\\\\slash"' in text
    assert not any(line.startswith("forged") for line in text.splitlines())


def test_facts_are_counted_by_a_closed_set_of_words() -> None:
    metrics = Metrics("1", "i")
    for code in (200, 200, 500, 502, 7):
        metrics(ExecutionFinished(1, 1, code, 0.25))
    metrics(TriggerRefused(1, 1, "queue full: 3 triggers of job 1 wait already"))
    metrics(TriggerRefused(1, 1, "something nobody has foreseen"))
    metrics(LogUnwritable(1, "full"))
    told = samples(metrics.text(NOTHING))
    assert told['executions_total{outcome="success"}'] == 2
    assert told['executions_total{outcome="failure"}'] == 2
    assert told['executions_total{outcome="timeout"}'] == 1
    assert told["execution_seconds_total"] == 1.25
    assert told['refusals_total{reason="queue"}'] == 1
    assert told['refusals_total{reason="other"}'] == 1
    assert told["unwritable_logs_total"] == 1
    assert {verdict.value for verdict in Verdict} == set(re.findall(r'verdict="(\w+)"', "".join(told)))


def test_the_numbers_of_a_running_executor(app: Handlers, rig: MakeRig) -> None:
    release = threading.Event()
    app.job("hold")(lambda: release.wait(20) and None)
    app.job("hello")(lambda: "greeted")
    ran = rig()
    ran.result(1, "hello", job_id=2)
    for log_id in (2, 3, 4):
        ran.run(log_id, "hold")
    ran.run(5, "nobody")
    eventually(lambda: len(ran.runtime.tools.contexts) == 1)
    told = asked(ran)
    assert (told["running"], told["queued"], told["job_threads"], told["abandoned"]) == (1, 2, 2, 0)
    assert (told["outbox_results"], told["registered"]) == (1, 0)
    assert told["outbox_bytes"] > 50
    assert told["outbox_oldest_seconds"] >= 0
    assert told["journal_fsyncs_total"] == 1
    assert told["log_bytes_total"] > 100
    assert told['executions_total{outcome="success"}'] == 1
    assert told['refusals_total{reason="handler"}'] == 1
    release.set()
    assert ran.runtime.join_idle(10)


async def test_deliveries_and_registration_are_shown(app: Handlers, rig: MakeRig) -> None:
    app.job("hello")(lambda: "greeted")
    ran = rig()
    for log_id, verdict in enumerate([Verdict.STORED, Verdict.DUPLICATE, Verdict.RETRY, None]):
        ran.desk.answers[log_id] = verdict
        ran.result(log_id, "hello")
    await ran.runtime.outbox.turn()
    await ran.runtime.heartbeat.turn()
    told = asked(ran)
    assert told["registered"] == 1
    assert told["outbox_results"] == 2
    assert [told[f'callbacks_total{{verdict="{word}"}}'] for word in ("stored", "duplicate", "retry")] == [1, 1, 2]


def test_reading_needs_the_token_and_can_be_turned_off(app: Handlers, rig: MakeRig) -> None:
    ran = rig()
    assert ran.runtime.handle("/metrics", b"", {}, method="GET")[0] == 401
    assert ran.runtime.handle("/metrics", b"", HEADERS, method="POST")[0] == 405
    ran.runtime.close()
    assert rig(metrics=False).runtime.handle("/metrics", b"", HEADERS, method="GET")[0] == 404


def test_each_way_to_be_refused_has_its_word(app: Handlers, rig: MakeRig, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentences come from where they are written: a changed one must not end up under another word."""
    release = threading.Event()
    app.job("hold")(lambda: release.wait(20) and None)
    ran = rig(queue_limit=1)
    for log_id in (1, 2):
        assert ran.run(log_id, "hold").ok
    eventually(lambda: len(ran.runtime.tools.contexts) == 1)
    ran.run(10, "hold")
    ran.run(11, "hold", executor_block_strategy="DISCARD_LATER")
    ran.run(12, "nobody")
    ran.run(13, "hold", resend_to="another-process")
    ran.run(14, "hold", log_date_time=2**62)
    ran.run(15, "", glue_type="GLUE_SHELL", glue_source="true", job_id=9)
    with monkeypatch.context() as full:
        full.setattr(outbox_module, "COUNT_LIMIT", 0)
        ran.run(16, "hold", job_id=9)
    ran.runtime.admission.close()
    ran.run(17, "hold", job_id=9)
    words = [refusal_word(event.reason) for event in ran.ears.of(TriggerRefused)]
    assert words == ["queue", "busy", "handler", "incarnation", "time", "allowed", "outbox", "stopping"]
    assert set(words) <= set(REFUSALS)
    release.set()
    assert ran.runtime.join_idle(10)
