"""Statuses of services, and what changes them."""

import pytest

from orth.domain.services import (
    EVENT_TYPES,
    STATUSES,
    Failing,
    ServiceKind,
    ServiceStatus,
    Standing,
    UnknownStatus,
    after_beat,
    after_health,
    after_report,
    after_silence,
    read_status,
)

A, O = ServiceKind.AGENT, ServiceKind.ORCHESTRATOR  # noqa: E741
BUSY = Standing(ServiceStatus.BUSY)


def test_the_two_sets_of_statuses_and_the_six_events() -> None:
    assert [str(status) for status in STATUSES[O]] == ["Starting", "Running", "Stopping", "Stopped", "Failed"]
    assert [str(status) for status in STATUSES[A]] == ["Starting", "Idle", "Busy", "Stopping", "Stopped", "Failed"]
    assert set(EVENT_TYPES) == {
        f"{kind}_{what}"
        for kind in ("orchestrator", "agent")
        for what in ("registered", "unregistered", "status_changed")
    }


@pytest.mark.parametrize("text", ["Busy", "busy", "BUSY", " busy "])
def test_a_status_is_read_in_any_case(text: str) -> None:
    assert read_status(A, text) is ServiceStatus.BUSY


@pytest.mark.parametrize(("kind", "text"), [(A, "Running"), (O, "Idle"), (A, ""), (O, "2"), (A, "x" * 1000)])
def test_another_word_is_refused_with_the_list(kind: ServiceKind, text: str) -> None:
    with pytest.raises(UnknownStatus) as refused:
        read_status(kind, text)
    assert refused.value.status == 400
    assert all(status in str(refused.value) for status in STATUSES[kind])
    assert len(str(refused.value)) < 300


def test_a_silence_is_ended_by_a_beat() -> None:
    silent = after_silence(BUSY, 7)
    assert silent == Standing(ServiceStatus.FAILED, Failing.SILENCE, 7, ServiceStatus.BUSY)
    assert after_beat(silent) == BUSY
    assert after_report(silent, ServiceStatus.IDLE) == Standing(ServiceStatus.IDLE)


@pytest.mark.parametrize("status", [ServiceStatus.STOPPED, ServiceStatus.FAILED])
def test_who_has_ended_owes_no_beat(status: ServiceStatus) -> None:
    assert after_silence(Standing(status), 7) == Standing(status)
    assert after_beat(Standing(status)) == Standing(status), "what it says itself is not undone by a beat"


def test_a_bad_health_is_mended_by_a_good_one_and_by_nothing_else() -> None:
    unwell = after_health(BUSY, 7, well=False, silent=False)
    assert unwell == Standing(ServiceStatus.FAILED, Failing.HEALTH, 7, ServiceStatus.BUSY)
    assert after_beat(unwell) == unwell
    assert after_health(unwell, 8, well=False, silent=False) == unwell
    assert after_health(unwell, 9, well=True, silent=False) == BUSY


def test_what_an_unwell_service_says_is_what_it_will_be() -> None:
    unwell = after_health(BUSY, 7, well=False, silent=False)
    said = after_report(unwell, ServiceStatus.IDLE)
    assert said.status is ServiceStatus.FAILED
    assert after_health(said, 9, well=True, silent=False) == Standing(ServiceStatus.IDLE)
    assert after_report(unwell, ServiceStatus.STOPPING) == Standing(ServiceStatus.STOPPING)


def test_who_is_well_again_and_silent_waits_for_a_beat() -> None:
    unwell = after_health(BUSY, 7, well=False, silent=False)
    silent = after_health(unwell, 9, well=True, silent=True)
    assert (silent.status, silent.failing) == (ServiceStatus.FAILED, Failing.SILENCE)
    assert after_beat(silent) == BUSY


@pytest.mark.parametrize("status", [ServiceStatus.STOPPING, ServiceStatus.STOPPED, ServiceStatus.FAILED])
def test_the_health_of_who_stops_is_no_news(status: ServiceStatus) -> None:
    assert after_health(Standing(status), 7, well=False, silent=False) == Standing(status)
    assert after_health(Standing(status), 7, well=True, silent=False) == Standing(status)
