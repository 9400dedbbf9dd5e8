"""About coordinators and the processes an ``orth up`` keeps."""

from collections.abc import Mapping

SAYINGS: Mapping[str, tuple[str, str]] = {
    "nobody_leads": (
        "Nobody leads at the moment.",
        "",
    ),
    "no_other_leader": (
        "There is nobody else to lead but {node}.",
        "",
    ),
    "not_supervised": (
        "No orth up keeps this process.",
        "Ask what keeps it: systemd, the container platform, a person.",
    ),
    "coordinator_gone": (
        "Coordinator {node} is not there any more.",
        "",
    ),
    "coordinator_replaced": (
        "Coordinator {node} was just replaced, or is about to stop.",
        "Look again.",
    ),
    "supervisor_of_other_version": (
        "The orth up that keeps this process is of another version.",
        "",
    ),
    "supervisor_silent": (
        "The orth up that keeps this process does not answer.",
        "",
    ),
    "services_full": (
        "There are {limit:,} services of this kind with this token already.",
        "Unregister the services that are gone, or raise registry.services_limit.",
    ),
    "agent_without_executor": (
        "The group {app} has no registered executor at the host and port of {url}.",
        "Register the executor first (POST /api/registry), then its agent.",
    ),
    "process_refused": (
        "{said}",
        "",
    ),
}
