from __future__ import annotations

import pickle

import numpy as np
import pytest
import xarray
from hypothesis import given, settings

from edgeopt.instances.tapfinger import TapFingerInstance, from_bundled, generate, small
from tests.draws import draws
from tests.strategies import tapfinger_instances

ARRAYS = ("capacity", "minimum", "speed", "slowing", "arrival", "kind", "eligible", "weight")
NUMBERS = ("noise", "switching", "pending", "single_start", "slot_seconds")
TEXTS = ("names", "kinds", "origin")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "instance.nc"


@given(tapfinger_instances(noise=None, empty=True))
@settings(max_examples=draws(12))
def test_small_instances_come_back_equal(tmp_path_factory, instance):
    path = tmp_path_factory.mktemp("saved") / "instance.nc"
    instance.save(path)
    loaded = TapFingerInstance.load(path)
    assert loaded == instance
    for name in ARRAYS:
        one, other = getattr(loaded, name), getattr(instance, name)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    for name in NUMBERS:
        one, other = getattr(loaded, name), getattr(instance, name)
        assert (one, type(one)) == (other, type(other))


@pytest.mark.parametrize(
    "instance",
    [
        generate(single_start=True, tasks=5),
        from_bundled(tasks=4, figures="testbed"),
        small(2).replace(names=("Zürich, north", "b", "c")[: small(2).clusters]),
    ],
)
def test_everything_comes_back(path, instance):
    instance.save(path)
    loaded = TapFingerInstance.load(path)
    assert loaded == instance
    for name in TEXTS:
        assert getattr(loaded, name) == getattr(instance, name)
    np.testing.assert_array_equal(loaded.duration, instance.duration)
    assert pickle.loads(pickle.dumps(instance)) == instance


def test_files_are_labelled(path):
    generate(tasks=5).save(path)
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert data["speed"].dims == ("cluster", "task_kind", "cpu", "gpu")
        assert data["capacity"].dims == ("cluster", "resource")
        assert data["eligible"].dims == ("task", "cluster")
        assert data["slot_seconds"].attrs["units"] == "s"
        assert all(data[name].attrs["long_name"] for name in data.variables)


def test_content_makes_the_fingerprint():
    instance = small(1)
    assert instance == instance.replace()
    assert hash(instance) == hash(instance.replace())
    changes = (
        {"capacity": instance.capacity + 1},
        {"speed": instance.speed / 2},
        {"slowing": ~instance.slowing},
        {"weight": instance.weight + 1},
        {"noise": 0.2},
        {"switching": 0.2},
        {"pending": 9},
        {"single_start": not instance.single_start},
        {"slot_seconds": 1.0},
        {"origin": "elsewhere"},
        {"kinds": tuple("ab"[: instance.task_kinds])},
    )
    for change in changes:
        assert instance != instance.replace(**change), change
    assert instance != small(2)
