"""By label or refused: no order of rows, columns or axes makes another instance."""

from __future__ import annotations

import sys
import types

import numpy as np
import pandas as pd
import pytest
import xarray
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InstanceError
from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.instances.fields import Floats, field
from edgeopt.instances.instance import Instance
from edgeopt.instances.labels import extract_labels, is_dataset
from edgeopt.instances.records import Record
from edgeopt.testing import strategies
from tests.draws import draws as share
from tests.draws import every, some
from tests.instances.labelled import declared, labelled, labels_of, shuffled

IN_ORDER = {"rescue": {"profile"}}
"""Axes whose entries a system wants in one order: another one may be refused."""


@st.composite
def with_log_profit(draw):
    seed = draw(st.integers(0, 10**6))
    sizes = {"servers": 2, "devices": 3, "profiles": 2, "horizon": 20, "reserved": 2}
    return rescue.generate(**sizes, rng=seed)


@st.composite
def full_edr(draw):
    """Draw an instance in which every optional field is given."""
    day = draw(strategies.edr_instances())
    sites = day.sites
    past = edr.EdrHistory(np.arange(24.0), np.ones(24), np.full((24, sites, sites), 2.0))
    return day.replace(
        task_kind=np.arange(day.tasks) % 2,
        position=np.arange(2.0 * sites).reshape(sites, 2),
        accuracy=np.linspace(0.5, 1, sites * day.types).reshape(sites, day.types),
        history=past,
        distribution=edr.EdrDistribution(),
        names=[f"city {j}" for j in range(sites)],
    )


@st.composite
def full_idn(draw):
    network = draw(strategies.idn_instances(cost=True))
    return network.replace(
        tier=np.arange(network.nodes), names=[f"town {v}" for v in range(network.nodes)]
    )


@st.composite
def full_tapfinger(draw):
    instance = draw(strategies.tapfinger_instances())
    return instance.replace(
        names=[f"rack {n}" for n in range(instance.clusters)],
        kinds=[f"net {k}" for k in range(instance.task_kinds)],
    )


SYSTEMS = {
    "rescue": (strategies.rescue_instances(), rescue.RescueInstance),
    "rescue, by formula": (with_log_profit(), rescue.RescueInstance),
    "idn": (full_idn(), idn.IdnInstance),
    "oinc": (strategies.oinc_instances(empty=False), oinc.OincInstance),
    "edr": (full_edr(), edr.EdrInstance),
    "tapfinger": (full_tapfinger(), tapfinger.TapFingerInstance),
}


def examples(most):
    return settings(max_examples=share(most))


def arrays_of(kind, prefix=""):
    for one in kind._fields:
        if isinstance(one.type, type) and issubclass(one.type, Record):
            yield from arrays_of(one.type, f"{prefix}{one.name}_")
        elif one.axes:
            yield prefix + one.name


FIELDS = [
    *((system, name) for system, (_, kind) in SYSTEMS.items() for name in arrays_of(kind)),
    *(("rescue, by formula", name) for name in arrays_of(rescue.LogProfit, "profit_")),
]
FIELDS = [one for one in FIELDS if one != ("rescue, by formula", "profit")]


@pytest.mark.parametrize(("system", "name"), every(7, FIELDS, rows=True))
def test_permuting_a_field_never_makes_another_instance(system, name):
    draws, kind = SYSTEMS[system]
    met = []

    @given(draws, st.integers(0, 2**32 - 1), st.booleans())
    @examples(8)
    def check(instance, seed, reverse):
        tables, texts, _ = labelled(instance)
        if name not in tables:
            return
        met.append(name)
        straight = kind.from_labelled({**tables, **texts})
        assert straight == instance
        order = np.random.default_rng(seed).permutation
        moved = {**tables, name: shuffled(tables[name], order, reverse)}
        try:
            made = kind.from_labelled({**moved, **texts})
        except InstanceError:
            if set(tables[name].dims) & IN_ORDER.get(system.partition(",")[0], set()):
                return
            raise
        again = made.reordered(
            {axis: labels for axis, labels in straight.labels.items() if axis in made.labels}
        )
        assert again == instance
        leaders = {}
        for other, _, _ in declared(instance):
            array = tables.get(other)
            for axis in array.dims if isinstance(array, xarray.DataArray) and array.size else ():
                leaders.setdefault(labels_of(axis), other)
        if name not in leaders.values():
            assert made == instance

    check()
    assert met


@pytest.mark.parametrize("system", every(2, SYSTEMS))
def test_permuting_all_fields_at_once_is_undone_by_reordering(system):
    draws, kind = SYSTEMS[system]

    @given(draws, st.integers(0, 2**32 - 1))
    @examples(15)
    def check(instance, seed):
        tables, texts, _ = labelled(instance)
        generator = np.random.default_rng(seed)
        fixed = IN_ORDER.get(system.partition(",")[0], set())
        moved = {}
        for name, array in tables.items():
            if isinstance(array, xarray.DataArray):
                for axis in set(array.dims) - fixed:
                    array = array.isel({axis: generator.permutation(array.sizes[axis])})
                moved[name] = array.transpose(*generator.permutation(array.dims))
            else:
                moved[name] = array
        made = kind.from_labelled({**moved, **texts})
        straight = kind.from_labelled({**tables, **texts})
        assert set(made.labels) == set(straight.labels)
        assert made.reordered(straight.labels) == instance

    check()


@pytest.mark.parametrize("system", some(SYSTEMS, "rescue, by formula", "idn"))
def test_labels_survive_files_copies_and_changes(system, tmp_path):
    import copy
    import pickle

    draws, kind = SYSTEMS[system]

    @given(draws)
    @examples(5)
    def check(instance):
        tables, texts, _ = labelled(instance)
        made = kind.from_labelled({**tables, **texts})
        assert made.labels
        made.to_folder(tmp_path / "tables", force=True)
        for path in (tmp_path / "one.nc", tmp_path / "one.zip"):
            made.save(path)
            assert kind.load(path) == made
            assert dict(kind.load(path).labels) == dict(made.labels)
        for other in (
            kind.from_folder(tmp_path / "tables"),
            kind.load(tmp_path / "tables"),
            copy.deepcopy(made),
            pickle.loads(pickle.dumps(made)),
            made.replace(),
        ):
            assert other == made
            assert dict(other.labels) == dict(made.labels)
        for old in (tmp_path / "tables").iterdir():
            old.unlink()

    check()


def test_an_instance_of_ones_own_reads_labels_without_a_line_of_code(tmp_path):
    class Bakery(Instance, kind="bakery", axes={"slot": "T", "oven": "K"}):
        """Ovens over time."""

        heat: Floats = field("oven", "slot", unit="kWh", above=0, doc="Heat of an oven.")
        price: Floats = field("slot", unit="$/kWh", default=None, fill=1.0, doc="Price of heat.")

    heat = pd.DataFrame(
        [[2.0, 1.0], [4.0, 3.0]],
        index=pd.Index([1, 0], name="slot"),
        columns=pd.Index(["old", "new"], name="oven"),
    )
    heat.attrs["units"] = "Wh"
    bakery = Bakery.from_labelled({"heat": heat})
    np.testing.assert_allclose(bakery.heat, [[0.004, 0.002], [0.003, 0.001]])
    bakery.to_folder(tmp_path)
    assert Bakery.load(tmp_path) == bakery
    assert Bakery.load(tmp_path).labels == {"oven": ("old", "new")}


def test_a_library_that_another_thread_begins_to_import_is_none_of_ours(monkeypatch):
    for name in ("pandas", "xarray"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    assert extract_labels("profit", np.ones(3)) is None
    assert not is_dataset({"profit": np.ones(3)})
