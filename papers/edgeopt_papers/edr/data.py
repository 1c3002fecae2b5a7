"""MNIST and CIFAR-10, which cannot be bundled, where a user has their files.

Files are those that the authors of the data sets offer, as they are or packed by gzip, in the
folder that the environment variable ``EDGEOPT_DATA`` names; of CIFAR-10 it is the binary version.
"""

from __future__ import annotations

import os
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from edgeopt.errors import InputError
from edgeopt.reading import content_of, unpacked

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

FOLDER: Final = "EDGEOPT_DATA"
"""Environment variable with the folder."""

WITHIN: Final = ("", "MNIST/raw", "cifar-10-batches-bin")
"""Where in it the files are looked for."""

MNIST: Final = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")
"""Pictures and digits."""

CIFAR: Final = tuple(f"data_batch_{part}.bin" for part in range(1, 6))
"""Pictures with their kinds, a byte before 3 x 32 x 32."""

CLASSES: Final = 10
"""Kinds of pictures in both."""


class Shown(NamedTuple):
    """Pictures in [0, 1], shape [n, colours, side, side], and what they show, shape [n]."""

    pictures: NDArray[np.float32]
    label: NDArray[np.int64]


def found(name: str) -> list[Path] | None:
    """Return the files of ``"MNIST"`` or ``"CIFAR-10"``, None unless all are there."""
    given = os.environ.get(FOLDER)
    if not given:
        return None
    paths = [_file(Path(given), one) for one in {"MNIST": MNIST, "CIFAR-10": CIFAR}[name]]
    there = [path for path in paths if path is not None]
    return there if len(there) == len(paths) else None


def _file(folder: Path, name: str) -> Path | None:
    """Return a file, packed or not, in one of the places where it may be."""
    places = (folder / inner / f"{name}{end}" for inner in WITHIN for end in ("", ".gz"))
    return next((path for path in places if path.is_file()), None)


def mnist(pictures: Path, label: Path) -> Shown:
    """Read files in the format idx: a byte of 8 for bytes, one for the dimensions, and sizes."""
    grey, digits = _idx(pictures, 3), _idx(label, 1)
    if grey.shape[1:] != (28, 28) or len(digits) != len(grey):
        rule = f"has {grey.shape} pictures, and there are {len(digits)} labels"
        raise InputError(str(pictures), f"{rule}; as many of 28 x 28 are needed")
    return _shown(label, grey[:, None], digits)


def cifar(paths: list[Path]) -> Shown:
    """Read files of rows of 3,073 bytes: a label, and 32 x 32 pixels of each colour."""
    parts = []
    for path in paths:
        flat = np.frombuffer(_content(path), np.uint8)
        if not flat.size or flat.size % 3073:
            raise InputError(str(path), f"has {flat.size} bytes, not a multiple of 3073")
        parts.append(flat.reshape(-1, 3073))
    rows = np.concatenate(parts)
    return _shown(paths[0], rows[:, 1:].reshape(-1, 3, 32, 32), rows[:, 0])


def _shown(path: Path, pictures: Bytes, label: Bytes) -> Shown:
    if not label.size or label.max() >= CLASSES:
        raise InputError(str(path), f"labels must be below {CLASSES}, and there must be some")
    return Shown(pictures.astype(np.float32) / np.float32(255.0), label.astype(np.int64))


def _content(path: Path) -> bytes:
    """Return what is in a file, unpacked."""
    try:
        content = content_of(path)
        return unpacked(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(str(path), f"cannot be read: {error}") from None


def _idx(path: Path, dimensions: int) -> NDArray[Any]:
    """Return the bytes of a file in the format idx, as it says they are arranged."""
    content, start = _content(path), 4 + 4 * dimensions
    if content[:4] != bytes((0, 0, 8, dimensions)) or len(content) < start:
        raise InputError(str(path), f"is not an idx file of bytes in {dimensions} dimensions")
    shape = tuple(np.frombuffer(content, ">u4", dimensions, 4).tolist())
    flat = np.frombuffer(content, np.uint8, offset=start)
    if flat.size != int(np.prod(shape, dtype=object)):
        raise InputError(str(path), f"has {flat.size} entries, not those of {shape}")
    return flat.reshape(shape)
