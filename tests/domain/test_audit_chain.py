"""Whether a chain is whole, found out entry by entry."""

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orth.domain.audit_chain import FIRST, PURGE, Chain, Entry, Fault, Head, Kept, Purge, digest_of, read_head


def entry(seq: int, previous: str, action: str = "job.update", after: str | None = None) -> Entry:
    made = Entry(
        seq=seq,
        at=seq * 10,
        actor_kind="node" if action == PURGE else "user",
        actor="admin",
        address="127.0.0.1",
        action=action,
        object_kind="job",
        object_id="7",
        group_id=2,
        before=None,
        after=after,
        previous_digest=previous,
    )
    return replace(made, digest=digest_of(made))


def chained(count: int) -> list[Entry]:
    made: list[Entry] = []
    for seq in range(1, count + 1):
        made.append(entry(seq, made[-1].digest if made else FIRST))
    return made


def look(entries: list[Entry], head: Head | None, expected: Head | None = None) -> Fault | None:
    chain = Chain(expected)
    for one in entries:
        if (fault := chain.add(one)) is not None:
            return fault
    return chain.end(head)


def head_of(entries: list[Entry]) -> Head:
    return Head(entries[-1].seq, entries[-1].digest) if entries else Head()


@given(count=st.integers(0, 8))
def test_an_untouched_chain_is_whole(count: int) -> None:
    entries = chained(count)
    assert look(entries, head_of(entries)) is None


@pytest.mark.parametrize("name", [field.name for field in fields(Entry)])
def test_every_field_of_an_entry_is_under_its_digest(name: str) -> None:
    entries = chained(5)
    old = getattr(entries[2], name)
    changed = old + 100 if isinstance(old, int) else f"{old}x"
    forged = [*entries[:2], replace(entries[2], **{name: changed}), *entries[3:]]
    fault = look(forged, head_of(entries))
    assert fault is not None
    assert fault.seq == 3


def test_a_changed_entry_with_a_digest_of_its_own_breaks_the_next_one() -> None:
    entries = chained(5)
    forged = replace(entries[2], actor="somebody else")
    forged = replace(forged, digest=digest_of(forged))
    assert look([*entries[:2], forged, *entries[3:]], head_of(entries)) == Fault(
        4, "it does not follow the entry before it"
    )


def test_an_entry_that_claims_to_be_much_older_than_those_before_it_is_found() -> None:
    """Were it believed, everything before it could be purged one day as if it had been older still."""
    day = 86_400_000
    first, second = chained(2)
    first = replace(first, at=10 * day)
    first = replace(first, digest=digest_of(first))
    for back, found in ((day, False), (day + 1, True)):
        old = replace(second, at=first.at - back, previous_digest=first.digest)
        old = replace(old, digest=digest_of(old))
        fault = look([first, old], head_of([first, old]))
        assert (fault is not None and "older than an entry before it" in fault.message) is found


@given(gone=st.integers(2, 4))
def test_an_entry_missing_in_the_middle_is_named(gone: int) -> None:
    entries = chained(5)
    fault = look([one for one in entries if one.seq != gone], head_of(entries))
    assert fault == Fault(gone, f"entries {gone} to {gone} are missing")


def test_entries_missing_at_the_end_are_found_by_the_head() -> None:
    entries = chained(5)
    assert look(entries[:3], head_of(entries)) == Fault(4, "entries 4 to 5 are missing at the end")
    assert look([], head_of(entries)) == Fault(1, "entries 1 to 5 are missing at the end")


def test_a_head_of_another_chain_is_found() -> None:
    entries = chained(3)
    for wrong in (Head(2, entries[1].digest), Head(3, FIRST), None):
        fault = look(entries, wrong)
        assert fault is not None
        assert fault.seq == 3


def test_entries_missing_at_the_beginning_need_a_purge_that_names_them() -> None:
    entries = chained(5)
    assert look(entries[2:], head_of(entries)) == Fault(2, "entries up to 2 are missing, and no purge names them")
    said = json.dumps({"through": 2, "digest": entries[1].digest})
    purged = [*entries[2:], entry(6, entries[4].digest, PURGE, said)]
    assert look(purged, head_of(purged)) is None
    assert look(purged[1:], head_of(purged)) == Fault(3, "entries up to 3 are missing, and no purge names them")
    lied = [*entries[2:], entry(6, entries[4].digest, PURGE, '{"through": 2, "digest": "x"}')]
    assert look(lied, head_of(lied)) is not None
    mumbled = [*entries[2:], entry(6, entries[4].digest, PURGE, "[")]
    assert look(mumbled, head_of(mumbled)) is not None


def test_a_chain_written_anew_is_found_by_a_digest_kept_elsewhere() -> None:
    entries = chained(5)
    kept = Head(3, entries[2].digest)
    assert look(entries, head_of(entries), kept) is None
    anew = [replace(entries[0], actor="nobody")]
    anew = [replace(anew[0], digest=digest_of(anew[0]))]
    for seq in range(2, 6):
        anew.append(entry(seq, anew[-1].digest))
    assert look(anew, head_of(anew)) is None
    assert look(anew, head_of(anew), kept) == Fault(
        3, "it is not what it was when the expected digest was written down"
    )
    assert look(entries[:2], head_of(entries[:2]), kept) == Fault(3, "entry 3 was there once and is missing")


def purged(entries: list[Entry], through: int) -> list[Entry]:
    said = json.dumps({"through": through, "digest": entries[through - 1].digest})
    return [*entries[through:], entry(len(entries) + 1, entries[-1].digest, PURGE, said)]


@given(kept=st.integers(1, 5), through=st.integers(1, 4))
def test_an_expected_entry_that_was_purged_is_not_confirmed(kept: int, through: int) -> None:
    entries = chained(5)
    left = purged(entries, through)
    fault = look(left, head_of(left), Head(kept, entries[kept - 1].digest))
    if kept > through:
        assert fault is None
    else:
        assert fault == Fault(kept, f"it cannot be confirmed: entries up to {through} were purged", left[-1].at)


DAY = 86_400_000


def aged(ages: list[int], purge_at: int, through: int, **said: int) -> list[Entry]:
    """Entries written at these instants, those up to ``through`` purged."""
    made: list[Entry] = []
    for seq, at in enumerate(ages, 1):
        one = replace(entry(seq, made[-1].digest if made else FIRST), at=at)
        made.append(replace(one, digest=digest_of(one)))
    told = json.dumps({"through": through, "digest": made[through - 1].digest, "entries": through, **said})
    last = replace(entry(len(made) + 1, made[-1].digest, PURGE, told), at=purge_at)
    return [*made[through:], replace(last, digest=digest_of(last))]


def judged(entries: list[Entry], retention: int, now: int) -> tuple[Chain, Fault | None]:
    first_left = Head(entries[0].seq, entries[0].digest)
    chain = Chain(first_left, Kept(retention, now))
    for one in entries:
        if (fault := chain.add(one)) is not None:
            return chain, fault
    return chain, chain.end(head_of(entries))


def test_a_purge_that_leaves_an_entry_older_than_the_retention_is_believed() -> None:
    left = aged([0, DAY, 2 * DAY, 33 * DAY], 33 * DAY, 2, before=3 * DAY)
    chain, fault = judged(left, 30 * DAY, 41 * DAY)
    assert fault is None
    assert chain.purges == [chain.relied_on]
    assert chain.relied_on == Purge(5, 33 * DAY, Head(2, left[0].previous_digest), 2, 3 * DAY)


@pytest.mark.parametrize("said", [{}, {"before": DAY}])
def test_a_purge_of_what_was_young_is_found_whatever_it_says(said: dict[str, int]) -> None:
    """The first entry left is under the digest that somebody has kept, so its time cannot be another."""
    left = aged([0, 10 * DAY, 20 * DAY, 39 * DAY], 40 * DAY, 3, **said)
    _, fault = judged(left, 30 * DAY, 41 * DAY)
    assert fault == Fault(5, "it is a purge of entries up to 3 that had to be kept longer", is_early=True)


def test_a_purge_that_admits_to_have_come_early_is_found() -> None:
    left = aged([0, DAY, 2 * DAY], 40 * DAY, 1, before=39 * DAY)
    assert judged(left, 30 * DAY, 41 * DAY)[1] is not None


def test_a_purge_of_a_time_that_is_still_to_come_is_found() -> None:
    left = aged([0, DAY, 39 * DAY], 100 * DAY, 2)
    _, fault = judged(left, 30 * DAY, 41 * DAY)
    assert fault == Fault(4, "it is a purge of a time that is still to come", is_early=True)


def test_the_last_entry_that_was_purged_is_compared() -> None:
    left = purged(chained(5), 3)
    assert look(left, head_of(left), Head(3, "ab" * 32)) == Fault(
        3, "it is not what it was when the expected digest was written down"
    )


def test_all_entries_replaced_by_some_that_begin_later_are_not_confirmed() -> None:
    entries = chained(5)
    first = entry(8, "ab" * 32)
    said = json.dumps({"through": 7, "digest": "ab" * 32})
    forged = [first, entry(9, first.digest, PURGE, said)]
    assert look(forged, head_of(forged), head_of(entries)) == Fault(
        5, "it cannot be confirmed: entries up to 7 were purged", forged[-1].at
    )


def test_a_head_can_be_written_down_and_read_again() -> None:
    head = Head(12, "ab" * 32)
    assert read_head(str(head)) == head
    for wrong in ("", "12", "12:xyz", "x:" + "ab" * 32, "²:" + "ab" * 32):
        assert read_head(wrong) is None
