"""``python -m orth.settings`` writes the text of docs/settings.md to standard output."""

import sys

from orth.settings.describing import settings_page

if __name__ == "__main__":
    sys.stdout.write(settings_page())
