"""A private Redis."""

import itertools
import signal
from pathlib import Path
from typing import ClassVar

import redis

from tests.servers.binaries import find_program
from tests.servers.server import Server

_DATABASES = 1024


class RedisServer(Server):
    """Redis without a password. Its databases are numbered, and used again in turn when there have been many."""

    name = "redis"
    accounts = ("redis",)
    clean_end = signal.SIGTERM
    persistent: ClassVar[bool] = True

    def __init__(self, *, durable: bool = False) -> None:
        super().__init__(durable=durable)
        self._redis_server = find_program("redis-server")
        self._numbers = itertools.cycle(range(_DATABASES))

    def url(self, database: str = "0") -> str:
        return f"redis://127.0.0.1:{self.port}/{database}"

    def create_database(self) -> str:
        url = self.url(str(next(self._numbers)))
        self.drop_database(url)
        return url

    def drop_database(self, url: str) -> None:
        with redis.Redis.from_url(url) as client:
            client.flushdb()

    def prepare_command(self, data: Path) -> None:
        """Redis begins with an empty directory."""

    def serve_command(self, data: Path) -> list[str]:
        settings = {
            "port": str(self.port),
            "bind": "127.0.0.1",
            "dir": str(data),
            "databases": str(_DATABASES),
            "save": "",
            "appendonly": "yes" if self.persistent else "no",
            "appendfsync": "always" if self.durable else "no",
        }
        options = [part for key, value in settings.items() for part in (f"--{key}", value)]
        return [str(self._redis_server), *options]

    def answering_from(self) -> Path:
        with redis.Redis.from_url(self.url(), socket_timeout=2) as client:
            return Path(client.config_get("dir")["dir"])


class ForgetfulRedisServer(RedisServer):
    """Redis that is empty whenever it starts."""

    persistent = False
