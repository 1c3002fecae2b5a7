"""Instances of every system: written, read back, pickled, compared, and refused when damaged."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import h5py
import numpy as np
import pytest
import xarray
from edgeopt_papers.idn.claims.instances import shared_model

from edgeopt.errors import InstanceError, OutputError
from edgeopt.instances import edr, fields_of, idn, oinc, rescue, tapfinger
from edgeopt.instances import netcdf as labelled
from edgeopt.testing import strategies
from tests.draws import every


@dataclass(frozen=True, eq=False)
class Linear(rescue.ProfitModel):
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


@dataclass(frozen=True)
class Case:
    """What the tests of one system take."""

    kind: type
    small: object
    field: str  # an array of numbers
    drawn: object  # strategy
    derived: str = ""  # what follows from the data
    everything: tuple = ()  # instances that use every optional field
    changes: object = None  # of an instance: fields whose content makes another one


SYSTEMS = {
    "rescue": Case(
        rescue.RescueInstance, rescue.named.small, "arrival",
        strategies.rescue_instances(reserved=None, arrivals=None, beyond=None), "expected_profit",
        (
            rescue.generate(servers=2, devices=3, horizon=30, reserved=0),
            rescue.generate(servers=2, devices=3, horizon=30, reserved=5),
        ),
        lambda i: {"beyond": "drop", "profit": np.asarray(i.profit) + 1.0},
    ),
    "idn": Case(
        idn.IdnInstance, idn.named.small, "size", strategies.idn_instances(cost=None),
        "total_requests",
        (
            idn.generate(horizon=2, topology=2, alpha=0.5),
            idn.from_bundled(horizon=2),
            idn.small(4, own_cost=True),
            shared_model().replace(names=("Zürich", "b, c", "d", "d"), tier=[3, 2, 0, 0]),
            shared_model().replace(cost=np.arange(6.0).reshape(2, 3, 1)),
            idn.IdnInstance(
                edges=np.zeros((0, 2), dtype=int), latency=[], size=[[1.0]], delay=[[0.0]],
                capacity=[[np.inf]], accuracy=[50.0], task=[0], budget=[np.inf],
                repository=[[True]], request_task=[0], path=[[0]], requests=[[3]],
            ),
        ),
        lambda i: {
            "requests": i.requests + 1,
            "alpha": i.alpha + 1,
            "tier": np.zeros(i.nodes),
            "names": tuple("abcde"[: i.nodes]),
            "budget": i.budget + 1.0,
            "cost": idn.small(1, own_cost=True).cost,
        },
    ),
    "edr": Case(
        edr.EdrInstance, edr.small, "cap", strategies.edr_instances(), "round_cost",
        (
            edr.generate(sites=3, tasks=2, frames=2, slots=2, round_delay="max"),
            edr.from_bundled(sites=4, tasks=2, frames=3, slots=4),
            edr.generate(sites=3, tasks=2, frames=2, slots=2, power="frame").replace(
                accuracy=np.linspace(0, 1, 12).reshape(3, 4)
            ),
            edr.small(6).replace(names=("Zürich", "b, c"), price_prior=3.0, slot_seconds=100.0),
        ),
        lambda i: {"price": i.price + 1, "origin": "elsewhere", "delay_weight": 9.0},
    ),
    "oinc": Case(
        oinc.OincInstance, oinc.small, "speed", strategies.oinc_instances(), "transmission_seconds",
        (
            oinc.generate(sites=3, devices=4, slots=5, jobs=2, moving=True),
            oinc.from_bundled(sites=2, devices=3, slots=4, jobs=0),
            oinc.generate(sites=1, devices=2, slots=1, jobs=1).replace(
                names=("Zürich, north",), completion_scale=7.0, refusal_latency=1.0
            ),
        ),
        lambda i: {
            "speed": i.speed + 1,
            "active": ~i.active,
            "origin": "elsewhere",
            "refusal_latency": 9.0,
            "weight": i.weight + 1,
            "kinds": ("a",),
        },
    ),
    "tapfinger": Case(
        tapfinger.TapFingerInstance, tapfinger.small, "speed",
        strategies.tapfinger_instances(noise=None, empty=True), "duration",
        (
            tapfinger.generate(single_start=True, tasks=5),
            tapfinger.from_bundled(tasks=4, figures="testbed"),
            tapfinger.small(2).replace(
                names=("Zürich, north", "b", "c")[: tapfinger.small(2).clusters]
            ),
        ),
        lambda i: {
            "capacity": i.capacity + 1,
            "speed": i.speed / 2,
            "slowing": ~i.slowing,
            "weight": i.weight + 1,
            "noise": 0.2,
            "switching": 0.2,
            "pending": 9,
            "single_start": not i.single_start,
            "slot_seconds": 1.0,
            "origin": "elsewhere",
            "kinds": tuple("ab"[: i.task_kinds]),
        },
    ),
}  # fmt: skip
NAMES = list(SYSTEMS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "instance.nc"


@pytest.fixture(params=every(2, NAMES))
def system(request, path):
    """Write an instance; return its kind, how to load it, and a field of it."""
    case = SYSTEMS[request.param]
    case.small(3).save(path)
    return request.param, case.kind.load, case.field


def same(loaded, instance, derived):
    """All fields are equal, of the same types, and what follows from them is."""
    assert loaded == instance
    for field in fields_of(type(instance)):
        one, other = getattr(loaded, field.name), getattr(instance, field.name)
        assert type(one) is type(other)
        if isinstance(other, np.ndarray):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype
            assert not one.flags.writeable
        elif other is None or isinstance(other, str | float | int | tuple):
            assert one == other
    np.testing.assert_array_equal(getattr(loaded, derived), getattr(instance, derived))


@pytest.mark.parametrize(
    ("name", "number"),
    every(
        4, [(name, n) for name in NAMES for n in range(len(SYSTEMS[name].everything))], rows=True
    ),
)
def test_everything_comes_back(path, name, number):
    case = SYSTEMS[name]
    instance = case.everything[number]
    instance.save(path)
    same(case.kind.load(path), instance, case.derived)
    copy = pickle.loads(pickle.dumps(instance))
    same(copy, instance, case.derived)
    assert hash(copy) == hash(instance)
    if name == "rescue":
        assert path.stat().st_size < 60_000  # parameters of the profit only
        assert not copy.reserved.demand.flags.writeable


@pytest.mark.parametrize("name", NAMES)
def test_content_makes_the_fingerprint(name):
    case = SYSTEMS[name]
    instance = case.small(1)
    assert instance == instance.replace()
    assert hash(instance) == hash(instance.replace())
    changes = case.changes(instance)
    others = [instance.replace(**{field: value}) for field, value in changes.items()]
    assert len({one.fingerprint() for one in (instance, *others)}) == 1 + len(changes)
    assert all(instance != other for other in others)
    assert instance != case.small(2)
    assert instance != "something else"
    assert len({case.small(seed).fingerprint() for seed in range(50)}) == 50


@pytest.mark.parametrize(
    ("instance", "sizes", "dims", "units"),
    [
        (
            rescue.generate(servers=2, devices=3, horizon=30, reserved=5),
            {"slot": 30, "device": 3, "server": 2, "profile": 5, "duration": 40, "task": 5},
            {"capacity": ("server", "slot"), "profit_budget": ("device", "server")},
            {"capacity": "TMAC/slot"},
        ),
        (
            idn.generate(horizon=3, topology=2, tasks=2),
            {"edge": 4, "end": 2, "node": 5, "model": 60, "type": 4, "position": 4,
             "slot": 3},
            {"size": ("node", "model"), "requests": ("slot", "type")},
            {"size": "MB", "latency": "ms"},
        ),
        (
            edr.generate(sites=3, tasks=2, frames=2, slots=2),
            {},
            {"requests": ("frame", "slot", "site", "type")},
            {"cap": "Wh", "price": "$/Wh", "rate": "bit/s", "step_work": "GFLOP"},
        ),
        (
            oinc.generate(sites=3, devices=4, slots=5, jobs=2),
            {},
            {"rate": ("slot", "device", "site"), "job_kind": ("job",)},
            {"rate": "Mbit/s", "work": "Gcycle"},
        ),
        (
            tapfinger.generate(tasks=5),
            {},
            {"speed": ("cluster", "kind", "cpu", "gpu"), "capacity": ("cluster", "resource"),
             "eligible": ("task", "cluster")},
            {"slot_seconds": "s"},
        ),
    ],
    ids=NAMES,
)  # fmt: skip
def test_files_carry_dimensions_and_units(path, instance, sizes, dims, units):
    instance.save(path)
    with xarray.open_dataset(path, engine="h5netcdf") as data:
        assert not sizes or dict(data.sizes) == sizes
        for name, axes in dims.items():
            assert data[name].dims == axes
        for name, unit in units.items():
            assert data[name].attrs["units"] == unit
        assert all(data[name].attrs["long_name"] for name in data.variables if name in data)
        kind = next(name for name in NAMES if isinstance(instance, SYSTEMS[name].kind))
        assert data.attrs["edgeopt_kind"] == kind
        assert data.attrs["edgeopt_format"] == 1
        assert data.attrs["edgeopt_fingerprint"] == instance.fingerprint()


@pytest.mark.parametrize(
    ("name", "field", "change", "rule", "missing"),
    [
        ("rescue", "arrival", lambda a: a - 5.0, "at least 0", "capacity"),
        ("idn", "size", np.negative, "must be positive", "task"),
    ],
)
def test_violated_rules_in_a_sound_file_are_named(path, name, field, change, rule, missing):
    # A file with an honest fingerprint over bad data, as another program might write it.
    case = SYSTEMS[name]
    case.small(3).save(path)
    data = labelled.read(path, name, 1)
    arrays = {**data.arrays, field: change(data.arrays[field])}
    variables = {
        name: labelled.Variable(tuple(f"{name}_{i}" for i in range(a.ndim)), a, data.units[name])
        for name, a in arrays.items()
    }
    labelled.write(path, labelled.Layout(name, 1, variables, data.attributes))
    with pytest.raises(InstanceError, match=rule) as caught:
        case.kind.load(path)
    assert caught.value.field == field
    del variables[missing]
    labelled.write(path, labelled.Layout(name, 1, variables, data.attributes))
    with pytest.raises(InstanceError, match="missing from the file") as caught:
        case.kind.load(path)
    assert caught.value.field == missing


def test_own_profit_models_come_back_when_they_are_passed(path):
    small = rescue.small(2)
    model = Linear(np.array(small.shape), 0.5, 7, True, "mine")
    instance = small.replace(profit=model)
    instance.save(path)
    with pytest.raises(InstanceError, match=r"profit_models=\(Linear,\)") as caught:
        rescue.RescueInstance.load(path)
    assert caught.value.value == "Linear"
    loaded = rescue.RescueInstance.load(path, profit_models=(Linear,))
    assert loaded == instance
    back = loaded.profit
    told = (back.slope, back.steps, back.curved, back.name)
    assert told == (0.5, 7, True, "mine")
    assert [type(value) for value in told] == [float, int, bool, str]
    other = small.replace(profit=Linear(model.sizes, 0.25, 7, True, "mine"))
    assert other.fingerprint() != instance.fingerprint()
    with pytest.raises(InstanceError, match="numbers, texts or arrays") as caught:
        small.replace(profit=Linear(model.sizes, 0.5, 7, True, None)).save(path)
    assert caught.value.field == "profit.name"


def test_a_failed_write_leaves_the_old_file(path, monkeypatch):
    rescue.small(3).save(path)
    before = path.read_bytes()

    def fail(self, target, **options):
        target.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(xarray.Dataset, "to_netcdf", fail)
    with pytest.raises(OutputError, match="cannot be written: disk full"):
        rescue.small(4).save(path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_fingerprints_are_the_same_everywhere():
    # A change of the hashes below would make every file saved so far unreadable.
    names = {"a": np.arange(3.0), "b": np.arange(2)}
    big_endian = {"a": np.arange(3.0).astype(">f8"), "b": np.arange(2).astype(">i8")}
    plain = labelled.content_hash("kind", names, {"x": "1"})
    assert plain == labelled.content_hash("kind", big_endian, {"x": "1"})
    assert plain == "3eac9dfb14746616b4713258fa5ea1e411340181d6d831fff1123b2ccf9ed2df"
    assert shared_model().fingerprint() == (
        "91d82a87f70f516a022cd93cd3132d7d33f406e3e2389314180ee64d8840e331"
    )


def test_missing_files_and_folders_are_named(system, tmp_path):
    _, load, _ = system
    for missing, said in ((tmp_path / "missing.nc", "no such file"), (tmp_path, "no tables")):
        with pytest.raises(InstanceError, match=said) as caught:
            load(missing)
        assert caught.value.field == str(missing)


def test_what_is_no_instance_is_refused(system, path):
    name, load, _ = system
    path.write_text("slot,device\n0,1\n")
    with pytest.raises(InstanceError, match="not a readable NetCDF file"):
        load(path)
    xarray.Dataset({"x": ("n", [1.0])}).to_netcdf(path, engine="h5netcdf")
    with pytest.raises(InstanceError, match=f"must hold an instance of kind '{name}'"):
        load(path)


def test_instances_of_other_systems_are_refused(system, path):
    name, load, _ = system
    other = SYSTEMS[NAMES[NAMES.index(name) - 1]].small
    other(3).save(path)
    with pytest.raises(InstanceError, match=f"must hold an instance of kind '{name}'"):
        load(path)


def test_newer_files_are_refused(system, path):
    _, load, _ = system
    with h5py.File(path, "r+") as file:
        file.attrs["edgeopt_format"] += 1
    with pytest.raises(InstanceError, match="newer format than this edgeopt reads") as caught:
        load(path)
    assert caught.value.value == 2


def test_changed_numbers_are_noticed(system, path):
    _, load, field = system
    with h5py.File(path, "r+") as file:
        file[field][...] = file[field][...] + 0.125
    with pytest.raises(InstanceError, match="do not match its fingerprint"):
        load(path)
