from __future__ import annotations

import numpy as np
import pytest
import xarray
from hypothesis import given, settings

from edgeopt.errors import InstanceError
from edgeopt.instances import labelled
from edgeopt.instances.idn import IdnInstance, from_bundled, generate, shared_model, small
from tests.draws import draws
from tests.strategies import idn_instances


@pytest.fixture
def path(tmp_path):
    return tmp_path / "instance.nc"


@given(idn_instances(cost=None))
@settings(max_examples=draws(25))
def test_small_instances_come_back_equal(tmp_path_factory, instance):
    path = tmp_path_factory.mktemp("saved") / "instance.nc"
    instance.save(path)
    loaded = IdnInstance.load(path)
    assert loaded == instance
    for name in ("size", "budget", "repository", "path", "requests"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(instance, name))
        assert getattr(loaded, name).dtype == getattr(instance, name).dtype
    np.testing.assert_array_equal(loaded.ranking.cost, instance.ranking.cost)


@pytest.mark.parametrize(
    "instance",
    [
        generate(horizon=2, topology=2, alpha=0.5),
        from_bundled(horizon=2),
        shared_model().replace(names=("Zürich", "b, c", "d", "d"), tier=[3, 2, 0, 0]),
        shared_model().replace(cost=np.arange(6.0).reshape(2, 3, 1)),
        IdnInstance(
            edges=np.zeros((0, 2), dtype=int),
            latency=[],
            size=[[1.0]],
            delay=[[0.0]],
            capacity=[[np.inf]],
            accuracy=[50.0],
            task=[0],
            budget=[np.inf],
            repository=[[True]],
            request_task=[0],
            path=[[0]],
            requests=[[3]],
        ),
    ],
)
def test_everything_comes_back(path, instance):
    instance.save(path)
    loaded = IdnInstance.load(path)
    assert loaded == instance
    assert loaded.names == instance.names
    assert loaded.alpha == instance.alpha
    assert type(loaded.alpha) is float
    assert (loaded.tier is None) == (instance.tier is None)
    assert (loaded.cost is None) == (instance.cost is None)
    np.testing.assert_array_equal(loaded.budget, instance.budget)
    np.testing.assert_array_equal(loaded.capacity, instance.capacity)


def test_files_carry_dimensions_and_units(path):
    instance = generate(horizon=3, topology=2, tasks=2)
    instance.save(path)
    with xarray.open_dataset(path, engine="h5netcdf") as dataset:
        assert dict(dataset.sizes) == {
            "edge": 4,
            "end": 2,
            "node": 5,
            "model": 60,
            "request_type": 4,
            "position": 4,
            "slot": 3,
        }
        assert dataset["size"].dims == ("node", "model")
        assert dataset["size"].attrs["units"] == "MB"
        assert dataset["latency"].attrs["units"] == "ms"
        assert dataset["requests"].dims == ("slot", "request_type")
        assert dataset.attrs["edgeopt_kind"] == "idn"
        assert dataset.attrs["edgeopt_fingerprint"] == instance.fingerprint()


def test_broken_rules_in_a_sound_file_are_named(path):
    small(1).save(path)
    data = labelled.read(path, "idn", 1)
    arrays = {**data.arrays, "size": -data.arrays["size"]}
    variables = {
        name: labelled.Variable(tuple(f"{name}_{i}" for i in range(a.ndim)), a)
        for name, a in arrays.items()
    }
    labelled.write(path, labelled.Layout("idn", 1, variables, data.attributes))
    with pytest.raises(InstanceError, match="must be positive") as caught:
        IdnInstance.load(path)
    assert caught.value.field == "size"
    del variables["task"]
    labelled.write(path, labelled.Layout("idn", 1, variables, data.attributes))
    with pytest.raises(InstanceError, match="missing from the file"):
        IdnInstance.load(path)


def test_fingerprints_are_the_same_everywhere():
    # A change of this would make every file saved so far unreadable.
    assert shared_model().fingerprint() == (
        "91d82a87f70f516a022cd93cd3132d7d33f406e3e2389314180ee64d8840e331"
    )
