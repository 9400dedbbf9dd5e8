"""Schedules: the fires of a job, whatever kind of schedule it has.

``parse_schedule`` turns a job's ``schedule_type`` and ``schedule_conf`` into a ``Schedule``. A *fire* is a logical time: it
is what the ledger, the execution and every search speak of. Two things are asked about a fire apart from that, and neither
changes which fires there are:

* ``due_at(fire)``: when it is to happen, which is a little later if the job has a jitter. The shift is a hash of job and
  fire, so every coordinator computes the same; it never reaches the following fire, so order is kept.
* ``skip_reason(fire)``: whether the job's calendar refuses the day.

Fires lie between 1970 and the end of 2199.
"""

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import ClassVar

from orth.domain.calendars import Calendar
from orth.domain.cron.days import END
from orth.domain.cron.search import Cron
from orth.domain.cron.zones import DAY, zone_named
from orth.domain.instants import parse_instant
from orth.domain.jobs import DstPolicy, ScheduleType
from orth.errors import Invalid, InvalidSchedule
