"""Who may speak for an execution: the one it was sent to, and nobody else who has the token of its group.

What was sent with a report key (``orth.wire.report_keys``) is reported with it, or not at all. An offer in a queue has
a key whoever takes it.

What was sent without a key, because its executor announced nothing of the kind, is matched by more than its number:
every xxl-job client echoes the trigger time of an execution in its result. A client may report to the wrong scheduler,
and two schedulers use the same numbers. A result without a trigger time is accepted only from the network address of
the executor that has the execution. A result is not accepted from where only another executor sends its beats.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from orth.channels.interface import Entry
from orth.coordinator.beat_sources import BeatSources, host_of, plain_address
from orth.store.executions import Sent
from orth.wire.messages import CallbackItem
from orth.wire.report_keys import ReportKeys


class Unproved(StrEnum):
    """Why a word about an execution does not count."""

    MISSING = "it came without the report key of the execution"
    WRONG = "it came with a report key that is not of the execution"
    OTHER_TIME = "it names another trigger time than that of the execution"
    NO_TIME = "it names no trigger time, and it does not come from the address that the execution was sent to"
    OTHER_EXECUTOR = "it comes from the address of another executor"


class Proving:
    """Decides whose word counts."""

    def __init__(self, keys: ReportKeys) -> None:
        self._keys = keys
        self.beat_sources = BeatSources()

    def unproved_result(self, item: CallbackItem, sent: Sent, sender: str | None) -> Unproved | None:
        """Why a result does not count that came from the network address ``sender`` (None: not known)."""
        if sent.keyed:
            return self.unproved(item.log_id, sent, item.report_key)
        if item.log_date_time not in (0, sent.trigger_time):
            return Unproved.OTHER_TIME
        address = sent.address or ""
        if not item.log_date_time and (sender is None or plain_address(sender) != (host_of(address) or "")):
            return Unproved.NO_TIME
        if sender is not None and self.beat_sources.is_another(address, sender):
            return Unproved.OTHER_EXECUTOR
        return None

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
