"""The Redis of the channels: reachable, new enough, writable, and not dropping messages."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from orth.distribution import install_command
from orth.doctor.case import Case
from orth.doctor.verdicts import Verdict, bad, ok, warn
from orth.settings import Address
from orth.wire.network_reasons import network_sentence

_PATIENCE = 3.0
_OLDEST = 7


def look_at_redis(case: Case, _subject: str) -> list[Verdict]:
    url = case.settings.channels_url
    if not url.startswith(("redis:", "rediss:")):
        return [ok("No Redis is configured, and none is needed.")]
    try:
        import redis
    except ModuleNotFoundError:
        return [
            bad("channels.url names Redis, and its client is not installed here.", f"Run: {install_command('redis')}")
        ]
    try:
        with redis.Redis.from_url(url, socket_timeout=_PATIENCE, socket_connect_timeout=_PATIENCE) as client:
            told: Any = client.info()
        return [*_open_doors(url), *judge_redis(told)]
    except ValueError:
        return [bad("channels.url is not an address of Redis.", "Write redis://host:6379/0.")]
    except (redis.exceptions.AuthenticationError, redis.exceptions.NoPermissionError):
        return [
            bad("Redis refuses the user or the password of channels.url.", "Correct them; the user needs INFO too.")
        ]
    except redis.exceptions.ResponseError as error:
        return [bad(f"Redis refuses to be asked: {error}.", "Look at the rights of the user in channels.url.")]
    except (redis.exceptions.RedisError, OSError) as error:
        what = f"{network_sentence(url, error)}. Work goes on without it, and is noticed later."
        return [bad(what, "Start it, or correct channels.url.")]


def _open_doors(url: str) -> Iterator[Verdict]:
    """A Redis that others can reach and that lets them in without a password, whatever we show it ourselves."""
    parts = urlsplit(url)
    if Address(parts.hostname or "", 0).is_loopback:
        return
    import redis

    stranger = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
    with suppress(redis.exceptions.RedisError, OSError):
        with redis.Redis.from_url(stranger, socket_timeout=_PATIENCE, socket_connect_timeout=_PATIENCE) as client:
            client.ping()
        yield bad(
            "Redis lets everybody in who can reach it, without a password.",
            "Give it one (requirepass, or ACL SETUSER default off), and write it into channels.url.",
        )


def judge_redis(told: Mapping[str, Any]) -> list[Verdict]:
    """What Redis says of itself in ``INFO``."""
    kind, version = _version(told)
    trouble = list(_trouble(told, kind, version))
    return trouble or [
        ok(f"{kind} {version} answers, with {told.get('maxmemory_policy', 'an unknown policy')}; {_kept(told)}.")
    ]


def _version(told: Mapping[str, Any]) -> tuple[str, str]:
    if "valkey_version" in told:
        return "Valkey", str(told["valkey_version"])
    return "Redis", str(told.get("redis_version", "?"))


def _trouble(told: Mapping[str, Any], kind: str, version: str) -> Iterator[Verdict]:
    major = version.partition(".")[0]
    if major.isdigit() and int(major) < _OLDEST:
        yield bad(f"{kind} {version} is too old.", f"Install {_OLDEST} or newer.")
    if str(told.get("role", "master")) != "master":
        yield bad(f"This {kind} is a replica and cannot be written.", "Name the primary in channels.url.")
    if told.get("cluster_enabled"):
        yield bad(f"This {kind} is a cluster, which is not supported.", "Name one primary in channels.url.")
    if told.get("loading"):
        yield warn(f"{kind} is still loading its data.", "Wait, and look again.")
    if str(told.get("rdb_last_bgsave_status", "ok")) != "ok" or str(told.get("aof_last_write_status", "ok")) != "ok":
        yield bad(f"{kind} cannot save, and may refuse what is written.", "Look at its log and its disk.")
    policy = str(told.get("maxmemory_policy", ""))
    if policy.startswith("allkeys"):
        yield warn(f"{kind} drops messages when its memory is full ({policy}).", "Set maxmemory-policy to noeviction.")


def _kept(told: Mapping[str, Any]) -> str:
    """Persistence is not needed: it only makes a restart of Redis less work."""
    return "it keeps an append-only file" if told.get("aof_enabled") else "it keeps no append-only file, and need not"
