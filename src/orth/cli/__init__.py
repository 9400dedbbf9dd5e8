"""The ``orth`` command.

Each command translates its options to settings and calls the module that does the work; no work is done here. Importing
this package loads click and nothing heavier, because ``orth --help`` answers while a person waits: commands live in
modules of their own, imported when they are called, and those import what they call when they run.

* ``frame`` — the command itself, its subcommands by name, and ``main``
* ``failures`` — how an error becomes one line and an exit code
* ``options`` and ``starting`` — what commands share: common options, settings, log, failpoints
* ``log_setup`` — the process log
* ``api_client``, ``sign_ins`` and ``output`` — for commands that call a coordinator: its API, as whom, what is shown
* ``up``, ``server``, ``executor``, ``job``, ``exec``, ``stats``, ``events``, ``alarm``, ``user``, ``login``,
  ``config``, ``db``, ``doctor`` — commands
"""

from orth.cli.frame import main

__all__ = ["main"]
