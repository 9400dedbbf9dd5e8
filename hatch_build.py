"""Refuse to build a distribution without the console, which is built before and is not in git."""

import os
import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

RULES = Path("src/orth/distribution.py")
CONSOLE = Path("src/orth/coordinator/http/console")


class ConsoleHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  # hatchling's signature
        """Editable installations run from the tree, where the console can be built later."""
        if version == "editable" or os.environ.get("ORTH_BUILD_HEADLESS") == "1":
            return
        root = Path(self.root)
        trouble = runpy.run_path(str(root / RULES))["console_trouble"](root / CONSOLE)
        if trouble is not None:
            self.app.abort(f"{trouble} Run: make console. To build Orth without it, set ORTH_BUILD_HEADLESS=1.")
