"""A job of a sweep: its identity, its work, and the code that it runs."""

from __future__ import annotations

import hashlib
import io
import json
import os
import pickle
import sys
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import edgeopt
from edgeopt.errors import OptionError
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Row = dict[str, Any]
"""The result of a job: numbers and texts by name."""

_OTHERS: Final = sys.stdlib_module_names | {
    "networkx", "numba", "numpy", "pandas", "scipy", "xarray"
}  # fmt: skip
"""Libraries whose versions do not void a job."""


@compact_repr
@dataclass(frozen=True, eq=False)
class Job:
    """An independent piece of a sweep.

    Parameters
    ----------
    identity
        What the outcome depends on: fingerprint of the instance, policy and its options, seed,
        runs. Numbers, texts, truth values, None, and lists and mappings of them. These are the
        first columns of the table. The code that it runs belongs to it without being said.
    work
        Function of a module that returns the numbers of the job by name.
    arguments
        What it is called with; they have to be picklable.
    modules
        Names of modules that the work finds by itself, outside edgeopt. Those of the work and of
        what is among the arguments are known.

    Raises
    ------
    OptionError
        If the identity holds something else.

    Examples
    --------
    >>> from edgeopt.studies.sweeps import Job, run_jobs
    >>> def square(number):
    ...     return {"square": number**2}
    ...
    >>> run_jobs([Job({"number": 3}, square, (3,))])
       number  square
    0       3       9
    """

    identity: Mapping[str, Any]
    work: Callable[..., Mapping[str, Any]] = field(repr=False)
    arguments: tuple[Any, ...] = field(default=(), repr=False)
    modules: frozenset[str] = field(default=frozenset(), repr=False)

    def __post_init__(self) -> None:
        try:
            canonical(self.identity)
        except (TypeError, ValueError) as error:
            raise OptionError(f"identity of a job: {error}") from None

    @property
    def key(self) -> str:
        """Hash of the identity."""
        return digest(dict(self.identity))

    def compute(self) -> Row:
        """Return the result; NumPy numbers become Python ones."""
        row = self.work(*self.arguments)
        return {name: _plain(value) for name, value in row.items()}


def _plain(value: Any) -> Any:
    item = getattr(value, "item", None)
    return value if item is None else item()


def canonical(content: Any) -> str:
    """Write content as JSON, the same for equal content."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=True)


def digest(content: Any) -> str:
    """Return a hash of content, the same on every machine."""
    return hashlib.sha256(canonical(content).encode()).hexdigest()


def code_of(job: Job, *, scripts: bool = True) -> str:
    """Return the version of edgeopt with a hash of its source and of the other code of a job.

    That are the whole packages of its work, of the functions and classes among its arguments,
    however deep, and of `Job.modules`, and the folder of a script.
    """
    packages = sorted(packages_of(job, scripts=scripts))
    return f"{edgeopt.__version__} {digest([source_of(one).hash for one in packages])}"


def packages_of(job: Job, *, scripts: bool = True) -> frozenset[str]:
    """Return the names of the packages that hold the code of a job, edgeopt first of all."""
    own = modules_in((job.work, job.arguments)) | job.modules
    if "__main__" in own:
        # Run by ``python -m``, the script is a module that others import under its own name.
        spec = sys.modules["__main__"].__spec__
        script = {"__main__" if spec is None else spec.name} if scripts else set()
        own = own - {"__main__"} | script
    return frozenset({"edgeopt", *(one.partition(".")[0] for one in own)} - _OTHERS)


def modules_in(value: Any) -> frozenset[str]:
    """Return the modules of the functions and classes in a value that can be pickled."""
    seen = _Modules(io.BytesIO())
    seen.dump(value)
    return frozenset(seen.found)


class _Modules(pickle.Pickler):
    """Notes where the functions and classes are defined that it meets."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file)
        self.found: set[str] = set()

    def persistent_id(self, thing: Any) -> str | None:
        """Note the module of a function or a class, which is not looked for there."""
        if not isinstance(thing, type | FunctionType):
            return None
        self.found.add(thing.__module__)
        return thing.__qualname__


class Source(NamedTuple):
    """The code of a package: a hash of its files, and the one that was touched last."""

    hash: str
    latest: Path | None = None
    touched: float = 0.0


@cache
def source_of(package: str) -> Source:
    """Read the files of a package or a module, or of a script and the folder that it is in."""
    if package == "__main__":
        script = getattr(sys.modules["__main__"], "__file__", None)
        beside = [] if script is None else sorted(Path(script).absolute().parent.glob("*.py"))
        files = [file for file in beside if os.access(file, os.R_OK)]
    else:
        spec = find_spec(package)
        folders = [] if spec is None else map(Path, spec.submodule_search_locations or ())
        files = sorted(file for folder in folders for file in folder.rglob("*.py"))
        if spec is not None and not files and spec.has_location:
            files = [Path(str(spec.origin))]
    contents = [(file.name, hashlib.sha256(file.read_bytes()).hexdigest()) for file in files]
    times = [(max(one.st_mtime, one.st_ctime), file) for file in files if (one := file.stat())]
    touched, latest = max(times, default=(0.0, None))
    return Source(digest(contents), latest, touched)
