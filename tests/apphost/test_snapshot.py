"""A row for each process, from what its keeper knows and what the API said."""

from dataclasses import replace

from orth.apphost.keeping import Keeper, State
from orth.apphost.resources import Kind, Resource
from orth.apphost.snapshot import NodeSeen, Sight, Snapshot, row_of
from orth.testing import ManualClock
from tests.apphost.pictures import SHOWN

AGENT = Resource(
    "agent-1", Kind.AGENT, ("true",), {}, "http://127.0.0.1:5090", 5090, ("coordinator-1", "coordinator-2")
)
NODE = replace(AGENT, name="coordinator-1", kind=Kind.COORDINATOR, url="http://127.0.0.1:5080")
REGISTRY = replace(AGENT, name="registry", kind=Kind.REGISTRY, url="http://127.0.0.1:5060", after=())


def keeper_of(resource: Resource, state: State = State.RUNNING) -> tuple[Keeper, ManualClock]:
    clock = ManualClock()
    keeper = Keeper(resource, clock)
    keeper.state = state
    keeper.ready_at = clock.monotonic() if state is State.RUNNING else None
    clock.move(12)
    return keeper, clock


def test_an_executor_is_busy_with_what_it_has_in_hand() -> None:
    keeper, clock = keeper_of(AGENT)
    work = {AGENT.url: ("demo.hello", "demo.slow", "demo.hello")}
    row = row_of(keeper, Sight(beats={AGENT.url: 4.0}, work=work), clock.monotonic())
    assert (row.state, row.load, row.beat, row.up) == ("Busy", "demo.hello ×2, demo.slow", 4.0, 12.0)
    assert row_of(keeper, Sight(), clock.monotonic()).state == "Idle"


def test_a_process_says_what_it_lacks_while_it_runs() -> None:
    keeper, clock = keeper_of(replace(REGISTRY, kind=Kind.CONSOLE, lacking="not built: make console"))
    assert row_of(keeper, Sight(), clock.monotonic()).detail == "not built: make console"


def test_the_leader_is_marked() -> None:
    keeper, clock = keeper_of(NODE)
    sight = Sight(nodes={"coordinator-1": NodeSeen(True, "active", 3, 1.5)})
    row = row_of(keeper, sight, clock.monotonic())
    assert (row.leader, row.detail, row.load, row.beat) == (True, "leader", "owns 3", 1.5)


def test_what_the_api_last_said_of_one_that_is_down_is_not_shown() -> None:
    keeper, clock = keeper_of(NODE, State.STOPPED)
    row = row_of(keeper, Sight(nodes={"coordinator-1": NodeSeen(True, "active", 3, 1.5)}), clock.monotonic())
    assert (row.state, row.leader, row.load, row.beat, row.up) == ("Stopped", False, "", None, None)


def test_who_waits_and_who_crashed_says_for_what() -> None:
    keeper, clock = keeper_of(AGENT, State.WAITING)
    row = row_of(keeper, Sight(), clock.monotonic())
    assert (row.detail, row.waits_for[0], row.again_in) == ("for coordinator-1 …", "coordinator-1", None)
    crashed, clock = keeper_of(NODE, State.STARTING)
    crashed.note_end(-9)
    row = row_of(crashed, Sight(), clock.monotonic())
    assert (row.detail, row.waits_for, row.again_in) == ("again in 1 s", (), 1.0)


def test_the_registry_shows_how_many_it_knows() -> None:
    keeper, clock = keeper_of(REGISTRY)
    assert row_of(keeper, Sight(services=(2, 3)), clock.monotonic()).load == "2 coordinators, 3 agents"


def test_a_snapshot_survives_the_socket() -> None:
    assert Snapshot.from_json(SHOWN.to_json()) == SHOWN
