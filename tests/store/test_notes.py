"""Notes: in order, bounded, and with text that every database takes."""

from orth.store.database import Database
from orth.store.notes import NOTES_LIMIT, Note, add_notes, last_noted, notes_of
from tests.store.builders import NOW


async def test_notes_come_back_in_order(db: Database) -> None:
    await db.tx(add_notes, [Note(1, "not_sent", "first"), Note(2, "refused", "other")], "node-1", NOW)
    await db.tx(add_notes, [Note(1, "rerouted", "second")], "node-2", NOW + 1)
    assert await db.read(notes_of, 1) == [
        Note(1, "not_sent", "first", NOW, "node-1"),
        Note(1, "rerouted", "second", NOW + 1, "node-2"),
    ]
    assert await db.read(notes_of, 3) == []


async def test_when_something_was_last_noted(db: Database) -> None:
    for at in range(3):
        await db.tx(add_notes, [Note(1, "circuit_open", "again"), Note(2, "peer_full", "")], "node-1", NOW + at)
    await db.tx(add_notes, [Note(1, "peer_full", ""), Note(3, "circuit_open", "once")], "node-1", NOW + 9)
    assert await db.read(last_noted, [1, 2, 3, 4], "circuit_open") == {1: NOW + 2, 3: NOW + 9}
    assert await db.read(last_noted, [], "circuit_open") == {}


async def test_one_execution_has_a_bounded_number(db: Database) -> None:
    for turn in range(3):
        written = [Note(1, "not_sent", f"{turn}-{n}") for n in range(NOTES_LIMIT // 2)]
        await db.tx(add_notes, [*written, Note(2, "refused", str(turn))], "node-1", NOW)
    assert [note.message for note in await db.read(notes_of, 2)] == ["0", "1", "2"]
    kept = await db.read(notes_of, 1)
    assert len(kept) == NOTES_LIMIT
    assert kept[-1].message == f"1-{NOTES_LIMIT // 2 - 1}"


async def test_any_text_is_stored_cut_to_its_column(db: Database) -> None:
    texts = ["a\x00b", "half \ud800 a pair", "雨" * 2_000, "x" * 499 + "\ud800"]
    await db.tx(add_notes, [Note(1, "refused", text) for text in texts], "node-1", NOW)
    stored = [note.message for note in await db.read(notes_of, 1)]
    assert stored[0] == "ab"
    assert stored[1].startswith("half ")
    assert all(0 < len(text) <= 500 for text in stored)
