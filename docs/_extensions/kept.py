"""What the build has computed, kept from one build to the next for as long as no source changes."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeopt.writing import write_file

if TYPE_CHECKING:
    from types import FunctionType

HERE = Path(__file__).resolve().parent
FOLDER = HERE.parent / "_build" / "kept"


@cache
def sources() -> str:
    """Hash of what all results depend on: the package and the examples."""
    import edgeopt

    digest = hashlib.sha256()
    for root in (Path(edgeopt.__file__).parent, HERE.parents[1] / "examples"):
        for path in sorted(root.rglob("*.*")):
            if "__pycache__" not in path.parts and path.is_file():
                digest.update(f"{path.relative_to(root)}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def kept(request: list[Any], compute: FunctionType) -> Any:
    """Return what a request comes to, computed unless an earlier build has done so.

    `request` says all that the outcome depends on beside the sources and the extension that asks
    for it; the outcome is plain enough for JSON. Processes that read pages side by side may use
    the folder at a time.
    """
    asked = Path(compute.__code__.co_filename).read_text(encoding="utf-8")
    key = hashlib.sha256(json.dumps([sources(), asked, request]).encode()).hexdigest()
    path = FOLDER / f"{key}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        pass
    text = json.dumps(compute())
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_file(path, text)
    # As a later build will read it.
    return json.loads(text)
