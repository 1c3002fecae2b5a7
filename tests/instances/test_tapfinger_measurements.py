from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.tapfinger import from_bundled, from_raw, generate
from edgeopt.instances.tapfinger.data import CORES, measure, read_tables, write_tables
from tests.instances.raw_files import check_bad_file

OWN = ["container_tasks.csv", "testbed_tasks.csv"]
PLACES = ("container", "testbed")


def seconds(place, task, cpus, gpus):
    """Made-up running times, all different, faster with more."""
    start = {"audio": 40, "lm": 300, "mnist": 100}[task] + 7 * (place == "testbed")
    more = 10 / gpus if task != "audio" else 9 * (gpus == 1)
    return round(start / (1 + 0.1 * cpus) + more, 3)


@pytest.fixture
def raw(tmp_path):
    """A folder of raw files with the layout of the real ones, lines in any order."""
    folder = tmp_path / "tapfinger"
    folder.mkdir()
    for place in PLACES:
        lines = [
            f"{task},{cpus},{gpus},{seconds(place, task, cpus, gpus)},2"
            for gpus in range(8, 0, -1)
            for task in ("mnist", "audio", "lm")
            for cpus in range(1, 17)
        ]
        text = "\n".join(["task,cpus,gpus,mean_seconds,repeats", *lines])
        (folder / f"{place}_seconds.csv").write_text(text + "\n")
    return tmp_path


def test_what_is_measured(raw):
    measured = measure(raw)
    for place, table in zip(PLACES, measured, strict=True):
        assert table.shape == (3, 16, 8)
        for k, task in enumerate(("audio", "lm", "mnist")):
            for cpus, gpus in ((1, 1), (16, 8), (3, 7)):
                assert table[k, cpus - 1, gpus - 1] == seconds(place, task, cpus, gpus)


def test_tables_hold_whole_seconds(raw, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    measured = measure(raw)
    write_tables(measured, out)
    assert sorted(path.name for path in out.iterdir()) == OWN
    back = read_tables(out)
    kept = np.array(CORES) - 1
    for one, other in zip(back, measured, strict=True):
        other[0] = other[0, :, 1:2]  # the first one of eight is no median
        np.testing.assert_array_equal(one[:, kept], np.rint(other[:, kept]))
        # In between, on the line from the next smaller to the next larger number of cores.
        np.testing.assert_allclose(one[:, 8], (one[:, 7] + one[:, 9]) / 2)
        np.testing.assert_allclose(one[:, 13], (one[:, 11] + one[:, 15]) / 2)
    write_tables(back, tmp_path)
    for name in OWN:
        assert (tmp_path / name).read_bytes() == (out / name).read_bytes()


def test_instances_in_containers(raw):
    instance = from_raw(raw)
    assert instance == from_raw(raw, containers="measured")
    assert instance != from_raw(raw, rng=1)
    assert (instance.clusters, instance.tasks, instance.slot_seconds) == (3, 200, 6.35)
    assert instance.capacity.tolist() == [[16, 4], [16, 4], [16, 8]]
    assert instance.minimum.tolist() == [[1, 1]] * 3
    assert instance.kinds == ("audio", "lm", "mnist")
    assert instance.largest == (16, 8)
    assert (instance.noise, instance.single_start) == (0.0, False)
    for k, task in enumerate(instance.kinds):
        for cpus, gpus in ((1, 1), (5, 3), (16, 4), (16, 8)):
            slots = np.ceil((seconds("container", task, cpus, gpus) + 14) / 6.35)
            assert instance.duration[2, k, cpus, gpus] == slots
    assert instance.duration[0, :, :, 5:].max() == 0
    assert abs(instance.arrival[-1] - 200 / 0.87) < 5 * np.sqrt(200) / 0.87
    assert "what the time stamps of their runs show" in instance.origin


def test_the_printed_pace_of_containers_is_an_option(raw):
    printed, six = (from_raw(raw, containers="printed", clusters=n, tasks=600) for n in (3, 6))
    assert printed.slot_seconds == six.slot_seconds == 5
    assert abs(printed.arrival[-1] - 600) < 5 * np.sqrt(600)
    assert abs(six.arrival[-1] - 300) < 5 * np.sqrt(600) / 2
    assert from_raw(raw, containers="printed", rate=0.1, tasks=100).arrival[-1] > 500
    slots = np.ceil((seconds("container", "lm", 5, 3) + 14) / 5)
    assert printed.duration[2, 1, 5, 3] == slots
    assert "the printed one" in printed.origin
    kept = [from_raw(raw, figures="testbed", containers=pace) for pace in ("measured", "printed")]
    assert kept[0] == kept[1]  # the test-bed has one pace


def test_instances_on_the_test_bed(raw):
    instance = from_raw(raw, figures="testbed", clusters=2, tasks=60)
    assert (instance.clusters, instance.tasks, instance.slot_seconds) == (2, 60, 10)
    assert instance.capacity.tolist() == [[32, 16]] * 2
    assert instance.minimum.tolist() == [[2, 1]] * 3
    assert instance.single_start is True
    assert instance.duration[0, :, :2].max() == 0
    for k, task in enumerate(instance.kinds):
        for cpus, gpus in ((2, 1), (5, 3), (16, 8)):
            slots = np.ceil(seconds("testbed", task, cpus, gpus) / 10)
            assert instance.duration[1, k, cpus, gpus] == slots
    assert abs(from_raw(raw, figures="testbed").arrival[-1] - 333) < 5 * np.sqrt(500) / 1.5


def test_all_else_is_drawn_as_in_the_random_setting(raw):
    drawn = generate(rng=4, tasks=50, rate=1.0, eligibility="bandwidth")
    built = from_raw(raw, rng=4, tasks=50, rate=1.0, eligibility="bandwidth")
    np.testing.assert_array_equal(built.arrival, drawn.arrival)
    np.testing.assert_array_equal(built.eligible, drawn.eligible)
    assert sorted(np.unique(built.kind).tolist()) == [0, 1, 2]
    options = {"single_start": True, "noise": 0.05, "switching": 0.25, "pending": 3}
    other = from_raw(raw, tasks=50, rate=9.0, **options)
    assert {name: getattr(other, name) for name in options} == options
    assert other.arrival[-1] < 20


@pytest.mark.parametrize(
    ("old", "new", "column", "rule"),
    [
        ("mnist,5,8,", "cifar,5,8,", "task", "must be one of 'audio', 'lm', 'mnist'"),
        ("mnist,5,8,", "mnist,17,8,", "cpus", r"whole number in 1\.\.16"),
        ("mnist,5,8,", "mnist,5.5,8,", "cpus", r"whole number in 1\.\.16"),
        ("mnist,5,8,", "mnist,5,0,", "gpus", r"whole number in 1\.\.8"),
        ("mnist,5,8,", "mnist,5,8,-", "mean_seconds", "must be positive"),
        ("mnist,5,8,", "mnist,5,8,x", "mean_seconds", "must be a number"),
        ("mnist,5,8,", "mnist,4,8,", "task", "must not repeat"),
    ],
)
@pytest.mark.parametrize("place", PLACES)
def test_bad_raw_files_are_named(raw, place, old, new, column, rule):
    path = raw / "tapfinger" / f"{place}_seconds.csv"
    check_bad_file(from_raw, raw, path, (old, new), column, 6, rule)


def test_missing_files_and_bundles_are_named(raw):
    path = raw / "tapfinger" / "testbed_seconds.csv"
    lines = path.read_text().splitlines(keepends=True)
    missing = next(i for i, line in enumerate(lines) if line.startswith("lm,3,2,"))
    path.write_text("".join(lines[:missing] + lines[missing + 1 :]))
    with pytest.raises(InstanceError, match="seconds of lm with 3 CPU cores and 2 GPUs") as caught:
        from_raw(raw)
    assert caught.value.field == str(path)
    path.unlink()
    with pytest.raises(InstanceError, match="no such file"):
        from_raw(raw)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"figures": "cloud"}, "figures = "),
        ({"containers": "fast"}, "containers = 'fast': must be one of 'measured', 'printed'"),
        ({"clusters": 0}, "clusters = .*: must be at least 1"),
        ({"clusters": 0, "rate": 1.0}, "clusters = .*: must be at least 1"),
        ({"tasks": -1}, "tasks = .*: must be at least 0"),
        ({"rate": -1.0}, "rate = "),
        ({"eligibility": "all"}, "eligibility = "),
    ],
)
def test_options_out_of_range_are_refused(options, rule):
    with pytest.raises(OptionError, match=rule):
        from_bundled(**options)


# --- the tables in the package --------------------------------------------------------------


def test_the_default_instance_says_what_it_is():
    instance = from_bundled()
    assert instance == from_bundled()
    assert (instance.clusters, instance.tasks) == (3, 200)
    for words in (
        "measured by Li et al. in a container on RTX 4090 GPUs, plus 14 s for its start",
        "whole seconds for some numbers of CPU cores", "derived, as if it were even.",
        "Arrivals and kinds are drawn", "a number from 1 to all",
    ):  # fmt: skip
        assert words in instance.origin
    other = from_bundled(figures="testbed", tasks=5, noise=0.01)
    assert "on RTX 3090 GPUs, mean of two runs" in other.origin
    assert "even, disturbed by up to 0.01 per slot" in other.origin
