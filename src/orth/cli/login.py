"""``orth login`` and ``orth logout``: the credentials that other commands use, and links for browsers."""

import getpass
import os
import sys

import click

from orth.cli.api_client import ApiChoice, api_options
from orth.cli.options import coordinator_dir_option, store_option
from orth.cli.run_here import find_run
from orth.cli.sign_ins import SignIn, SignIns
from orth.cli.starting import needing_extra, settings_of
from orth.errors import ApiProblem, Unavailable


@click.command()
@click.option("--username", default="admin", show_default=True, help="Who signs in.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input instead of asking.")
@click.option("--link", is_flag=True, help="Print a link that signs a browser in, once, within 15 minutes.")
@store_option
@coordinator_dir_option
@api_options
def login(
    api: ApiChoice, username: str, password_stdin: bool, link: bool, store: str | None, data_dir: str | None
) -> None:
    """Sign in to a coordinator and remember it.

    Tokens are kept in a file that only you can read. In scripts, set ORTH_TOKEN instead. --link needs no password but
    the coordinator's database, so it is for whoever is at its machine.
    """
    if link:
        click.echo(_link(api, username, store, data_dir))
        return
    url = api.url
    if not password_stdin and not is_terminal():
        raise click.UsageError(
            "The password cannot be asked for: standard input is not a terminal. "
            "Use --password-stdin, or set ORTH_TOKEN instead of signing in."
        )
    with api.stranger() as client:
        if password_stdin:
            password = sys.stdin.readline().rstrip("\n")
        else:
            client.get("/health/live")  # before a password is typed for nothing
            password = click.prompt(f"Password of {username} at {url}", hide_input=True, err=True)
        session = client.call("POST", "/api/v1/auth/login", body={"username": username, "password": password})
    sign_ins = SignIns.of_environment(os.environ)
    sign_ins.keep(url, SignIn(username, session["access_token"], session["refresh_token"]))
    click.echo(f"Signed in to {url} as {username}.", err=True)


@click.command()
@api_options
def logout(api: ApiChoice) -> None:
    """End the sign-in to a coordinator and forget it."""
    url = api.url
    sign_ins = SignIns.of_environment(os.environ)
    if sign_ins.find(url) is not None:
        try:
            with api.client() as client:
                client.call("POST", "/api/v1/auth/logout")
        except (ApiProblem, Unavailable) as error:
            if not isinstance(error, ApiProblem) or error.status != 401:  # that it is over already is no trouble
                click.echo(f"It goes on there until it runs out: {error.message}", err=True)
    known = sign_ins.forget(url)
    click.echo(f"Signed out of {url}." if known else f"There was no sign-in to {url}.", err=True)


def is_terminal() -> bool:
    """Whether standard input is a terminal."""
    return sys.stdin.isatty()


def _link(api: ApiChoice, username: str, store: str | None, data_dir: str | None) -> str:
    """A link to the console, from the store itself."""
    settings = settings_of({"store.url": store, "coordinator.data_dir": data_dir}, api.config)
    with needing_extra("server"):
        from orth.clock import SystemClock
        from orth.coordinator.signing_in.links import link_at, link_url
        from orth.domain.audit import Actor, ActorKind
        from orth.store.migrating import check_schema
    check_schema(settings.store_url)
    by = Actor(ActorKind.COMMAND, _person())
    token = link_at(settings.store_url, username, by, SystemClock().now())
    run = find_run(settings)
    own = api.server or os.environ.get("ORTH_SERVER") or settings.console.base_url
    own = own or (None if run is None else run.console)
    if own is None and settings.origin("executor.coordinators") != "default":
        own = settings.executor.coordinators[0]  # also of a coordinator that was started with --listen
    return link_url(own or f"{settings.security.scheme}://{settings.coordinator.listen}", token)


def _person() -> str:
    """Who is at the machine, for the audit."""
    try:
        return f"orth login by {getpass.getuser()}"
    except (KeyError, OSError):  # a user id without a name
        return "orth login"
