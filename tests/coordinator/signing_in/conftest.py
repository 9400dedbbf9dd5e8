"""A store of each kind, as the tests of the store have it."""

from tests.store.conftest import db, nodes, peer, schema_url

__all__ = ["db", "nodes", "peer", "schema_url"]
