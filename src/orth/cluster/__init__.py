"""Several coordinators acting as one. Knows nothing of cron or handlers.

**Terms.** Exactly one coordinator leads. A leadership is a numbered *term*; its number, the epoch, lives in the
database and only grows. A leader renews a *lease* row; a contender takes over after it has itself watched the row
stand still for a whole lease, so no two machines' clocks are ever compared. A leader that stops cleanly gives the
lease up, and the next one starts at once. One that is killed loses its lock at the server of the database, and is
followed as soon as that has been gone, and the lease not renewed, for two seconds.

**Doubt means stepping down.** A leader trusts its term until ``renewal sent + lease − margin`` on its own clock and
does nothing as leader after that. A term that no longer completes planning passes is not renewed: leadership is
earned by working. Safety does not rest on any of this: every leader transaction share-locks the epoch row with its
own number (``orth.store.leases``), so no write of an old term commits once a newer one exists, however long its
process was frozen.

**Members.** Every coordinator counts its beats in a row of its own. The others watch that counter with their own
clocks: one that stands still for ``cluster.dead_after`` is dead, and a silence counts only while the watcher itself was
looking. A process is its *incarnation*, not its name; one that finds its name taken by another process stops.

**Owners.** An execution that somebody has to follow has a row with its owner and a *generation*, which grows with every
change of hands. Whoever acts names the generation it saw, so of two that adopt an execution one wins, and a coordinator
that was away finds its generation gone and lets go. Messages only hint; with every one of them lost, looks at the rows
still find what nobody follows.

**What a crash costs.** A leader: planning and sending stop for two or three seconds, or for a lease if its machine is
gone too; nothing is lost, for whatever it had decided is in the database, and what it had sent ahead starts in time. A
follower: what it owned waits for ``dead_after`` and the next orphan check; results come by any coordinator meanwhile.
All of them: executors keep what they have and deliver it later. Redis: seconds, for the looks take the place of the
messages. A crash in the middle of a handoff, a drain or an orphan check: nothing, each step leaves rows that the next
one to look goes on from.

``election`` holds the lease and the term, ``leading`` is the base of every loop that only a leader turns, ``life``
keeps the lock that shows a death, and ``redis_lease`` is a hint that may spare a newcomer some waiting. ``membership``
beats and listens, ``fellows`` judges who lives. ``holdings`` is what a node owns, ``ownership`` how that comes and
goes, ``handoff`` the passing on with its four cases, ``drain`` a coordinator's leaving, ``orphans`` the leader's search
for what nobody follows, and ``rebalance`` the evening out. ``alone`` proves on one machine who is alive.
"""
