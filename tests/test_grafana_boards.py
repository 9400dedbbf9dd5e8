"""The boards in ``deploy/grafana`` ask for what is served, and are boards that Grafana can show."""

import json
import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.test_metrics_docs import NAME, names_in, served

FOLDER = Path(__file__).parents[1] / "deploy" / "grafana"
BOARDS = sorted(FOLDER.glob("*.json"))
KINDS = {"row", "stat", "timeseries", "heatmap", "state-timeline", "table"}
_OF_GRAFANA = {"instance", "le", "__name__"}
_SHARED = ("orth_registry_executors", "orth_services", "orth_coordinators", "orth_registry_groups_without_executors")
"""What every coordinator serves alike: summed, it would be counted once for each."""


def board(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.read_text())
    return found


def panels(file: Path) -> list[dict[str, Any]]:
    return list(board(file)["panels"])


def expressions() -> list[tuple[str, str, str]]:
    """Title, expression and legend of every query of every board."""
    found = [
        (f"{file.stem}: {panel['title']}", query["expr"], query["legendFormat"])
        for file in BOARDS
        for panel in panels(file)
        for query in panel.get("targets", ())
    ]
    assert len(found) > 40
    return found


def test_there_are_two() -> None:
    assert [board(file)["title"] for file in BOARDS] == [
        "Orth / Cluster and executors",
        "Orth / Schedules and executions",
    ]
    assert len({board(file)["uid"] for file in BOARDS}) == len(BOARDS)


async def test_every_query_asks_for_metrics_labels_and_values_that_are_served(tmp_path: Path) -> None:
    metrics = await served(tmp_path)
    for title, expression, legend in expressions():
        named = names_in(expression)
        assert named, title
        assert named <= metrics.keys(), title
        labels = frozenset[str]().union(*(metrics[name].labels for name in named)) | _OF_GRAFANA
        grouped = {label.strip() for some in re.findall(r"by \(([^)]*)\)", expression) for label in some.split(",")}
        matched = re.findall(r'(\w+)\s*(?:=~|!=|!~|=)\s*"([^"]*)"', expression)
        assert grouped | {label for label, _ in matched} <= labels, title
        words = frozenset[str]().union(*(metrics[name].words for name in named))
        assert {word for label, value in matched if label != "instance" for word in value.split("|")} <= words, title
        kept = grouped or labels
        assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= kept | {"instance"}, title


async def test_counters_are_read_as_rates_and_gauges_as_they_are(tmp_path: Path) -> None:
    metrics = await served(tmp_path)
    for title, expression, _ in expressions():
        for name in NAME.findall(expression):
            kind = metrics[re.sub(r"_(bucket|sum|count)$", "", name)].kind
            rated = re.search(rf"(rate|increase)\({name}(\{{[^}}]*\}})?\[", expression) is not None
            assert rated == (kind in ("counter", "histogram")), f"{title}: {name} is a {kind}"
            assert not (name in _SHARED and f"sum({name}" in expression), title
        for opening, closing in ("()", "[]", "{}"):
            assert expression.count(opening) == expression.count(closing), title


def test_both_variables_are_defined_and_used() -> None:
    for file in BOARDS:
        defined = {one["name"] for one in board(file)["templating"]["list"]}
        used = set(re.findall(r"\$\{?([a-z]\w*)", json.dumps(panels(file))))
        assert used == defined == {"datasource", "instance"}, file.name


@pytest.mark.parametrize("file", BOARDS, ids=lambda file: str(file.stem))
def test_a_board_is_whole(file: Path) -> None:
    found = panels(file)
    assert {panel["type"] for panel in found} <= KINDS
    assert len({panel["id"] for panel in found}) == len(found)
    assert len({panel["title"] for panel in found}) == len(found)
    for panel in found:
        place = panel["gridPos"]
        assert 0 <= place["x"] < place["x"] + place["w"] <= 24, panel["title"]
        assert (panel["type"] == "row") == ("targets" not in panel), panel["title"]
        letters = [query["refId"] for query in panel.get("targets", ())]
        assert len(set(letters)) == len(letters)


@pytest.mark.parametrize("file", BOARDS, ids=lambda file: str(file.stem))
def test_no_panel_covers_another(file: Path) -> None:
    for one, other in combinations([panel["gridPos"] | {"title": panel["title"]} for panel in panels(file)], 2):
        apart = (
            one["x"] + one["w"] <= other["x"]
            or other["x"] + other["w"] <= one["x"]
            or one["y"] + one["h"] <= other["y"]
            or other["y"] + other["h"] <= one["y"]
        )
        assert apart, (one["title"], other["title"])
