"""The database, and the only place that speaks SQL.

**What it offers.** Verbs of intent, one module per noun (``groups``, ``jobs``, ``executions``, ``fires``,
``registry``, ``leases``, ``users``): plain functions that take an open connection and say what happened. A caller
never builds a statement; a verb never opens a transaction. The caller decides what belongs together::

    await db.tx(plan_and_open, now, limit)          # one transaction, in a worker thread
    await db.leader_tx(term, plan_and_open, …)     # the same, refused when the term is over

**One transaction, one unit.** A unit may be repeated: on a deadlock or a serialization failure ``tx`` rolls back and
runs the function again with the same arguments. So a unit has no effect outside its connection.

**Guards live here.** At most one execution per ``(job, trigger_key, shard)`` by a unique key, where ``trigger_key``
names the cause (``fire:…`` for a planned instant, ``key:…`` for an idempotency key, ``retry:…`` for the execution
retried). A terminal row is never changed: every status change is guarded by the phase it expects and tells which rows
it won. No write of an old term commits after a newer one exists: a leader transaction first share-locks the epoch row
with its own number, and an election must update that very row.

**Three engines, one suite.** SQLite (one writer thread, ``BEGIN IMMEDIATE``, WAL, readers beside it), PostgreSQL and
MariaDB/MySQL (READ COMMITTED, a thread per connection, bounded). ``tests/store`` runs every verb on all three. Where
their SQL differs the difference is in ``engines``.

Instants are UTC epoch milliseconds. Hot open rows are found by ``(phase, id)`` whatever the size of the history.
"""
