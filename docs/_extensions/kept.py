"""Cache of what the build computes, valid until a source changes."""

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
    """Hash of the package and the examples, on which all results depend."""
    import edgeopt

    digest = hashlib.sha256()
    for root in (Path(edgeopt.__file__).parent, HERE.parents[1] / "examples"):
        for path in sorted(root.rglob("*.*")):
            if "__pycache__" not in path.parts and path.is_file():
                digest.update(f"{path.relative_to(root)}\0".encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()


def kept(request: list[Any], compute: FunctionType) -> Any:
    """Return the cached result of a request, or compute and cache it.

    The key holds the request, the sources and the calling extension, so `request` must name
    everything else that the result depends on. The result must be JSON. Several processes may use
    the folder at the same time.
    """
    caller = Path(compute.__code__.co_filename).read_text(encoding="utf-8")
    key = hashlib.sha256(json.dumps([sources(), caller, request]).encode()).hexdigest()
    path = FOLDER / f"{key}.json"
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        pass
    text = json.dumps(compute())
    FOLDER.mkdir(parents=True, exist_ok=True)
    write_file(path, text)
    # The same types as a later build will read.
    return json.loads(text)
