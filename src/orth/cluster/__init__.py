"""Several coordinators acting as one. Knows nothing of cron or handlers.

**Terms.** Exactly one coordinator leads. A leadership is a numbered *term*; its number, the epoch, lives in the
database and only grows. A leader renews a *lease* row; a contender takes over after it has itself watched the row
stand still for a whole lease, so no two machines' clocks are ever compared. A leader that stops cleanly gives the
lease up, and the next one starts at once.

**Doubt means stepping down.** A leader trusts its term until ``renewal sent + lease − margin`` on its own clock and
does nothing as leader after that. A term that no longer completes planning passes is not renewed: leadership is
earned by working. Safety does not rest on any of this: every leader transaction share-locks the epoch row with its
own number (``orth.store.leases``), so no write of an old term commits once a newer one exists, however long its
process was frozen.

``election`` holds the lease and the term; ``leading`` is the base of every loop that only a leader turns.
"""
