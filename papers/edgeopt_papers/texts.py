"""Texts of the papers' claims, errata and figures, which stand in files beside the code."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any


@cache
def texts(module: str, name: str) -> dict[str, Any]:
    """Read ``NAME.toml`` beside a module; each text is one line, however it is broken there."""
    file = Path(module).with_name(f"{name}.toml")
    found: dict[str, Any] = _joined(tomllib.loads(file.read_text(encoding="utf-8")))
    return found


def _joined(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _joined(text) for name, text in part.items()}
    return " ".join(part.split()) if isinstance(part, str) else tuple(map(_joined, part))
