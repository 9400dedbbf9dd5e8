"""What tests run: code that is not their job's, kept as long as the execution that tries it."""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, insert, select

from orth.domain.jobs import GlueType
from orth.store.engines import among
from orth.store.script_tables import script_drafts


@dataclass(frozen=True, slots=True)
class Draft:
    """One source to be tried."""

    glue_type: GlueType
    source: str
    made_at: int


def keep_draft(connection: Connection, execution_id: int, draft: Draft) -> None:
    connection.execute(
        insert(script_drafts).values(
            execution_id=execution_id,
            glue_type=draft.glue_type,
            glue_source=draft.source,
            made_at=draft.made_at,
        )
    )


def drafts_of(connection: Connection, execution_ids: Iterable[int]) -> dict[int, Draft]:
    """What each of these tests runs; a kind that this version does not know is left out."""
    wanted = set(execution_ids)
    if not wanted:
        return {}
    rows = connection.execute(select(script_drafts).where(among(connection, script_drafts.c.execution_id, wanted)))
    return {
        row.execution_id: Draft(_KINDS[row.glue_type], row.glue_source, row.made_at)
        for row in rows
        if row.glue_type in _KINDS
    }


_KINDS = {one.value: one for one in GlueType}
