"""The process log: standard error, one line per record.

As text, ``2026-01-30 10:00:05.123 INFO  orth: sentence`` in local time; with ``ORTH_LOG_FORMAT=json``, one object per
line in UTC. A line break inside a record, such as a traceback's, is written as ``\\n``: a log that is cut into lines by
other programs must not be cut inside a fact. So is everything else that cannot be seen: names of jobs and words of
strangers end up here, and a terminal must not obey them.
"""

import json
import logging
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from orth.errors import BadSettings

FORMAT_VARIABLE = "ORTH_LOG_FORMAT"
# Libraries whose everyday news says nothing to those who run Orth; their warnings do.
_CHATTY = ("alembic", "websockets")
LEVELS = ("debug", "info", "warning", "error")


class Lines(logging.Formatter):
    """Records whose words pass ``hide`` before they are written."""

    hide: Callable[[str], str] = staticmethod(str)


class TextLines(Lines):
    """Records for people."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03d %(levelname)-5s %(name)s: %(message)s", "%Y-%m-%d %H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        return _visible(self.hide(super().format(record)), lambda char: char.encode("unicode_escape").decode())


class JsonLines(Lines):
    """Records for programs."""

    def format(self, record: logging.LogRecord) -> str:
        facts = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self.hide(record.getMessage()),
        }
        if record.exc_info:
            facts["exception"] = self.hide(self.formatException(record.exc_info))
        return _visible(json.dumps(facts, ensure_ascii=False), lambda char: json.dumps(char)[1:-1])


def _visible(text: str, spelt: Callable[[str], str]) -> str:
    return text if text.isprintable() else "".join(c if c.isprintable() else spelt(c) for c in text)


_FORMATS = {"text": TextLines, "json": JsonLines}


def set_up_log(level: str, environ: Mapping[str, str]) -> None:
    """Send every record of at least ``level`` to standard error, replacing what was set up before."""
    written = environ.get(FORMAT_VARIABLE) or "text"
    if written not in _FORMATS:
        raise BadSettings([f"{FORMAT_VARIABLE} is {written!r}; it can be {' or '.join(_FORMATS)}"])
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_FORMATS[written]())
    handler.setLevel(level.upper())
    logging.basicConfig(handlers=[handler], level=level.upper(), force=True)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.NOTSET if level == "debug" else logging.WARNING)


def hide_in_log(hide: Callable[[str], str]) -> None:
    """Let what is written from now on pass this first: it is called where the record is made."""
    for handler in logging.root.handlers:
        if isinstance(handler.formatter, Lines):
            handler.formatter.hide = hide
