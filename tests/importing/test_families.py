"""Whatever relations were typed: no circle survives, and nothing else is lost."""

from collections import defaultdict
from graphlib import TopologicalSorter
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from orth.domain.jobs import Job
from orth.importing.families import Notes, children
from orth.importing.mapping import MappedJob, Origin


def job(number: int, its_children: tuple[int, ...]) -> MappedJob:
    return MappedJob(
        Origin("job", number, f"job {number}"),
        Job(id=0, job_group=1, job_desc=f"job {number}"),
        group=1,
        app_name="",
        children=its_children,
        super_task=0,
        ran=False,
        versions=(),
        notes=(),
    )


def related(edges: dict[int, tuple[int, ...]]) -> tuple[dict[int, tuple[int, ...]], Notes]:
    notes: Notes = defaultdict(list)
    ids = {number: number for number in edges}
    return children([job(number, own) for number, own in edges.items()], ids, notes), notes


graphs = st.dictionaries(
    st.integers(1, 9), st.lists(st.integers(1, 12), max_size=5, unique=True).map(tuple), min_size=1, max_size=9
)


@given(graphs)
def test_no_circle_survives_and_every_loss_is_told(edges: dict[int, tuple[int, ...]]) -> None:
    kept, notes = related(edges)
    TopologicalSorter(kept).prepare()  # CycleError if there is one
    for number, own in edges.items():
        lost = [child for child in own if child not in kept[number]]
        assert len(notes[number]) == len(lost)
        assert [child for child in own if child in kept[number]] == list(kept[number])


@given(graphs, st.randoms(use_true_random=False))
def test_what_is_lost_does_not_depend_on_the_order_of_rows(edges: dict[int, tuple[int, ...]], chance: Random) -> None:
    rows = [(number, tuple(chance.sample(own, len(own)))) for number, own in edges.items()]
    chance.shuffle(rows)
    kept, other = related(edges)[0], related(dict(rows))[0]
    assert {number: set(own) for number, own in kept.items()} == {number: set(own) for number, own in other.items()}


@given(graphs)
def test_where_there_is_no_circle_nothing_is_left_out(edges: dict[int, tuple[int, ...]]) -> None:
    downhill = {
        number: tuple(child for child in own if child < number and child in edges) for number, own in edges.items()
    }
    kept, notes = related(downhill)
    assert kept == downhill
    assert not any(notes.values())


def test_a_long_chain_is_walked_in_either_direction() -> None:
    count = 20_000
    up = {number: (number + 1,) if number < count else () for number in range(1, count + 1)}
    assert related(up)[0] == up
    down = {number: (number - 1,) if number > 1 else () for number in range(1, count + 1)}
    assert related(down)[0] == down
