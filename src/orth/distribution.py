"""The name under which Orth is installed, and the one function that says how to install a part of it.

On the package index ``orth`` is another project. A hint that names it installs that project, and ``pip install
--upgrade`` removes ours for it, so nothing but this file says what to install.
"""

import shlex
import sys

DISTRIBUTION = "orth-scheduler"
FOREIGN_DISTRIBUTION = "orth"
"""The other project, which has the name of our import package and of our command."""


def requirement(extra: str) -> str:
    """What pip has to install for an optional part."""
    return f"{DISTRIBUTION}[{extra}]"


def install_command(extra: str) -> str:
    """The command that installs an optional part into the environment of this process."""
    return f'{shlex.quote(sys.executable)} -m pip install "{requirement(extra)}"'
