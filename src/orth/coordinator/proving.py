"""Who may speak for an execution: the one it was sent to, and nobody else who has the token of its group.

What was sent with a report key (``orth.wire.report_keys``) is reported with it, or not at all. An offer in a queue has
a key whoever takes it.

What was sent without a key, because its executor announced nothing of the kind, is matched by more than its number,
because a client may report to the wrong scheduler, and two schedulers use the same numbers. Java executors echo the
trigger time of an execution in its result, so the result of one must. Executors in other languages send a time of their
own clock instead. From the executor's own network address that time must lie between the trigger and now, give or take
what clocks may differ. From an unknown address it must not lie before the trigger. If the address of the executor is
known, only the trigger time itself is accepted from elsewhere. A result without a time is accepted only from the
executor's own network address. A result is not accepted from where only another executor sends its beats.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from orth.channels.interface import Entry
from orth.coordinator.beat_sources import BeatSources
from orth.store.executions import Sent
from orth.wire.messages import CallbackItem
from orth.wire.report_keys import ReportKeys


class Unproved(StrEnum):
    """Why a word about an execution does not count."""

    MISSING = "it came without the report key of the execution"
    WRONG = "it came with a report key that is not of the execution"
    OTHER_TIME = "it names another trigger time than that of the execution"
    NO_TIME = "it names no trigger time, and it does not come from the address that the execution was sent to"
    ELSEWHERE = "it names another trigger time than that of the execution, and it does not come from its executor"
    OTHER_EXECUTOR = "it comes from the address of another executor"


_CLOCKS_DIFFER = 600_000
"""Milliseconds by which the clock of an executor may be wrong."""
_SLOWER = 5_000
"""Milliseconds by which the clock of a sender at an unknown address may be slow. Some executors send whole seconds."""
_JAVA = "Java"
"""How the user agents of Java begin: ``Java/17.0.15``, ``Java-http-client/17.0.15``."""


@dataclass(frozen=True, slots=True)
class Sender:
    """Who sent a request with results, as far as that is known."""

    address: str | None = None
    user_agent: str = ""

    @property
    def echoes_trigger_times(self) -> bool:
        return self.user_agent.startswith(_JAVA)


class Proving:
    """Decides whose word counts."""

    def __init__(self, keys: ReportKeys, since: int) -> None:
        """``since`` is when this coordinator began to take beats."""
        self._keys = keys
        self.beat_sources = BeatSources(since)

    def unproved_result(self, item: CallbackItem, sent: Sent, sender: Sender, now: int) -> Unproved | None:
        """Why a result does not count."""
        if sent.keyed:
            return self.unproved(item.log_id, sent, item.report_key)
        address, source, time = sent.address or "", sender.address, item.log_date_time
        if source is not None and self.beat_sources.is_another(address, source):
            return Unproved.OTHER_EXECUTOR
        if sender.echoes_trigger_times:
            return None if time == sent.trigger_time else Unproved.OTHER_TIME
        is_own = source is not None and self.beat_sources.is_own(address, source)
        if not time:
            return None if is_own else Unproved.NO_TIME
        if time == sent.trigger_time:
            return None
        if source is not None and self.beat_sources.is_elsewhere(address, source, now):
            return Unproved.ELSEWHERE
        earliest = sent.trigger_time - (_CLOCKS_DIFFER if is_own else _SLOWER)
        return None if earliest <= time <= now + _CLOCKS_DIFFER else Unproved.OTHER_TIME

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
