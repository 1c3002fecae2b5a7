from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
import xarray
from hypothesis import given, settings

from edgeopt.errors import InstanceError, OutputError
from edgeopt.instances import labelled
from edgeopt.instances.rescue import ProfitModel, RescueInstance, generate, small
from tests.draws import draws
from tests.strategies import rescue_instances


@dataclass(frozen=True, eq=False)
class Linear(ProfitModel):
    """A user's own model, with parameters of every kind that a file can hold."""

    sizes: np.ndarray
    slope: float
    steps: int
    curved: bool
    name: str

    @property
    def shape(self):
        return (1, *self.sizes[1:4].tolist(), int(self.sizes[4]))

    def block(self, slots):
        per_slot = np.arange(1.0, self.sizes[4] + 1) * self.slope
        return np.broadcast_to(per_slot, (1, *self.shape[1:]))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "instance.nc"


@given(rescue_instances(reserved=None, arrivals=None, beyond=None))
@settings(max_examples=draws(25))
def test_small_instances_come_back_equal(tmp_path_factory, instance):
    path = tmp_path_factory.mktemp("saved") / "instance.nc"
    instance.save(path)
    loaded = RescueInstance.load(path)
    assert loaded == instance
    assert np.shape(loaded.profit) == np.shape(instance.profit)
    np.testing.assert_array_equal(loaded.expected_profit, instance.expected_profit)


@pytest.mark.parametrize("tasks", [0, 5])
def test_log_profit_comes_back_by_its_parameters(path, tasks):
    instance = generate(servers=2, devices=3, horizon=30, reserved=tasks)
    instance.save(path)
    loaded = RescueInstance.load(path)
    assert loaded == instance
    assert len(loaded.reserved) == tasks
    assert path.stat().st_size < 60_000  # parameters only
    np.testing.assert_array_equal(loaded.expected_profit, instance.expected_profit)


def test_own_profit_models_come_back_when_they_are_passed(path):
    model = Linear(np.array(small(2).shape), 0.5, 7, True, "mine")
    instance = small(2).replace(profit=model)
    instance.save(path)
    with pytest.raises(InstanceError, match=r"profit_models=\(Linear,\)") as caught:
        RescueInstance.load(path)
    assert caught.value.value == "Linear"
    loaded = RescueInstance.load(path, profit_models=(Linear,))
    assert loaded == instance
    back = loaded.profit
    assert (back.slope, back.steps, back.curved, back.name) == (0.5, 7, True, "mine")
    assert [type(x) for x in (back.slope, back.steps, back.curved, back.name)] == [
        float,
        int,
        bool,
        str,
    ]
    other = small(2).replace(profit=Linear(model.sizes, 0.25, 7, True, "mine"))
    assert other.fingerprint() != instance.fingerprint()


def test_parameters_that_no_file_can_hold_are_refused(path):
    odd = Linear(np.array(small(2).shape), 0.5, 7, True, None)
    with pytest.raises(InstanceError, match="numbers, texts or arrays") as caught:
        small(2).replace(profit=odd).save(path)
    assert caught.value.field == "profit.name"


def test_files_carry_dimensions_and_units(path):
    instance = generate(servers=2, devices=3, horizon=30, reserved=5)
    instance.save(path)
    with xarray.open_dataset(path, engine="h5netcdf") as dataset:
        assert dict(dataset.sizes) == {
            "slot": 30,
            "device": 3,
            "server": 2,
            "profile": 5,
            "duration": 40,
            "task": 5,
        }
        assert dataset["capacity"].dims == ("server", "slot")
        assert dataset["capacity"].attrs["units"] == "TMAC/slot"
        assert dataset["profit_budget"].dims == ("device", "server")
        assert dataset.attrs["edgeopt_format"] == 1
        assert dataset.attrs["edgeopt_fingerprint"] == instance.fingerprint()


def test_broken_rules_in_a_sound_file_are_named(path):
    # A file with an honest fingerprint over bad data, as another program might write it.
    small(3).save(path)
    data = labelled.read(path, "rescue", 1)
    arrays = {**data.arrays, "arrival": data.arrays["arrival"] - 5.0}
    variables = {
        name: labelled.Variable(tuple(f"{name}_{i}" for i in range(a.ndim)), a)
        for name, a in arrays.items()
    }
    labelled.write(path, labelled.Layout("rescue", 1, variables, data.attributes))
    with pytest.raises(InstanceError, match="at least 0") as caught:
        RescueInstance.load(path)
    assert caught.value.field == "arrival"
    del variables["capacity"]
    labelled.write(path, labelled.Layout("rescue", 1, variables, data.attributes))
    with pytest.raises(InstanceError, match="missing from the file") as caught:
        RescueInstance.load(path)
    assert caught.value.field == "capacity"


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    small(3).save(path)
    before = path.read_bytes()

    def fail(self, target, **options):
        target.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(xarray.Dataset, "to_netcdf", fail)
    with pytest.raises(OutputError, match="cannot be written: disk full"):
        small(4).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_fingerprints_are_the_same_everywhere():
    # A change of the hash below would make every file saved so far unreadable.
    assert small(0).fingerprint() == small(0).fingerprint()
    assert len({small(seed).fingerprint() for seed in range(50)}) == 50
    names = {"a": np.arange(3.0), "b": np.arange(2)}
    big_endian = {"a": np.arange(3.0).astype(">f8"), "b": np.arange(2).astype(">i8")}
    plain = labelled.content_hash("kind", names, {"x": "1"})
    assert plain == labelled.content_hash("kind", big_endian, {"x": "1"})
    assert plain == "3eac9dfb14746616b4713258fa5ea1e411340181d6d831fff1123b2ccf9ed2df"
