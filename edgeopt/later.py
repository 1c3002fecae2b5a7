"""What is loaded or computed when it is first used: names of a package, values by name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, TypeVar

ValueT = TypeVar("ValueT")


class Computed(Mapping[str, ValueT]):
    """Values by name, each computed when it is first asked for."""

    def __init__(self, names: Collection[str], compute: Callable[[str], ValueT]) -> None:
        self._names, self._compute = names, compute
        self.held: dict[str, ValueT] = {}

    def __getitem__(self, name: str) -> ValueT:
        if name not in self.held:
            self.held[name] = self._compute(name)
        return self.held[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def loaded_later(package: str, places: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package whose names are in these modules of it."""

    def look_up(name: str) -> Any:
        if name in places:
            return getattr(importlib.import_module(f"{package}.{places[name]}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return look_up
