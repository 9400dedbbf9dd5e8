"""Groups and jobs for handlers that have none, made through the API like anybody would."""

import json
from dataclasses import dataclass
from typing import Any

import urllib3

from orth.domain.app_names import LONGEST, RENAME, trouble_with
from orth.domain.jobs import ScheduleType
from orth.domain.retries import LARGEST_MULTIPLIER
from orth.domain.schedules import read_schedule
from orth.errors import Conflict, Invalid, Unauthenticated, Unavailable, quotable
from orth.executor.proposals import trouble_without_parameter
from orth.wire.network_reasons import network_sentence

GREETING = "demo.hello"
_TIMEOUT = urllib3.Timeout(total=5)
_JITTER = 0.5
"""The part of a pause that chance may take away where an author asks for jitter without saying how much."""


class AdminApi:
    """The admin API of a coordinator, by a bearer token."""

    def __init__(self, url: str, pool: urllib3.PoolManager, token: str | None = None) -> None:
        self._url = url
        self._pool = pool
        self._token = token

    def sign_in(self, username: str, password: str) -> bool:
        """Get a token by a password; whether it was the right one."""
        body = {"username": username, "password": password}
        try:
            self._token = self.call("POST", "/api/v1/auth/login", body)["access_token"]
        except Unauthenticated:
            return False
        return True

    def call(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            answer = self._pool.request(method, f"{self._url}{path}", json=body, headers=headers, timeout=_TIMEOUT)
        except urllib3.exceptions.HTTPError as error:
            raise Unavailable(f"{network_sentence(self._url, error)}.") from None
        data = _read(answer.data)
        if answer.status == Unauthenticated.status:
            raise Unauthenticated(f"{method} {path}: {_detail(data) or answer.status}")
        if 400 <= answer.status < 500:
            raise Invalid(f"{method} {path}: {_detail(data) or answer.status}")
        if answer.status >= 500:
            raise Unavailable(f"{method} {path}: {_detail(data) or answer.status}")
        return data

    def items(self, path: str) -> list[dict[str, Any]]:
        """All items of a list."""
        found: list[dict[str, Any]] = []
        cursor = ""
        while True:
            page = self.call("GET", f"{path}{'&' if '?' in path else '?'}limit=200{cursor}")
            found.extend(page["items"])
            if page["next_cursor"] is None:
                return found
            cursor = f"&cursor={page['next_cursor']}"


def _read(data: bytes) -> Any:
    try:
        return json.loads(data) if data else None
    except ValueError:
        raise Unavailable("Something answers that is not Orth.") from None


def _detail(data: object) -> str | None:
    """What a refusal says, and what to do next."""
    if not isinstance(data, dict) or not data.get("detail"):
        return None
    return " ".join(str(data[name]) for name in ("detail", "hint") if data.get(name))


@dataclass(frozen=True, slots=True)
class Made:
    """What was made: the name of each new job with its schedule, and what was refused, as sentences."""

    jobs: tuple[tuple[str, str], ...]
    refused: tuple[str, ...] = ()


def trigger_one(api: AdminApi) -> str:
    """Trigger the job a person probably means, the greeting of the demo or else the oldest; a sentence about it."""
    jobs = api.items("/api/v1/jobs")
    if not jobs:
        raise Conflict("There is no job to trigger.", hint="Write a jobs.py.")
    job = min(jobs, key=lambda one: (one["executor_handler"] != GREETING, one["id"]))
    [first, *_] = api.call("POST", f"/api/v1/jobs/{job['id']}/trigger", {})["execution_ids"]
    return f"triggered {job['job_desc']} #{first}"


def make_first_jobs(api: AdminApi) -> Made:
    """A group for every app that registered without one, and a started job for every handler that suggests a
    schedule. A group or job that is refused does not keep the others from being made.
    """
    made: list[tuple[str, str]] = []
    refused: list[str] = []
    groups = {group["app_name"]: group["id"] for group in api.items("/api/v1/groups")}
    for app_name in dict.fromkeys(executor["app_name"] for executor in api.items("/api/v1/executors")):
        if app_name in groups:
            continue
        try:
            groups[app_name] = _make_group(api, app_name)
        except Invalid as error:
            refused.append(f"no group was created for {quotable(app_name, LONGEST)}: {error}")
    for group_id in groups.values():
        used = {job["executor_handler"] for job in api.items(f"/api/v1/jobs?job_group={group_id}")}
        for handler in api.call("GET", f"/api/v1/groups/{group_id}/handlers")["items"]:
            if not handler["schedule"] or handler["name"] in used:
                continue
            try:
                made.append(_make_job(api, group_id, handler))
            except Invalid as error:
                refused.append(f"no job was created for {handler['name']} ({handler['schedule']}): {error}")
    return Made(tuple(made), tuple(refused))


def _make_group(api: AdminApi, app_name: str) -> int:
    if trouble := trouble_with(app_name):
        raise Invalid(trouble.message, hint=RENAME)
    group_id: int = api.call("POST", "/api/v1/groups", {"app_name": app_name})["id"]
    return group_id


def _make_job(api: AdminApi, group_id: int, handler: dict[str, Any]) -> tuple[str, str]:
    if trouble := trouble_without_parameter(handler.get("params_schema")):
        raise trouble
    job = api.call("POST", "/api/v1/jobs", job_proposed(group_id, handler))
    api.call("POST", f"/api/v1/jobs/{job['id']}/start")
    return handler["name"], handler["schedule"]


def job_proposed(group_id: int, handler: dict[str, Any]) -> dict[str, Any]:
    """The job as the author of its handler proposes it; what was left open is left to the defaults."""
    retry = handler.get("retry")
    schedule_type, conf = read_schedule(handler["schedule"]) if handler.get("schedule") else (ScheduleType.NONE, "")
    proposed = {
        "job_group": group_id,
        "job_desc": handler["name"],
        "schedule_type": schedule_type.value,
        "schedule_conf": conf,
        "timezone": handler["timezone"],
        "executor_handler": handler["name"],
    }
    if_said = {
        "executor_timeout": handler.get("timeout"),
        "executor_block_strategy": handler.get("block"),
        "executor_concurrency": handler.get("concurrency"),
        "overlap": handler.get("overlap"),
        "executor_fail_retry_count": retry["attempts"] - 1 if retry else None,
        "retry_policy": _policy(retry) if retry else None,
    }
    return proposed | {name: value for name, value in if_said.items() if value is not None}


def _policy(retry: dict[str, Any]) -> dict[str, Any] | None:
    """The pauses an author proposes, as a job has them; None for none."""
    if not retry["delay"]:
        return None
    return {
        "delay": retry["delay"] / 1000,
        "multiplier": min(retry["backoff"], LARGEST_MULTIPLIER),
        "jitter": _JITTER if retry["jitter"] else 0,
    }
