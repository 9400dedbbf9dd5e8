"""What tests need to hold time, the network and a whole cluster in their hands.

* ``ManualClock`` stands still until it is moved.
* ``Recorder`` hears every fact that is told, so that a test waits for what happened instead of sleeping.
* ``Cluster`` is coordinators and executors in one process, on a manual clock and a network that can be cut; ``await
  cluster.advance(seconds=90)`` turns every loop whose time has come. Handlers run in their real job threads, results
  go through the real outbox, and the store is a real SQLite file.
* ``stress_start_stop`` starts and stops a loop in every order.
"""

from orth.testing.clocks import ManualClock
from orth.testing.cluster import Cluster
from orth.testing.loops import stress_start_stop
from orth.testing.network import Network
from orth.testing.recorder import Recorder

__all__ = ["Cluster", "ManualClock", "Network", "Recorder", "stress_start_stop"]
