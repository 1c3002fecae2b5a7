from __future__ import annotations

import pickle

import numpy as np
import pytest
import xarray
from hypothesis import given, settings

from edgeopt.instances.oinc import OincInstance, crowded, from_bundled, generate, small
from tests.draws import draws
from tests.strategies import oinc_instances

ARRAYS = (
    "speed", "rate", "active", "request_size", "request_work", "slo", "arrival", "work", "deadline",
    "weight", "request_weight", "job_kind",
)  # fmt: skip


@pytest.fixture
def path(tmp_path):
    return tmp_path / "instance.nc"


@given(oinc_instances())
@settings(max_examples=draws(12))
def test_small_instances_come_back_equal(tmp_path_factory, instance):
    path = tmp_path_factory.mktemp("saved") / "instance.nc"
    instance.save(path)
    loaded = OincInstance.load(path)
    assert loaded == instance
    for name in ARRAYS:
        one, other = getattr(loaded, name), getattr(instance, name)
        np.testing.assert_array_equal(one, other)
        assert other is None or one.dtype == other.dtype
    for name in ("origin", "names", "kinds", "latency_scale", "refusal_latency"):
        assert getattr(loaded, name) == getattr(instance, name)


@pytest.mark.parametrize(
    "instance",
    [
        generate(sites=3, devices=4, slots=5, jobs=2, moving=True),
        from_bundled(sites=2, devices=3, slots=4, jobs=0),
        crowded().replace(names=("Zürich, north",), completion_scale=7.0, refusal_latency=1.0),
    ],
)
def test_everything_comes_back(path, instance):
    instance.save(path)
    loaded = OincInstance.load(path)
    assert loaded == instance
    for name in ("origin", "names", "kinds", "latency_scale", "completion_scale"):
        assert getattr(loaded, name) == getattr(instance, name)
    np.testing.assert_array_equal(loaded.transmission_seconds, instance.transmission_seconds)
    assert pickle.loads(pickle.dumps(instance)) == instance


def test_files_are_labelled(path):
    generate(sites=3, devices=4, slots=5, jobs=2).save(path)
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert data["rate"].dims == ("slot", "device", "site")
        assert data["rate"].attrs["units"] == "Mbit/s"
        assert data["work"].attrs["units"] == "Gcycle"
        assert data["job_kind"].dims == ("job",)
        assert all(data[name].attrs["long_name"] for name in data.variables)


def test_content_makes_the_fingerprint():
    instance = small(1)
    assert instance == instance.replace()
    assert hash(instance) == hash(instance.replace())
    changes = (
        {"speed": instance.speed + 1},
        {"active": ~instance.active},
        {"origin": "elsewhere"},
        {"refusal_latency": 9.0},
        {"weight": instance.weight + 1},
        {"kinds": ("a",)},
    )
    for change in changes:
        assert instance != instance.replace(**change)
    assert instance != small(2)
