"""Measurements behind IDN: reduced from raw files, kept in small tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from edgeopt.instances.arrivals import count_per_slot, read_timestamps
from edgeopt.instances.idn.graphs import Links, read_links
from edgeopt.instances.idn.zoo import Classifiers, read_classifiers
from edgeopt.instances.tables import write_table
from edgeopt.instances.traces import read_columns, read_fields
from edgeopt.instances.validate import path_of

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

    from edgeopt.instances.traces import Rule

__all__ = ["SERVICES", "Measured", "measure", "read_tables", "write_tables"]

SERVICES: Final = ("code", "conv")
"""The two services on record: completion of program code, and conversation."""

_LINKS: Final = ("start", "end", "kilometres")
_CLASSIFIERS: Final = ("accuracy", "parameters", "fast", "slow")
_COUNT: Final[Rule] = (lambda x: x >= 0 and x == int(x), "must be a count")
_POSITIVE: Final[Rule] = (lambda x: x > 0, "must be positive")


class Measured(NamedTuple):
    """The measurements that instances are built from.

    Attributes
    ----------
    links
        A map of cables.
    classifiers
        Models, fastest first.
    arrivals
        Requests per minute of each of `SERVICES`, shape [T, 2].
    """

    links: Links
    classifiers: Classifiers
    arrivals: NDArray[np.int64]


def measure(directory: str | os.PathLike[str]) -> Measured:
    """Reduce the raw files to what instances need."""
    root = path_of(directory, "directory")
    traces = [root / "azure_llm_2023" / f"AzureLLMInferenceTrace_{name}.csv" for name in SERVICES]
    return Measured(
        links=read_links(root / "topologies" / "topohub_sndlib" / "geant.gml"),
        classifiers=read_classifiers(root / "model_zoo"),
        arrivals=count_per_slot([read_timestamps(path) for path in traces]),
    )


def write_tables(measured: Measured, directory: str | os.PathLike[str]) -> None:
    """Write the measurements as CSV tables that `read_tables` reads back exactly."""
    root = path_of(directory, "directory")
    links, models = measured.links, measured.classifiers
    write_table(
        root / "links.csv",
        _LINKS,
        [
            (links.names[u], links.names[v], km)
            for (u, v), km in zip(links.edges.tolist(), links.kilometres.tolist(), strict=True)
        ],
    )
    numbers = [getattr(models, name).tolist() for name in _CLASSIFIERS]
    write_table(
        root / "classifiers.csv", ["model", *_CLASSIFIERS], zip(models.names, *numbers, strict=True)
    )
    write_table(root / "requests.csv", SERVICES, measured.arrivals.tolist())


def read_tables(directory: str | os.PathLike[str]) -> Measured:
    """Read the tables that `write_tables` has written."""
    root = path_of(directory, "directory")
    arrivals = read_columns(root / "requests.csv", dict.fromkeys(SERVICES, _COUNT))
    return Measured(
        links=_read_links(root / "links.csv"),
        classifiers=_read_classifiers(root / "classifiers.csv"),
        arrivals=np.column_stack([arrivals[name] for name in SERVICES]).astype(np.int64),
    )


def _read_links(path: Path) -> Links:
    kilometres = read_columns(path, {"kilometres": (lambda x: x >= 0, "must be a length")})
    start, end = read_fields(path, _LINKS[:2]).texts.values()
    return Links.of(zip(start, end, kilometres["kilometres"].tolist(), strict=True), str(path))


def _read_classifiers(path: Path) -> Classifiers:
    percent: Rule = (lambda x: 0 <= x <= 100, "must be a percentage in 0..100")
    rules = {name: percent if name == "accuracy" else _POSITIVE for name in _CLASSIFIERS}
    columns = read_columns(path, rules)
    return Classifiers(
        tuple(read_fields(path, ("model",)).texts["model"]),
        *(columns[name] for name in _CLASSIFIERS),
    )
