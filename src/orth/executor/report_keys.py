"""The report keys of what came from queues, kept for as long as a coordinator may ask for the log again.

Whoever sends a piece of a log shows the key that came with its execution. An executor that was restarted has the files
of its logs still, and needs their keys as well: so they are in a file beside them, which nobody else can read, one line
for each execution, the newest last. A key that could not be kept costs no more than that: what a coordinator misses of
that log stays missing, and the log says so.
"""

import os
from contextlib import suppress
from itertools import islice
from pathlib import Path

KEPT = 20_000
_NAME = "report-keys"


class KeptKeys:
    """Keys by execution, the newest ``most``."""

    def __init__(self, folder: Path, *, most: int = KEPT) -> None:
        self._file = folder / _NAME
        self._most = most
        self._keys: dict[int, str] = {}
        self._lines = 0
        self._read()

    def keep(self, log_id: int, key: str | None) -> None:
        if key is None:
            return
        self._keys.pop(log_id, None)
        self._keys[log_id] = key
        self._forget_oldest()
        with suppress(OSError):
            if self._lines >= 2 * self._most:
                self._write_anew()
            else:
                self._append(_line(log_id, key))

    def find(self, log_id: int) -> str | None:
        return self._keys.get(log_id)

    def _read(self) -> None:
        try:
            text = self._file.read_text("ascii", "replace")
        except OSError:
            return
        for line in text.splitlines():
            log_id, _, key = line.partition(" ")
            if log_id.isdecimal() and key:
                self._keys.pop(int(log_id), None)
                self._keys[int(log_id)] = key
            self._lines += 1
        self._forget_oldest()

    def _forget_oldest(self) -> None:
        for log_id in list(islice(self._keys, max(0, len(self._keys) - self._most))):
            del self._keys[log_id]

    def _append(self, text: str) -> None:
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "wb") as out:
            out.write(text.encode())
        self._lines += text.count("\n")

    def _write_anew(self) -> None:
        fresh = self._file.with_name(f"{_NAME}.new")
        with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            out.write("".join(_line(*one) for one in self._keys.items()).encode())
        fresh.replace(self._file)
        self._lines = len(self._keys)


def _line(log_id: int, key: str) -> str:
    return f"{log_id} {key}\n"
