"""The fixtures of ``tests/conftest.py``: what a test gets is fresh, empty and answers."""

import socket
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest
import redis

from tests.servers.test_server import read, write

seen: set[str] = set()


@pytest.mark.parametrize("turn", [1, 2])
def test_store_url_is_a_new_empty_database_each_time(store_url: str, turn: int) -> None:
    assert store_url not in seen
    seen.add(store_url)
    kind = urlsplit(store_url).scheme
    assert kind in {"sqlite", "postgresql", "mysql"}
    if kind == "sqlite":
        assert not Path(urlsplit(store_url).path[1:]).exists()
        return
    assert read(store_url) is None
    write(store_url, f"turn {turn}")
    assert read(store_url) == f"turn {turn}"


@pytest.mark.parametrize("turn", [1, 2])
def test_redis_url_is_an_empty_database_each_time(redis_url: str, turn: int) -> None:
    with redis.Redis.from_url(redis_url) as client:
        assert client.dbsize() == 0
        client.set("turn", turn)
        assert client.dbsize() == 1


def test_postgres_url_is_the_product_s_form(postgres_url: str, mariadb_url: str) -> None:
    assert postgres_url.startswith("postgresql://orth@127.0.0.1:")
    assert mariadb_url.startswith("mysql://root@127.0.0.1:")
    with psycopg.connect(postgres_url) as connection:
        assert connection.info.dbname == urlsplit(postgres_url).path[1:]


def test_free_port_can_be_listened_on(free_port: int) -> None:
    with socket.create_server(("127.0.0.1", free_port)) as listener:
        assert listener.getsockname()[1] == free_port
