"""Services and listeners around a registry that is killed and whose database is restarted.

*Back*: 200 agents and 3 coordinators, registered with one registry process on PostgreSQL, all changing their status now
and then. The registry is killed and started again; then the database is restarted. Bar: everybody has beaten under the
id it had within one heartbeat of the return, and no follower of a live socket has missed or doubled an event.

*Seen*: 1,000 clients on the live socket of one coordinator, one of whom reads nothing. Bar: 95 of 100 learn of a change
of status within a second, and nobody but the one is let go::

    python bench/lifecycle.py                   # both, about three minutes
    python bench/lifecycle.py --quick           # a fifth of everybody, with quicker beats
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.faults.audience import Audience, Sleeper, Stage, delays, share
from tests.faults.crowd import HEADERS, NODES, Town
from tests.servers.postgres import PostgresServer
from tests.walk.processes import HTTP, TOKEN, Site, eventually

from orth.socket_guard import FRAMES_PER_SECOND

SEEN_WITHIN = 1.0
CALL = 1.0
"""Seconds a beat itself may take, and looking for it."""
EARS = 4
PACE = 20.0
EXTRAS = 100
CHANGE_EVERY = 0.5


def back(agents: int, heartbeat: float) -> bool:
    """Whether everybody was back in time, and every event at everybody."""
    with (
        tempfile.TemporaryDirectory(prefix="orth-bench-") as folder,
        PostgresServer(durable=True) as server,
        Town(Path(folder), server.create_database(), agents=agents, heartbeat=heartbeat, pace=PACE) as town,
    ):
        began = time.time()
        ids = town.whole()
        print(f"back: {agents} agents and {len(NODES)} coordinators registered within {time.time() - began:.1f} s")
        town.listen(EARS)
        town.crowd.restless = True
        spans = {
            "registry killed and started": town.back_within(ids, town.lose_registry),
            "database restarted": town.back_within(ids, server.restart),
        }
        events = town.check_ears()
        breaks = sum(ear.breaks for ear in town.ears)
    for what, span in spans.items():
        print(f"back: {what}: the last one had beaten {span:.1f} s after its return (heartbeat {heartbeat:.0f} s)")
    print(f"back: {events} events at each of {len(town.ears)} followers, none missed, over {breaks} broken lines")
    return max(spans.values()) <= heartbeat + CALL


def seen(listeners: int, changes: int) -> bool:
    """Whether a change was seen in time by everybody who reads."""
    quiet = {"ORTH_REGISTRY__HEALTH": "false", "ORTH_REGISTRY__SETTLE": "0s", "ORTH_CLUSTER__LEASE": "30s"}
    with tempfile.TemporaryDirectory(prefix="orth-bench-") as folder, Site(Path(folder), **quiet) as site:
        site.coordinator()
        eventually(lambda: b'"Running"' in HTTP.request("GET", f"{site.url}/api/orchestrators", headers=HEADERS).data)
        stage = Stage(site.url)
        for number in range(EXTRAS):
            stage.register(f"extra-{number}")
        began = time.time()
        with Audience(site.url, listeners) as audience:
            print(f"seen: {listeners} clients connected within {time.time() - began:.1f} s")
            sleeper = Sleeper(site.url)
            for _ in range(changes):
                next_change = time.monotonic() + CHANGE_EVERY
                stage.change()
                while time.monotonic() < next_change:
                    sleeper.ask_snapshot()
                    time.sleep(1.2 / FRAMES_PER_SECOND)  # asked more often, it would be cut off for that
            found = delays(audience, stage)
            left, dropped = audience.left, _dropped(site)
            sleeper.leave()
    shown = ", ".join(f"p{part * 100:g} {share(found, part) * 1000:.0f} ms" for part in (0.5, 0.95, 0.99, 1.0))
    print(f"seen: {changes} changes at {listeners} clients: {shown}; the one who does not read: {dropped:.0f} let go")
    return share(found, 0.95) <= SEEN_WITHIN and left == 0


def _dropped(site: Site) -> float:
    text = HTTP.request("GET", f"{site.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).data.decode()
    line = next(line for line in text.splitlines() if line.startswith('orth_live_dropped_total{cause="slow"}'))
    return float(line.split()[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fifth of everybody")
    parser.add_argument("--only", choices=("back", "seen"), help="one of the two")
    chosen = parser.parse_args()
    good = True
    if chosen.only != "seen":
        good = back(40, 4.0) if chosen.quick else back(200, 10.0)
    if chosen.only != "back":
        good = (seen(200, 20) if chosen.quick else seen(1000, 60)) and good
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
