"""What a search finds in a log: what one sees of it."""

from typing import Any
from urllib.parse import urlencode

from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.scrolls import EXECUTIONS, Scroll, written

STAMP = "2026-01-30T10:00:00.123Z "


def search(admin: Caller, one: int, wanted: str, **more: object) -> dict[str, Any]:
    found: dict[str, Any] = admin.get(f"{EXECUTIONS}/{one}/log/search?{urlencode({'q': wanted, **more})}").json
    return found


def found_in(admin: Caller, one: int, wanted: str, **more: object) -> list[int]:
    return [hit["line"] for hit in search(admin, one, wanted, **more)["matches"]]


def test_what_is_searched_is_the_line_as_it_is_shown(site: Site, admin: Caller) -> None:
    coloured = f"{STAMP}\x1b[31mERROR\x1b[0m \x1b[2mmy.mod\x1b[0m: payment \x1b[1mdeclined\x1b[0m for order 7"
    linked = f"{STAMP}see \x1b]8;;https://x\x1b\\the report\x1b]8;;\x1b\\ of today, \u202egnp.exe"
    with written(site, Scroll(coloured, linked, f"{STAMP}nothing")) as one:
        assert found_in(admin, one, "payment declined") == [1]
        assert found_in(admin, one, "the report of") == [2]
        assert found_in(admin, one, r"my\.mod: pay\w+ declined", regex="true") == [1]
        assert found_in(admin, one, r"\u202egnp") == found_in(admin, one, "\u202egnp") == [2]
        for hidden in ("[0m", "\x1b[31m", "https://x"):
            assert found_in(admin, one, hidden) == []
        (hit,) = search(admin, one, "ERROR my.mod")["matches"]
        assert hit == {"line": 1, "text": coloured, "offset": 0, "cut": False}, "it is answered as it was written"


def test_an_expression_about_the_beginning_is_about_the_line_or_what_is_behind_its_time(
    site: Site, admin: Caller
) -> None:
    with written(site, Scroll(f"{STAMP}\x1b[31mERROR\x1b[0m x", f"{STAMP}no ERROR", "ERROR y", f"{STAMP}")) as one:
        assert found_in(admin, one, "^ERROR", regex="true") == [1, 3]
        assert found_in(admin, one, r"\AERROR", regex="true") == [1, 3]
        assert found_in(admin, one, r"^2026-\d\d", regex="true") == [1, 2, 4]
        assert found_in(admin, one, "^$", regex="true") == [4]
        assert found_in(admin, one, "^ERROR") == []


def test_the_place_in_a_long_line_is_right_whatever_colours_it_has(site: Site, admin: Caller) -> None:
    with written(site, Scroll(STAMP + "\x1b[31mx" * 9_000 + "Nee\x1b[0mdle" + "y" * 9_000)) as one:
        for wanted, regex in (("Needle", "false"), ("^x+Needle", "true"), ("Needle", "true")):
            (hit,) = search(admin, one, wanted, regex=regex)["matches"]
            assert hit["cut"]
            assert 0 < hit["offset"] < len(STAMP) + 6 * 9_000
            assert ("Nee\x1b[0mdle" in hit["text"]) is (wanted == "Needle")
