"""Cron expressions, two dialects, in any zone.

``Cron.parse`` understands an expression, ``next_after`` and ``previous_before`` search its fires, ``describe`` says it
in words. Built up as: ``fields`` (grammar of one field) → ``expression`` (all fields, the two dialects) → ``months``,
``days`` and ``times`` (what it admits on the wall clock) → ``search`` (which instants that is in a zone), with
``zones`` for the offsets and ``describe`` for people.
"""

from orth.domain.cron.describe import Explanation, FieldMeaning, describe
from orth.domain.cron.search import Cron

__all__ = ["Cron", "Explanation", "FieldMeaning", "describe"]
