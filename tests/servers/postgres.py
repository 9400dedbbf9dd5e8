"""A private PostgreSQL."""

import itertools
import signal
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from tests.servers.binaries import find_program
from tests.servers.server import Server

_QUICK = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class PostgresServer(Server):
    """PostgreSQL with one superuser, ``orth``, who needs no password."""

    name = "postgresql"
    accounts = ("postgres",)
    clean_end = signal.SIGINT  # does not wait for clients to leave, as SIGTERM would
    abrupt_end = signal.SIGQUIT  # frees its shared memory, which SIGKILL would leave behind

    def __init__(self, *, durable: bool = False) -> None:
        super().__init__(durable=durable)
        self._initdb = find_program("initdb").resolve()  # its siblings are of the same version
        self._numbers = itertools.count(1)

    def url(self, database: str) -> str:
        return f"postgresql://orth@127.0.0.1:{self.port}/{database}"

    def create_database(self) -> str:
        database = f"orth_{next(self._numbers)}"
        with self._connect() as connection:
            # Quicker than going through the write-ahead log, the default since version 15.
            strategy = "STRATEGY FILE_COPY" if connection.info.server_version >= 150_000 else ""
            connection.execute(f"CREATE DATABASE {database} {strategy}")
        return self.url(database)

    def drop_database(self, url: str) -> None:
        with self._connect() as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {urlsplit(url).path[1:]} WITH (FORCE)")

    def prepare_command(self, data: Path) -> list[str]:
        options = ["--auth=trust", "--username=orth", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        return [str(self._initdb), f"--pgdata={data}", *options]

    def serve_command(self, data: Path) -> list[str]:
        settings = {
            "port": str(self.port),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "max_connections": "200",
            **({} if self.durable else _QUICK),
        }
        options = [part for key, value in settings.items() for part in ("-c", f"{key}={value}")]
        return [str(self._initdb.with_name("postgres")), "-D", str(data), *options]

    def answering_from(self) -> Path:
        with self._connect() as connection:
            row = connection.execute("SELECT current_setting('data_directory')").fetchone()
        assert row is not None
        return Path(row[0])

    def stop(self) -> None:
        if not self.running and self.directory is not None:
            _free_shared_memory(self.directory / "data" / "postmaster.pid")
        super().stop()

    def _connect(self) -> "psycopg.Connection[tuple[Any, ...]]":
        return psycopg.connect(self.url("postgres"), autocommit=True, connect_timeout=2)


def _free_shared_memory(lock_file: Path) -> None:
    """Remove the segment a killed server left, which only a further start on its directory would have freed."""
    lines = lock_file.read_text().splitlines() if lock_file.exists() else []
    if len(lines) > 6:
        segment = lines[6].split()[1]
        subprocess.run(["ipcrm", "-m", segment], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
