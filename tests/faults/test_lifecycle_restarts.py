"""The registry is killed, and its database restarted, under agents and three coordinators: real processes, PostgreSQL.

Everybody is back under the id it had within one heartbeat, and whoever follows the live sockets has missed nothing.
``bench/lifecycle.py`` does the same with 200 agents.
"""

from pathlib import Path

import pytest

from tests.conftest import StartServer
from tests.faults.crowd import Town
from tests.servers.postgres import PostgresServer

AGENTS = 40
HEARTBEAT = 4.0
SLACK = 2.0
"""Seconds for the call itself, and for looking."""
EARS = 2


@pytest.mark.timeout(240)
def test_everybody_is_back_within_a_heartbeat_and_nobody_missed_an_event(
    tmp_path: Path, start_server: StartServer
) -> None:
    server = start_server(PostgresServer, durable=True)
    with Town(tmp_path, server.create_database(), agents=AGENTS, heartbeat=HEARTBEAT, pace=4.0) as town:
        ids = town.whole()
        town.listen(EARS)
        town.crowd.restless = True
        assert town.back_within(ids, town.lose_registry) <= HEARTBEAT + SLACK
        assert town.back_within(ids, server.restart) <= HEARTBEAT + SLACK
        assert town.check_ears() > 0
        assert all(ear.breaks for ear in town.ears if ear.url == town.url("registry"))
