"""Named instances: their entries, and how they are loaded."""

from __future__ import annotations

import difflib
import importlib
import json
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

from edgeopt import registry
from edgeopt.errors import CollectionError, EdgeOptError, OptionError
from edgeopt.representation import compact_repr

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeVar

    import pandas as pd

    _Item = TypeVar("_Item")


FILE: Final = Path(__file__).with_name("entries.json")
FORMAT: Final = 1

Kind = Literal["paper", "real", "tight", "odd"]
Size = Literal["s", "m", "l"]
Status = Literal["optimal", "optimal-solver", "closed", "open"]

OPTIMAL: Final = 1e-6
"""Relative gap up to which a value with a certificate, or of two solvers, counts as optimal."""

CLOSED: Final = 1e-3
"""Relative gap up to which an instance counts as closed."""

PARTS: Final[Mapping[str, Callable[[Any], dict[str, int]]]] = {
    "rescue": lambda one: {"k": one.servers, "t": one.horizon},
    "idn": lambda one: {"v": one.nodes, "r": one.types},
    "oinc": lambda one: {"n": one.sites, "t": one.slots},
    "edr": lambda one: {"i": one.tasks, "f": one.frames},
    "tapfinger": lambda one: {"c": one.clusters, "n": one.tasks},
}
"""Dimensions of an instance in its name, by system."""


@compact_repr
@dataclass(frozen=True)
class Offline:
    """The best value known of an offline problem, and a proven bound.

    Parameters
    ----------
    problem
        Label of the problem, such as ``"OPT(LP)"``.
    best, bound
        Value of the best solution, and what none can surpass.
    status
        ``"optimal"``: a gap of at most 1e-6, by a certificate; ``"optimal-solver"``: by two
        solvers; ``"closed"``: at most 1e-3; ``"open"``.
    method
        Solver of the value; of two, both are named.
    certificate
        ``{"kind": ..., "sha256": ...}`` of what proves the bound, or ``{"none": reason}``.
    by, date, version
        Who found it and when, and the version of the program.
    """

    problem: str
    best: float
    bound: float
    status: Status
    method: str
    certificate: Mapping[str, str]
    by: str
    date: str
    version: str

    @property
    def gap(self) -> float:
        """Relative gap between value and bound."""
        from edgeopt.solvers.tolerance import relative_gap

        return relative_gap(self.best, self.bound)


@compact_repr
@dataclass(frozen=True)
class Online:
    """The best mean value that a published policy is known to reach.

    Parameters
    ----------
    best, se
        Mean over drawn scenarios and its standard error; 0 where all scenarios agree.
    policy
        Name of the policy.
    bound, bounds
        Proven bound on the policy's expected value, and its label; None where there is none.
    scenarios
        Number of scenarios; their seed follows from edition and fingerprint.
    by, date
        Who found it and when.
    """

    best: float
    se: float
    policy: str
    bound: float | None
    bounds: str
    scenarios: int
    by: str
    date: str


@compact_repr
@dataclass(frozen=True)
class Entry:
    """A named instance: how it is made, and what is known of it.

    Parameters
    ----------
    name
        ``SYSTEM-KIND-DIMENSIONS``; never used again for other data.
    system, kind, size
        What `edgeopt.collection.names` selects by.
    generator, options, rng, digits
        Function that draws it, as ``module:name``, its options and seed, and the decimals to which
        it is rounded.
    fingerprint
        Of the rounded instance.
    dimensions
        Numbers in its name, by letter.
    goal
        Whether a large or a small value is better.
    offline
        Best value and bound of the offline problem: ``problem``, ``best``, ``bound``, ``gap``,
        ``status``, ``method``, ``certificate``, ``by``, ``date``, ``version``.
    online
        Best published policy: ``best``, ``se``, ``policy``, ``bound``, ``bounds``, ``scenarios``,
        ``by``, ``date``.
    source, licence
        Of the data.

    Examples
    --------
    >>> from edgeopt.collection import Entry, entry
    >>> named = entry("rescue-paper-k2-t30")
    >>> named.system, named.goal, round(named.offline.gap, 6)
    ('rescue', 'max', 0.0)
    """

    name: str
    system: str
    kind: Kind
    size: Size
    generator: str
    options: Mapping[str, Any]
    rng: int
    digits: int
    fingerprint: str
    dimensions: Mapping[str, int]
    goal: Literal["max", "min"]
    offline: Offline
    online: Online
    source: str
    licence: str


def drawn(row: Mapping[str, Any]) -> Any:
    """Draw an instance by the name of its generator, and round it."""
    module, _, name = row["generator"].partition(":")
    made = getattr(importlib.import_module(module), name)(**row["options"], rng=row["rng"])
    return made.rounded(row["digits"])


def read(path: Path = FILE) -> dict[str, Any]:
    """Return the document of all entries."""
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def edition() -> str:
    """Return the edition, from which the seeds of scenarios follow."""
    return str(read()["edition"])


@cache
def rows() -> Mapping[str, dict[str, Any]]:
    """Return the entries as they are written, those without values among them."""
    return {row["name"]: row for row in read()["entries"]}


@cache
def _entries() -> Mapping[str, Entry]:
    found = {}
    for name, row in rows().items():
        if row["offline"] and row["online"]:
            parts = {"offline": Offline(**row["offline"]), "online": Online(**row["online"])}
            found[name] = Entry(**{**row, **parts})
    return found


def names(
    system: str | None = None, kind: str | None = None, size: str | None = None
) -> tuple[str, ...]:
    """Return the names of instances, by system, kind and size.

    Parameters
    ----------
    system
        ``"rescue"``, ``"idn"``, ``"oinc"``, ``"edr"`` or ``"tapfinger"``; by default all.
    kind
        ``"paper"``, ``"real"``, ``"tight"`` or ``"odd"``; by default all.
    size
        ``"s"``, ``"m"`` or ``"l"``; by default all.

    Returns
    -------
    Names, in the order of the collection.

    Raises
    ------
    OptionError
        If there is no such system, kind or size.

    Examples
    --------
    >>> from edgeopt.collection import names
    >>> names(system="rescue", size="s")
    ('rescue-paper-k2-t30', 'rescue-real-k2-t40', 'rescue-tight-k2-t36', 'rescue-odd-k1-t50')
    """
    wanted = {"system": system, "kind": kind, "size": size}
    known = {"system": tuple(PARTS), "kind": get_args(Kind), "size": get_args(Size)}
    for name, value in wanted.items():
        if value is not None and value not in known[name]:
            raise OptionError(f"{name} must be one of {', '.join(known[name])}, got {value!r}")
    return tuple(
        one.name
        for one in _entries().values()
        if all(value in (None, getattr(one, name)) for name, value in wanted.items())
    )


def entry(name: str) -> Entry:
    """Return what is known of a named instance.

    Parameters
    ----------
    name
        One of `names`.

    Returns
    -------
    The entry: how the instance is made, and what is known of it.

    Raises
    ------
    OptionError
        If there is no instance of that name.

    Examples
    --------
    >>> from edgeopt.collection import entry
    >>> entry("rescue-paper-k2-t30").offline.status
    'optimal'
    """
    return _found(name, _entries())


def row_of(name: str) -> dict[str, Any]:
    """Return an entry as it is written, or raise."""
    return _found(name, rows())


def _found(name: str, known: Mapping[str, _Item]) -> _Item:
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else "edgeopt collection list has all"
        raise OptionError(f"{name!r} is no instance of the collection; {hint}")
    return known[name]


def improvements(row: Mapping[str, Any], value: float, bound: float) -> list[str]:
    """Say which of a value and a bound is better than the best known by more than 1e-6."""
    known, sign = row["offline"], 1.0 if row["goal"] == "max" else -1.0
    size = max(abs(known["best"]), abs(known["bound"]))
    better = {
        "value": sign * (value - known["best"]),
        "bound": sign * (known["bound"] - bound),
    }
    return [name for name, by in better.items() if by > OPTIMAL * size]


def gap_of(row: Mapping[str, Any], mean: float, bound: float) -> float:
    """Return how far a mean value is from a bound, in terms of it: 0 is best, less is noise."""
    sign = 1.0 if row["goal"] == "max" else -1.0
    return sign * (bound - mean) / (abs(bound) or 1.0)


def best(name: str) -> float:
    """Return the best known value of the offline problem of a named instance.

    Parameters
    ----------
    name
        One of `names`.

    Returns
    -------
    Value in the unit of the system's objective.

    Raises
    ------
    OptionError
        If there is no instance of that name.

    Examples
    --------
    >>> from edgeopt.collection import best
    >>> round(best("rescue-paper-k2-t30"), 4)
    2.9683
    """
    return entry(name).offline.best


def table() -> pd.DataFrame:
    """Return all entries as one frame, a row per instance.

    Columns are those of `Entry`, with ``offline_`` and ``online_`` before the names of their parts.

    Returns
    -------
    One row per named instance.

    Examples
    --------
    >>> from edgeopt.collection import table
    >>> frame = table()
    >>> len(frame), list(frame.columns[:3])
    (60, ['name', 'system', 'kind'])
    """
    import pandas as pd

    lines = []
    for one in _entries().values():
        row = {f.name: getattr(one, f.name) for f in fields(one)}
        for part in ("offline", "online"):
            row |= {f"{part}_{name}": value for name, value in asdict(row.pop(part)).items()}
        lines.append(row | {"offline_gap": one.offline.gap})
    return pd.DataFrame(lines)


COPIES: Final = Path(__file__).with_name("copies")
CERTIFICATES: Final = Path(__file__).with_name("certificates")
LARGEST: Final = 64_000
"""Most bytes of a copy, and of a certificate with its program."""

LARGEST_PRICES: Final = 128_000
"""Most bytes of a certificate that is kept without its program."""


def load(name: str) -> Any:
    """Return a named instance, the same on every processor.

    It is drawn and compared with the fingerprint of its entry. Where a processor or a version of
    NumPy draws differently, the copy that comes with the package is read.

    Parameters
    ----------
    name
        One of `edgeopt.collection.names`.

    Returns
    -------
    A validated instance of its system.

    Raises
    ------
    OptionError
        If there is no instance of that name.
    CollectionError
        If other data are drawn here, and the package has no copy.

    Examples
    --------
    >>> from edgeopt.collection import load
    >>> load("rescue-paper-k2-t30").horizon
    30
    """
    row = row_of(name)
    found, wanted = made(row), row["fingerprint"]
    if found is not None and found.fingerprint() == wanted:
        return found
    if copy_of(row).exists():
        kept = stored(row)
        if kept.fingerprint() == wanted:
            return kept
        raise CollectionError(
            f"{name}: the copy in the package has fingerprint {kept.fingerprint()[:12]}... instead "
            f"of {wanted[:12]}...; install edgeopt anew"
        )
    here = "cannot be drawn" if found is None else f"have fingerprint {found.fingerprint()[:12]}..."
    raise CollectionError(
        f"{name}: drawn data {here} instead of {wanted[:12]}...; this processor or NumPy draws "
        f"differently; get the file by edgeopt.collection.load({name!r}).save(...) with the "
        "versions of constraints.txt, and read it here"
    )


def made(row: Mapping[str, Any]) -> Any | None:
    """Draw an instance; None where other data are drawn that break a rule."""
    try:
        return drawn(row)
    except EdgeOptError:
        return None


def copy_of(row: Mapping[str, Any]) -> Path:
    """Return the file of the copy, whether there is one or not."""
    return COPIES / f"{row['name']}.zip"


def certificate_of(row: Mapping[str, Any]) -> Path:
    """Return the file of the certificate, whether the package has it or not."""
    return CERTIFICATES / f"{row['name']}.json.gz"


def stored(row: Mapping[str, Any]) -> Any:
    """Read the copy of an instance."""
    kind: Any = registry.built_in(registry.INSTANCES)[row["system"]].load()
    return kind.load(copy_of(row))
