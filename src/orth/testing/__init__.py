"""What tests need: jobs carried out one by one, and time, the network and a whole cluster held in the hands.

For those who write jobs:

* ``run_job`` carries out a handler once, as an executor would; ``run_shards`` every shard of a broadcast.
* ``next_fires`` says when the schedule of a handler would fire.
* The fixtures ``orth_run`` and ``orth_clock`` come with the pytest plugin.

For tests of Orth itself:

* ``ManualClock`` stands still until it is moved.
* ``Recorder`` hears every fact that is told, so that a test waits for what happened instead of sleeping.
* ``Cluster`` is coordinators and executors in one process, on a manual clock and a network that can be cut; ``await
  cluster.advance(seconds=90)`` turns every loop whose time has come. Handlers run in their real job threads, results
  go through the real outbox, and the store is a real SQLite file. It needs the extra ``server``.
* ``stress_start_stop`` starts and stops a loop in every order.

Names are looked up when they are first used: those who test jobs need not have what a coordinator needs.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orth.testing.clocks import ManualClock
    from orth.testing.cluster import Cluster
    from orth.testing.jobs import RunReport, UpcomingFire, next_fires, run_job, run_shards
    from orth.testing.loops import stress_start_stop
    from orth.testing.network import Network
    from orth.testing.recorder import Recorder

__all__ = [
    "Cluster",
    "ManualClock",
    "Network",
    "Recorder",
    "RunReport",
    "UpcomingFire",
    "next_fires",
    "run_job",
    "run_shards",
    "stress_start_stop",
]

_HOMES = {
    "Cluster": "cluster",
    "ManualClock": "clocks",
    "Network": "network",
    "Recorder": "recorder",
    "RunReport": "jobs",
    "UpcomingFire": "jobs",
    "next_fires": "jobs",
    "run_job": "jobs",
    "run_shards": "jobs",
    "stress_start_stop": "loops",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'orth.testing' has no attribute {name!r}")
    return getattr(import_module(f"orth.testing.{home}"), name)
