"""Routing is pure; the ring of CONSISTENT_HASH is the one other implementations use."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.coordinator.routing import Question, available, ring_hash, route
from orth.domain.jobs import RouteStrategy

THREE = [f"http://10.0.0.{n}:9999/" for n in (1, 2, 3)]


def ask(
    strategy: RouteStrategy, addresses: list[str], *, job_id: int = 1, number: int = 0, pick: int = 0
) -> str | None:
    return route(strategy, Question(job_id, addresses, number, lambda _n: pick))


def test_first_last_round_random() -> None:
    assert ask(RouteStrategy.FIRST, THREE) == THREE[0]
    assert ask(RouteStrategy.LAST, THREE) == THREE[2]
    assert [ask(RouteStrategy.ROUND, THREE, number=n) for n in range(4)] == [*THREE, THREE[0]]
    assert ask(RouteStrategy.RANDOM, THREE, pick=1) == THREE[1]


@pytest.mark.parametrize("strategy", [one for one in RouteStrategy if available(one)])
def test_an_empty_list_has_no_address(strategy: RouteStrategy) -> None:
    assert ask(strategy, []) is None


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


@given(st.integers(1, 10**6))
def test_a_lost_address_moves_only_its_own_jobs(job_id: int) -> None:
    before = ask(RouteStrategy.CONSISTENT_HASH, THREE, job_id=job_id)
    after = ask(RouteStrategy.CONSISTENT_HASH, THREE[:2], job_id=job_id)
    assert before == after or before == THREE[2]


def test_the_ring_spreads() -> None:
    counts = Counter(ask(RouteStrategy.CONSISTENT_HASH, THREE, job_id=n) for n in range(3000))
    assert all(600 < count < 1500 for count in counts.values())
