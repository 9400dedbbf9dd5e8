"""A49, A58: the console shows what strangers wrote as text nodes; no source of it can make markup of text."""

import re
from pathlib import Path

SOURCES = Path(__file__).parents[2] / "console" / "src"
MAKES_MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write|\beval\(|new Function\(|srcdoc|"
    r"javascript:|createContextualFragment|DOMParser"
)


def test_no_source_makes_markup_of_text() -> None:
    sources = [path for path in SOURCES.rglob("*.ts*") if ".test." not in path.name]
    assert len(sources) > 20
    found = [
        f"{path.relative_to(SOURCES)}:{number}: {line.strip()}"
        for path in sources
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if MAKES_MARKUP.search(line)
    ]
    assert found == []


def test_the_guard_sees_what_it_should() -> None:
    assert MAKES_MARKUP.search("<div dangerouslySetInnerHTML={{ __html: name }} />")
    assert not MAKES_MARKUP.search("<span>{name}</span>")
