"""What every table is made with: the kinds of columns, and the options that make all databases compare alike."""

from typing import Any

from sqlalchemy import BigInteger, Column, Index, Integer, LargeBinary, MetaData, Table, Text, text
from sqlalchemy.dialects.mysql import LONGBLOB, MEDIUMTEXT
from sqlalchemy.schema import SchemaItem

# SQLite counts rows only in columns declared exactly INTEGER.
BigId = BigInteger().with_variant(Integer, "sqlite")
LongText = Text().with_variant(MEDIUMTEXT, "mysql", "mariadb")
LongBytes = LargeBinary().with_variant(LONGBLOB, "mysql", "mariadb")
Instant = BigInteger

metadata = MetaData()

# Comparison is by code point everywhere: MariaDB's default would call "App" and "app" the same name.
_OPTIONS = {
    "mysql_engine": "InnoDB",
    "mysql_charset": "utf8mb4",
    "mysql_collate": "utf8mb4_bin",
    "mariadb_engine": "InnoDB",
    "mariadb_charset": "utf8mb4",
    "mariadb_collate": "utf8mb4_bin",
    # Ids name log files and appear on the wire: one that was used is never given again.
    "sqlite_autoincrement": True,
}


def table(name: str, *parts: SchemaItem, **more: Any) -> Table:
    options: dict[str, Any] = {**_OPTIONS, **more}
    keys = [part for part in parts if isinstance(part, Column) and part.primary_key]
    if not any(key.type is BigId for key in keys):
        del options["sqlite_autoincrement"]
    return Table(name, metadata, *parts, **options)


def partial_index(name: str, *columns: str, where: str) -> Index:
    """An index of only those rows for which ``where`` holds; on MariaDB and MySQL, which have no such thing, of all."""
    return Index(name, *columns, postgresql_where=text(where), sqlite_where=text(where))
