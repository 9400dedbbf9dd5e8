"""The outside of a coordinator: executor API, admin API, health.

One file per resource. ``app`` puts them together and is where the rule "nobody anonymous" is made: every route of the
admin API hangs under one router that demands a signed-in caller, and the executor API checks its token in one place.
``tests/coordinator/http`` walks all routes without a credential.

The executor API answers in the envelope executors know; everything else answers errors as
``application/problem+json`` with a ``hint`` that says what to do next. JSON members are snake_case, instants RFC 3339
in UTC, lists ``{"items": […], "next_cursor": …}``.
"""
