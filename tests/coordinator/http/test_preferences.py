"""What people choose for the console goes with them from browser to browser; nobody sees another's."""

import pytest

from orth.coordinator.http.preferences import LONGEST, MOST
from orth.store.users import add_user
from tests.coordinator.http.live import Answer, Caller, Site

PREFERENCES, SESSION = "/api/v1/auth/preferences", "/api/v1/auth/session"


def choose(caller: Caller, chosen: object) -> Answer:
    return caller.call("PATCH", PREFERENCES, {"chosen": chosen})


def page_of(site: Site, name: str = "admin") -> Caller:
    """A browser that knows nothing of what was chosen in others."""
    return site.bearer(site.access_token(name))


def chosen_by(site: Site, name: str = "admin") -> object:
    return page_of(site, name).get(SESSION).json["preferences"]


def test_what_was_chosen_in_one_browser_is_there_in_the_next(site: Site) -> None:
    assert chosen_by(site) == {}
    page = page_of(site)
    views = [{"page": "/jobs", "name": "mine", "search": "status=failed"}]
    answer = choose(page, {"theme": "dark", "views": views})
    assert (answer.status, answer.json) == (200, {"chosen": {"theme": "dark", "views": views}})
    choose(page, {"theme": None, "language": "fr"})
    assert chosen_by(site) == {"views": views, "language": "fr"}


def test_everybody_has_their_own(site: Site) -> None:
    site.tx(add_user, "ada", "hash", "viewer", site.clock.now())
    choose(page_of(site, "ada"), {"theme": "light"})
    assert chosen_by(site) == {}
    assert chosen_by(site, "ada") == {"theme": "light"}


def test_a_token_has_no_choices(site: Site) -> None:
    token = site.admin().post("/api/v1/tokens", {"name": "ci", "role": "viewer"}).json["token"]
    assert choose(site.bearer(token), {"theme": "dark"}).problem(403)["code"] == "people_only"
    choose(site.stranger(), {"theme": "dark"}).problem(401)


@pytest.mark.parametrize(
    "chosen",
    [
        {"": "dark"},
        {"with space": 1},
        {"a" * 41: 1},
        {"theme": "x" * LONGEST},
        {f"name{number}": 1 for number in range(MOST + 1)},
        "dark",
        None,
    ],
)
def test_what_is_too_much_or_none_is_refused_and_changes_nothing(site: Site, chosen: object) -> None:
    page = page_of(site)
    choose(page, {"theme": "dark"})
    choose(page, chosen).problem(422)
    assert chosen_by(site) == {"theme": "dark"}


def test_any_text_comes_back_as_it_was(site: Site) -> None:
    odd = ["\x00", "\u202e", "<b>", "😀", "\n"]
    assert choose(page_of(site), {"views": odd}).json == {"chosen": {"views": odd}}
    assert chosen_by(site) == {"views": odd}


def test_many_small_steps_do_not_get_past_the_bound(site: Site) -> None:
    page = page_of(site)
    half = "x" * (LONGEST // 2)
    assert choose(page, {"one": half}).status == 200
    assert choose(page, {"two": half}).problem(422)["code"] == "preferences_too_many"
    assert chosen_by(site) == {"one": half}


def test_every_language_has_the_same_room(site: Site) -> None:
    chinese = "视" * (LONGEST // 3 - 10)
    assert choose(page_of(site), {"name": chinese}).json == {"chosen": {"name": chinese}}
