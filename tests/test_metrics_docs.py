"""``docs/metrics.md`` and the alert rules name what is served: a metric that comes, goes or changes is noticed here."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from orth.executor.handlers import Handlers
from orth.testing import Cluster

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs/metrics.md"
ALERTS = REPOSITORY / "deploy/prometheus/orth-alerts.yml"
OPEN_LABELS = ("version", "incarnation", "queue")
"""One value for each process, and the names of a bounded number of queues."""
NAME = re.compile(r"\borth_\w+")


@dataclass(frozen=True)
class Described:
    """A metric: as it is served, or as the page says."""

    kind: str
    labels: frozenset[str]
    words: frozenset[str]
    """The values its labels may have."""


async def served(folder: Path) -> dict[str, Described]:
    """What a coordinator and an executor serve."""
    async with Cluster(folder, Handlers("tests")) as cluster:
        texts = (await cluster.coordinators[0].metrics.text(), cluster.executors[0].metrics_text())
    return {name: one for text in texts for name, one in read(text.decode()).items()}


def read(text: str) -> dict[str, Described]:
    found = {}
    for family in text_string_to_metric_families(text):
        name = family.name + ("_total" if family.type == "counter" else "")
        pairs = {pair for one in family.samples for pair in one.labels.items() if pair[0] != "le"}
        words = frozenset(value for label, value in pairs if label not in OPEN_LABELS)
        found[name] = Described(family.type, frozenset(label for label, _value in pairs), words)
    return found


def documented() -> dict[str, Described]:
    rows = re.findall(r"^\| `(orth_\w+)` \| (\w+) \|([^|]*)\|([^|]*)\|$", PAGE.read_text(), re.MULTILINE)
    assert len({name for name, *_rest in rows}) == len(rows), "a metric is listed twice"
    return {
        name: Described(
            kind, quoted(labels), quoted(meaning) if quoted(labels).difference(OPEN_LABELS) else frozenset()
        )
        for name, kind, labels, meaning in rows
    }


def quoted(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"`(\w+)`", text))


def rules() -> list[dict[str, Any]]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def names_in(expression: str) -> set[str]:
    return {re.sub(r"_(bucket|sum|count)$", "", name) for name in NAME.findall(expression)}


async def test_the_table_is_what_both_processes_serve(tmp_path: Path) -> None:
    assert documented() == await served(tmp_path)


async def test_alerts_name_metrics_and_labels_that_exist(tmp_path: Path) -> None:
    metrics = await served(tmp_path)
    for rule in rules():
        named = names_in(rule["expr"])
        assert named, rule["alert"]
        assert named <= metrics.keys(), rule["alert"]
        labels = frozenset[str]().union(*(metrics[name].labels for name in named)) | {"instance", "le"}
        grouped = {label.strip() for some in re.findall(r"by \(([^)]*)\)", rule["expr"]) for label in some.split(",")}
        matched = re.findall(r'(\w+)\s*(?:=~|=|!=|!~)\s*"([^"]*)"', rule["expr"])
        shown = set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))
        assert grouped | shown | {label for label, _value in matched} <= labels, rule["alert"]
        words = frozenset[str]().union(*(metrics[name].words for name in named))
        assert {word for _label, value in matched for word in value.split("|")} <= words, rule["alert"]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule["alert"]))
def test_a_rule_is_whole(rule: dict[str, Any]) -> None:
    assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in ("warning", "critical")
    assert rule["annotations"]["summary"]
    assert re.fullmatch(r"\d+[smh]", rule.get("for", "0m"))
    for opening, closing in ("()", "[]", "{}"):
        assert rule["expr"].count(opening) == rule["expr"].count(closing)


def test_the_page_lists_the_alerts_that_exist() -> None:
    listed = re.findall(r"^\| `(Orth\w+)` \|", PAGE.read_text(), re.MULTILINE)
    assert listed == [rule["alert"] for rule in rules()]


def test_what_has_to_be_watched_has_an_alert() -> None:
    watched = {name for rule in rules() for name in names_in(rule["expr"])}
    assert watched >= {
        "orth_registry_executors",
        "orth_registry_refusals_total",
        "orth_leader",
        "orth_executor_outbox_results",
        "orth_store_up",
        "orth_misfires_total",
        "orth_lifecycle_registration_failures_total",
        "orth_channel_waiting",
        "orth_queue_dead_letters_total",
        "orth_channel_errors_total",
    }
