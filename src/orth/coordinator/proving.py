"""Who may speak for an execution: the one it was sent to, and nobody else who has the token of its group.

What was sent with a report key (``orth.wire.report_keys``) is reported with it, or not at all. What was sent without,
because its executor announced nothing of the kind, is reported as ever. An offer in a queue has a key whoever takes it.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from orth.channels.interface import Entry
from orth.store.executions import Sent
from orth.wire.report_keys import ReportKeys


class Unproved(StrEnum):
    """Why a word about an execution does not count."""

    MISSING = "it came without the report key of the execution"
    WRONG = "it came with a report key that is not of the execution"


class Proving:
    """Decides whose word counts."""

    def __init__(self, keys: ReportKeys) -> None:
        self._keys = keys

    def unproved(self, execution_id: int, sent: Sent, told: str | None) -> Unproved | None:
        """Why a word that came with the report key ``told`` does not count; None when it does."""
        if not sent.keyed:
            return None
        if told is None:
            return Unproved.MISSING
        return None if self._keys.fits(told, execution_id, sent.trigger_time) else Unproved.WRONG

    def tells_log(self, execution_id: int, sent: Mapping[int, Sent], told: str | None) -> bool:
        """Whether a piece of a log comes from where its execution was sent."""
        here = sent.get(execution_id)
        return here is not None and self.unproved(execution_id, here, told) is None

    def believed(self, execution_id: int, sent: Mapping[int, Sent], entries: Sequence[Entry]) -> list[Entry]:
        """Of what is in the status box of an execution, what comes from where it was offered."""
        if execution_id not in sent:
            return list(entries)
        here = sent[execution_id]
        return [entry for entry in entries if self.unproved(execution_id, here, _key(entry.message)) is None]


def _key(message: Mapping[str, Any]) -> str | None:
    told = message.get("reportKey")
    return told if isinstance(told, str) else None
