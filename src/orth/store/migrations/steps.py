"""The steps migrations are made of. Each looks before it acts, so that an interrupted migration can be run again.

Frozen like the migrations themselves: what these functions did for a released version they go on doing.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.mysql import LONGBLOB, MEDIUMTEXT
from sqlalchemy.schema import SchemaItem

BigId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
LongText = sa.Text().with_variant(MEDIUMTEXT(), "mysql", "mariadb")
LongBytes = sa.LargeBinary().with_variant(LONGBLOB(), "mysql", "mariadb")

_OPTIONS = {
    f"{dialect}_{name}": value
    for dialect in ("mysql", "mariadb")
    for name, value in (("engine", "InnoDB"), ("charset", "utf8mb4"), ("collate", "utf8mb4_bin"))
}


def create_table(name: str, *parts: SchemaItem) -> None:
    if sa.inspect(op.get_bind()).has_table(name):
        return
    counted = any(isinstance(part, sa.Column) and part.primary_key and part.type is BigId for part in parts)
    options: dict[str, Any] = {**_OPTIONS, **({"sqlite_autoincrement": True} if counted else {})}
    op.create_table(name, *parts, **options)


def create_index(name: str, table: str, columns: list[str]) -> None:
    if name in {index["name"] for index in sa.inspect(op.get_bind()).get_indexes(table)}:
        return
    op.create_index(name, table, columns)


def make_partial(
    name: str, table: str, columns: list[str], where: str, *, on: tuple[str, ...] = ("postgresql", "sqlite")
) -> None:
    """Let an index hold only the rows for which ``where`` holds; MySQL and MariaDB have no such indexes."""
    dialect = op.get_bind().dialect.name
    if dialect not in on:
        return
    known = {index["name"]: index for index in sa.inspect(op.get_bind()).get_indexes(table)}
    if name in known:
        if known[name].get("dialect_options", {}).get(f"{dialect}_where") is not None:
            return
        op.drop_index(name, table)
    op.create_index(name, table, columns, postgresql_where=sa.text(where), sqlite_where=sa.text(where))


def leave_room(table: str, filled: int) -> None:
    """Let PostgreSQL fill pages of a table up to so many percent with new rows."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER TABLE {table} SET (fillfactor = {filled})")


def add_column(table: str, column: sa.Column[Any]) -> None:
    if column.name in {known["name"] for known in sa.inspect(op.get_bind()).get_columns(table)}:
        return
    op.add_column(table, column)


def drop_column(table: str, column: str) -> None:
    if column in {known["name"] for known in sa.inspect(op.get_bind()).get_columns(table)}:
        op.drop_column(table, column)


def replace_unique(table: str, name: str, columns: list[str]) -> None:
    """Let a unique constraint be about other columns. SQLite copies the table for it."""
    known = {one["name"]: one["column_names"] for one in sa.inspect(op.get_bind()).get_unique_constraints(table)}
    if known.get(name) == columns:
        return
    with op.batch_alter_table(table) as batch:
        if name in known:
            batch.drop_constraint(name, type_="unique")
        batch.create_unique_constraint(name, columns)


def lengthen_text(table: str, column: str) -> None:
    """Let a nullable text hold what ``LongText`` holds; only MySQL and MariaDB have shorter ones."""
    if op.get_bind().dialect.name in ("mysql", "mariadb"):
        op.alter_column(table, column, type_=MEDIUMTEXT(), existing_type=sa.Text(), existing_nullable=True)


def drop_table(name: str) -> None:
    if sa.inspect(op.get_bind()).has_table(name):
        op.drop_table(name)
