"""Signs of change: a few numbers that differ when something did, read often and cheaply.

They do not say what changed, only where to look again.
"""

from collections.abc import Hashable, Mapping

from sqlalchemy import Connection, func, select

from orth.store.cluster_history import newest_handoff
from orth.store.leases import find_lease
from orth.store.nodes import list_nodes
from orth.store.service_events import last_seq
from orth.store.statistics import open_counts
from orth.store.tables import executions


def read_signs(connection: Connection) -> Mapping[str, Hashable]:
    """A value for each subject. What is opened has a new number; what moves on or ends leaves its phase."""
    newest = connection.execute(select(func.max(executions.c.id))).scalar() or 0
    lease = find_lease(connection)
    leads = (lease.epoch, lease.node_id) if lease else (0, None)
    nodes = [(one.said.node_id, one.said.incarnation, one.said.state, one.said.role) for one in list_nodes(connection)]
    return {
        "executions": (newest, tuple(sorted(open_counts(connection).items()))),
        "services": last_seq(connection),
        "cluster": (leads, newest_handoff(connection), tuple(nodes)),
    }
