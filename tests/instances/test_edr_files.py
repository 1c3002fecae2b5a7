from __future__ import annotations

import pickle

import numpy as np
import pytest
import xarray
from hypothesis import given, settings

from edgeopt.instances.edr import EdrInstance, from_bundled, generate, jensen, small
from tests.draws import draws
from tests.strategies import edr_instances

ARRAYS = ("cap", "client", "server", "requests", "rate", "capable", "slo", "rounds")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "instance.nc"


@given(edr_instances())
@settings(max_examples=draws(12))
def test_small_instances_come_back_equal(tmp_path_factory, instance):
    path = tmp_path_factory.mktemp("saved") / "instance.nc"
    instance.save(path)
    loaded = EdrInstance.load(path)
    assert loaded == instance
    for name in ARRAYS:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(instance, name))
        assert getattr(loaded, name).dtype == getattr(instance, name).dtype
    np.testing.assert_array_equal(loaded.round_cost, instance.round_cost)


@pytest.mark.parametrize(
    "instance",
    [
        generate(sites=3, tasks=2, frames=2, slots=2, round_delay="max"),
        from_bundled(sites=4, tasks=2, frames=3, slots=4),
        jensen().replace(names=("Zürich", "b, c"), price_prior=3.0, slot_seconds=100.0),
    ],
)
def test_everything_comes_back(path, instance):
    instance.save(path)
    loaded = EdrInstance.load(path)
    assert loaded == instance
    for name in ("origin", "names", "round_delay", "price_prior", "slot_seconds", "energy_weight"):
        assert getattr(loaded, name) == getattr(instance, name)
    for name in ("position", "task_kind"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(instance, name))
    assert pickle.loads(pickle.dumps(instance)) == instance


def test_files_are_labelled(path):
    instance = generate(sites=3, tasks=2, frames=2, slots=2)
    instance.save(path)
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert data["requests"].dims == ("frame", "slot", "site", "request_type")
        assert data["cap"].attrs["units"] == "Wh"
        assert data["price"].attrs["units"] == "$/Wh"
        assert data["rate"].attrs["units"] == "bit/s"
        assert data["step_work"].attrs["units"] == "GFLOP"
        assert all(data[name].attrs["long_name"] for name in data.variables)


def test_content_makes_the_fingerprint():
    instance = small(3)
    assert instance == instance.replace()
    assert hash(instance) == hash(instance.replace())
    for change in ({"price": instance.price + 1}, {"origin": "elsewhere"}, {"delay_weight": 9.0}):
        assert instance != instance.replace(**change)
    assert instance != small(4)
