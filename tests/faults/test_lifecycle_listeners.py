"""Many listeners of a live socket, one of whom does not read: the others learn of a change at once, he is let go.

``bench/lifecycle.py`` does the same with 1,000.
"""

import time
from pathlib import Path

from orth.socket_guard import FRAMES_PER_SECOND
from tests.faults.audience import Audience, Sleeper, Stage, delays, share
from tests.faults.crowd import HEADERS
from tests.walk.processes import HTTP, TOKEN, Site, eventually

LISTENERS = 100
EXTRAS = 100
"""Agents that only make snapshots large."""
BOUND = 1.0
PAUSE = 1.2 / FRAMES_PER_SECOND
"""Seconds between two questions of one who does not read the answers: not so many that it is cut off for that."""
WITHIN = 60.0


def dropped(site: Site) -> float:
    text = HTTP.request("GET", f"{site.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).data.decode()
    line = next(line for line in text.splitlines() if line.startswith('orth_live_dropped_total{cause="slow"}'))
    return float(line.split()[1])


def test_one_who_does_not_read_delays_nobody_and_is_let_go(tmp_path: Path) -> None:
    quick = {"ORTH_REGISTRY__HEALTH": "false", "ORTH_REGISTRY__SETTLE": "0s", "ORTH_CLUSTER__LEASE": "30s"}
    with Site(tmp_path, **quick) as site:
        site.coordinator()
        eventually(lambda: b'"Running"' in HTTP.request("GET", f"{site.url}/api/orchestrators", headers=HEADERS).data)
        stage = Stage(site.url)
        for number in range(EXTRAS):
            stage.register(f"extra-{number}")
        with Audience(site.url, LISTENERS) as audience:
            sleeper = Sleeper(site.url)
            deadline = time.monotonic() + WITHIN
            while not dropped(site):
                assert time.monotonic() < deadline, "somebody who reads nothing is still told of everything"
                sleeper.ask_snapshot()
                time.sleep(PAUSE)
                stage.change()
            found = delays(audience, stage)
            assert len(found) > 20 * LISTENERS
            assert share(found, 0.95) <= BOUND
            assert dropped(site) == 1
            assert audience.left == 0
            sleeper.leave()
