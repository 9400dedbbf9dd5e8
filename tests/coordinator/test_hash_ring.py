"""A ring that was made from another answers as one made from nothing; and making it costs little."""

import time
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import chain

from hypothesis import given, settings
from hypothesis import strategies as st

from orth.coordinator import hash_ring
from orth.coordinator.hash_ring import Ring, Rings, ring_hash

ADDRESS = st.tuples(st.integers(1, 20), st.sampled_from(["", "/"])).map(
    lambda its: f"http://10.0.0.{its[0]}:9999{its[1]}"  # with and without a slash they have the same points
)
LISTS = st.lists(st.lists(ADDRESS, min_size=1, max_size=8), min_size=1, max_size=4)
JOBS = st.integers(1, 10**6)


@cache
def points_of(address: str) -> list[tuple[int, str]]:
    return [(ring_hash(f"SHARD-{address.rstrip('/')}/-NODE-{node}"), address) for node in range(100)]


def placed(addresses: Iterable[str], job_id: int) -> str:
    """As the definition of the ring says it."""
    points = list(chain.from_iterable(points_of(address) for address in addresses))
    wanted = ring_hash(str(job_id))
    return min((point for point in points if point[0] >= wanted), default=min(points))[1]


def many(count: int) -> list[str]:
    return [f"http://10.1.{n // 250}.{n % 250 + 1}:9999" for n in range(count)]


def seconds(work: Callable[[], object]) -> float:
    started = time.thread_time()
    work()
    return time.thread_time() - started


@settings(max_examples=25)
@given(LISTS, JOBS)
def test_what_was_made_before_changes_no_answer(lists: list[list[str]], job_id: int) -> None:
    rings = Rings()
    for one in lists:
        addresses = (*many(130)[len(lists) :], *one)
        assert rings.ring(addresses).owner(ring_hash(str(job_id))) == placed(addresses, job_id)


@settings(max_examples=25)
@given(LISTS, JOBS)
def test_a_changed_ring_is_the_ring_of_its_addresses(lists: list[list[str]], job_id: int) -> None:
    ring = Ring.of(lists[0])
    for addresses in lists:
        ring = ring.changed(sorted(set(addresses) - ring.slots.keys()), ring.slots.keys() - set(addresses))
        assert ring.slots.keys() == set(addresses)
        assert len(ring) == 100 * len(ring.slots)
        assert ring.owner(ring_hash(str(job_id))) == placed(addresses, job_id)


def test_one_who_joins_or_leaves_costs_little_and_moves_only_its_own_jobs() -> None:
    rings, addresses = Rings(), many(1000)
    whole = seconds(partial(rings.ring, tuple(addresses)))
    before = rings.ring(tuple(addresses))
    costs = []
    for number in range(10):
        addresses = sorted([*addresses, f"http://10.2.0.{number}:9999"])
        costs.append(seconds(partial(rings.ring, tuple(addresses))))
        addresses = addresses[1:]
        costs.append(seconds(partial(rings.ring, tuple(addresses))))
    assert max(costs) < whole / 10, (costs, whole)
    after, anew = rings.ring(tuple(addresses)), Ring.of(addresses)
    points = [ring_hash(str(job)) for job in range(3000)]
    assert [after.owner(point) for point in points] == [anew.owner(point) for point in points]
    moved = [point for point in points if before.owner(point) != after.owner(point)]
    assert all(before.owner(point) not in addresses or "10.2.0" in after.owner(point) for point in moved)


def test_the_hashes_of_an_address_are_remembered() -> None:
    addresses = [f"http://10.3.{n // 250}.{n % 250 + 1}:9999" for n in range(500)]
    Rings().ring(tuple(addresses))
    hashed = hash_ring._points.cache_info().misses
    Rings().ring(tuple(addresses[::2]))
    assert hash_ring._points.cache_info().misses == hashed


def test_rings_are_kept_up_to_a_bound() -> None:
    rings = Rings(entries_limit=5_000)
    for first in range(20):
        rings.ring(tuple(many(40)[first : first + 20]))
    assert len(rings) == 2
    rings.ring(tuple(many(100)))
    assert len(rings) == 1, "the newest, however large it is"
    small = Rings()
    for first in range(70):
        small.ring((f"http://10.4.0.{first}:9999",))
    assert len(small) == 64


def test_coming_and_going_leaves_nothing_behind() -> None:
    ring = Ring.of(many(20))
    for number in range(200):
        ring = ring.changed([f"http://10.5.0.{number}:9999"], []).changed([], [f"http://10.5.0.{number}:9999"])
    assert len(ring._addresses) == 21
