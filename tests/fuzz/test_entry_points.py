"""What other packages offer, broken in every way: named where it is asked for, else left out."""

from __future__ import annotations

import dataclasses
import importlib.metadata
from functools import partial
from typing import TYPE_CHECKING, Any

from edgeopt import registry as names
from edgeopt.bounds import claims
from edgeopt.bounds.search import spaces
from edgeopt.errors import EdgeOptError
from edgeopt.solvers import Backend, Kind, backends
from edgeopt.solvers.registry import find_backend
from edgeopt.studies import PolicyEntry, System, registry
from tests.fuzz import driver
from tests.fuzz.driver import Case
from tests.fuzz.hostile import shown, value_for
from tests.studies.stopping import SYSTEM

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np


class Point:
    """Stands for an entry point."""

    name, value, dist = "odd", "odd:ODD", None

    def __init__(self, group: str, offered: Any) -> None:
        self.group, self.offered = group, offered

    def load(self) -> Any:
        if isinstance(self.offered, type) and issubclass(self.offered, BaseException):
            raise self.offered("of\ntwo lines")
        return self.offered() if isinstance(self.offered, partial) else self.offered


class Ending(list[Any]):
    """A list that ends the program when it is read."""

    def __iter__(self) -> Any:
        raise SystemExit(0)


RAISED = (
    SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError, RecursionError, OSError, ImportError,
    StopIteration, BaseException, EdgeOptError, UnicodeError,
)  # fmt: skip
RIGHT: dict[type, dict[str, Any]] = {
    System: {one.name: getattr(SYSTEM, one.name) for one in dataclasses.fields(SYSTEM)},
    PolicyEntry: {
        "name": "odd",
        "test_instances": "Odd",
        "make": lambda *_: None,
        "system": "rescue",
    },
    Backend: {"name": "odd", "package": "numpy", "distribution": "numpy", "routes": {}},
}
ASKED = {
    "edgeopt.systems": (
        partial(registry.find_system, "odd"), partial(registry.system_of, object()),
    ),
    "edgeopt.policies": (
        lambda: registry.policies(registry.find_system("rescue")),
        lambda: registry.choose(registry.find_system("rescue"), ["srs"]),
        lambda: registry.choose(registry.find_system("rescue"), ["odd"]),
    ),
    "edgeopt.claims": (partial(claims, "rescue"), partial(claims, "odd.*")),
    "edgeopt.parameter_spaces": (partial(spaces, "odd"),),
    "edgeopt.solvers": (backends, partial(find_backend, "odd")),
}  # fmt: skip


def offers(draw: np.random.Generator) -> tuple[str, Any]:
    """Draw what is offered: it raises, is hostile, or is a record with a hostile field."""
    way = int(draw.integers(4))
    if way == 0:
        kind = RAISED[int(draw.integers(len(RAISED)))]
        return f"raises {kind.__name__}", kind
    value = value_for(draw)
    if way == 1:
        return shown(value), value
    if way == 2:
        several = [Ending([value]), [value], (value, value), [SYSTEM]][int(draw.integers(4))]
        return f"several: {type(several).__name__} of {shown(value)}", several
    record = [System, PolicyEntry, Backend][int(draw.integers(3))]
    names = [*RIGHT[record]]
    name = names[int(draw.integers(len(names)))]
    made = partial(record, **RIGHT[record] | {name: value})
    return f"{record.__name__} with {name} = {shown(value)}", made


def cases(draw: np.random.Generator, count: int, monkeypatch: Any) -> Iterator[Case]:
    genuine = importlib.metadata.entry_points
    for _ in range(count):
        group = [*ASKED][int(draw.integers(len(ASKED)))]
        words, offered = offers(draw)
        asked = ASKED[group][int(draw.integers(len(ASKED[group])))]
        point = Point(group, offered)

        def entry_points(*, group: str, name: str | None = None, point: Point = point) -> list[Any]:
            found = [*genuine(group=group)] + [point] * (group == point.group)
            return [one for one in found if name in (None, one.name)]

        for where in (names, importlib.metadata):
            monkeypatch.setattr(where, "entry_points", entry_points)
        yield Case(f"{group} offers {words}", asked)


def test_entry_points(monkeypatch):
    assert Kind.LINEAR  # what a backend routes
    draw = driver.source("entry points")
    driver.check(cases(draw, driver.count("entry points"), monkeypatch))
