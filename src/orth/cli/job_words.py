"""The options of ``orth job create`` and ``orth job edit``, and the members of the API that they stand for."""

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from orth.domain.jobs import BlockStrategy, RouteStrategy, ScheduleType
from orth.errors import Invalid

_F = TypeVar("_F", bound=Callable[..., Any])
_NO_SCHEDULE = "none"
_OPTIONS = (
    click.option("--name", metavar="TEXT", help="Name of the job.  [default: the handler]"),
    click.option(
        "--schedule", metavar="TEXT", help="Cron expression, FIX_RATE 30s, FIX_DELAY 30s, AT INSTANT, or none."
    ),
    click.option("--timezone", metavar="ZONE", help="Zone of the schedule, such as Europe/Paris."),
    click.option("--param", metavar="TEXT", help="Parameter of its executions."),
    click.option("--timeout", metavar="SECONDS", type=click.IntRange(min=0), help="Time limit; 0: none."),
    click.option("--retries", metavar="N", type=click.IntRange(0, 100), help="Attempts after the first."),
    click.option("--block", type=click.Choice([one.value for one in BlockStrategy], case_sensitive=False)),
    click.option("--route", type=click.Choice([one.value for one in RouteStrategy], case_sensitive=False)),
    click.option(
        "--set", "fields", multiple=True, metavar="FIELD=VALUE", help="Any other field of the API; may be given again."
    ),
)
_FIELDS = {
    "name": "job_desc",
    "timezone": "timezone",
    "param": "executor_param",
    "timeout": "executor_timeout",
    "retries": "executor_fail_retry_count",
    "block": "executor_block_strategy",
    "route": "executor_route_strategy",
}


def definition_options(command: _F) -> _F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def definition_of(words: Mapping[str, Any]) -> dict[str, Any]:
    """What the options say of a job, as the API takes it."""
    found = {field: words[word] for word, field in _FIELDS.items() if words[word] is not None}
    if words["schedule"] is not None:
        found |= _schedule(words["schedule"])
    for text in words["fields"]:
        field, equals, value = text.partition("=")
        if not equals:
            raise Invalid(f"--set {text} names no value.", hint="Write it as FIELD=VALUE.")
        found[field] = _value(value)
    return found


def _schedule(text: str) -> dict[str, str]:
    from orth.domain.schedules import read_schedule

    none = text.strip().lower() == _NO_SCHEDULE
    schedule_type, conf = (ScheduleType.NONE, "") if none else read_schedule(text)
    return {"schedule_type": schedule_type.value, "schedule_conf": conf}


def _value(text: str) -> Any:
    """JSON where it is JSON; any other text is a text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
