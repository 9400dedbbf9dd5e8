"""What a search finds in a log: what one sees of it, and lines of some levels."""

from typing import Any
from urllib.parse import urlencode

from tests.coordinator.http.live import Caller, Site
from tests.coordinator.http.scrolls import EXECUTIONS, Scroll, written

STAMP = "2026-01-30T10:00:00.123Z "


def numbered(count: int) -> list[str]:
    return [f"line {number}" for number in range(1, count + 1)]


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
        where = {"start": len(STAMP), "end": len(STAMP) + 12}
        written_so = {"line": 1, "text": coloured, "offset": 0, "cut": False, **where}
        assert hit == written_so, "it is answered as it was written"


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


def test_lines_of_levels_are_found_by_what_they_show_and_with_their_tracebacks(site: Site, admin: Caller) -> None:
    trace = ["Traceback (most recent call last):", '  File "a.py", line 1', "    INFO()", "ValueError: no row 7"]
    texts = ["INFO row 7", "\x1b[31mERROR\x1b[0m it failed", *trace, "hello"]
    with written(site, Scroll(*[STAMP + text for text in texts])) as one:
        where = f"{EXECUTIONS}/{one}/log/search"
        shown = admin.get(f"{where}?level=error").json
        assert [hit["line"] for hit in shown["matches"]] == [2, 3, 4, 5, 6]
        assert shown["matches"][1]["text"] == f"{STAMP}{trace[0]}"
        assert [hit["line"] for hit in admin.get(f"{where}?level=other&level=info").json["matches"]] == [1, 7]
        assert found_in(admin, one, "row 7", level="error") == [6]
        assert found_in(admin, one, "^Value", regex="true", level="error") == [6]
        for wrong in ("level=bogus", "level=", "level=error&q="):
            admin.get(f"{where}?{wrong}").problem(422)


def test_levels_are_the_same_wherever_a_search_begins(site: Site, admin: Caller) -> None:
    trace = ["Traceback (most recent call last):", *["  and on"] * 1_500, "ValueError: no"]
    with written(site, Scroll(*numbered(1_000), *trace, "end")) as one:
        assert found_in(admin, one, "ValueError", level="error", **{"from": 2_400}) == [2_502]
        assert found_in(admin, one, "line", level="error", **{"from": 1}) == []
        first = search(admin, one, "on", level="error", limit=1, **{"from": 1_300})
        assert ([hit["line"] for hit in first["matches"]], first["to_line"]) == ([1_300], 1_300)
        late = search(admin, one, "end", level="other", **{"from": 2_503})
        assert ([hit["line"] for hit in late["matches"]], late["to_line"]) == ([2_503], 2_503)
        assert search(admin, one, "end", level="other", **{"from": 9_000})["to_line"] == 8_999
