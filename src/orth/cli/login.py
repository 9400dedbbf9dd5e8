"""``orth login`` and ``orth logout``: the credentials that other commands use."""

import os
import sys

import click

from orth.cli.api_client import ApiChoice, api_options
from orth.cli.sign_ins import SignIn, SignIns


@click.command()
@click.option("--username", default="admin", show_default=True, help="Who signs in.")
@click.option("--password-stdin", is_flag=True, help="Read the password from standard input instead of asking.")
@api_options
def login(api: ApiChoice, username: str, password_stdin: bool) -> None:
    """Sign in to a coordinator and remember it.

    Tokens are kept in a file that only you can read. In scripts, set ORTH_TOKEN instead.
    """
    url = api.url
    if password_stdin:
        password = sys.stdin.readline().rstrip("\n")
    else:
        password = click.prompt(f"Password of {username} at {url}", hide_input=True, err=True)
    with api.stranger() as client:
        session = client.call("POST", "/api/v1/auth/login", body={"username": username, "password": password})
    sign_ins = SignIns.of_environment(os.environ)
    sign_ins.keep(url, SignIn(username, session["access_token"], session["refresh_token"]))
    click.echo(f"Signed in to {url} as {username}.", err=True)


@click.command()
@api_options
def logout(api: ApiChoice) -> None:
    """Forget the sign-in of a coordinator."""
    url = api.url
    known = SignIns.of_environment(os.environ).forget(url)
    click.echo(f"Signed out of {url}." if known else f"There was no sign-in to {url}.", err=True)
