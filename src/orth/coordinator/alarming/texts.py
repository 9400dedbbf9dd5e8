"""What a message says: the facts, and the words made of them."""

import json
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from orth.clock import iso
from orth.domain.alarms import AlarmKind

_REASON_LIMIT = 1000
_LEFT_OUT = " … "


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """The facts of one message. What a template may name is exactly this, and ``title`` and ``text``."""

    message_id: str = ""
    kind: AlarmKind
    job_id: int
    job: str
    group: str
    execution_id: int
    status: str
    reason: str
    executor: str
    failures: int
    since: str
    at: str
    url: str

    @property
    def title(self) -> str:
        """One line."""
        match self.kind:
            case AlarmKind.FIRST:
                return f"{self.job} failed" if self.failures == 1 else f"{self.job} failed {self.failures} times"
            case AlarmKind.REPEAT:
                return f"{self.job} still fails: {self.failures} times since {self.since}"
            case AlarmKind.RESOLVED:
                return f"{self.job} succeeded again"
            case AlarmKind.TEST:
                return f"Test of {self.job}"
            case AlarmKind.EXECUTOR:
                number = "New executor" if self.failures == 1 else f"{self.failures} new executors"
                return f"{number} of {self.group}"

    @property
    def text(self) -> str:
        """Some lines, without the title."""
        lines = [f"Job: {self.job} (id {self.job_id}, group {self.group})"]
        if self.kind is AlarmKind.TEST:
            return "Somebody tries out this alarm channel. Nothing has failed."
        if self.kind is AlarmKind.EXECUTOR:
            return "\n".join(filter(None, (self.reason, self.url)))
        if self.kind is AlarmKind.RESOLVED:
            lines.append(f"It had failed {self.failures} times since {self.since}.")
            lines.append(f"Execution: {self.execution_id}, succeeded at {self.at}")
        else:
            lines.append(f"Failures: {self.failures} since {self.since}")
            lines.append(f"Execution: {self.execution_id}, {self.status}, ended at {self.at}")
            if self.executor:
                lines.append(f"Executor: {self.executor}")
            if self.reason:
                lines.append(f"Reason: {self.reason}")
        if self.url:
            lines.append(self.url)
        return "\n".join(lines)

    def facts(self) -> dict[str, Any]:
        """Everything a template may name."""
        return {**asdict(self), "kind": self.kind.value, "title": self.title, "text": self.text}


NAMES = frozenset({*(field.name for field in fields(Alarm)), "title", "text"})


def content_of(alarm: Alarm, recipients: tuple[str, ...]) -> str:
    """What is stored of a message: its facts, and whom the job names."""
    return json.dumps({"alarm": asdict(alarm), "recipients": recipients})


def read_content(content: str, message_id: str) -> tuple[Alarm, tuple[str, ...]]:
    """The reverse of ``content_of``, with the id the stored message has."""
    stored = json.loads(content)
    facts = {**stored["alarm"], "kind": AlarmKind(stored["alarm"]["kind"]), "message_id": message_id}
    return Alarm(**facts), tuple(stored["recipients"])


def trial_alarm(channel: str, now: int) -> Alarm:
    """What the test of a channel sends."""
    return Alarm(
        message_id=f"orth-alarm-test-{now}",
        kind=AlarmKind.TEST,
        job_id=0,
        job=channel,
        group="-",
        execution_id=0,
        status="-",
        reason="",
        executor="",
        failures=0,
        since=iso(now),
        at=iso(now),
        url="",
    )


def fitted(alarm: Alarm, limit: int) -> str:
    """Title and text within ``limit`` bytes of UTF-8: receivers count these. The reason gives way first, in its middle,
    so that all else, and where to look, is still said.
    """
    over = len(_encoded(_whole(alarm))) - limit
    if over > 0:
        alarm = replace(alarm, reason=within(alarm.reason, len(_encoded(alarm.reason)) - over))
    return within(_whole(alarm), limit)


def within(text: str, limit: int) -> str:
    """``text`` within ``limit`` bytes of UTF-8, keeping head and tail; nothing where not even the mark has room."""
    raw, mark = _encoded(text), _encoded(_LEFT_OUT)
    if len(raw) <= limit:
        return text
    keep = limit - len(mark)
    if keep < 0:
        return ""
    tail = keep // 2
    return f"{raw[: keep - tail].decode(errors='ignore')}{_LEFT_OUT}{raw[len(raw) - tail :].decode(errors='ignore')}"


def _whole(alarm: Alarm) -> str:
    return f"{alarm.title}\n{alarm.text}"


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def shortened(reason: str | None) -> str:
    """A reason short enough for a message: its head and, of a traceback the useful part, its tail."""
    text = (reason or "").strip()
    if len(text) <= _REASON_LIMIT:
        return text
    half = (_REASON_LIMIT - 5) // 2
    return f"{text[:half]}\n … \n{text[-half:]}"
