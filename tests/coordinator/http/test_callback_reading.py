"""Large callbacks: where they are read, and who pays for them."""

import threading

import pytest

from orth.coordinator.http import callback_reading
from orth.coordinator.http.executor_rates import is_large
from orth.wire.dialects import Malformed
from orth.wire.fields import HANDLE_MSG_LIMIT, RESULTS_COUNT, RESULTS_OF_OURS
from orth.wire.messages import CallbackItem
from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.test_crowded_apps import token_of
from tests.coordinator.http.test_wide_results import empty, java, own, send, third_party


def test_a_token_pays_for_large_callbacks_and_keeps_nobody_else_waiting(strict: Site) -> None:
    thief, others = third_party(strict, "alpha"), third_party(strict, "beta")
    large, small = java(5_000), own(RESULTS_OF_OURS, "done")
    answers = [send(thief, large) for _ in range(3)]
    assert [one.json["code"] for one in answers] == [200, 500, 500]
    assert answers[1].status == 200
    assert int(answers[1].headers["retry-after"]) > 1
    send(others, large).envelope()
    for _ in range(20):
        send(thief, small).envelope()
    beat = {"registryGroup": "EXECUTOR", "registryKey": "alpha", "registryValue": "http://10.0.0.1:9999"}
    thief.post("/api/registry", beat).envelope()
    strict.clock.move(10)
    send(thief, large).envelope()


def test_what_is_refused_is_paid_for_too(strict: Site) -> None:
    thief = token_of(strict, "alpha")
    told = [send(thief, empty(200_000)).json["msg"] for _ in range(2)]
    assert "results" in told[0]
    assert "Too many requests" in told[1]


def test_a_large_callback_always_comes_through_in_the_end(strict: Site) -> None:
    """An executor of another make sends the same again until it is taken."""
    executor = third_party(strict, "alpha")
    longest = java(600, "m" * HANDLE_MSG_LIMIT)
    for _attempt in range(2):
        send(executor, longest).envelope()
        assert send(executor, longest).json["code"] == 500
        strict.clock.move(10)


@pytest.mark.parametrize("message", ["done", "f" * 1_000, '{"rows":[1,2,3]}' * 60])
def test_callbacks_of_our_executors_are_never_large(message: str) -> None:
    assert not is_large(own(RESULTS_OF_OURS, message))


def test_a_large_callback_is_read_in_a_thread_and_a_small_one_at_once(
    site: Site, executor: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    read = callback_reading.read_callback

    def noting(body: bytes) -> list[CallbackItem | Malformed]:
        threads.append(threading.current_thread().name)
        return read(body)

    monkeypatch.setattr(callback_reading, "read_callback", noting)
    send(executor, own(RESULTS_OF_OURS, "done")).envelope()
    send(executor, java(RESULTS_COUNT)).envelope()
    assert threads[0] == "coordinator"
    assert threads[1] != threads[0]
