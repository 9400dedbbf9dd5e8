"""Refuse to build a distribution without the console, which is built before and is not in git."""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CONSOLE = Path("src/orth/coordinator/http/console/index.html")


class ConsoleHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatchling's signature
        """Editable installations run from the tree, where the console can be built later."""
        if version == "editable" or os.environ.get("ORTH_BUILD_HEADLESS") == "1":
            return
        if not (Path(self.root) / CONSOLE).is_file():
            self.app.abort(
                "The console is not built. Run: make console. To build Orth without it, set ORTH_BUILD_HEADLESS=1."
            )
