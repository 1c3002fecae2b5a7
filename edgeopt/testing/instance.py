"""Checks of a class of instances: its gates, its files, its labels."""

from __future__ import annotations

import contextlib
import copy
import pickle
import tempfile
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.fields import Names
from edgeopt.instances.instance import Instance
from edgeopt.instances.records import Record
from edgeopt.testing.content import content
from edgeopt.testing.report import (
    BrokenError,
    Recipe,
    SkippedError,
    require,
    run_checks,
    seeds_of,
    told,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import xarray
    from numpy.typing import NDArray

    from edgeopt.instances.fields import Field
    from edgeopt.testing.report import Report


FIRST: Final = {"duration": 1}
"""Label of the first entry of counted axes that do not start at 0."""

COUNTED: Final = {"slot", "frame", "round", "hour", "cpu", "gpu", "position", "duration"}
"""Axes whose labels are numbers."""

KNOWN: Final = {"resource": ("cpu", "gpu"), "coordinate": ("east", "north"), "end": ("from", "to")}
"""Axes whose labels are always the same."""

_WHOLE: Final = {
    "slot": "horizon", "device": "devices", "server": "servers", "profile": "profiles",
    "duration": "max_duration",
}  # fmt: skip
"""Sizes along which a profit may be given once for all."""

Tables = dict[str, Any]


def declared(record: Record, prefix: str = "") -> Iterator[tuple[str, Field, Any]]:
    """Go through the fields of a record and of its parts, in the documented order."""
    for one in type(record)._fields:
        value = getattr(record, one.name)
        if isinstance(value, Record):
            yield from declared(value, f"{prefix}{one.name}_")
        elif value is not None:
            yield prefix + one.name, one, value


def labels_of(axis: str) -> str:
    """Return the axis under which the labels of an axis stand."""
    return {"origin": "site", "target": "site"}.get(axis, axis)


def labelled(instance: Instance) -> tuple[Tables, dict[str, str], dict[str, list[str]]]:
    """Write every field as a table with labels; entries that name others as labels.

    Returned are tables and numbers by field, texts by field, and labels by axis.
    """
    import xarray

    labels: dict[str, list[str]] = {}
    tables: Tables = {}
    texts: dict[str, str] = {}
    for _, one, value in declared(instance):
        if one.type == Names:
            labels[labels_of(one.axes[0])] = list(value)
    for name, one, value in declared(instance):
        if one.type == Names:
            axis = one.axes[0]
            tables[name] = xarray.DataArray(
                np.array(value, dtype=object), dims=[axis], coords={axis: list(value)}
            )
        elif isinstance(value, str):
            texts[name] = value
        elif not one.axes:
            tables[name] = value
        else:
            tables[name] = _table(instance, one, np.asarray(value), labels)
    if "profit_weight" in tables:
        texts["profit_model"] = "LogProfit"
    return tables, texts, labels


def _table(
    instance: Any, one: Field, array: NDArray[Any], labels: dict[str, list[str]]
) -> xarray.DataArray:
    import xarray

    axes = one.axes[len(one.axes) - array.ndim :]
    for place in reversed(range(array.ndim)):
        spreads = one.name == "profit" and array.shape[place] < getattr(
            instance, _WHOLE[axes[place]]
        )
        if spreads or (one.singleton and place == 0 and array.shape[0] == 1):
            array, axes = array[(slice(None),) * place + (0,)], axes[:place] + axes[place + 1 :]
    if one.of and one.of not in COUNTED:
        size = {"server": "servers", "site": "sites", "node": "nodes"}.get(one.of)
        count = getattr(instance, size) if size else 1 + int(array.max(initial=0))
        known = labels.setdefault(one.of, [])
        known += [f"{one.of} {n}" for n in range(len(known), count)]
        array = np.vectorize(lambda n: known[n] if n >= 0 else np.nan, otypes=[object])(array)
    coordinates: dict[str, Any] = {}
    for axis, length in zip(axes, array.shape, strict=True):
        if axis in COUNTED:
            coordinates[axis] = np.arange(length) + FIRST.get(axis, 0)
        elif axis in KNOWN:
            coordinates[axis] = list(KNOWN[axis])
        else:
            known = labels.setdefault(labels_of(axis), [])
            known += [f"{labels_of(axis)} {n}" for n in range(len(known), length)]
            coordinates[axis] = known[:length]
    return xarray.DataArray(array, dims=axes, coords=coordinates)


def shuffled(
    array: xarray.DataArray, order: Callable[[int], Any], reverse: bool
) -> xarray.DataArray:
    """Return a table with the entries of every axis in another order, and axes reversed."""
    for axis in array.dims:
        array = array.isel({axis: order(array.sizes[axis])})
    return array.transpose(*array.dims[::-1]) if reverse else array


def moved(instance: Instance, rng: np.random.Generator) -> Iterator[tuple[str, Instance]]:
    """Read an instance again, one of its tables in another order, unless that is refused."""
    tables, texts, _ = labelled(instance)
    kind = type(instance)
    straight = kind.from_labelled({**tables, **texts}).labels
    for name, table in tables.items():
        if hasattr(table, "dims"):
            other = shuffled(table, rng.permutation, bool(rng.integers(2)))
            with contextlib.suppress(InstanceError):
                made = kind.from_labelled({**tables, name: other, **texts})
                orders = {axis: straight[axis] for axis in straight if axis in made.labels}
                yield name, made.reordered(orders)


LONGEST: Final = 400
"""Characters of a `repr`."""

LARGEST: Final = 100_000
"""Characters of a table in HTML."""


def check_instance(
    instance: Instance | Callable[[int], Instance],
    *,
    seeds: int | Sequence[int] = 5,
    expected: Mapping[str, str] | None = None,
    raises: bool = True,
    checks: Sequence[str] | None = None,
) -> Report:
    """Check that a type of instances keeps what edgeopt relies on.

    Parameters
    ----------
    instance
        An instance of the type, or a function of a seed that draws one.
    seeds
        How many instances a function draws, or from which seeds.
    expected
        Checks that are known to fail, each with the reason. One that passes is an error.
    raises
        Whether failures raise an error; otherwise the report tells.
    checks
        Names of the checks to run, by default all.

    Returns
    -------
    Report
        Outcome of every check.

    Raises
    ------
    CheckError
        If a check fails, with all that failed and lines of Python that reproduce it.
    OptionError
        If there is no such check, or what is given is no instance.

    Examples
    --------
    >>> from edgeopt.instances.oinc import small
    >>> from edgeopt.testing import check_instance
    >>> check_instance(small(1))
    Report(instance OincInstance, 12 passed)
    """
    checked = Checked(instance, tuple(seeds_of(seeds)))
    for one, _ in checked.drawn:
        if not isinstance(one, Instance):
            kind = type(one).__name__
            raise OptionError(f"instance: must be an edgeopt.instances.Instance, not a {kind}")
    recipe = Recipe("instance", instance)
    return run_checks(recipe, CHECKS, checked, checks=checks, expected=expected, raises=raises)


@dataclass(frozen=True, eq=False)
class Checked:
    """A type of instances, with those on which it is checked."""

    given: Any
    seeds: tuple[int, ...]

    @cached_property
    def drawn(self) -> list[tuple[Any, dict[str, Any]]]:
        """The instances, and what draws each again."""
        if isinstance(self.given, Instance) or not callable(self.given):
            return [(self.given, {})]
        return [(self.given(seed), {"seeds": [seed]}) for seed in self.seeds]


def _arrays(instance: Record) -> Iterator[tuple[Record, Field, NDArray[Any]]]:
    """Go through the arrays of an instance and of its parts."""
    for one in type(instance)._fields:
        value = getattr(instance, one.name)
        if isinstance(value, Record):
            yield from _arrays(value)
        elif isinstance(value, np.ndarray):
            yield instance, one, value


def _own_arrays(instance: Record) -> Iterator[tuple[Field, NDArray[Any]]]:
    for record, one, value in _arrays(instance):
        if record is instance and value.size:
            yield one, value


def _frozen(checked: Checked) -> None:
    for instance, where in checked.drawn:
        for one in type(instance)._fields:
            value = getattr(instance, one.name)
            for change in (
                partial(setattr, instance, one.name, value),
                partial(delattr, instance, one.name),
            ):
                try:
                    change()
                except AttributeError:
                    continue
                object.__setattr__(instance, one.name, value)
                raise BrokenError(f"{one.name} can be set or deleted", **where)


def _read_only(checked: Checked) -> None:
    for instance, where in checked.drawn:
        for _, one, value in _arrays(instance):
            require(not value.flags.writeable, f"{one.name} can be written to", **where)


def _aliased(checked: Checked) -> None:
    for instance, where in checked.drawn:
        given = {
            name: value.copy() if isinstance(value, np.ndarray) else value
            for name, value in _fields(instance).items()
        }
        made = type(instance)(**given)
        before = content(made)
        for name, value in given.items():
            if isinstance(value, np.ndarray) and value.size:
                value.flat[0] = not value.flat[0] if value.dtype.kind == "b" else value.flat[0] + 1
                same = content(made) == before
                require(same, f"{name} is the array that was given, not a copy", **where)


def _fields(instance: Any) -> dict[str, Any]:
    return {one.name: getattr(instance, one.name) for one in type(instance)._fields}


def _refusal(instance: Any, name: str, value: Any, where: Mapping[str, Any]) -> Any:
    """Return the error with which a value is refused, None if it is taken or has no effect."""
    try:
        changed = type(instance)(**_fields(instance) | {name: value})
    except InstanceError as error:
        return error
    # Anything else is no refusal by name.
    except Exception as error:
        raise BrokenError(f"{name}: {told(error)}", **where) from None
    return _UNUSED if _same(instance, changed) else None


_UNUSED: Final = object()
"""Stands for a refusal of an entry that no rule concerns, such as the rate of a site to itself."""


def _values(checked: Checked) -> None:
    for instance, where in checked.drawn:
        for one, value in _own_arrays(instance):
            wrong = [np.nan, -np.inf] if value.dtype.kind == "f" else []
            wrong += [] if one.infinite or value.dtype.kind != "f" else [np.inf]
            wrong += [-1.0] if one.above is not None or one.least is not None else []
            for bad in wrong:
                for place in ((0,) * value.ndim, tuple(n - 1 for n in value.shape)):
                    changed = value.astype(float) if value.dtype.kind == "i" else value.copy()
                    changed[place] = bad
                    error = _refusal(instance, one.name, changed, where)
                    what = f"{one.name}{list(place)} = {bad}"
                    require(error is not None, f"{what} is taken", **where)
                    if error is _UNUSED:
                        continue
                    text = f"{what} is refused, but not by field and index: {error}"
                    require(error.field == one.name and error.index is not None, text, **where)
                    same = tuple(error.index) == place[len(place) - len(error.index) :]
                    require(same, f"{what} is refused at another index: {error}", **where)


def _shapes(checked: Checked) -> None:
    for instance, where in checked.drawn:
        names = {one.name for one in type(instance)._fields}
        for one, value in _own_arrays(instance):
            for what, wrong in (
                ("of texts", value.astype(str)),
                ("of complex numbers", value.astype(complex)),
                ("with a further axis", np.stack([value, value, value])[..., None]),
                ("that is one number", np.asarray(value.flat[0])),
                ("with a ragged list", [[1.0], [2.0, 3.0]]),
            ):
                error = _refusal(instance, one.name, wrong, where)
                taken = error is None or error is _UNUSED
                require(not taken, f"{one.name}: an array {what} is taken", **where)
                named = error.field.partition(".")[0] in names
                require(named, f"{one.name}: an array {what} is not refused by name", **where)


def _same(one: Any, two: Any) -> bool:
    """Compare fields, not by the methods of the instances themselves."""
    return all(
        content(getattr(one, field.name)) == content(getattr(two, field.name))
        for field in type(one)._fields
    )


def _saves(checked: Checked) -> None:
    for instance, where in checked.drawn:
        kind = type(instance)
        with tempfile.TemporaryDirectory() as folder:
            for name in ("instance.nc", "instance.zip"):
                instance.save(Path(folder, name))
                back = kind.load(Path(folder, name))
                same = _same(instance, back) and dict(back.labels) == dict(instance.labels)
                require(same, f"{name} holds another instance than was saved", **where)


def _replaces(checked: Checked) -> None:
    for instance, where in checked.drawn:
        require(_same(instance, instance.replace()), "replace() changes the instance", **where)
        fields = _fields(instance)
        for one, value in _own_arrays(instance):
            for other in _others(value):
                try:
                    made = type(instance)(**fields | {one.name: other})
                except InstanceError:
                    continue
                same = _same(instance.replace(**{one.name: other}), made)
                require(same, f"replace makes something else of {one.name}", **where)
                break
        try:
            instance.replace(no_such_field=1)
        except TypeError:
            continue
        raise BrokenError("replace takes a field that does not exist", **where)


def _others(value: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Return arrays of the same shape with other numbers, most of which are allowed."""
    if value.dtype.kind == "b":
        for place in np.ndindex(value.shape):
            other = value.copy()
            other[place] = not other[place]
            yield other
        return
    finite = np.where(np.isfinite(value), value, 1) if value.dtype.kind == "f" else value
    for other in (finite * 2, finite / 2, finite + 1, finite - 1, finite * 0, np.roll(value, 1)):
        if value.dtype.kind == "f" or (other == np.round(other)).all():
            other = other.astype(value.dtype)
            if not np.array_equal(other, value):
                yield other
    for place in list(np.ndindex(value.shape))[:40]:
        for step in (1, -1, -0.5):
            other = value.copy()
            other[place] = other[place] + other.dtype.type(step)
            if not np.array_equal(other, value):
                yield other


def _changed(instance: Any) -> Iterator[tuple[str, Any]]:
    """Return a valid instance for every field, which differs in this field alone."""
    for one in type(instance)._fields:
        value = getattr(instance, one.name)
        if isinstance(value, np.ndarray):
            others: Any = _others(value) if value.size else ()
        elif isinstance(value, bool):
            others = (not value,)
        elif isinstance(value, int | float):
            others = (value * 2, value + 1, value / 2)
        else:
            others = ()
        for other in others:
            try:
                changed = instance.replace(**{one.name: other})
            except InstanceError:
                continue
            if content(getattr(changed, one.name)) != content(value):
                yield one.name, changed
                break


def _fingerprint(checked: Checked) -> None:
    for instance, where in checked.drawn:
        first = instance.fingerprint()
        same = instance.replace().fingerprint() == first
        require(same, "an equal instance has another fingerprint", **where)
        for name, changed in _changed(instance):
            text = f"the fingerprint does not depend on {name}"
            require(changed.fingerprint() != first, text, **where)


def _equality(checked: Checked) -> None:
    for instance, where in checked.drawn:
        again = instance.replace()
        equal = instance == again
        require(equal, "it is not equal to one of the same content", **where)
        require(hash(instance) == hash(again), "equal instances have other hashes", **where)
        require(instance != 0 and instance != "", "it is equal to what is no instance", **where)
        name, changed = next(_changed(instance), ("", None))
        text = f"it is equal to one with another {name}"
        require(changed is None or instance != changed, text, **where)


def _pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing, protocol=5))


def _pickles(checked: Checked) -> None:
    for instance, where in checked.drawn:
        ways: tuple[Callable[[Any], Any], ...] = (_pickled, copy.copy, copy.deepcopy)
        for made in ways:
            try:
                back = made(instance)
            # Whatever cannot be pickled.
            except Exception as error:
                raise BrokenError(f"it cannot be copied: {told(error)}", **where) from None
            same = _same(instance, back) and dict(back.labels) == dict(instance.labels)
            require(same, "a copy is another instance", **where)


def _labels(checked: Checked) -> None:
    for place, (instance, where) in enumerate(checked.drawn):
        rng = np.random.default_rng((place, 6))
        named = [axis for axis, length in instance.axes.items() if length]
        if not named:
            raise SkippedError("it has no axis with names")
        for axis in named:
            labels = [f"{axis} {n}" for n in range(instance.axes[axis])]
            given = instance.with_labels({axis: labels})
            kept = given.labels.get(axis) == tuple(labels) or instance.labels.get(axis)
            require(kept and _same(given, instance), f"labels of {axis} are lost", **where)
            order = [str(one) for one in rng.permutation(given.labels[axis])]
            try:
                other = given.reordered({axis: order})
            except InstanceError:  # a rule wants one order
                continue
            right = other.labels[axis] == tuple(order)
            back = other.reordered({axis: given.labels[axis]})
            text = f"another order of {axis} makes another instance"
            require(right and _same(back, instance), text, **where)
        for name, back in moved(instance, rng):
            same = _same(back, instance)
            require(same, f"another order of the table {name} is another instance", **where)


def _repr(checked: Checked) -> None:
    for instance, where in checked.drawn:
        text = repr(instance)
        short = len(text) <= LONGEST and "array(" not in text and text.count("\n") < 8
        require(short, f"its repr is too long: {text[:80]}...", **where)
        html = instance._repr_html_()
        plain = len(html) <= LARGEST and "<script" not in html and "http" not in html
        require(plain, "its table is too long, or has a script or an address", **where)


CHECKS: Final[Mapping[str, Callable[[Checked], str | None]]] = {
    "frozen": _frozen,
    "read_only": _read_only,
    "aliased": _aliased,
    "values": _values,
    "shapes": _shapes,
    "saves": _saves,
    "replaces": _replaces,
    "fingerprint": _fingerprint,
    "equality": _equality,
    "pickles": _pickles,
    "labels": _labels,
    "repr": _repr,
}
