"""Modules that need an optional package are not searched for examples where it is missing."""

from importlib.util import find_spec
from pathlib import Path

collect_ignore = (
    []
    if find_spec("torch")
    else [
        str(path)
        for path in (Path(__file__).parent / "edgeopt").rglob("*.py")
        if "import torch\n" in path.read_text(encoding="utf-8")
    ]
)
