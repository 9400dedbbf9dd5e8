"""A private MariaDB."""

import contextlib
import itertools
import signal
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pymysql
from pymysql.cursors import Cursor

from tests.servers.binaries import find_program
from tests.servers.server import Server

_QUICK = [
    "--innodb-flush-log-at-trx-commit=2",
    "--innodb-flush-method=nosync",
    "--innodb-doublewrite=0",
    "--sync-frm=0",
]


class MariaDBServer(Server):
    """MariaDB whose ``root`` needs no password."""

    name = "mariadb"
    accounts = ("mysql",)
    clean_end = signal.SIGTERM

    def __init__(self, *, durable: bool = False) -> None:
        super().__init__(durable=durable)
        self._install = find_program("mariadb-install-db")
        self._mariadbd = find_program("mariadbd")
        self._numbers = itertools.count(1)

    def url(self, database: str) -> str:
        return f"mysql://root@127.0.0.1:{self.port}/{database}"

    def create_database(self) -> str:
        database = f"orth_{next(self._numbers)}"
        self._query(f"CREATE DATABASE {database}")
        return self.url(database)

    def drop_database(self, url: str) -> None:
        database = urlsplit(url).path[1:]
        # An open transaction of a client that was never closed would make DROP wait for its lock.
        for row in self._query("SELECT id FROM information_schema.processlist WHERE db = %s", database):
            with contextlib.suppress(pymysql.err.OperationalError):  # it left by itself meanwhile
                self._query("KILL %s", row[0])
        self._query(f"DROP DATABASE IF EXISTS {database}")

    def prepare_command(self, data: Path) -> list[str]:
        options = ["--auth-root-authentication-method=normal", "--skip-test-db", "--skip-name-resolve"]
        return [str(self._install), "--no-defaults", f"--datadir={data}", *options]

    def serve_command(self, data: Path) -> list[str]:
        return [
            str(self._mariadbd),
            "--no-defaults",
            f"--datadir={data}",
            f"--port={self.port}",
            "--bind-address=127.0.0.1",
            "--skip-name-resolve",
            f"--socket={data}/socket",
            f"--pid-file={data}/pid",
            # What Debian's configuration says, and every current server does by itself.
            "--character-set-server=utf8mb4",
            "--collation-server=utf8mb4_general_ci",
            "--max-connections=200",
            "--performance-schema=OFF",
            "--innodb-log-file-size=32M",
            *([] if self.durable else _QUICK),
        ]

    def answering_from(self) -> Path:
        with self._connect(patience=2) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT @@datadir")
            ((directory,),) = cursor.fetchall()
        return Path(directory)

    def _query(self, statement: str, *arguments: object) -> tuple[tuple[Any, ...], ...]:
        with self._connect() as connection, connection.cursor() as cursor:
            cursor.execute(statement, arguments or None)
            return cursor.fetchall()

    def _connect(self, patience: float = 30) -> "pymysql.Connection[Cursor]":
        # Unless told otherwise the driver reads the machine's certificates for every connection, which takes 25 ms.
        return pymysql.connect(
            host="127.0.0.1", port=self.port, user="root", autocommit=True, ssl_disabled=True, read_timeout=patience
        )
