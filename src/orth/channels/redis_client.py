"""The way to Redis: one place for how long to wait, what to repeat, and what its failures are."""

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError, ResponseError

from orth.wire.network_reasons import network_sentence

FAILURES = (RedisError, OSError, TimeoutError)
"""What the client may raise when Redis is away or in trouble."""


def connect(url: str, *, patience: float, connections: int) -> Redis:
    """A client that connects when it is first asked. ``patience`` is how long an answer, a connection or a free place
    among the connections may take. Nothing is retried: what failed may have happened, and only the caller knows
    whether to repeat it.
    """
    pool = BlockingConnectionPool.from_url(
        url,
        max_connections=connections,
        timeout=patience,
        socket_timeout=patience,
        socket_connect_timeout=patience,
        protocol=2,
        decode_responses=True,
        encoding_errors="replace",  # what is not UTF-8 is not ours, and is found out as such later
        retry=Retry(NoBackoff(), 0),
    )
    return Redis(connection_pool=pool)


def failure_sentence(client: Redis, error: Exception) -> str:
    """Why Redis failed, without a full stop: what it answered, else the network's reason in our words."""
    if isinstance(error, ResponseError | AuthenticationError):
        return str(error).rstrip(".")
    to = client.connection_pool.connection_kwargs
    host = str(to.get("host") or to.get("path") or "Redis")
    return network_sentence(f"{host}:{to['port']}" if "port" in to else host, error)


def database_of(client: Redis) -> int:
    """The number of the database the client uses."""
    return int(client.connection_pool.connection_kwargs.get("db") or 0)


async def disconnect(client: Redis) -> None:
    await client.aclose()
    await client.connection_pool.disconnect()
