"""Checks of a class of instances: its gates, its files, its labels."""

from __future__ import annotations

import contextlib
import copy
import csv
import pickle
import tempfile
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.content import content
from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.csv_tables import SETTINGS
from edgeopt.instances.instance import Instance
from edgeopt.instances.records import Record
from edgeopt.testing.report import (
    BrokenError,
    Recipe,
    SkippedError,
    by_name,
    describe,
    found_again,
    require,
    run_checks,
    seeds_of,
)
from edgeopt.writing.results import csv_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.instances.fields import Field
    from edgeopt.testing.report import Report


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


def _frozen(instance: Any) -> None:
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
            raise BrokenError(f"{one.name} can be set or deleted")


def _read_only(instance: Any) -> None:
    for _, one, value in _arrays(instance):
        require(not value.flags.writeable, f"{one.name} can be written to")


def _aliased(instance: Any) -> None:
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
            require(same, f"{name} is the array that was given, not a copy")


def _fields(instance: Any) -> dict[str, Any]:
    return {one.name: getattr(instance, one.name) for one in type(instance)._fields}


def _refusal(instance: Any, name: str, value: Any) -> Any:
    """Return the error with which a value is refused, None if it is taken or has no effect."""
    try:
        changed = type(instance)(**_fields(instance) | {name: value})
    except InstanceError as error:
        return error
    # Anything else is no refusal by name.
    except Exception as error:
        raise BrokenError(f"{name}: {describe(error)}") from None
    return _UNUSED if _same(instance, changed) else None


_UNUSED: Final = object()
"""Stands for a refusal of an entry that no rule concerns, such as the rate of a site to itself."""


def _values(instance: Any) -> None:
    for one, value in _own_arrays(instance):
        wrong = [np.nan, -np.inf] if value.dtype.kind == "f" else []
        wrong += [] if one.infinite or value.dtype.kind != "f" else [np.inf]
        wrong += [-1.0] if one.above is not None or one.least is not None else []
        for bad in wrong:
            for place in ((0,) * value.ndim, tuple(n - 1 for n in value.shape)):
                changed = value.astype(float) if value.dtype.kind == "i" else value.copy()
                changed[place] = bad
                error = _refusal(instance, one.name, changed)
                what = f"{one.name}{list(place)} = {bad}"
                require(error is not None, f"{what} is taken")
                if error is _UNUSED:
                    continue
                text = f"{what} is refused, but not by field and index: {error}"
                require(error.field == one.name and error.index is not None, text)
                same = tuple(error.index) == place[len(place) - len(error.index) :]
                require(same, f"{what} is refused at another index: {error}")


def _shapes(instance: Any) -> None:
    names = {one.name for one in type(instance)._fields}
    for one, value in _own_arrays(instance):
        for what, wrong in (
            ("of texts", value.astype(str)),
            ("of complex numbers", value.astype(complex)),
            ("with a further axis", np.stack([value, value, value])[..., None]),
            ("that is one number", np.asarray(value.flat[0])),
            ("with a ragged list", [[1.0], [2.0, 3.0]]),
        ):
            error = _refusal(instance, one.name, wrong)
            taken = error is None or error is _UNUSED
            require(not taken, f"{one.name}: an array {what} is taken")
            named = error.field.partition(".")[0] in names
            require(named, f"{one.name}: an array {what} is not refused by name")


def _same(one: Any, two: Any) -> bool:
    """Compare fields, not by the methods of the instances themselves."""
    return all(
        content(getattr(one, field.name)) == content(getattr(two, field.name))
        for field in type(one)._fields
    )


def _saves(instance: Any) -> None:
    kind = type(instance)
    with tempfile.TemporaryDirectory() as folder:
        for name in ("instance.nc", "instance.zip"):
            instance.save(Path(folder, name))
            back = kind.load(Path(folder, name))
            same = _same(instance, back) and dict(back.labels) == dict(instance.labels)
            require(same, f"{name} holds another instance than was saved")


def _replaces(instance: Any) -> None:
    require(_same(instance, instance.replace()), "replace() changes the instance")
    fields = _fields(instance)
    for one, value in _own_arrays(instance):
        for other in _others(value):
            try:
                made = type(instance)(**fields | {one.name: other})
            except InstanceError:
                continue
            same = _same(instance.replace(**{one.name: other}), made)
            require(same, f"replace makes something else of {one.name}")
            break
    try:
        instance.replace(no_such_field=1)
    except TypeError:
        return
    raise BrokenError("replace takes a field that does not exist")


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


def _fingerprint(instance: Any) -> None:
    first = instance.fingerprint()
    same = instance.replace().fingerprint() == first
    require(same, "an equal instance has another fingerprint")
    for name, changed in _changed(instance):
        text = f"the fingerprint does not depend on {name}"
        require(changed.fingerprint() != first, text)


def _equality(instance: Any) -> None:
    again = instance.replace()
    equal = instance == again
    require(equal, "it is not equal to one of the same content")
    require(hash(instance) == hash(again), "equal instances have other hashes")
    require(instance != 0 and instance != "", "it is equal to what is no instance")
    name, changed = next(_changed(instance), ("", None))
    text = f"it is equal to one with another {name}"
    require(changed is None or instance != changed, text)


def _pickled(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing, protocol=5))


def _pickles(instance: Any) -> None:
    ways: tuple[Callable[[Any], Any], ...] = (_pickled, copy.copy, copy.deepcopy)
    for made in ways:
        try:
            back = made(instance)
        # Whatever cannot be pickled.
        except Exception as error:
            raise BrokenError(f"it cannot be copied: {describe(error)}") from None
        same = _same(instance, back) and dict(back.labels) == dict(instance.labels)
        require(same, "a copy is another instance")


def _labels(instance: Any) -> None:
    named = {
        axis: [f"{axis} {n}" for n in range(count)]
        for axis, count in instance.axes.items()
        if count
    }
    if not named:
        raise SkippedError("it has no axis with names")
    for axis, labels in named.items():
        given = instance.with_labels({axis: labels})
        kept = given.labels.get(axis) == tuple(labels) or instance.labels.get(axis)
        require(kept and _same(given, instance), f"labels of {axis} are lost")
        first, *others = given.labels[axis]
        order = [*others, first]
        try:
            other = given.reordered({axis: order})
        except InstanceError:  # a rule wants one order
            continue
        right = other.labels[axis] == tuple(order)
        back = other.reordered({axis: given.labels[axis]})
        text = f"another order of {axis} makes another instance"
        require(right and _same(back, instance), text)
    for name, back in _moved(instance.with_labels(named)):
        require(_same(back, instance), f"another order of {name} is another instance")


def _moved(instance: Any) -> Iterator[tuple[str, Any]]:
    """Read an instance again, lines and columns of a table in another order, unless refused."""
    kind, rng = type(instance), np.random.default_rng(6)
    with contextlib.suppress(InstanceError), tempfile.TemporaryDirectory() as folder:
        instance.to_folder(folder)
        straight = kind.from_folder(folder).labels
        for table in sorted(Path(folder).glob("*.csv")):
            if table.stem == SETTINGS:
                continue
            text = table.read_text(encoding="utf-8")
            rows = list(csv.reader(text.splitlines()))
            if rng.integers(2):
                rows = [[*row[-2::-1], row[-1]] for row in rows]
            first = 1 + rows[1][0].startswith("default=") if len(rows) > 1 else 1
            order = rng.permutation(np.arange(first, len(rows)))
            table.write_text(csv_text([*rows[:first], *(rows[n] for n in order)]), "utf-8")
            with contextlib.suppress(InstanceError):
                made = kind.from_folder(folder)
                orders = {axis: straight[axis] for axis in straight if axis in made.labels}
                yield table.name, made.reordered(orders)
            table.write_text(text, "utf-8")


def _repr(instance: Any) -> None:
    text = repr(instance)
    short = len(text) <= LONGEST and "array(" not in text and text.count("\n") < 8
    require(short, f"its repr is too long: {text[:80]}...")
    html = instance._repr_html_()
    plain = len(html) <= LARGEST and "<script" not in html and "http" not in html
    require(plain, "its table is too long, or has a script or an address")


def _on_each(check: Callable[[Any], object], checked: Checked) -> None:
    for instance, where in checked.drawn:
        with found_again(where):
            check(instance)


CHECKS: Final[Mapping[str, Callable[[Checked], str | None]]] = {
    name: partial(_on_each, check)
    for name, check in by_name(
        _frozen, _read_only, _aliased, _values, _shapes, _saves, _replaces, _fingerprint,
        _equality, _pickles, _labels, _repr,
    ).items()
}  # fmt: skip
