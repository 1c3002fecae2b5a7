"""Compiled kernels in a wheel, which then is of one platform: `make wheel` names their archive."""

import os
import sys
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface):
    """Put the archive that EDGEOPT_KERNELS names into a wheel; without it, the wheel is pure."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Say what hatch is to build."""
        archive = os.environ.get("EDGEOPT_KERNELS")
        if archive and version == "standard":
            build_data["force_include"][archive] = "edgeopt/kernels.zip"
            python = f"cp{sys.version_info.major}{sys.version_info.minor}"
            build_data["tag"] = f"{python}-{python}-manylinux_2_28_x86_64"
            build_data["pure_python"] = False
