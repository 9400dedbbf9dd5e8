"""The outside of a coordinator: executor API, admin API, health.

One file per resource. Every route of the admin API declares the permission it needs (``callers.needs``), and ``app``
does not start with one that does not; what a request names is checked where it is found (``object_checks``), lists hold
what the caller may see, and what it may not see is not there. The executor API checks its token in one place.
``tests/coordinator/http/test_rights.py`` walks all routes with every role and with none.

The executor API answers in the envelope executors know; everything else answers errors as
``application/problem+json`` with a ``hint`` that says what to do next. JSON members are snake_case, instants RFC 3339
in UTC, lists ``{"items": […], "next_cursor": …}``.
"""
