"""The command line: thin commands over the layers below."""

from __future__ import annotations

from edgeopt.cli.main import main

__all__ = ["main"]
