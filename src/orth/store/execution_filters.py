"""Which executions somebody means: the filters of the list, and of what is done to many at once.

``conditions`` gives them as SQL. A filter says nothing about ids: lists go by them (``execution_lists``), and so may
whoever works through what a filter finds.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

from sqlalchemy import ColumnElement, and_, false, literal_column, or_

from orth.domain.access import narrowed
from orth.domain.executions import OPEN_PHASES, OUTCOMES, SUCCESS, UNSENT_PHASES, ListedStatus, Status
from orth.domain.jobs import TriggerCause
from orth.store.group_scopes import in_groups
from orth.store.tables import executions, has_outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What an execution must be like. None asks for nothing; ``since`` is included and ``until`` excluded, and both are
    about the instant it was opened. It has one of the ``statuses``. ``text`` is looked for in its messages and its
    parameter, in whatever case as far as the database's ``lower`` knows its letters.
    """

    job_id: int | None = None
    job_group: int | None = None
    statuses: frozenset[ListedStatus] | None = None
    executor: str | None = None
    cause: TriggerCause | None = None
    batch_id: int | None = None
    since: int | None = None
    until: int | None = None
    text: str | None = None
    ended_since: int | None = None
    """It ended at this instant or later."""
    groups: frozenset[int] | None = None
    """The groups it may be of, where only some may be seen."""

    def within(self, allowed: frozenset[int] | None) -> "Filter":
        """The same, kept to these groups; None: to none."""
        job_group, groups = narrowed(self.job_group, allowed)
        return replace(self, job_group=job_group, groups=groups)


def conditions(wanted: Filter) -> list[ColumnElement[bool]]:
    """What ``wanted`` asks for, all of which must hold."""
    columns = executions.c
    # A sum, so that no database goes by its index: it would gather a busy hour whole to show a page of it.
    opened = columns.trigger_time + literal_column("0")
    asked: list[ColumnElement[bool]] = []
    if wanted.job_id is not None:
        asked.append(columns.job_id == wanted.job_id)
    if wanted.job_group is not None:
        asked.append(columns.job_group == wanted.job_group)
    if wanted.statuses is not None:
        asked.append(_has_status(wanted.statuses))
    if wanted.executor is not None:
        asked.append(columns.executor_address == wanted.executor)
    if wanted.cause is not None:
        asked.append(columns.cause == wanted.cause)
    if wanted.batch_id is not None:
        asked.append(columns.batch_id == wanted.batch_id)
    if wanted.since is not None:
        asked.append(opened >= wanted.since)
    if wanted.until is not None:
        asked.append(opened < wanted.until)
    if wanted.ended_since is not None:
        asked.append(columns.handle_time >= wanted.ended_since)
    if wanted.text is not None:
        asked.append(_has_text(wanted.text))
    return asked + in_groups(columns.job_group, wanted.groups)


def _has_status(statuses: Collection[ListedStatus]) -> ColumnElement[bool]:
    """By the stored outcome, which has indexes unless it is success. Of the open ones, 0, the phase and the code tell
    which it is.
    """
    ended = sorted({OUTCOMES[status] for status in statuses} - {0})
    any_of = [has_outcome(*ended)] if ended else []
    if Status.INIT in statuses:
        any_of.append(and_(has_outcome(0), executions.c.phase.in_(UNSENT_PHASES)))
    if Status.PENDING in statuses:
        taken = executions.c.trigger_code == SUCCESS
        any_of.append(and_(has_outcome(0), executions.c.phase.in_(OPEN_PHASES), taken))
    return or_(false(), *any_of)


def _has_text(text: str) -> ColumnElement[bool]:
    places = (executions.c.handle_msg, executions.c.trigger_msg, executions.c.executor_param)
    return or_(*(place.icontains(text, autoescape=True) for place in places))
