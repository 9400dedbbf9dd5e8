"""``orth db``: the schema of the database."""

from pathlib import Path

import click

from orth.cli.options import config_option, coordinator_dir_option, store_option
from orth.cli.starting import needing_extra, settings_of


@click.group()
def db() -> None:
    """Look after the database."""


@db.command()
@store_option
@coordinator_dir_option
@config_option
def upgrade(store: str | None, data_dir: str | None, config: Path | None) -> None:
    """Bring the schema up to this version of Orth."""
    url = _store_url(store, data_dir, config)
    with needing_extra("server"):
        from orth.store.migrating import upgrade as upgrade_schema
    click.echo(upgrade_schema(url))


@db.command()
@store_option
@coordinator_dir_option
@config_option
def status(store: str | None, data_dir: str | None, config: Path | None) -> None:
    """Say which schema the database has, and which this version of Orth needs."""
    url = _store_url(store, data_dir, config)
    with needing_extra("server"):
        from orth.store.migrating import schema_status
    click.echo(schema_status(url))


def _store_url(store: str | None, data_dir: str | None, config: Path | None) -> str:
    return settings_of({"store.url": store, "coordinator.data_dir": data_dir}, config).store_url
