"""Write into a wheel what the digests of its modules rest on, so that no start looks for it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).parent


class Digests(BuildHookInterface):
    """Adds `edgeopt/_digests.json` to a wheel; an editable install finds its own."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Find the facts and hand them to the builder."""
        if version == "editable":
            return
        sys.path.insert(0, str(ROOT))
        from edgeopt.digests.modules import facts_of_package

        folder = Path(tempfile.mkdtemp())
        (folder / "_digests.json").write_text(facts_of_package())
        build_data["force_include"][str(folder / "_digests.json")] = "edgeopt/_digests.json"
