"""The tables in the package: explained, derived from the public files, and refused if damaged."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from edgeopt.errors import InstanceError
from edgeopt.instances.edr import data as edr
from edgeopt.instances.idn import data as idn
from edgeopt.instances.oinc import data as oinc
from edgeopt.instances.rescue import data as rescue
from edgeopt.instances.tables import FOLDER
from edgeopt.instances.tapfinger import data as tapfinger
from tests.draws import every

SYSTEMS = {"edr": edr, "idn": idn, "oinc": oinc, "rescue": rescue, "tapfinger": tapfinger}
TEXTS = SimpleNamespace(
    readme=(FOLDER / "README.md").read_text(),
    licences=(Path(__file__).parents[2] / "THIRD_PARTY.md").read_text(),
)


@pytest.mark.parametrize(
    ("names", "both", "readme"),
    [
        (
            ("week.csv", "stations.csv"),
            (
                "Powered by TfL Open Data. Contains OS data © Crown copyright",
                "Copyright (c) 2018 mtanneau",
                "Ruggles",
            ),
            (),
        ),
        (
            ("classifiers.csv", "links.csv", "requests.csv"),
            (),
            ("TopoHub", "Apache", "Splitwise", "Piotr Jurkiewicz", "Ross Wightman"),
        ),
        (("seconds.csv", "stretches.csv"), (), ()),
        (
            ("drift.csv", "run_lengths.csv", "sites.csv", "users.csv"),
            (),
            ("Creative Commons Attribution 4.0", "MIT", "ACMA", "Cite:", "tables.derive"),
        ),
        (("container_tasks.csv", "testbed_tasks.csv"), (), ("declares no licence",)),
    ],
)
def test_tables_are_explained(names, both, readme):
    assert all(f"`{name}`" in TEXTS.readme for name in names)
    assert "drift.csv" in names or all(f"`{name}`" in TEXTS.licences for name in names)
    for text in (TEXTS.readme, TEXTS.licences):
        assert all(words in text for words in both)
    assert all(words in TEXTS.readme for words in readme)


def test_tables_are_small():
    assert sum(path.stat().st_size for path in FOLDER.glob("*.csv")) <= 70_000
    for name in ("classifiers.csv", "links.csv", "requests.csv"):
        assert (FOLDER / name).stat().st_size < 2000
    measured = oinc.read_tables(FOLDER)
    assert len(measured.arrivals) == 600
    assert measured.levels.size == 75


@pytest.mark.parametrize(
    ("system", "name", "old", "new", "rule"),
    [
        ("edr", "week.csv", ",9597.0", ",-1", "must be a load in MW"),
        ("edr", "week.csv", "price_week,", "week,", "no column 'price_week'"),
        ("edr", "week.csv", "2016-06-20,1.99e-06,2023-06-19,9597.0\n", "", "the 168 hours of a"),
        ("edr", "stations.csv", "Waterloo,5,", "Waterloo,-5,", "number of passengers"),
        ("edr", "stations.csv", "0500-0515", "0500-0530", "no column '0500-0515'"),
        ("edr", "sites.csv", "latitude", "north", "no column 'latitude'"),
        ("idn", "links.csv", ",804.05", ",-1", "must be a length"),
        ("idn", "links.csv", "start,", "from,", "no column 'start'"),
        ("idn", "classifiers.csv", ",59.874,", ",159.874,", "percentage"),
        ("idn", "classifiers.csv", ",2.04,", ",x,", "must be a number"),
        ("idn", "classifiers.csv", "model,", "name,", "no column 'model'"),
        ("idn", "requests.csv", "0,347", "0.5,347", "must be a count"),
        ("idn", "requests.csv", "code,", "codes,", "no column 'code'"),
        ("oinc", "seconds.csv", "\n7,3\n", "\n7,-3\n", "must be a count"),
        ("oinc", "seconds.csv", "code,conv", "code,talk", "no column 'conv'"),
        ("oinc", "stretches.csv", "0.9204,", "0,", "must be positive"),
        ("oinc", "stretches.csv", "0.9204,", "", "must have 4 entries"),
        ("oinc", "drift.csv", ",Standard,", ",Plain,", "no column 'Standard'"),
        ("rescue", "run_lengths.csv", None, "25,30,1,1,1,1\n", "24 slots of work"),
        ("rescue", "drift.csv", -9, "", "must have 25 entries"),
        ("rescue", "drift.csv", 0, "corruption,severity\nfog,1\n", "column per model"),
        ("rescue", "drift.csv", 0, "", "is empty"),
        ("tapfinger", "container_tasks.csv", "\n10,", "\n11,", "must have a line for each of 1, 2"),
        ("tapfinger", "container_tasks.csv", "\n16,23,", "\n16,-23,", "must be positive"),
        ("tapfinger", "container_tasks.csv", "mnist_8", "mnist_9", "no column 'mnist_8'"),
        ("tapfinger", "container_tasks.csv", "\n16,23,", "\n16,", "must have 18 entries"),
    ],
)
def test_damaged_tables_are_refused(tmp_path, system, name, old, new, rule):
    """Replace a text, or append to as much of the table as `old` says, all of it for None."""
    for table in FOLDER.glob("*.csv"):
        (tmp_path / table.name).write_bytes(table.read_bytes())
    text = (tmp_path / name).read_text()
    assert not isinstance(old, str) or old in text
    damaged = text.replace(old, new, 1) if isinstance(old, str) else text[:old] + new
    (tmp_path / name).write_text(damaged)
    with pytest.raises(InstanceError, match=rule) as caught:
        SYSTEMS[system].read_tables(tmp_path)
    assert caught.value.field.startswith(str(tmp_path / name))


# --- the public files -----------------------------------------------------------------------


@pytest.fixture
def public():
    folder = Path(os.environ.get("EDGEOPT_DATA") or "missing")
    needed = (
        "alibaba_gpu_v2020", "azure_llm_2023", "cifar10c_robustness", "electricity_price",
        "eia_hourly_demand", "eua", "london_underground", "model_zoo", "tapfinger", "topologies",
    )  # fmt: skip
    if not all((folder / name).is_dir() for name in needed):
        pytest.skip("EDGEOPT_DATA does not name a folder with the public raw files")
    return folder


@pytest.mark.long
def test_one_command_derives_all_tables(public, tmp_path):
    command = [sys.executable, "-m", "edgeopt.instances.tables.derive", public, tmp_path]
    subprocess.run(command, check=True)
    everything = sorted(path.name for path in FOLDER.glob("*.csv"))
    assert sorted(path.name for path in tmp_path.iterdir()) == everything
    for name in everything:
        assert (tmp_path / name).read_bytes() == (FOLDER / name).read_bytes(), name


PAIRS = [
    ("edr", {"tasks": 0}),
    ("edr", {"sites": 7, "tasks": 3, "frames": 40, "slots": 4, "rng": 5, "percentile": 60.0}),
    ("idn", {}),
    ("idn", {"tasks": 7, "replicas": 1, "horizon": 9, "rng": 5, "alpha": 2.5, "cloud_ms": 1.0}),
    ("oinc", {}),
    ("oinc", {"devices": 20, "slots": 100, "first": 50, "pace": 5, "rng": 3, "drift": False}),
    ("rescue", {}),
    ("rescue", {"servers": 6, "devices": 18, "profiles": 8, "horizon": 60, "rng": 5}),
]


@pytest.mark.parametrize(
    ("system", "options"),
    every(4, PAIRS[::-1], rows=True),
)
def test_public_files_and_tables_give_the_same_instance(public, system, options):
    system = SYSTEMS[system]
    assert system.from_raw(public, **options) == system.from_bundled(**options)


@pytest.mark.long
def test_public_files_hold_more_than_the_tables(public):
    weeks = {"price_week": "2016-03-28", "load_week": "2022-12-19"}
    other = edr.from_raw(public, sites=31, tasks=3, frames=168, slots=4, **weeks)
    assert (other.price < 0).sum() == 74
    assert "the week of 2022-12-19" in other.origin
    late = oinc.from_raw(public, first=2000)
    assert late.active.sum() != oinc.from_bundled().active.sum()


@pytest.mark.parametrize(("figures", "same"), [("container", 0.87), ("testbed", 0.93)])
def test_interpolated_durations_are_almost_those_measured(public, figures, same):
    options = {"figures": figures}
    full, reduced = tapfinger.from_raw(public, **options), tapfinger.from_bundled(**options)
    assert "interpolated" not in full.origin
    for name in ("capacity", "minimum", "arrival", "kind", "eligible"):
        np.testing.assert_array_equal(getattr(full, name), getattr(reduced, name))
    held = full.duration > 0
    assert (held == (reduced.duration > 0)).all()
    differ = np.abs(full.duration - reduced.duration)[held]
    assert differ.max() == 1
    assert (differ == 0).mean() > same
