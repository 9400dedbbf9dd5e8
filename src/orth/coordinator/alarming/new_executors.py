"""Messages about executors that enrolled.

Whoever has a token of a group can enrol an executor, so each new one is told to all channels, whether its group admits
it or lets it wait. Executors of one app that enrol within ``alarms.quiet`` of each other share one message, which waits
for ``alarms.gather`` at most.
"""

from collections.abc import Mapping
from dataclasses import replace

from orth.clock import iso
from orth.coordinator.alarming.judging import Rules
from orth.coordinator.alarming.texts import Alarm, content_of, read_content
from orth.domain.alarms import AlarmKind, is_silenced
from orth.domain.enrolments import EnrolledKey, KeyState
from orth.store.alarm_channels import Channel, enabled_channels
from orth.store.alarms import Message, amend_message, store_messages, untried_messages
from orth.store.database import Connection
from orth.store.groups import find_group
from orth.store.silences import silences_at

_NO_JOB = 0
_NO_GROUP = 0
_NAMED = 5
"""Executors that one message names. The others are counted."""
_SILENCES_LIMIT = 10_000


def tell_of_executor(connection: Connection, executor: EnrolledKey, entry: int, rules: Rules, now: int) -> None:
    """Store what is to be told of a new executor, in the transaction that enrols it. ``entry`` is the number of its
    entry in the audit: each enrolment has one of its own.
    """
    if not rules.enabled:
        return
    group = find_group(connection, executor.app_name)
    job_group = _NO_GROUP if group is None else group.id
    if is_silenced(silences_at(connection, now, _SILENCES_LIMIT), _NO_JOB, job_group, now):
        return
    waiting = _waiting(connection, executor.app_name, job_group)
    new = []
    for name in _channels(enabled_channels(connection)):
        if name in waiting:
            message, alarm = waiting[name]
            until = min(now + rules.timing.quiet, message.created_at + rules.timing.gather)
            content = content_of(_with_another(alarm, executor), ())
            amend_message(connection, replace(message, content=content, next_attempt=until))
        else:
            content = content_of(_alarm(executor, rules, now), ())
            first = now + rules.timing.quiet
            new.append(
                Message(entry, _NO_JOB, AlarmKind.EXECUTOR, name, content, next_attempt=first, job_group=job_group)
            )
    store_messages(connection, new, now)


def _waiting(connection: Connection, app_name: str, job_group: int) -> dict[str, tuple[Message, Alarm]]:
    """By channel: the message about executors of this app that nobody has tried to send."""
    found = {}
    for message in untried_messages(connection, AlarmKind.EXECUTOR, job_group):
        alarm, _recipients = read_content(message.content, message.message_id)
        if alarm.group == app_name:
            found[message.channel] = message, alarm
    return found


def _channels(enabled: Mapping[str, Channel]) -> list[str]:
    """A channel of mail without addresses of its own is for jobs that name some."""
    return [name for name, one in enabled.items() if one.kind != "mail" or one.definition.get("to")]


def _with_another(alarm: Alarm, executor: EnrolledKey) -> Alarm:
    count = alarm.failures + 1
    if count <= _NAMED:
        return replace(alarm, failures=count, reason=f"{alarm.reason}\n{_sentence(executor)}")
    named = alarm.reason.split("\n")[:_NAMED]
    return replace(alarm, failures=count, reason="\n".join([*named, f"And {count - _NAMED} more."]))


def _alarm(executor: EnrolledKey, rules: Rules, now: int) -> Alarm:
    return Alarm(
        kind=AlarmKind.EXECUTOR,
        job_id=_NO_JOB,
        job="",
        group=executor.app_name,
        execution_id=0,
        status=executor.state.value,
        reason=_sentence(executor),
        executor=executor.address,
        failures=1,
        since=iso(now),
        at=iso(now),
        url=f"{rules.base_url}/executors" if rules.base_url else "",
    )


def _sentence(executor: EnrolledKey) -> str:
    admitted = executor.state is KeyState.ADMITTED
    after = "It is admitted." if admitted else f"It waits to be admitted: orth executors admit {executor.id}"
    return f"Executor {executor.id} at {executor.address} enrolled from {executor.source}. {after}"
