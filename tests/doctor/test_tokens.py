from pathlib import Path

from orth.doctor import State
from orth.doctor.tokens import look_at_access_token, look_at_api_token
from tests.doctor.places import COORDINATOR, at, case_of, only, serving


def test_an_access_token_is_shown_as_executors_do() -> None:
    with serving(COORDINATOR) as place:
        case = at(place.url)
        only(look_at_access_token(case, place.url), State.OK)
        assert {name.upper(): value for name, value in place.heard[-1][1].items()}["ORTH-ACCESS-TOKEN"] == (
            "the-token-of-this-test"
        )
        place.pages["/api/agents"] = 401
        verdict = only(look_at_access_token(case, place.url), State.BAD)
        assert "refuses the access token" in verdict.what
        assert "the-token-of-this-test" not in verdict.what + verdict.next
        place.pages["/api/agents"] = 503
        assert "HTTP 503" in only(look_at_access_token(case, place.url), State.WARN).what


def test_no_access_token_at_all(tmp_path: Path) -> None:
    addresses = ["http://127.0.0.1:1", "http://127.0.0.1:2"]
    case = case_of({"coordinator": {"data_dir": str(tmp_path)}, "executor": {"coordinators": addresses}})
    verdict = only(look_at_access_token(case, "http://127.0.0.1:1"), State.BAD)
    assert "There is no access token" in verdict.what
    assert look_at_access_token(case, "http://127.0.0.1:2") == [], "it is said once"
    (tmp_path / "access-token").write_text("made-by-a-coordinator\n")
    assert "not looked at" in only(look_at_access_token(case, "http://127.0.0.1:1"), State.WARN).what


def test_the_api_token(free_port: int) -> None:
    with serving({**COORDINATOR, "/api/v1/cluster": {}}) as place:
        assert "nobody is signed in" in only(look_at_api_token(at(place.url), place.url), State.OK).what
        signed_in = at(place.url, api_token="a.session.token")
        assert "accepts the API token" in only(look_at_api_token(signed_in, place.url), State.OK).what
        place.pages["/api/v1/cluster"] = 401
        assert "orth login" in only(look_at_api_token(signed_in, place.url), State.BAD).next
        place.pages["/api/v1/cluster"] = 500
        only(look_at_api_token(signed_in, place.url), State.WARN)
    only(look_at_api_token(signed_in, f"http://127.0.0.1:{free_port}"), State.WARN)
