"""What Alembic runs around the migrations: our connection, our transaction, our version table."""

from alembic import context

from orth.store.all_tables import metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=metadata,
    version_table="orth_schema_version",
    transactional_ddl=False,  # the caller has opened the transaction, or the server cannot have one around DDL
)
context.run_migrations()
