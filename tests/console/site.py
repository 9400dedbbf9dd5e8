"""A coordinator and an executor with something to show, as the stories of the console find them."""

from pathlib import Path
from typing import Any

from tests.walk.processes import Site, eventually

JOBS = Path(__file__).parent / "story_jobs.py"
ALARMS = {"ORTH_ALARMS__ALLOW_LOCAL": "true", "ORTH_ALARMS__QUIET": "200ms"}
"""What the coordinator of the stories is started with, so that alarms go out soon, and to this machine."""
SCRIPTS = {"ORTH_EXECUTOR__SCRIPTS": "shell", "ORTH_EXECUTOR__SCRIPTS_SHARE_USER": "true"}
"""What the executor of the stories is started with, so that it runs code of jobs."""

_JOBS: dict[str, dict[str, Any]] = {
    "Collect prices of all suppliers": {"executor_handler": "stumble"},
    "Greet the customers": {"executor_handler": "greet", "schedule_type": "CRON", "schedule_conf": "0 */5 * * * ?"},
    "Nightly report": {"executor_handler": "greet", "schedule_type": "CRON", "schedule_conf": "0 30 2 * * ?"},
    "Rebuild the search index": {"executor_handler": "linger"},
    "Synchronise warehouses": {"executor_handler": "linger", "executor_timeout": 1},
    "Read the ledger": {"executor_handler": "flood"},
    "Talk to the suppliers": {"executor_handler": "chatter"},
    "Try the viewer": {"executor_handler": "mischief"},
    "Clean the archive": {
        "glue_type": "GLUE_SHELL",
        "glue_source": "#!/bin/sh\n# What is older than a month goes.\necho cleaned the archive\n",
        "glue_remark": "the first version",
    },
}


def furnish(site: Site) -> dict[str, int]:
    """Jobs of every kind, run so that every status is there; their ids by name."""
    api = site.api()
    group = api.call("POST", "/api/v1/groups", {"app_name": "stories", "title": "Stories", "scripts_allowed": True})
    empty = api.call("POST", "/api/v1/groups", {"app_name": "nobody", "title": "Nobody there"})
    closed = {"url": "http://127.0.0.1:9/nobody-listens", "preset": "slack"}
    api.call("POST", "/api/v1/alarms/channels", {"name": "On call", "kind": "webhook", "definition": closed})
    ids = {
        name: int(api.call("POST", "/api/v1/jobs", {"job_group": group["id"], "job_desc": name, **fields})["id"])
        for name, fields in _JOBS.items()
    }
    lonely = {"job_group": empty["id"], "job_desc": "Send the invoices", "executor_handler": "greet"}
    ids["Send the invoices"] = int(api.call("POST", "/api/v1/jobs?allow_unknown_handler=true", lonely)["id"])
    for name in ("Greet the customers", "Nightly report"):
        api.call("POST", f"/api/v1/jobs/{ids[name]}/start")
    for name, times in {"Greet the customers": 6, "Collect prices of all suppliers": 3}.items():
        for _ in range(times):
            api.call("POST", f"/api/v1/jobs/{ids[name]}/trigger", expect=202)
    for name in ("Synchronise warehouses", "Rebuild the search index", "Send the invoices"):
        api.call("POST", f"/api/v1/jobs/{ids[name]}/trigger", expect=202)
    for status in ("success", "failed", "timeout", "trigger_failed", "pending"):
        eventually(lambda status=status: api.items(f"/api/v1/executions?status={status}"), what=status)  # type: ignore[misc]
    return ids
