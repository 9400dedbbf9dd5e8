"""The status of an execution: two codes, one derivation, transitions that only go forward."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.domain import reasons
from orth.domain.executions import (
    CANCELLED_STATUS,
    MAY_BECOME,
    OPEN_PHASES,
    OUTCOMES,
    TAKEN_PHASES,
    UNSENT_PHASES,
    Phase,
    Status,
    cut,
    outcome_of,
    status_of,
    tag,
)


@pytest.mark.parametrize(
    ("trigger_code", "handle_code", "status", "label"),
    [
        (0, 0, Status.INIT, "Init 0/0"),
        (200, 0, Status.PENDING, "Pending 200/0"),
        (200, 200, Status.SUCCESS, "Success 200/200"),
        (200, 502, Status.TIMEOUT, "Timeout 200/502"),
        (200, 500, Status.FAILED, "Failed 200/500"),
        (200, 410, Status.FAILED, "Failed 200/410"),
        (500, 0, Status.TRIGGER_FAILED, "Trigger Failed 500/0"),
        (500, 200, Status.TRIGGER_FAILED, "Trigger Failed 500/200"),
        (0, 200, Status.SUCCESS, "Success 0/200"),
    ],
)
def test_the_table_of_status(trigger_code: int, handle_code: int, status: Status, label: str) -> None:
    assert status_of(trigger_code, handle_code) is status
    assert tag(trigger_code, handle_code, cancelled=False) == label


def test_a_cancelled_execution_is_no_failure_in_lists_nor_by_its_tag() -> None:
    assert tag(200, 500, cancelled=True) == "Cancelled 200/500"
    taken_back = [outcome_of(*codes, reasons.JOB_STOPPED, None) for codes in ((200, 500), (500, 0))]
    assert taken_back == [OUTCOMES[CANCELLED_STATUS]] * 2
    assert outcome_of(200, 500, reasons.JOB_STOPPED, 17) == OUTCOMES[Status.FAILED], "it had begun"
    assert outcome_of(500, 0, reasons.REFUSED, None) == OUTCOMES[Status.TRIGGER_FAILED]
    assert len(set(OUTCOMES.values())) == len(OUTCOMES) - 1, "those that are open share one"


def test_transitions_only_go_forward() -> None:
    assert set(MAY_BECOME) == set(Status)
    assert MAY_BECOME[Status.INIT] == set(Status) - {Status.INIT}
    assert MAY_BECOME[Status.PENDING] == {Status.SUCCESS, Status.FAILED, Status.TIMEOUT}
    terminal = {status for status in Status if status.terminal}
    assert terminal == {Status.SUCCESS, Status.FAILED, Status.TIMEOUT, Status.TRIGGER_FAILED}
    assert all(MAY_BECOME[status] == frozenset() for status in terminal)


def test_every_phase_is_unsent_taken_or_ended() -> None:
    assert set(OPEN_PHASES) | {Phase.ENDED} == set(Phase)
    assert not set(UNSENT_PHASES) & set(TAKEN_PHASES)


@given(st.text(max_size=3000), st.integers(100, 2000))
def test_a_cut_message_keeps_head_and_tail_within_the_limit(message: str, limit: int) -> None:
    shorter = cut(message, limit)
    if len(message) <= limit:
        assert shorter == message
    else:
        assert len(shorter) <= limit
        assert shorter[:5] == message[:5]
        assert shorter[-5:] == message[-5:]
        assert "left out" in shorter


@pytest.mark.parametrize("length", [60_000, 48_210, 15_100, 1_000_000])
def test_a_cut_message_says_how_much_is_left_out_of_all_there_was(length: int) -> None:
    """By the executor, and then by the database."""
    stored = cut(cut("x" * length, 50_000), 15_000)
    (note,) = re.findall(r"\n… \d+ characters left out; the log has them all …\n", stored)
    (left_out,) = re.findall(r"\d+", note)
    assert len(stored) - len(note) + int(left_out) == length
