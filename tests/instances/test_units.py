"""Units that differ by a factor, and those that measure something else."""

from __future__ import annotations

import pytest

from edgeopt.errors import InstanceError
from edgeopt.instances.units import factor

FACTORS = {
    ("GMAC/slot", "TMAC/slot"): 1e-3,
    ("kbit/s", "bit/s"): 1e3,
    ("MB/s", "Mbit/s"): 8.0,
    ("KB", "MB"): 1e-3,
    ("GiB", "MB"): 1073.741824,
    ("ms", "s"): 1e-3,
    ("min", "s"): 60.0,
    ("h", "min"): 60.0,
    ("kWh", "Wh"): 1e3,
    ("J", "Wh"): 1 / 3600,
    ("kW", "W"): 1e3,
    ("$/kWh", "$/Wh"): 1e-3,
    ("1", "percent"): 100.0,
    ("MHz", "Hz"): 1e6,
    ("m", "km"): 1e-3,
    ("Wh/TFLOP", "Wh/GFLOP"): 1e-3,
    ("1/slot", "1/slot"): 1.0,
}
APART = [
    ("W", "Wh"), ("bit", "bit/s"), ("MAC", "FLOP"), ("s", "slot"), ("1/s", "1/slot"), ("m", "s"),
    ("GFLOP/s", "GFLOP"), ("$", "1"),
]  # fmt: skip


@pytest.mark.parametrize(("found", "expected"), FACTORS)
def test_units_of_one_kind_differ_by_a_factor(found, expected):
    assert factor("field", found, expected) == pytest.approx(FACTORS[found, expected], rel=1e-15)
    back = factor("field", expected, found)
    assert back * FACTORS[found, expected] == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize(("found", "expected"), [*APART, *(pair[::-1] for pair in APART)])
def test_units_of_two_kinds_are_refused(found, expected):
    with pytest.raises(InstanceError, match="it measures something else"):
        factor("field", found, expected)


@pytest.mark.parametrize("unit", ["", "apples", "kk", "TMAC per slot", "s//s", "/s", "XMAC"])
def test_unknown_units_are_refused(unit):
    with pytest.raises(InstanceError, match="is unknown, expected 's'"):
        factor("field", unit, "s")


def test_every_declared_unit_is_known():
    from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
    from edgeopt.instances.units import _measure

    kinds = [
        edr.EdrInstance, edr.EdrHistory, edr.EdrDistribution, idn.IdnInstance, oinc.OincInstance,
        rescue.RescueInstance, rescue.LogProfit, rescue.ReservedTasks, tapfinger.TapFingerInstance,
    ]  # fmt: skip
    units = {one.unit for kind in kinds for one in kind._fields}
    assert len(units) > 15
    assert [unit for unit in units if _measure(unit) is None] == []
