"""The scheduler you can prove: what a job author imports.

``from orth import Executor, JobContext, JobFailed, Param, Retry, helper`` is all that jobs need. The names are looked
up when they are first used: importing the package loads nothing else, so the command line starts at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from orth.version import __version__

if TYPE_CHECKING:
    from orth import helper
    from orth.executor.app import Executor
    from orth.executor.context import JobContext, JobFailed
    from orth.executor.parameters import Param
    from orth.executor.proposals import Retry

__all__ = ["Executor", "JobContext", "JobFailed", "Param", "Retry", "__version__", "helper"]

_HOMES = {
    "Executor": "orth.executor.app",
    "JobContext": "orth.executor.context",
    "JobFailed": "orth.executor.context",
    "Param": "orth.executor.parameters",
    "Retry": "orth.executor.proposals",
}


def __getattr__(name: str) -> object:
    if name == "helper":
        return import_module("orth.helper")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'orth' has no attribute {name!r}")
    return getattr(import_module(home), name)
