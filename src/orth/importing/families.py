"""Children and super tasks: the same relations under new ids.

xxl-job stores whatever ids were typed. Here a child that leads back to its parent, a job that is missing and a super
task that has a super task itself are left out, each with a note: the first would run for ever, the others never.

The relations of a job that was here before are compared with those over there. They are the same if they mean the same
jobs, in whatever order; what could only be left out again makes no difference. If they are others, ``storing`` writes
those of over there, unless somebody has edited the job.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from orth.importing.mapping import MappedJob

Notes = defaultdict[int, list[str]]
"""What there is to say about a job, by its id over there."""

_LIST_LIMIT = 255  # characters of all ids with their commas


def super_tasks(jobs: Sequence[MappedJob], notes: Notes) -> dict[int, int]:
    """The super task of each job that has one, both by their ids over there."""
    wanted = {one.origin.id: one.super_task for one in jobs if one.super_task}
    for job, super_task in wanted.items():
        if super_task in wanted:
            notes[job].append(f"its super task {super_task} has one itself, so it runs its own")
    return {job: super_task for job, super_task in wanted.items() if super_task not in wanted}


def children(jobs: Sequence[MappedJob], ids: Mapping[int, int], notes: Notes) -> dict[int, tuple[int, ...]]:
    """The children of each job, by its id over there, under their ids here."""
    edges: dict[int, list[int]] = {}
    for one in jobs:
        edges[one.origin.id] = [child for child in one.children if child in ids]
        notes[one.origin.id] += [f"its child {child} was not taken over" for child in one.children if child not in ids]
    for parent, child in _closing_circles(edges):
        edges[parent].remove(child)
        notes[parent].append(f"its child {child} leads back to it and was left out")
    return {job: _listed([ids[child] for child in kept], notes[job]) for job, kept in edges.items()}


def compare_children(
    one: MappedJob, here: Sequence[int], ids: Mapping[int, int], leads_back: Callable[[int], bool], notes: Notes
) -> Sequence[int] | None:
    """The children that a job that was here before should have: ``here`` if they are those of over there.
    ``leads_back`` says it of a job here. Of a child that is not among ``ids`` nobody knows which job it is here, if it
    is any. None: because of such a child nobody knows which of the children here are gone over there.
    """
    own = notes[one.origin.id]
    unknown = [child for child in one.children if child not in ids]
    circles = [child for child in one.children if child in ids and ids[child] not in here and leads_back(ids[child])]
    told: list[str] = []
    kept = _listed([ids[child] for child in one.children if child not in (*unknown, *circles)], told)
    more = [child for child in here if child not in kept]
    lost = "was not found, so it was not compared" if more else "was not taken over"
    own += [f"its child {child} {lost}" for child in unknown]
    own += [f"its child {child} leads back to it and was left out" for child in circles]
    own += told
    if len(more) > len(unknown) > 0:
        return None
    if set(kept) <= set(here) and len(more) <= len(unknown):
        return here
    return (*kept, *more) if unknown else kept


def compare_super_task(
    one: MappedJob, here: int, supers: Mapping[int, int], ids: Mapping[int, int], notes: Notes
) -> int:
    """The super task that a job that was here before should have: ``here`` if it is that of over there (0: none)."""
    wanted = supers.get(one.origin.id, 0)
    if not wanted or wanted in ids:
        return ids.get(wanted, 0)
    lost = "was not found, so it was not compared" if here else "was not taken over, so it runs its own"
    notes[one.origin.id].append(f"its super task {wanted} {lost}")
    return here


def _closing_circles(edges: Mapping[int, Sequence[int]]) -> list[tuple[int, int]]:
    """The relations without which there is no circle: those that a walk from parents to children finds leading back. It
    goes by the ids, so that the order in which jobs and children were read changes nothing.
    """
    closing: list[tuple[int, int]] = []
    seen: set[int] = set()
    for start in sorted(edges):
        if start in seen:
            continue
        way = [(start, iter(sorted(edges[start])))]
        passed = {start}
        seen.add(start)
        while way:
            job, followers = way[-1]
            child = next(followers, None)
            if child is None:
                passed.discard(way.pop()[0])
            elif child in passed:
                closing.append((job, child))
            elif child not in seen:
                seen.add(child)
                passed.add(child)
                way.append((child, iter(sorted(edges.get(child, ())))))
    return closing


def _listed(listed: Sequence[int], notes: list[str]) -> tuple[int, ...]:
    """As many of these ids as can be stored."""
    kept = list(listed)
    while len(",".join(map(str, kept))) > _LIST_LIMIT:
        kept.pop()
    if len(kept) < len(listed):
        notes.append(f"only the first {len(kept)} of its {len(listed)} children fit")
    return tuple(kept)
