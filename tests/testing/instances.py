"""A type of instances that is right, and one for each check that is wrong in this alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from edgeopt.errors import InstanceError
from edgeopt.instances.fields import Floats, field
from edgeopt.instances.instance import Instance


class Bakery(Instance, kind="bakery", axes={"slot": "T", "oven": "K"}):
    """Ovens over time."""

    heat: Floats = field("oven", "slot", unit="kWh", above=0, doc="Heat of an oven.")
    room: Floats = field("oven", unit="1", least=0, doc="Loaves that an oven takes.")
    price: float = field(unit="$/kWh", default=1.0, above=0, doc="Price of heat.")


def bakery(kind: Any = Bakery) -> Any:
    return kind(heat=np.array([[2.0, 1.0, 3.0], [4.0, 3.0, 5.0]]), room=np.array([1.0, 2.0]))


def put(instance: Any, name: str, value: Any) -> None:
    object.__setattr__(instance, name, value)


class Settable(Bakery):
    pass


Settable.__setattr__ = object.__setattr__


class Writable(Bakery):
    def __post_init__(self):
        super().__post_init__()
        put(self, "heat", np.array(self.heat))


class KeepsItsInput(Bakery):
    def __post_init__(self):
        given = self.heat
        super().__post_init__()
        if isinstance(given, np.ndarray) and given.dtype == float:
            put(self, "heat", given.view())
            self.heat.flags.writeable = False


class NamesNoField(Bakery):
    def __post_init__(self):
        try:
            super().__post_init__()
        except InstanceError as error:
            if error.index is not None:
                raise InstanceError("data", error.rule) from None
            raise


class TakesAnyShape(Bakery):
    def __post_init__(self):
        heat = np.asarray(self.heat, dtype=object)
        if heat.ndim == 4:
            put(self, "heat", heat[0, ..., 0].astype(float))
        if heat.ndim == 3:
            put(self, "heat", heat[0].astype(float))
        super().__post_init__()


class LoadsAnother(Bakery, kind="other bakery"):
    @classmethod
    def load(cls, path):
        return super().load(path).replace(price=2.0)


class ReplacesNothing(Bakery):
    def replace(self, **changes):
        changes.pop("room", None)
        return super().replace(**changes)


class ForgetsAField(Bakery):
    def fingerprint(self):
        return Bakery(self.heat, self.room).fingerprint()


class IsItself(Bakery):
    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return id(self)


class CannotBePickled(Bakery):
    def __reduce__(self):
        raise TypeError("no")


class NeverReorders(Bakery):
    def reordered(self, orders):
        return self


class ReadsLinesInOrder(Bakery):
    """Takes the entries of a table as they stand in its file, whatever their labels."""

    @classmethod
    def from_folder(cls, path, *, origin=0):
        made = super().from_folder(path, origin=origin)
        if not Path(path).is_dir():
            return made
        lines = Path(path, "heat.csv").read_text(encoding="utf-8").splitlines()[1:]
        heat = [float(line.rpartition(",")[2]) for line in lines]
        return made.replace(heat=np.reshape(heat, made.heat.shape))


class ShowsItsArrays(Bakery):
    def __repr__(self):
        return f"ShowsItsArrays({self.heat!r})"


MUTANTS = {
    "frozen": (Settable, ()),
    "read_only": (Writable, ()),
    "aliased": (KeepsItsInput, ()),
    "values": (NamesNoField, ()),
    "shapes": (TakesAnyShape, ()),
    "saves": (LoadsAnother, ()),
    "replaces": (ReplacesNothing, ()),
    "fingerprint": (ForgetsAField, ()),
    "equality": (IsItself, ()),
    "pickles": (CannotBePickled, ()),
    "labels": (NeverReorders, ()),
    "repr": (ShowsItsArrays, ()),
}
"""By check: a type that fails it, and further checks that it then fails as well."""
