"""A store with the schema in it, quickly.

Migrating an empty SQLite file takes a quarter of a second and copying one a few milliseconds. So this process migrates
one file, the first time somebody asks, and every further one begins as a copy of it.
"""

import atexit
import os
import shutil
import tempfile
import threading
from pathlib import Path

from orth.store.engines import is_sqlite, read_url
from orth.store.migrating import upgrade

_making = threading.Lock()
_made: list[Path] = []


def prepare_store(url: str) -> None:
    """Bring the database at ``url`` to the schema of this program."""
    address = read_url(url)
    target = Path(address.database or "") if is_sqlite(address) else None
    if target is None or not target.name or target.exists():
        upgrade(url)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    copied = target.with_name(f"{target.name}.{os.getpid()}.{threading.get_ident()}")
    shutil.copyfile(_template(), copied)
    os.replace(copied, target)


def _template() -> Path:
    with _making:
        if not _made:
            folder = tempfile.mkdtemp(prefix="orth-schema-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            path = Path(folder) / "orth.db"
            upgrade(f"sqlite:///{path}")
            _made.append(path)
        return _made[0]
