"""Files of named arrays with a record, and a hash over both.

The format is safetensors: a JSON header, then the bytes of the arrays. It has no checksum of its
own, so that the record carries one over names, types, shapes, bytes and the record itself.
"""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parsed
from safetensors.numpy import save as serialised

from edgeopt.errors import InputError
from edgeopt.writing import write_file

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from numpy.typing import NDArray

_KEY: Final = "edgeopt"
_HASH: Final = "sha256"
_LENGTH: Final = 8
"""Bytes of a file that hold the length of its header."""

TYPES: Final = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8", "bool")
"""Types that arrays may have."""


def write_arrays(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]
) -> Path:
    """Write arrays and a record of JSON values; equal content gives equal bytes."""
    held = {name: np.asarray(arrays[name], order="C") for name in sorted(arrays)}
    for name, array in held.items():
        if array.dtype.name not in TYPES:
            raise InputError(name, f"arrays of type {array.dtype} cannot be written")
    said = _canonical({**record, _HASH: content_hash(held, record)})
    return write_file(path, serialised(held, {_KEY: said}))


def read_arrays(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read arrays and record of a file, and check its hash; `kind` says in errors what is read."""
    name = str(path)
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(name, f"cannot be read: {error.strerror or error}") from None
    try:
        length = int.from_bytes(content[:_LENGTH], "little")
        header = json.loads(content[_LENGTH : _LENGTH + length])
        record = json.loads(header["__metadata__"][_KEY])
        expected = record.pop(_HASH)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise InputError(name, f"is not {kind} of edgeopt, or is damaged") from None
    try:
        arrays = parsed(content)
    except (SafetensorError, ValueError, LookupError, TypeError, OverflowError) as error:
        raise InputError(name, f"is damaged: {error}") from None
    if content_hash(arrays, record) != expected:
        raise InputError(name, "is damaged: its hash does not match its content")
    return arrays, record


def _canonical(record: Any) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), allow_nan=False)


def content_hash(arrays: Mapping[str, NDArray[Any]], record: Mapping[str, Any]) -> str:
    """Return the hash of names, types, shapes and bytes of arrays, and of the record."""
    found = hashlib.sha256(_canonical(record).encode())
    for name in sorted(arrays):
        array = np.asarray(arrays[name], order="C")
        found.update(_canonical([name, array.dtype.name, list(array.shape)]).encode())
        found.update(array.tobytes())
    return found.hexdigest()


def flattened(tree: Mapping[str, Any]) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Split nested mappings into their arrays, by path, and the tree without them.

    Keys are texts without ``/``; the leaves that are no arrays are JSON values.
    """
    arrays: dict[str, NDArray[Any]] = {}

    def walked(part: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Walk one level, and put its arrays aside."""
        rest: dict[str, Any] = {}
        for key, value in part.items():
            where = f"{path}/{key}" if path else key
            if isinstance(value, np.ndarray):
                arrays[where] = value
            else:
                rest[key] = walked(value, where) if isinstance(value, dict) else value
        return rest

    return arrays, walked(tree, "")


def nested(arrays: Mapping[str, NDArray[Any]], rest: Mapping[str, Any]) -> dict[str, Any]:
    """Put arrays back into the tree that :func:`flattened` took them from."""
    tree: dict[str, Any] = json.loads(json.dumps(rest))
    for path, array in arrays.items():
        *folders, key = path.split("/")
        part = tree
        for folder in folders:
            part = part.setdefault(folder, {})
        part[key] = array
    return tree


def finite(value: float) -> float | None:
    """Return a number, or None for one that JSON does not know."""
    return float(value) if math.isfinite(value) else None
