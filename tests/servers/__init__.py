"""Private PostgreSQL, MariaDB and Redis servers, real ones, for tests.

``with PostgresServer() as server:`` prepares a data directory in the temporary directory, starts the server on a free
port of 127.0.0.1 and hands out fresh, empty databases. Each pytest process has its own servers, started when first
asked for: preparing one takes about a second, which is cheaper than locks between processes.

* ``binaries`` finds the programs; ``python -m tests.servers.binaries`` prints the packages that are missing.
* ``guard`` is the small process between a test run and a server: however the run ends, server and directory go.
* ``server`` is the life of a server: start, halt, restart, kill, stop.
* ``postgres``, ``mariadb``, ``redis`` are the three kinds.

A test that halts or kills a server takes its own, from the fixture ``start_server``; the other fixtures of
``tests/conftest.py`` share one server of each kind within the process.
"""
