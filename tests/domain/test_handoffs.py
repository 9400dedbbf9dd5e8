"""Why executions change hands, and the cases of a handover."""

import pytest

from orth.domain.handoffs import Case, Reason, case_of, reason_of, times_asked


@pytest.mark.parametrize(
    ("had_owner", "offered", "giver_left", "reason"),
    [
        (False, False, False, Reason.ORPHAN),
        (True, True, True, Reason.SHUTDOWN),
        (True, False, True, Reason.SHUTDOWN),
        (True, True, False, Reason.REBALANCE),
        (True, False, False, Reason.NODE_CRASH),
    ],
)
def test_the_reason_follows_from_who_gave_it_up_and_how(
    had_owner: bool, offered: bool, giver_left: bool, reason: Reason
) -> None:
    assert reason_of(had_owner=had_owner, offered=offered, giver_left=giver_left) is reason


@pytest.mark.parametrize(
    ("reason", "offered", "waited", "later", "case"),
    [
        (Reason.SHUTDOWN, True, 5.0, False, Case.TAKEN),
        (Reason.REBALANCE, True, 5.1, False, Case.ASKED_AGAIN),
        (Reason.SHUTDOWN, False, 40.0, False, Case.ABANDONED),
        (Reason.SHUTDOWN, False, 40.0, True, Case.NOBODY_THERE),
        (Reason.NODE_CRASH, False, 1.0, False, None),
        (Reason.ORPHAN, False, 1.0, True, None),
    ],
)
def test_the_four_cases(reason: Reason, offered: bool, waited: float, later: bool, case: Case | None) -> None:
    assert case_of(reason, offered=offered, waited=waited, ack_timeout=5.0, taker_came_later=later) is case


def test_others_are_asked_again_after_each_timeout_and_not_for_ever() -> None:
    asked = [times_asked(offered=True, waited=waited, ack_timeout=5.0, tries=3) for waited in (0.1, 5.0, 11.0, 60.0)]
    assert asked == [1, 2, 3, 3]
    assert times_asked(offered=False, waited=0.1, ack_timeout=5.0, tries=3) == 3
