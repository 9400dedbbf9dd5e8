"""``orth db``: the schema of the database."""

from getpass import getuser
from pathlib import Path

import click

from orth.cli.options import config_option, coordinator_dir_option, store_option
from orth.cli.starting import needing_extra, settings_of
from orth.domain.audit import Actor, ActorKind


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


@db.command()
@store_option
@coordinator_dir_option
@config_option
def reseal(store: str | None, data_dir: str | None, config: Path | None) -> None:
    """Seal every secret in the database with the newest master key.

    Put the new key in front of the old one on every coordinator first (security.master_key, or the file master-key in
    the data directory) and restart them; take the old one away afterwards.
    """
    settings = settings_of({"store.url": store, "coordinator.data_dir": data_dir}, config)
    with needing_extra("server"):
        from orth.clock import SystemClock
        from orth.coordinator.resealing import reseal as reseal_all
        from orth.coordinator.sealing import sealing_of
        from orth.store.database import open_database
        from orth.store.migrating import check_schema
    check_schema(settings.store_url)
    sealing = sealing_of(settings, Path(settings.coordinator.data_dir))
    actor = Actor(ActorKind.COMMAND, getuser())
    with open_database(settings.store_url, size=1, patience=300.0) as opened, opened.engine.begin() as connection:
        count = reseal_all(connection, sealing, actor, SystemClock().now())
    click.echo(f"{count} values were sealed anew, with the key {sealing.newest}.")


def _store_url(store: str | None, data_dir: str | None, config: Path | None) -> str:
    return settings_of({"store.url": store, "coordinator.data_dir": data_dir}, config).store_url
