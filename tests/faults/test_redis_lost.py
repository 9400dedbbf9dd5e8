"""Redis is emptied, stands still, dies and comes back empty under three coordinators: real processes on PostgreSQL.

Redis carries hints and copies. Whatever becomes of it, every fire runs, none runs twice, every log arrives, and nobody
has to help. In ``make faults`` it stands still for a minute, and its lock comes and goes under the lease.
"""

import os
import signal
import time
from pathlib import Path

import pytest
import redis

from orth.store.leases import LEADER
from tests.conftest import StartServer
from tests.faults.trio import Trio, told_at
from tests.servers.redis import ForgetfulRedisServer
from tests.walk.processes import eventually

LONG = os.environ.get("ORTH_TEST_FAULTS") == "long"
JOBS = 50
LEASE = 5.0
STILL = 60.0 if LONG else 3.0
SETTINGS = {
    "ORTH_CLUSTER__LEASE": "5s",
    "ORTH_CLUSTER__LEASE_RENEW": "1s",
    "ORTH_CLUSTER__HEARTBEAT": "1s",
    "ORTH_CLUSTER__DEAD_AFTER": "3s",
    "ORTH_CLUSTER__LEASE_PROVIDER": "redis",
}


@pytest.mark.timeout(400 if LONG else 180)
def test_executions_on_queues_outlive_redis(postgres_url: str, tmp_path: Path, start_server: StartServer) -> None:
    server = start_server(ForgetfulRedisServer)
    settings = {
        **SETTINGS,
        "ORTH_CHANNELS__URL": server.url(),
        "ORTH_EXECUTOR__TRANSPORT": "queue",
        "ORTH_EXECUTOR__QUEUE_HEARTBEAT": "1s",
    }
    with Trio(tmp_path, postgres_url, **settings) as trio, redis.Redis.from_url(server.url()) as outsider:
        trio.leader()
        trio.fire_every_second(JOBS, queue="default")
        for _ in range(10):
            outsider.flushall()
            time.sleep(0.3)
        trio.runs(2 * JOBS)
        os.kill(server.pid, signal.SIGSTOP)
        time.sleep(STILL)
        os.kill(server.pid, signal.SIGCONT)
        trio.runs(2 * JOBS, within=60)
        server.kill()
        time.sleep(2)
        server.start()
        trio.runs(2 * JOBS)
        trio.stop()
        trio.check_fires()
        trio.logs_are_whole()


if LONG:

    def test_the_lease_outlives_redis(postgres_url: str, tmp_path: Path, start_server: StartServer) -> None:
        server = start_server(ForgetfulRedisServer)
        with (
            Trio(tmp_path, postgres_url, ORTH_CHANNELS__URL=server.url(), **SETTINGS) as trio,
            redis.Redis.from_url(server.url(), decode_responses=True) as outsider,
        ):
            first = trio.leader()
            assert first in str(outsider.get(LEADER))
            trio.fire_every_second(JOBS)
            outsider.flushall()
            eventually(lambda: outsider.get(LEADER), what="the lock to be held again")
            os.kill(server.pid, signal.SIGSTOP)
            time.sleep(LEASE + 1)
            os.kill(server.pid, signal.SIGCONT)
            assert trio.leader() == first, "nobody has taken over from a leader that is well"
            assert len(told_at(trio.nodes[first], "leads: term")) == 1
            server.kill()
            trio.nodes[first].end(signal.SIGKILL)
            killed = time.time()
            second = trio.leader(but=first, asking=trio.others(first)[0])
            assert told_at(trio.nodes[second], "leads: term")[-1] - killed <= LEASE + 2
            trio.start(first)
            assert told_at(trio.nodes[first], "channels may not work: Redis cannot be reached")
            server.start()
            leads = trio.leader(asking=second)
            eventually(lambda: leads in str(outsider.get(LEADER) or ""), what="the lock to be held by the new leader")
            trio.runs(2 * JOBS)
            trio.stop()
            trio.check_fires()
            assert trio.worst_gap() <= LEASE + 2
