"""Files of every system that are missing, foreign, truncated, newer, or changed since written."""

from __future__ import annotations

import h5py
import pytest
import xarray

from edgeopt.errors import InstanceError
from edgeopt.instances import edr, idn, oinc, rescue, tapfinger

SYSTEMS = {
    "rescue": (rescue.RescueInstance, rescue.named_instances.small, "arrival"),
    "idn": (idn.IdnInstance, idn.named_instances.small, "size"),
    "edr": (edr.EdrInstance, edr.small, "cap"),
    "oinc": (oinc.OincInstance, oinc.small, "speed"),
    "tapfinger": (tapfinger.TapFingerInstance, tapfinger.small, "speed"),
}
NAMES = list(SYSTEMS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "instance.nc"


@pytest.fixture(params=NAMES)
def system(request, path):
    """Write an instance; return its kind, how to load it, and a field of it."""
    kind, small, field = SYSTEMS[request.param]
    small(3).save(path)
    return request.param, kind.load, field


def test_missing_files_and_folders_are_named(system, tmp_path):
    _, load, _ = system
    for missing in (tmp_path / "missing.nc", tmp_path):
        with pytest.raises(InstanceError, match="no such file") as caught:
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
    _, other, _ = SYSTEMS[NAMES[NAMES.index(name) - 1]]
    other(3).save(path)
    with pytest.raises(InstanceError, match=f"must hold an instance of kind '{name}'"):
        load(path)


@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_truncated_files_are_refused(system, path, share):
    _, load, _ = system
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(InstanceError, match="not a readable NetCDF file") as caught:
        load(path)
    assert caught.value.field == str(path)


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
