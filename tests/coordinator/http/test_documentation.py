"""The pages about the API tell the truth: their examples are run in order, each page by itself, and every
call and answer is as they say.

The examples are shell lines; of the shell, and of curl and jq, this knows as much as they use.
"""

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from orth.domain.jobs import BlockStrategy, MisfireStrategy, RouteStrategy
from tests.coordinator.http.live import ACCESS_TOKEN, PASSWORD, Answer, Caller, Site
from tests.coordinator.http.test_app import every_route

DOCS = Path(__file__).parents[3] / "docs"
PAGE = DOCS / "api.md"
PAGES = {"api.md": 15, "access.md": 10, "signing-in.md": 7}
"""Pages with examples, and how many of them have an answer at least."""
ANYTHING = "…"


def console_lines(page: Path) -> list[str]:
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def examples(page: Path) -> Iterator[tuple[str, str]]:
    """Each command with the answer below it, if there is one."""
    lines = console_lines(page)
    for line, below in zip(lines, [*lines[1:], "$"], strict=True):
        if line.startswith("$ "):
            yield line.removeprefix("$ "), "" if below.startswith("$") else below


class Shell:
    """Runs the commands of the page."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._variables: dict[str, str] = {}
        self._given = {"ORTH": site.url, "PASSWORD": PASSWORD, "ACCESS_TOKEN": ACCESS_TOKEN}

    def run(self, command: str) -> Answer | None:
        """The answer to a curl command; None when it only set a variable."""
        assignment = re.fullmatch(r"([A-Z_]+)=(.*)", command)
        if assignment is None:
            return self._curl(command)
        name, value = assignment.groups()
        if captured := re.fullmatch(r"\$\((curl .*) \| jq -r \.(\w+)\)", value):
            value = str(self._curl(captured[1]).json[captured[2]])
        else:
            (value,) = self._words(value)
        self._variables[name] = self._given.get(name, value)
        return None

    def _words(self, text: str) -> list[str]:
        """The words of a command, with variables put in where double quotes or no quotes let them."""
        parts = re.split(r"('[^']*')", text)
        filled = [part if part.startswith("'") else re.sub(r"\$(\w+)", self._variable, part) for part in parts]
        return shlex.split("".join(filled))

    def _variable(self, found: re.Match[str]) -> str:
        return self._variables[found[1]]

    def _curl(self, command: str) -> Answer:
        words = self._words(command)
        assert words.pop(0) == "curl"
        method, headers, body, url = "", {}, None, ""
        while words:
            word = words.pop(0)
            if word == "-X":
                method = words.pop(0)
            elif word == "-H":
                name, _, value = words.pop(0).partition(": ")
                headers[name] = value
            elif word == "--json":
                body = words.pop(0).encode()
                method = method or "POST"
            elif word != "-s":
                assert not word.startswith("-"), f"{word} is not known here"
                url = word
        assert url.startswith(self._site.url)
        return Caller(self._site.url).call(method or "GET", url[len(self._site.url) :], raw=body, headers=headers)


def fits(said: Any, got: Any) -> bool:
    """Whether ``got`` is what the page says, with the ellipsis for anything."""
    if isinstance(said, str) and ANYTHING in said:
        return isinstance(got, str) and re.fullmatch(".*".join(map(re.escape, said.split(ANYTHING))), got) is not None
    if isinstance(said, dict):
        more = said.pop(ANYTHING, None) is not None
        if not isinstance(got, dict) or not (said.keys() <= got.keys() if more else said.keys() == got.keys()):
            return False
        return all(fits(said[name], got[name]) for name in said)
    if isinstance(said, list):
        return isinstance(got, list) and len(said) == len(got) and all(map(fits, said, got))
    return bool(said == got and type(said) is type(got))


def read_answer(text: str) -> Any:
    """The JSON of an answer, in which ``, …}`` stands for more members."""
    return json.loads(text.replace(f", {ANYTHING}}}", f', "{ANYTHING}": true}}'))


@pytest.mark.parametrize("page", PAGES)
def test_every_example_does_what_the_page_says(own_site: Site, page: str) -> None:
    shell = Shell(own_site)
    compared = 0
    for command, said in examples(DOCS / page):
        answer = shell.run(command)
        assert (answer is None) == (said == ""), command
        if answer is not None:
            assert fits(read_answer(said), answer.json), f"{command}\nthe page: {said}\nthe answer: {answer.body!r}"
            compared += 1
    assert compared == len(re.findall(r"^\{", "\n".join(console_lines(DOCS / page)), re.MULTILINE)) > PAGES[page]


def test_every_call_the_page_names_exists_and_every_call_there_is_is_named(site: Site) -> None:
    named = {
        (method, re.sub(r"\{\w+\}", "{}", path))
        for method, path in re.findall(r"^\| `([A-Z]+) (/[^`?]+)", PAGE.read_text(), re.MULTILINE)
    }
    there_are = {
        (method, re.sub(r"\{\w+(:path)?\}", "{}", path))
        for method, path in every_route(site.app.routes)
        if path.startswith(("/api/v1", "/health", "/metrics"))
    }
    assert named == there_are


@pytest.mark.parametrize(
    ("said", "got"),
    [
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": 1, ANYTHING: True}, {"b": 1}),
        ({"a": True}, {"a": 1}),
        ([1], [1, 2]),
        ("x…", "yx"),
        (None, 0),
    ],
)
def test_the_comparison_notices_a_difference(said: Any, got: Any) -> None:
    assert not fits(said, got)


def test_every_strategy_is_listed() -> None:
    rows = dict(
        re.findall(
            r"^\| `(executor_route_strategy|executor_block_strategy|misfire_strategy)` \| (.*?) \|",
            PAGE.read_text(),
            re.MULTILINE,
        )
    )
    for field, strategies in (
        ("executor_route_strategy", RouteStrategy),
        ("executor_block_strategy", BlockStrategy),
        ("misfire_strategy", MisfireStrategy),
    ):
        assert set(re.findall(r"`([A-Z_]+)`", rows[field])) == set(strategies)
