"""What every system's instance can do with itself: be compared, copied, hashed and saved."""

from __future__ import annotations

import dataclasses
import importlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from edgeopt.instances import labelled

if TYPE_CHECKING:
    import os
    from typing import Self

    from edgeopt.instances.labelled import Layout

__all__ = ["Identified"]


class Identified:
    """Base of instances: frozen dataclasses that are equal when their content is.

    A system's module of files says how its instance is laid out in a labelled file, in functions
    ``layout(instance)`` and ``load(path)``; everything here follows from that. Give the dataclass
    ``eq=False``, so that arrays are not compared one by one.

    Parameters
    ----------
    files
        Name of that module; it is imported when it is needed.
    """

    _files: ClassVar[str]

    def __init_subclass__(cls, *, files: str = "", **others: Any) -> None:
        super().__init_subclass__(**others)
        if files:
            cls._files = files

    def _layout(self) -> Layout:
        """Return the content as labelled arrays and texts."""
        layout: Layout = importlib.import_module(self._files).layout(self)
        return layout

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields replaced, validated anew."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]

    def fingerprint(self) -> str:
        """Return a hash of the content: equal data, equal fingerprint, on every machine."""
        return self._fingerprint

    @cached_property
    def _fingerprint(self) -> str:
        return self._layout().fingerprint()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a labelled NetCDF file with dimension names, units and a format version.

        The file appears under its name only once it is complete.
        """
        labelled.write(path, self._layout())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` has written."""
        instance: Self = importlib.import_module(cls._files).load(path)
        return instance

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.fingerprint() == other.fingerprint()

    def __hash__(self) -> int:
        return hash(self.fingerprint())

    def __reduce__(self) -> tuple[object, ...]:
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return type(self), tuple(getattr(self, field.name) for field in fields)
