from orth.doctor import State
from orth.doctor.names import configured_names, look_at_name
from tests.doctor.places import case_of, only


def test_every_configured_host_is_looked_at_once() -> None:
    case = case_of(
        {
            "registry": {"url": "https://apphost.example.org:5060"},
            "executor": {"coordinators": ["http://orchestrator.example.org:5080", "http://10.0.0.7:5080"]},
            "coordinator": {"url": "http://orchestrator.example.org:5080"},
            "console": {"base_url": "http://viz.example.org:5070"},
            "store": {"url": "postgresql://orth:word@db.example.org/orth"},
            "channels": {"url": "redis://cache.example.org:6379/0"},
        }
    )
    assert configured_names(case) == [
        "apphost.example.org",
        "orchestrator.example.org",
        "viz.example.org",
        "db.example.org",
        "cache.example.org",
    ]
    assert configured_names(case_of()) == []


def test_a_name_that_resolves_and_one_that_does_not() -> None:
    assert "127.0.0.1" in only(look_at_name(case_of(), "localhost"), State.OK).what
    verdict = only(look_at_name(case_of(), "viz.no-such.invalid"), State.BAD)
    assert "127.0.0.1 viz.no-such.invalid" in verdict.next
    only(look_at_name(case_of(), "a" * 70 + ".example.org"), State.BAD)


def test_the_names_of_orth_up_may_be_missing() -> None:
    case = case_of({"apphost": {"suffix": "no-such.invalid", "executors": 2}})
    assert configured_names(case) == [
        "apphost.no-such.invalid",
        "orchestrator.no-such.invalid",
        "viz.no-such.invalid",
        "worker-agent-1.no-such.invalid",
        "worker-agent-2.no-such.invalid",
    ]
    verdict = only(look_at_name(case, "viz.no-such.invalid"), State.WARN)
    assert "127.0.0.1 viz.no-such.invalid" in verdict.next
