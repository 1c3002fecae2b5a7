"""What was learnt, as a file of named arrays with a record, refused when damaged."""

from __future__ import annotations

import hashlib
import json
import math
import platform
import sys
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as parsed
from safetensors.numpy import save as serialised

import edgeopt
from edgeopt.errors import InputError
from edgeopt.options import check_fields, check_whole
from edgeopt.reading import content_of
from edgeopt.writing import write_file

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Self

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
        content = content_of(path)
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


FORMAT: Final = 1
"""Version of the record."""


def versions() -> dict[str, str]:
    """Return the versions of what computes, for the record of a checkpoint."""
    found = {
        "edgeopt": edgeopt.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
    }
    torch = sys.modules.get("torch")  # loaded if it trains
    return found if torch is None else found | {"torch": str(torch.__version__)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Checkpoint:
    """Weights of a learnt policy, with the record of their training.

    Parameters
    ----------
    weights
        Arrays by name, finite, of any shape.
    system, learner
        Whose policy it is, and which learner made it: ``"oinc"``, ``"insertion"``.
    settings
        Options of the learner, such as sizes of the network; JSON values.
    features
        Names of the inputs of the network, in order.
    seeds
        Seeds by use, such as ``training`` and ``validation``; a reported figure has others.
    instances
        Fingerprints of the training instances.
    updates, planned
        Updates done, and those that the schedule was made for; fewer were done if it was stopped.
    kept
        Updates after which the weights are those here: those of the best evaluation. None in files
        of earlier versions, which do not say.
    curve
        Rows of the evaluations: the number of updates, and figures.
    versions
        Of the packages that computed.

    Raises
    ------
    InputError
        If a weight is not finite.

    Notes
    -----
    The file is in the safetensors format, which holds no code. It carries a hash over names, types,
    shapes and bytes of all weights and over the record; whatever does not match is refused.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "policy.safetensors"
    >>> made = Checkpoint(system="oinc", learner="insertion", weights={"bias": np.zeros(3)})
    >>> Checkpoint.load(made.save(path), system="oinc").weights["bias"]
    array([0., 0., 0.])
    """

    weights: Mapping[str, NDArray[Any]]
    system: str
    learner: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    features: Sequence[str] = ()
    seeds: Mapping[str, Sequence[int]] = field(default_factory=dict)
    instances: Sequence[str] = ()
    updates: int = 0
    planned: int = 0
    kept: int | None = None
    curve: Sequence[Mapping[str, float | None]] = ()
    versions: Mapping[str, str] = field(default_factory=versions)

    def __post_init__(self) -> None:
        check_fields(self)
        check_whole("Checkpoint.kept", self.kept, 0, none=True)
        for name, array in self.weights.items():
            if not np.isfinite(array).all():
                place = np.argwhere(~np.isfinite(array))[0]
                index = tuple(int(step) for step in place)
                raise InputError(name, "a weight must be finite", index=index)

    @property
    def stopped(self) -> bool:
        """Whether training ended before its schedule."""
        return self.updates < self.planned

    @property
    def count(self) -> int:
        """Number of weights."""
        return sum(array.size for array in self.weights.values())

    def __repr__(self) -> str:
        done = f"{self.updates} of {self.planned} updates"
        return f"Checkpoint({self.system} {self.learner}, {self.count:,} weights, {done})"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the file; it is replaced whole or not at all.

        Parameters
        ----------
        path
            By custom with the ending ``.safetensors``.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        return write_arrays(path, self.weights, self._record())

    def fingerprint(self) -> str:
        """Return the hash over weights and record that the file carries.

        Returns
        -------
        str
            SHA-256, in hexadecimal.
        """
        return content_hash(self.weights, self._record())

    def _record(self) -> dict[str, Any]:
        record = {one.name: getattr(self, one.name) for one in fields(self)}
        del record["weights"]
        if self.kept is None:
            del record["kept"]
        return record | {
            "format": FORMAT,
            "shapes": {name: list(array.shape) for name, array in sorted(self.weights.items())},
            "settings": dict(self.settings),
            "versions": dict(self.versions),
            "features": list(self.features),
            "instances": list(self.instances),
            "curve": [dict(row) for row in self.curve],
            "seeds": {name: [int(seed) for seed in seeds] for name, seeds in self.seeds.items()},
        }

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, system: str | None = None, learner: str | None = None
    ) -> Self:
        """Read a file, and refuse it with a reason if anything is wrong with it.

        Parameters
        ----------
        path
            The file.
        system, learner
            What it must be for, if given.

        Returns
        -------
        Checkpoint
            Weights and record.

        Raises
        ------
        InputError
            If it cannot be read, is no checkpoint, is damaged, has an unknown version, or is for
            something else.
        """
        weights, record = read_arrays(path, "a checkpoint")
        name, version = str(path), record.pop("format", None)
        if version != FORMAT:
            raise InputError(name, f"has format {version!r}; this edgeopt reads {FORMAT}")
        for part, wanted in (("system", system), ("learner", learner)):
            if wanted is not None and record.get(part) != wanted:
                found = record.get(part)
                raise InputError(name, f"is a checkpoint for the {part} {found!r}, not {wanted!r}")
        record.pop("shapes", None)
        try:
            return cls(weights=weights, **record)
        except TypeError:
            raise InputError(name, "is not a checkpoint of edgeopt") from None

    def require(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Check that the weights are those that a network needs.

        Parameters
        ----------
        shapes
            Shapes by name.

        Raises
        ------
        InputError
            Named after the first weight that is missing, unknown, or of another shape.
        """
        for name, shape in shapes.items():
            if name not in self.weights:
                raise InputError(name, f"is missing in the checkpoint; its shape is {shape}")
            found = self.weights[name].shape
            if found != tuple(shape):
                raise InputError(name, f"has shape {found} in the checkpoint, not {tuple(shape)}")
        for name in self.weights:
            if name not in shapes:
                raise InputError(name, "is a weight that this network does not have")
