from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis

from orth.doctor import State
from orth.doctor.redis_server import judge_redis, look_at_redis
from tests.conftest import StartServer
from tests.doctor.places import case_of, only
from tests.servers.redis import RedisServer

GOOD: Mapping[str, Any] = {
    "redis_version": "7.2.4",
    "role": "master",
    "maxmemory_policy": "noeviction",
    "aof_enabled": 1,
}


def test_none_is_needed() -> None:
    assert "none is needed" in only(look_at_redis(case_of(), ""), State.OK).what


def test_one_that_answers(redis_url: str) -> None:
    case = case_of({"channels": {"url": redis_url}})
    verdict = only(look_at_redis(case, ""), State.OK)
    assert "answers, with noeviction" in verdict.what


def test_one_that_lets_everybody_in_is_told_of_where_others_reach_it(start_server: StartServer) -> None:
    """A77: a password in our own address does not close it to others."""
    server = start_server(RedisServer)
    reachable = server.url().replace("127.0.0.1", "0.0.0.0")
    verdicts = look_at_redis(case_of({"channels": {"url": reachable, "open_redis": True}}), "")
    assert ["without a password" in one.what for one in verdicts if one.state is State.BAD] == [True]
    with redis.Redis.from_url(server.url()) as client:
        client.config_set("requirepass", "the-password")
    closed = reachable.replace("//", "//:the-password@")
    only(look_at_redis(case_of({"channels": {"url": closed}}), ""), State.OK)


def test_one_that_is_not_there(free_port: int) -> None:
    case = case_of({"channels": {"url": f"redis://:the-password@127.0.0.1:{free_port}/0"}})
    verdict = only(look_at_redis(case, ""), State.BAD)
    assert "refused the connection" in verdict.what
    assert "the-password" not in verdict.what + verdict.next


def test_something_else_at_the_address(postgres_url: str) -> None:
    place = urlsplit(postgres_url).netloc.rpartition("@")[2]
    verdict = only(look_at_redis(case_of({"channels": {"url": f"redis://{place}"}}), ""), State.BAD)
    assert verdict.what.startswith(f"{place} closed the connection.")


def test_an_address_that_is_none() -> None:
    only(look_at_redis(case_of({"channels": {"url": "redis://host:port/0"}}), ""), State.BAD)


@pytest.mark.parametrize(
    ("told", "state", "said"),
    [
        ({}, State.OK, "Redis 7.2.4 answers, with noeviction; it keeps an append-only file"),
        ({"aof_enabled": 0}, State.OK, "no append-only file, and need not"),
        ({"valkey_version": "8.1.0"}, State.OK, "Valkey 8.1.0"),
        ({"redis_version": "6.2.14"}, State.BAD, "too old"),
        ({"maxmemory_policy": "volatile-lru"}, State.OK, "volatile-lru"),
        ({"maxmemory_policy": "allkeys-lru"}, State.WARN, "drops messages"),
        ({"role": "slave"}, State.BAD, "replica"),
        ({"cluster_enabled": 1}, State.BAD, "cluster"),
        ({"loading": 1}, State.WARN, "loading"),
        ({"rdb_last_bgsave_status": "err"}, State.BAD, "cannot save"),
    ],
)
def test_what_it_says_of_itself(told: Mapping[str, Any], state: State, said: str) -> None:
    assert said in only(judge_redis({**GOOD, **told}), state).what
