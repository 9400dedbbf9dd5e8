from orth.doctor import State
from orth.doctor.answering import judge_services, look_at_registry, look_at_services
from tests.doctor.places import COORDINATOR, EXECUTOR, at, only, serving


def test_a_registry_that_answers() -> None:
    with serving({**COORDINATOR, "/api/orchestrators": [{"status": "Running"}]}) as place:
        verdict = only(look_at_registry(at(place.url), place.url), State.OK)
        assert verdict.what == f"{place.url}: a coordinator answers; it lists 1 orchestrators."
        path, headers = place.heard[-1]
        assert (path, headers["Authorization"]) == ("/api/orchestrators", "Bearer the-token-of-this-test")


def test_nobody_there(free_port: int) -> None:
    url = f"http://127.0.0.1:{free_port}"
    verdict = only(look_at_registry(at(url), url), State.BAD)
    assert verdict.what == f"{url}: nothing listens there."
    assert "orth up" in verdict.next


def test_a_name_that_does_not_resolve_comes_with_a_line_for_the_hosts_file() -> None:
    url = "http://apphost.no-such.invalid:5060"
    verdict = only(look_at_registry(at(url), url), State.BAD)
    assert "127.0.0.1 apphost.no-such.invalid" in verdict.next


def test_an_executor_in_its_place() -> None:
    with serving(EXECUTOR) as place:
        verdict = only(look_at_registry(at(place.url), place.url), State.BAD)
    assert "an executor answers there, not a coordinator" in verdict.what


def test_something_else_in_its_place_is_described() -> None:
    page = "<html><head><title>Welcome to nginx!</title></head></html>"
    with serving({"/health/live": page}, server="nginx/1.27") as place:
        verdict = only(look_at_registry(at(place.url), place.url), State.BAD)
    assert "something that is not Orth (HTTP 200, server 'nginx/1.27', page 'Welcome to nginx!')" in verdict.what
    assert "RegistryApiUrl" in verdict.next


def test_an_address_with_a_path_too_many() -> None:
    with serving(COORDINATOR) as place:
        url = f"{place.url}/registry"
        verdict = only(look_at_registry(at(url), url), State.BAD)
        assert verdict.what == f"{url}: a coordinator answers at {place.url}, not below it."
        assert place.url in verdict.next


def test_a_coordinator_without_its_database_or_without_the_registry_api() -> None:
    with serving({**COORDINATOR, "/health/ready": 503}) as place:
        verdict = only(look_at_registry(at(place.url), place.url), State.BAD)
        assert "its database does not answer" in verdict.what
        place.pages |= {"/health/ready": {}, "/api/orchestrators": 404}
        assert "no Registry API" in only(look_at_registry(at(place.url), place.url), State.BAD).what
        place.pages["/api/orchestrators"] = 401
        assert "another credential" in only(look_at_registry(at(place.url), place.url), State.OK).what
        place.pages["/api/orchestrators"] = 500
        assert "HTTP 500" in only(look_at_registry(at(place.url), place.url), State.WARN).what


def test_https_where_plain_http_is_spoken() -> None:
    with serving(COORDINATOR) as place:
        url = place.url.replace("http:", "https:")
        verdict = only(look_at_registry(at(url), url), State.BAD)
    assert verdict.next == f"Write {place.url}."


def test_the_services_are_counted() -> None:
    agents = [{"status": "Idle"}, {"status": "Busy"}, {"status": "Idle"}]
    with serving({**COORDINATOR, "/api/orchestrators": [{"status": "Running"}], "/api/agents": agents}) as place:
        verdict = only(look_at_services(at(place.url), place.url), State.OK)
    assert verdict.what == f"{place.url}: 1 orchestrators (1 Running); 3 agents (1 Busy, 2 Idle)."


def test_services_that_are_lost_or_never_came_are_told() -> None:
    lost = [{"status": "Failed", "url": f"http://agent-{number}:5090"} for number in range(1, 6)]
    first, second = judge_services("http://here", [], lost)
    assert (first.state, second.state) == (State.WARN, State.WARN)
    assert first.what.endswith("lost: http://agent-1:5090, http://agent-2:5090, http://agent-3:5090 and 2 more.")
    assert second.what == "http://here: no orchestrator has registered."
    assert "'Failed to register'" in second.next


def test_services_that_cannot_be_listed_are_not_called_missing(free_port: int) -> None:
    with serving({**COORDINATOR, "/api/agents": 401}) as place:
        assert "HTTP 401" in only(look_at_services(at(place.url), place.url), State.WARN).what
    url = f"http://127.0.0.1:{free_port}"
    assert "not looked at" in only(look_at_services(at(url), url), State.WARN).what
