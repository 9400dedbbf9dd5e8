"""About requests as such, and what is stored."""

from collections.abc import Mapping

SAYINGS: Mapping[str, tuple[str, str]] = {
    "not_found": (
        "There is no {what} {key}.",
        "",
    ),
    "coordinator_stops": (
        "This coordinator stops, and the request did not come whole.",
        "Ask again.",
    ),
    "store_unavailable": (
        "The database does not answer.",
        "",
    ),
    "changed_meanwhile": (
        "The {what} {key} is now at ETag {etag}; the change was made to another.",
        "Read it and try again.",
    ),
    "not_an_instant": (
        "'{said}' is not an instant.",
        "Write 2026-01-30T10:00:00Z, or an age such as 2h.",
    ),
    "since_after_until": (
        "since must be before until.",
        "",
    ),
    "since_not_past": (
        "since must be in the past, and after 1970.",
        "",
    ),
    "too_many_bars": (
        "That would be more than {limit} parts.",
        "Ask for days, or for a shorter span.",
    ),
    "cursor_strange": (
        "The cursor is not one of ours.",
        "Use next_cursor of the page before, or none.",
    ),
    "requests_full": (
        "Too many requests wait to be answered.",
        "Try again in a few seconds.",
    ),
    "bodies_of_caller": (
        "The bodies of your requests in progress take more than {limit:,} MiB.",
        "Send large requests one after the other.",
    ),
    "bodies_full": (
        "This coordinator has as many request bodies in memory as it may have.",
        "Try again in a few seconds.",
    ),
    "body_too_large": (
        "The body is larger than {limit:,} bytes.",
        "Send less at once.",
    ),
    "too_many_values": (
        "The JSON has more than {limit:,} values.",
        "Send less at once.",
    ),
    "too_many_members": (
        "An object of the JSON has more than {limit:,} members.",
        "Send only the members that are documented.",
    ),
    "bug_here": (
        "Something is wrong on our side. The log of this node has it as error {reference}.",
        "",
    ),
    "given_twice": (
        "{name} is given more than once.",
        "Give it once.",
    ),
    "no_body_here": (
        "This takes no body.",
        "",
    ),
    "no_body_but_parameters": (
        "This takes no body.",
        "Its parameters are {names}, after the question mark of the address.",
    ),
    "no_parameter": (
        "There is no parameter '{name}' here.",
        "Known here: {names}.",
    ),
    "no_parameter_like": (
        "There is no parameter '{name}' here.",
        "Did you mean {near}? Known here: {names}.",
    ),
    "no_parameter_at_all": (
        "There is no parameter '{name}' here.",
        "It takes none.",
    ),
    "body_not_json": (
        "The body is {kind}, not JSON.",
        "Send Content-Type: application/json.",
    ),
    "body_of_no_type": (
        "The body is of no stated type, not JSON.",
        "Send Content-Type: application/json.",
    ),
    "key_used": (
        "This Idempotency-Key was used with another body.",
        "Use a new key for a new request.",
    ),
    "too_much_to_store": (
        "Too much waits to be stored.",
        "Try again in a moment.",
    ),
    "audit_head_gone": (
        "The head of the audit is gone, so nothing that is audited can be done.",
        "Run: orth audit verify",
    ),
    "sealed_with_other_key": (
        "A stored value was sealed with the master key {key}, which this node does not have.",
        "Give it the key (security.master_key), or store the value again.",
    ),
    "sealed_and_changed": (
        "A stored value was changed or moved since it was sealed.",
        "Store the value again.",
    ),
    "not_sealed": (
        "A stored value is not in the form of a sealed one.",
        "Store the value again.",
    ),
    "code_changed_meanwhile": (
        "The code of job {job} is now at ETag {etag}; the change was made to another.",
        "Read it and try again.",
    ),
    "definitions_changed_meanwhile": (
        "What would become of these definitions is now at ETag {etag}; the change was made to another.",
        "Read it and try again.",
    ),
}
