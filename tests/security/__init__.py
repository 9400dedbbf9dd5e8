"""Attacks of the catalogue in ``docs/security.md`` that belong to no single room: against whole processes, mostly."""
