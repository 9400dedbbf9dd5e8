"""Attacks that took gigabytes of a coordinator's memory, in their short form; ``memory_attacks`` has all of them."""

import asyncio
import resource
from collections.abc import Iterator

import pytest

from tests.security.memory_attacks import allow_many_connections, attacked


@pytest.fixture(autouse=True)
def _descriptors() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    allow_many_connections()
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize(
    "name", ["half_bodies", "half_results", "wide_results", "small_results", "boxes", "lists", "logs"]
)
def test_an_attack_takes_little_memory_and_leaves_less(name: str) -> None:
    found = asyncio.run(attacked(name, 0.3))
    assert found.is_good, str(found)
