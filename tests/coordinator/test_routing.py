"""Routing is pure; the ring of CONSISTENT_HASH is the one other implementations use."""

import random
import time
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.coordinator.claiming import Outlook
from orth.coordinator.http.groups import GroupBody
from orth.coordinator.planning import PlannedRun
from orth.coordinator.routing import Load, Question, Use, eligible, ring_hash, route
from orth.coordinator.settling import Office, claim
from orth.coordinator.triggering import open_planned
from orth.domain.jobs import ALIASES, AddressType, RouteStrategy, TriggerCause
from orth.domain.nodes import in_turns
from orth.domain.selectors import parse_selector
from orth.store.database import Connection, open_database
from orth.store.dispatching import take_due
from orth.store.groups import create_group
from orth.store.jobs import create_job
from orth.testing.stores import prepare_store
from tests.store.builders import NOW, a_due_job

THREE = [f"http://10.0.0.{n}:9999/" for n in (1, 2, 3)]
STRATEGIES = list(RouteStrategy)
ADDRESSES = st.lists(
    st.integers(1, 250).map(lambda n: f"http://10.0.0.{n}:9999"), min_size=1, max_size=20, unique=True
).map(sorted)
USES = st.builds(Use, st.integers(0, 1000), st.integers(-1, 1000))

COUNTS = st.integers(0, 100)


def ask(
    strategy: RouteStrategy,
    addresses: list[str],
    *,
    job_id: int = 1,
    number: int = 0,
    pick: int = 0,
    memory: dict[str, Use] | None = None,
    load: dict[str, Load] | None = None,
) -> str | None:
    return route(strategy, Question(job_id, addresses, number, lambda _n: pick, memory or {}, load or {}))


def test_first_last_round_random() -> None:
    assert ask(RouteStrategy.FIRST, THREE) == THREE[0]
    assert ask(RouteStrategy.LAST, THREE) == THREE[2]
    assert [ask(RouteStrategy.ROUND, THREE, number=n) for n in range(4)] == [*THREE, THREE[0]]
    assert ask(RouteStrategy.RANDOM, THREE, pick=1) == THREE[1]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_empty_list_has_no_address(strategy: RouteStrategy) -> None:
    assert ask(strategy, []) is None


@pytest.mark.parametrize(
    "strategy",
    [
        RouteStrategy.ROUND,
        RouteStrategy.RANDOM,
        RouteStrategy.LEAST_FREQUENTLY_USED,
        RouteStrategy.LEAST_RECENTLY_USED,
        RouteStrategy.CONSISTENT_HASH,
        RouteStrategy.LEAST_LOADED,
    ],
)
@pytest.mark.parametrize("shared", [True, False])
def test_addresses_of_one_port_have_one_share(strategy: RouteStrategy, shared: bool) -> None:
    """H2 of the second security review: 200 paths of one port took all work of a group."""
    honest = ["http://10.0.0.1:9999", "http://10.0.0.2:9999", "http://10.0.0.3:9999"]
    thief = [f"http://10.0.0.9:80/{number}" for number in range(100)] + [f"http://10.0.0.9/{n}" for n in range(100)]
    chance, given, memory, load = random.Random(1), Counter[str](), dict[str, Use](), dict[str, Load]()
    for number in range(800):
        addresses = sorted([*honest, *thief])
        question = Question(number, addresses, number, chance.randrange, memory, load, shared)
        chosen = route(strategy, question)
        assert chosen is not None
        given[chosen] += 1
        memory[chosen] = Use(given[chosen], number)
        load[chosen] = Load(given[chosen])
    got = sum(given[address] for address in thief)
    assert (got <= 270) is shared, given
    if shared:
        assert min(given[address] for address in honest) >= 130


def test_the_addresses_of_a_share_take_turns() -> None:
    ingress = [f"http://10.0.0.9/{name}" for name in "abc"]
    question = Question(1, ["http://10.0.0.1", *ingress], 0, lambda _n: 0, shared=True)
    chosen = [route(RouteStrategy.ROUND, replace(question, number=number)) for number in range(6)]
    assert chosen == [one for path in ingress for one in ("http://10.0.0.1", path)]


def test_nobody_takes_a_part_of_a_share_by_adding_paths() -> None:
    addresses = ("http://10.0.0.1:9999", "http://10.0.0.1:9999/thief", "http://10.0.0.2:9999")
    for strategy in STRATEGIES:
        chosen = {route(strategy, Question(1, addresses, n, lambda _n: 0, shared=True)) for n in range(8)}
        assert "http://10.0.0.1:9999/thief" not in chosen
    assert in_turns(("http://a/1", "http://a/2", "http://b")) == ("http://a/1", "http://b", "http://a/2")


@pytest.mark.parametrize("short", ["ROUND_ROBIN", "LFU", "LRU"])
def test_short_names_stand_for_strategies(short: str) -> None:
    assert ask(RouteStrategy(ALIASES[short]), THREE) in THREE


@given(
    strategy=st.sampled_from(STRATEGIES),
    addresses=ADDRESSES,
    gone=ADDRESSES,
    job_id=st.integers(1, 10**6),
    number=st.integers(0, 10**6),
    chance=st.randoms(use_true_random=False),
    data=st.data(),
)
def test_only_addresses_of_the_list_are_chosen(
    strategy: RouteStrategy,
    addresses: list[str],
    gone: list[str],
    job_id: int,
    number: int,
    chance: random.Random,
    data: st.DataObject,
) -> None:
    known = sorted({*addresses, *gone})  # memory and load may still know addresses that have left
    memory = data.draw(st.dictionaries(st.sampled_from(known), USES))
    load = data.draw(st.dictionaries(st.sampled_from(known), st.builds(Load, COUNTS, COUNTS)))
    question = Question(job_id, addresses, number, chance.randrange, memory, load)
    assert route(strategy, question) in addresses


# --- spread -----------------------------------------------------------------------------------------------------------


@given(ADDRESSES, st.integers(1, 60))
def test_round_is_even(addresses: list[str], times: int) -> None:
    counts = Counter(ask(RouteStrategy.ROUND, addresses, number=n) for n in range(times))
    assert max(counts.values()) - min(counts.get(address, 0) for address in addresses) <= 1


def test_random_is_even_in_the_long_run() -> None:
    chance = random.Random(7)
    question = Question(1, THREE, 0, chance.randrange)
    counts = Counter(route(RouteStrategy.RANDOM, question) for _ in range(3000))
    assert all(850 < counts[address] < 1150 for address in THREE)


def used(strategy: RouteStrategy, addresses: list[str], memory: dict[str, Use], times: int) -> list[str]:
    """What is chosen one after the other when each choice is remembered."""
    chosen: list[str] = []
    for _ in range(times):
        address = ask(strategy, addresses, memory=memory)
        assert address is not None
        fewest = min((memory[one].uses for one in addresses if one in memory), default=0)
        use = memory.get(address, Use(fewest, -1))
        memory[address] = Use(use.uses + 1, 1 + max((one.last for one in memory.values()), default=0))
        chosen.append(address)
    return chosen


@pytest.mark.parametrize("strategy", [RouteStrategy.LEAST_FREQUENTLY_USED, RouteStrategy.LEAST_RECENTLY_USED])
@given(addresses=ADDRESSES, times=st.integers(1, 60))
def test_looking_back_is_even(strategy: RouteStrategy, addresses: list[str], times: int) -> None:
    counts = Counter(used(strategy, addresses, {}, times))
    assert max(counts.values()) - min(counts.get(address, 0) for address in addresses) <= 1


def test_a_newcomer_does_not_have_to_catch_up() -> None:
    memory = {address: Use(1_000, n) for n, address in enumerate(THREE[:2])}
    chosen = used(RouteStrategy.LEAST_FREQUENTLY_USED, THREE, memory, 9)
    assert chosen[0] == THREE[2]
    assert Counter(chosen) == dict.fromkeys(THREE, 3)


def test_least_frequently_prefers_few_uses_and_least_recently_old_ones() -> None:
    memory = {THREE[0]: Use(5, 1), THREE[1]: Use(2, 9), THREE[2]: Use(3, 4)}
    assert ask(RouteStrategy.LEAST_FREQUENTLY_USED, THREE, memory=memory) == THREE[1]
    assert ask(RouteStrategy.LEAST_RECENTLY_USED, THREE, memory=memory) == THREE[0]


def test_the_least_loaded_is_chosen_and_silence_counts_as_idle() -> None:
    loads = {address: Load(known) for address, known in zip(THREE, (3, 1, 2), strict=True)}
    assert ask(RouteStrategy.LEAST_LOADED, THREE, load=loads) == THREE[1]
    del loads[THREE[2]]
    assert ask(RouteStrategy.LEAST_LOADED, THREE, load=loads) == THREE[2]


def test_what_was_announced_decides_only_between_equals() -> None:
    loads = {THREE[0]: Load(2, 0), THREE[1]: Load(1, 9), THREE[2]: Load(1, 8)}
    assert ask(RouteStrategy.LEAST_LOADED, THREE, load=loads) == THREE[2]


# --- the ring ---------------------------------------------------------------------------------------------------------


def test_the_ring_hash_has_known_values() -> None:
    assert ring_hash("1") == 943901380
    assert ring_hash("42") == 3905343649
    assert ring_hash("SHARD-http://10.0.0.1:9999/-NODE-0") == 3725898238


@pytest.mark.parametrize(
    ("job_id", "all_three", "without_the_third"),
    [(1, 3, 1), (2, 3, 1), (3, 1, 1), (7, 2, 2), (42, 2, 2), (100, 3, 1), (1000, 3, 2)],
)
def test_the_ring_places_jobs_where_others_do(job_id: int, all_three: int, without_the_third: int) -> None:
    assert ask(RouteStrategy.CONSISTENT_HASH, THREE, job_id=job_id) == THREE[all_three - 1]
    assert ask(RouteStrategy.CONSISTENT_HASH, THREE[:2], job_id=job_id) == THREE[without_the_third - 1]


@given(ADDRESSES, st.integers(1, 10**6), st.data())
def test_a_lost_address_moves_only_its_own_jobs(addresses: list[str], job_id: int, data: st.DataObject) -> None:
    lost = data.draw(st.sampled_from(addresses))
    left = [address for address in addresses if address != lost]
    before = ask(RouteStrategy.CONSISTENT_HASH, addresses, job_id=job_id)
    if left and before != lost:
        assert ask(RouteStrategy.CONSISTENT_HASH, left, job_id=job_id) == before


@pytest.mark.parametrize("job_id", [1, 2, 3, 7, 42])
def test_the_ring_is_the_same_for_addresses_as_the_registry_keeps_them(job_id: int) -> None:
    kept = [address.rstrip("/") for address in THREE]
    placed = ask(RouteStrategy.CONSISTENT_HASH, kept, job_id=job_id)
    assert ask(RouteStrategy.CONSISTENT_HASH, THREE, job_id=job_id) == f"{placed}/"


def test_the_ring_spreads() -> None:
    counts = Counter(ask(RouteStrategy.CONSISTENT_HASH, THREE, job_id=n) for n in range(3000))
    assert all(600 < count < 1500 for count in counts.values())


def test_a_thousand_addresses_are_hashed_once() -> None:
    addresses = tuple(f"http://10.1.{n // 250}.{n % 250 + 1}:9999" for n in range(1000))
    question = Question(1, addresses, 0, lambda _n: 0)
    route(RouteStrategy.CONSISTENT_HASH, question)  # makes the ring
    started = time.perf_counter()
    for job_id in range(1000):
        route(RouteStrategy.CONSISTENT_HASH, replace(question, job_id=job_id))
    assert time.perf_counter() - started < 10.0, "a ring made for each of them would take minutes"


# --- labels -----------------------------------------------------------------------------------------------------------


def test_a_selector_keeps_the_order_and_compares_addresses_without_a_slash() -> None:
    labels = {"http://10.0.0.1:9999": {"zone": "eu"}, "http://10.0.0.3:9999": {"zone": "eu"}}
    assert eligible(THREE, parse_selector("zone=eu"), labels) == (THREE[0], THREE[2])
    assert eligible(THREE, parse_selector("zone!=eu"), labels) == (THREE[1],)
    assert eligible(THREE, parse_selector(""), labels) == tuple(THREE)
    assert eligible(THREE, parse_selector("gpu"), labels) == ()


MACHINES = ["http://10.0.0.9:1", "http://10.0.0.5:1", "http://10.0.0.7:1"]


def _sent_to(connection: Connection, strategy: RouteStrategy) -> list[str]:
    """Where an execution goes, and where it goes next, of a job in a group with addresses that somebody wrote."""
    body = GroupBody(app_name="reports", address_type=AddressType.MANUAL, address_list=[*MACHINES, MACHINES[0]])
    group = create_group(connection, body.group(), NOW)
    job = a_due_job(group, NOW, executor_route_strategy=strategy)
    job = replace(job, id=create_job(connection, job, NOW))
    open_planned(connection, [(job, PlannedRun(NOW, TriggerCause.FIXED_RATE, NOW, NOW))], NOW)
    office = Office("node", 1, 60_000, Outlook(tuple, lambda _count: 0))
    (letter,) = claim(connection, take_due(connection, NOW, 9), office, NOW).letters
    return [letter.peer.address, *(other.address for other in letter.others)]


@pytest.mark.parametrize(
    ("strategy", "order"),
    [
        (RouteStrategy.FIRST, MACHINES[:1]),
        (RouteStrategy.LAST, MACHINES[-1:]),
        (RouteStrategy.FAILOVER, MACHINES),
    ],
)
async def test_written_addresses_mean_what_their_order_says(
    sqlite_url: str, strategy: RouteStrategy, order: list[str]
) -> None:
    prepare_store(sqlite_url)
    with open_database(sqlite_url) as db:
        assert (await db.tx(_sent_to, strategy))[: len(order)] == order
