"""The OpenAPI document on standard output: ``python -m orth.coordinator.http.openapi``.

The console's types are made from it, so a change of the API that the console does not know of fails its type check.
"""

import json
import sys

from orth.coordinator.http.app import assembled, document_of
from orth.settings import Settings


def main() -> None:
    json.dump(document_of(assembled(Settings())), sys.stdout, indent=1, sort_keys=True)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
