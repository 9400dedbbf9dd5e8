"""Handlers that do nothing, for measuring everything around them."""

from orth import Executor

app = Executor("bench-app")


@app.job("noop")
def noop() -> None:
    """Return at once."""


@app.job("isolated", isolation="process")
def isolated() -> None:
    """Return at once, in a process of its own."""
