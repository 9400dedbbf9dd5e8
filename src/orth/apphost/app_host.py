"""The topology in code, for teams that want more than numbers in ``orth.toml``: an ``apphost.py`` beside the jobs.

::

    from orth.apphost import AppHost

    host = AppHost("demo")
    registry = host.registry(port=5060)
    coordinators = host.coordinators(2, port=5080).after(registry)
    agents = host.agents(3, modules=["jobs"], port=5090).after(coordinators).env(TZ="UTC")
    host.console(port=5070).after(registry)
    host.run()

``orth up`` finds such a file, and ``python apphost.py`` runs it as well.
"""

import sys
from typing import NoReturn

from orth.apphost.topologies import Layout


class AppHost(Layout):
    """The processes ``orth up`` starts."""

    def run(self) -> NoReturn:
        """Start everything, and stay until it is stopped."""
        from orth.apphost.up import run_layout  # needs the extra server

        sys.exit(run_layout(self))
