"""LEAST_LOADED goes by what is open at each address, in the whole cluster and at that moment."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

from sqlalchemy import Connection

from orth.coordinator.broadcasts import EVERYBODY
from orth.coordinator.claiming import Outlook
from orth.coordinator.letters import Letter
from orth.coordinator.settling import Office, claim
from orth.domain.jobs import Overlap, RouteStrategy
from orth.domain.nodes import Vitals
from orth.store.database import open_database
from orth.store.dispatching import Assignment, assign_executions, record_accepted
from orth.store.executions import end_executions, find_execution
from orth.store.groups import create_group
from orth.store.jobs import create_job
from orth.store.registry import Beat, record_beats
from tests.store.builders import NOW, a_group, a_job, open_some, success


class Place:
    """A group of two executors, A and B, with a LEAST_LOADED job."""

    def __init__(self, connection: Connection) -> None:
        name = f"app-{uuid4().hex[:12]}"
        self.connection = connection
        self.app_name = name
        self.a, self.b = f"http://{name}-a:9999", f"http://{name}-b:9999"
        group = create_group(connection, a_group(name), NOW)
        self.beat("a")
        self.beat("b")
        job = a_job(group, executor_route_strategy=RouteStrategy.LEAST_LOADED, overlap=Overlap.EXECUTOR)
        self.job = replace(job, id=create_job(connection, job, NOW))

    def beat(self, which: str, **said: Any) -> None:
        address = {"a": self.a, "b": self.b}[which]
        record_beats(self.connection, [Beat(self.app_name, address, f"process-{which}", **said)], NOW)

    def opened(self, count: int) -> list[int]:
        prefix = uuid4().hex
        return open_some(self.connection, count, prefix=prefix, job_id=self.job.id, job_group=self.job.job_group)

    def running(self, address: str, incarnation: str, count: int) -> list[int]:
        """Taken by that process and not ended."""
        ids = self.opened(count)
        assign_executions(self.connection, [Assignment(one, address, incarnation, "routed") for one in ids], 1, NOW)
        record_accepted(self.connection, ids, NOW)
        return ids

    def next_to(self, count: int = 1) -> list[str]:
        """Where the next ones are sent by a leader that knows nothing but the database."""
        opened = [found for one in self.opened(count) if (found := find_execution(self.connection, one))]
        office = Office("node", 1, 60_000, Outlook(EVERYBODY, lambda _count: 0))
        sent: list[Letter] = claim(self.connection, opened, office, NOW).letters
        return [letter.peer.address for letter in sent]


def _many_ended(connection: Connection) -> tuple[list[str], str]:
    place = Place(connection)
    place.beat("b", load=20)
    place.running(place.a, "process-a", 3)
    ended = place.running(place.b, "process-b", 20)
    end_executions(connection, [success(one) for one in ended], NOW)
    return place.next_to(), place.b


async def test_what_has_ended_counts_no_more_whatever_the_last_beat_said(race_url: str) -> None:
    with open_database(race_url) as db:
        sent, idle = await db.tx(_many_ended)
    assert sent == [idle]


def _sent_now(connection: Connection) -> tuple[list[str], Place]:
    place = Place(connection)
    place.running(place.a, "process-a", 2)
    return place.next_to(6), place


async def test_what_is_sent_now_counts_like_what_is_there(race_url: str) -> None:
    with open_database(race_url) as db:
        sent, place = await db.tx(_sent_now)
    assert sent == [place.b, place.b, place.a, place.b, place.a, place.b]


def _restarted(connection: Connection) -> tuple[list[str], Place]:
    place = Place(connection)
    place.running(place.a, "the process before", 5)
    place.running(place.b, "process-b", 1)
    return place.next_to(), place


async def test_what_a_process_had_that_is_gone_is_no_load_of_the_next(race_url: str) -> None:
    with open_database(race_url) as db:
        sent, place = await db.tx(_restarted)
    assert sent == [place.a]


def _stuck(connection: Connection) -> tuple[list[str], Place]:
    place = Place(connection)
    place.beat("a", vitals=Vitals(abandoned=2))
    place.running(place.b, "process-b", 1)
    return place.next_to(), place


async def test_handlers_that_could_not_be_ended_are_load(race_url: str) -> None:
    with open_database(race_url) as db:
        sent, place = await db.tx(_stuck)
    assert sent == [place.b]


def _announced(connection: Connection) -> tuple[list[str], Place]:
    place = Place(connection)
    place.beat("a", load=4)
    return place.next_to(), place


async def test_between_equals_what_was_announced_decides(race_url: str) -> None:
    with open_database(race_url) as db:
        sent, place = await db.tx(_announced)
    assert sent == [place.b]
