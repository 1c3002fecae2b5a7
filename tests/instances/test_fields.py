"""A field of an instance is declared once: checks, files, fingerprint and docstring follow."""

from __future__ import annotations

import pickle
from typing import Literal

import numpy as np
import pytest
import xarray

from edgeopt.errors import InstanceError
from edgeopt.instances import (
    Flags,
    Floats,
    Instance,
    Integers,
    Names,
    Record,
    Size,
    edr,
    field,
    fields_of,
    idn,
    oinc,
    rescue,
    rule,
    tapfinger,
)

KINDS = {
    edr.EdrInstance: edr.small,
    idn.IdnInstance: idn.small,
    oinc.OincInstance: oinc.small,
    rescue.RescueInstance: rescue.small,
    tapfinger.TapFingerInstance: tapfinger.small,
}


class Metered(edr.EdrInstance):
    meter: Floats | None = field("site", unit="W", symbol="m_j", least=0, default=None, doc="Idle.")


class Weighed(edr.EdrInstance):
    share: Floats = field("site", least=0, default=None, fill=1.0, doc="Share of a site.")
    scale: float = field(above=0, default=2.0, doc="Scale.")
    mode: Literal["fast", "slow"] = field(default="fast", doc="Mode.")


def as_a(kind, instance, **more):
    given = {one.name: getattr(instance, one.name) for one in fields_of(type(instance))}
    return kind(**given, **more)


# --- one more field -------------------------------------------------------------------------


def test_an_optional_field_takes_one_line(tmp_path):
    plain = edr.small(3)
    without = as_a(Metered, plain)
    assert without.meter is None
    assert without.fingerprint() == plain.fingerprint()
    given = as_a(Metered, plain, meter=np.arange(plain.sites))
    assert given.meter.dtype == float
    assert not given.meter.flags.writeable
    assert given.fingerprint() != plain.fingerprint()
    with pytest.raises(InstanceError, match=r"meter\[0\] = -1.0: must not be negative"):
        given.replace(meter=np.full(plain.sites, -1))
    with pytest.raises(InstanceError, match="entries along its axis 'site'"):
        given.replace(meter=np.ones(plain.sites + 1))
    given.save(tmp_path / "day.nc")
    assert Metered.load(tmp_path / "day.nc") == given
    assert pickle.loads(pickle.dumps(given)) == given
    with xarray.open_dataset(tmp_path / "day.nc", engine="h5netcdf") as data:
        assert data["meter"].dims == ("site",)
        assert data["meter"].attrs == {"units": "W", "long_name": "idle"}
    assert "meter\n    Idle: :math:`m_j \\ge 0`, W, shape [J], optional." in Metered.__doc__
    assert "\nmeter\n" not in edr.EdrInstance.__doc__


def test_files_from_before_the_field_are_read(tmp_path):
    plain = edr.small(3)
    plain.save(tmp_path / "day.nc")
    assert Metered.load(tmp_path / "day.nc").fingerprint() == plain.fingerprint()
    as_a(Metered, plain).save(tmp_path / "day.nc")
    assert edr.EdrInstance.load(tmp_path / "day.nc") == plain


def test_a_field_that_is_not_known_is_not_passed_over(tmp_path):
    plain = edr.small(3)
    as_a(Metered, plain, meter=np.ones(plain.sites)).save(tmp_path / "day.nc")
    with pytest.raises(InstanceError, match="meter: is no field that this EdrInstance knows"):
        edr.EdrInstance.load(tmp_path / "day.nc")


def test_defaults_of_every_kind_are_left_out(tmp_path):
    plain = edr.small(4)
    weighed = as_a(Weighed, plain)
    assert (weighed.share.tolist(), weighed.scale, weighed.mode) == ([1.0] * plain.sites, 2, "fast")
    assert weighed.replace(share=[1] * plain.sites, scale=2).fingerprint() == plain.fingerprint()
    for change in ({"share": np.full(plain.sites, 2.0)}, {"scale": 3.0}, {"mode": "slow"}):
        changed = weighed.replace(**change)
        assert changed.fingerprint() != plain.fingerprint()
        changed.save(tmp_path / "day.nc")
        assert Weighed.load(tmp_path / "day.nc") == changed
    assert "by default 1." in Weighed.__doc__
    assert "by default ``'fast'``" in Weighed.__doc__


# --- what a class of one's own gets -----------------------------------------------------------


class Tariff(Instance, kind="tariff", axes={"slot": "T", "row": "J"}):
    price: Floats = field("slot", doc="Price.")
    fee: Floats = field("slot", "row", unit="$", least=0, singleton=True, doc="Fee.")


def test_what_is_the_same_all_along_an_axis_is_kept_and_written_once(tmp_path):
    plain = Tariff([1, 2, 3], [4, 5])
    for fee in ([[4, 5]], [[4, 5]] * 3):
        assert Tariff([1, 2, 3], fee) == plain
    assert (plain.fee.shape, plain.fee.flags.writeable) == ((1, 2), False)
    moving = plain.replace(fee=[[4, 5], [4, 5], [4, 6]])
    assert moving.fee.shape == (3, 2)
    assert not moving.fee.flags.writeable
    for tariff, dims in ((plain, ("row",)), (moving, ("slot", "row"))):
        tariff.save(tmp_path / "tariff.nc")
        assert Tariff.load(tmp_path / "tariff.nc") == tariff
        with xarray.open_dataset(tmp_path / "tariff.nc", engine="h5netcdf") as data:
            assert data["fee"].dims == dims
    assert "Fee: at least 0, $, shape [1 or T, J]." in Tariff.__doc__
    for fee, told in (
        ([[4, 5], [4, 5]], "must have 3 entries along its axis 'slot'"),
        ([4, -5], r"fee\[1\] = -5.0: must not be negative"),
        ([[4], [5, 6]], "must be a rectangular array of numbers"),
        (4, r"must have the axes \[row\]"),
    ):
        with pytest.raises(InstanceError, match=told):
            plain.replace(fee=fee)


class Part(Record, prefix="part.", empty=("item",)):
    size: Integers = field("item", least=1, most=9, doc="Size of an item.")


class Own(Instance, kind="own", axes={"slot": "T", "row": "T", "pair": 2, "item": "K"}):
    first: Floats = field("slot", "pair", infinite=True, doc="First. With a note.")

    @rule
    def _check_first(self) -> None:
        """Check that nothing is empty."""
        if not self.first.any():
            raise InstanceError("first", "must not be all zero")

    of_slot: Integers = field("row", of="slot", doc="A slot per row.")
    flags: Flags = field("row", default=None, fill=False, doc="Whether it is so.")
    part: Part = field(doc="A part.", default=Part([1]))
    names: Names | None = field("slot", default=None, doc="Names.")
    slots = Size("slot", "Number of slots T.")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"first": np.zeros((2, 2)), "of_slot": [9, 9]}, "first: must not be all zero"),
        ({"of_slot": [0, 2]}, r"of_slot\[1\] = 2: must be one of the 2 slots, counted from 0"),
        ({"of_slot": [0]}, "must have 2 entries along its axis 'row'"),
        ({"first": np.ones((2, 3))}, "must have 2 entries along its axis 'pair'"),
        ({"first": -np.full((2, 2), np.inf)}, "must be a number or plus infinity"),
        ({"flags": [0, 3]}, r"flags\[1\] = 3: must be 0 or 1"),
        ({"part": [1]}, "part = list: must be a Part"),
        ({"names": ["a"]}, "must be 2 texts, one per slot"),
    ],
)
def test_declared_rules_are_kept(changes, told):
    sound = {"first": np.ones((2, 2)), "of_slot": [1, 0]}
    assert repr(Own(**sound)) == "Own(slots=2)"
    with pytest.raises(InstanceError, match=told):
        Own(**(sound | changes))


def test_parts_and_names_are_saved(tmp_path):
    own = Own([[1, np.inf]], [0], [True], Part([2, 3]), ("one",))
    own.save(tmp_path / "own.nc")
    back = Own.load(tmp_path / "own.nc")
    plain = Own([[1, 2]], [0])
    plain.save(tmp_path / "plain.nc")
    assert Own.load(tmp_path / "plain.nc") == plain
    assert back == own
    assert (back.names, back.part.size.tolist(), back.flags.tolist()) == (("one",), [2, 3], [True])
    with pytest.raises(InstanceError, match=r"part.size\[0\] = 10: must be at most 9"):
        Part([10])
    assert Part([]).size.size == 0
    assert repr(Part([4, 5])) == "Part(item=2)"


def test_a_field_may_be_declared_anew():
    class Smaller(Own):
        of_slot: Integers = field("row", most=0, doc="Always the first.")

    assert [one.name for one in fields_of(Smaller)] == [one.name for one in fields_of(Own)]
    with pytest.raises(InstanceError, match=r"of_slot\[1\] = 1: must be at most 0"):
        Smaller([[1, 2], [3, 4]], [0, 1])


def test_docstrings_tell_what_is_declared():
    assert "first\n    First: infinity allowed, shape [T, 2]. With a note." in Own.__doc__
    assert "If a rule of a field is broken, or unless nothing is empty." in Own.__doc__


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_all_that_is_declared_is_described_and_written(kind):
    variables, texts = KINDS[kind](5)._content()
    for one in fields_of(kind):
        assert one.doc.endswith(".")
        assert f"\n{one.name}\n    {one.doc[:7]}" in kind.__doc__
        if not one.optional:
            assert [name for name in (*variables, *texts) if name.startswith(one.name)], one.name
    for name, variable in variables.items():
        assert variable.title, name
        assert variable.unit, name
