"""``python -m orth`` is the ``orth`` command."""

import sys

from orth.cli import main

if __name__ == "__main__":
    sys.exit(main())
