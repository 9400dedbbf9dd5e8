"""Which coordinators read signatures, remembered in the data directory of an executor.

A coordinator that once read signatures is never shown the token, also not by the next process of this executor. The
file has one address per line and only grows; a full file counts for every address.
"""

import os
import threading
from pathlib import Path

LIMIT = 1_000
"""Addresses remembered."""


class SigningCoordinators:
    """The addresses in one file. Safe to share between threads."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._addresses: set[str] | None = None

    def __contains__(self, address: object) -> bool:
        with self._lock:
            known = self._read()
            return address in known or len(known) >= LIMIT

    def add(self, address: str) -> None:
        with self._lock:
            known = self._read()
            if address in known or len(known) >= LIMIT:
                return
            known.add(address)
            self._path.parent.mkdir(parents=True, exist_ok=True)
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(file, f"{address}\n".encode())
            finally:
                os.close(file)

    def _read(self) -> set[str]:
        if self._addresses is None:
            try:
                self._addresses = set(self._path.read_text(encoding="utf-8").split())
            except FileNotFoundError:
                self._addresses = set()
        return self._addresses
