"""What a route does not understand is refused, and changes nothing."""

import pytest

from tests.coordinator.http.live import Caller
from tests.coordinator.http.rights_site import RightsSite

NOT_UNDERSTOOD = [
    ("POST", "/api/v1/executions/bulk/kill?status=pending&jobid=1", None, "jobid", "Did you mean job_id?"),
    ("POST", "/api/v1/executions/bulk/kill?status=pending&dryrun=true", None, "dryrun", "Did you mean dry_run?"),
    ("POST", "/api/v1/executions/bulk/retry?status=failed&job-id=1", None, "job-id", "Did you mean job_id?"),
    ("POST", "/api/v1/dead-letters/replay?jobid=1", None, "jobid", "Did you mean job_id?"),
    ("POST", "/api/v1/jobs/bulk/delete?tags=x", None, "tags", "Did you mean tag?"),
    ("GET", "/api/v1/executions?cause=api&cause=cron", None, "cause", "Give it once."),
    ("GET", "/api/v1/executions?nonsense=1", None, "nonsense", "Known here: "),
    ("GET", "/api/v1/users/me?x=1", None, "x", "It takes none."),
    ("POST", "/api/v1/executions/bulk/kill?status=pending", {"job_id": 1}, None, "after the question mark"),
    ("POST", "/api/v1/auth/logout", {"everywhere": True}, None, None),
]


@pytest.mark.parametrize(("method", "path", "body", "field", "hint"), NOT_UNDERSTOOD, ids=lambda value: str(value)[:60])
def test_what_is_not_understood_is_refused(
    admin: Caller, method: str, path: str, body: object, field: str | None, hint: str | None
) -> None:
    answer = admin.call(method, path, body)
    assert answer.status == 422, answer.body
    told = answer.json
    assert [one["field"] for one in told.get("errors", ())] == ([] if field is None else [field])
    assert hint is None or hint in told["hint"]


def test_an_empty_body_is_no_body(admin: Caller) -> None:
    assert admin.call("POST", "/api/v1/executions/bulk/kill?status=pending&dry_run=true", {}).status == 202


def test_who_may_not_is_told_so_first(rights: RightsSite) -> None:
    assert rights.callers["viewer"].call("POST", "/api/v1/executions/bulk/kill?nonsense=1").status == 403
