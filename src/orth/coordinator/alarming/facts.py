"""What the alarms tell."""

import logging
from dataclasses import dataclass

from orth.events import Event


@dataclass(frozen=True, slots=True)
class AlarmTold(Event):
    """A message was taken by its receiver. ``job_id`` is 0 if it tells of no job."""

    sentence = "alarm {message_id} ({kind}, job {job_id}) was taken by channel {channel}"
    message_id: str
    kind: str
    job_id: int
    channel: str


@dataclass(frozen=True, slots=True)
class AlarmDelayed(Event):
    """A message did not get through and is tried again."""

    level = logging.WARNING
    sentence = "alarm {message_id} did not get through channel {channel} (attempt {attempt}): {reason}"
    message_id: str
    channel: str
    attempt: int
    reason: str


@dataclass(frozen=True, slots=True)
class AlarmGivenUp(Event):
    """A message did not get through, and is not tried again."""

    level = logging.ERROR
    sentence = "alarm {message_id} was given up after {attempts} attempts; channel {channel}: {reason}"
    message_id: str
    channel: str
    attempts: int
    reason: str


@dataclass(frozen=True, slots=True)
class AlarmsWithheld(Event):
    """Failures about which nothing is told, by reason: silence, repeat, no_channel, no_job."""

    level = logging.DEBUG
    sentence = "nothing is told about {failures} failures of job {job_id}: {reason}"
    job_id: int
    failures: int
    reason: str
