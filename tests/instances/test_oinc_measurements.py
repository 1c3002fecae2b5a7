from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial

import numpy as np
import pytest

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.oinc import data as measurements
from edgeopt.instances.oinc import from_bundled, from_raw, generate
from edgeopt.instances.oinc.data import measure, read_tables, stretches
from edgeopt.instances.oinc.jobs import draw_drift
from edgeopt.instances.tables import FOLDER
from edgeopt.instances.traces.columns import IterationTimes
from tests.instances.raw_files import check_bad_file, check_tables

OWN = ["seconds.csv", "stretches.csv"]
TABLES = [*OWN, "drift.csv"]
SECONDS = "batch_time_norm"
SERVICES = {"code": 2, "conv": 3}
ACCURACY = "cifar10c_robustness/unaggregated_results.csv"
SMALL = {"sites": 2, "devices": 5, "slots": 6, "jobs": 10, "pace": 2}


@pytest.fixture
def raw(tmp_path):
    """A folder of small raw files with the layout of the public ones."""
    for name in ("azure_llm_2023", "alibaba_gpu_v2020", "cifar10c_robustness"):
        (tmp_path / name).mkdir()
    start = datetime(2023, 11, 16, 18, 0, 0, 500_000)
    for service, requests in SERVICES.items():
        lines = ["TIMESTAMP,ContextTokens,GeneratedTokens"]
        for second in range(20):
            # One request more in each third second; a few microseconds apart.
            times = (
                start + timedelta(seconds=second, microseconds=n)
                for n in range(requests + (second % 3 == 0))
            )
            lines += [f"{time},10,5" for time in times]
        path = tmp_path / "azure_llm_2023" / f"AzureLLMInferenceTrace_{service}.csv"
        path.write_text("\n".join(lines) + "\n")
    rng = np.random.default_rng(1)
    for job in (1, 2, 3, 4):
        lines = [",worker,gpu,time,batch_time_norm"]
        for step in range(24):
            lines += [f"0,{w},1,{1 + 10 * step},{rng.integers(50, 90)}" for w in (0, 1)]
        path = tmp_path / "alibaba_gpu_v2020" / f"minibatch_job_{job}_norm.csv"
        path.write_text("\n".join(lines) + "\n")
    drift = ",fog,snow,frost\n,1,5,3\nrobust,0.99,0.98,0.97\nStandard,0.8999999,0.5,0.35\n"
    (tmp_path / ACCURACY).write_text(drift)
    return tmp_path


def test_what_is_measured(raw):
    measured = measure(raw)
    # The first and the last second may be incomplete.
    expected = [[2 + (s % 3 == 0), 3 + (s % 3 == 0)] for s in range(1, 19)]
    assert measured.arrivals.tolist() == expected
    assert measured.stretches.shape == (20, 4)
    assert measured.levels.tolist() == [0.9, 0.5, 0.35]


def test_stretches_are_sums_of_thirteen_records_of_a_worker():
    rng = np.random.default_rng(3)
    worker = np.repeat([0.0, 1.0], 32)
    iteration = np.tile(np.arange(1.0, 321.0, 10.0), 2)
    time = rng.lognormal(0.0, 1.0, 64)
    shuffled = rng.permutation(64)
    found = stretches(IterationTimes(worker[shuffled], iteration[shuffled], time[shuffled]))
    lengths = sorted(
        series[first : first + 13].sum() / (13 * time.mean())
        for series in (time[:32], time[32:])
        for first in range(20)
    )
    assert len(lengths) == 40
    expected = [(lengths[2 * g] + lengths[2 * g + 1]) / 2 for g in range(20)]
    assert found.tolist() == pytest.approx(expected)
    assert found.mean() == pytest.approx(np.mean(lengths))
    steady = stretches(IterationTimes(np.zeros(50), np.arange(50.0), np.full(50, 7.0)))
    assert steady.tolist() == pytest.approx([1.0] * 20)


def test_tables_come_back_exactly(raw, tmp_path):
    drift = "corruption,severity,Standard\nfog,1,0.9\na,5,0.5\nb,3,0.35\n"
    check_tables(measurements, raw, tmp_path / "out", OWN, drift=drift)


def test_instances_are_built_from_raw_files(raw):
    instance = from_raw(raw, **SMALL, drift=False)
    assert instance == from_raw(raw, **SMALL, drift=False)
    assert instance != from_raw(raw, **SMALL, drift=False, rng=1)
    assert (instance.slots, instance.devices, instance.sites, instance.jobs) == (6, 5, 2, 10)
    # Two seconds make a slot: 5 or 4 requests of code, 7 or 6 of conversation, 2 and 3 devices.
    assert instance.active.all()
    wide = from_raw(raw, **{**SMALL, "devices": 30}, first=2)
    counts = measure(raw).arrivals[2:14].reshape(6, 2, 2).sum(axis=1)
    assert wide.active.sum(axis=1).tolist() == counts.sum(axis=1).tolist()
    # All else is drawn as in the random setting, from the same streams.
    drawn = generate(sites=2, devices=30, slots=6)
    for name in ("speed", "rate", "request_size", "request_work", "slo"):
        np.testing.assert_array_equal(getattr(wide, name), getattr(drawn, name))


def test_work_varies_as_measured(raw):
    many = from_raw(raw, **{**SMALL, "jobs": 3000}, drift=False)
    nominal = np.array([1.82, 0.30, 0.146, 3.49, 0.71]) * 192
    factor = many.work / nominal[many.job_kind]
    table = measure(raw).stretches
    assert set(factor.round(9).tolist()) == set(table.ravel().round(9).tolist())
    assert abs(factor.mean() - table.mean()) < 5 * table.std() / np.sqrt(3000)


def test_accuracy_falls_to_measured_levels(raw):
    one = from_raw(raw, **{**SMALL, "slots": 9, "jobs": 30})
    two = from_raw(raw, **{**SMALL, "slots": 9, "jobs": 30}, drift=False)
    assert 0 < one.jobs < 30
    assert two.jobs == 30
    stream = np.random.default_rng(0).spawn(8)[7]
    levels = np.array([0.9, 0.5, 0.35])
    alarm = draw_drift(stream, 9, 5, 30, fresh=0.9, levels=levels).alarm
    assert one.arrival.tolist() == (np.nonzero(alarm[:-1])[0] + 1).tolist()
    # Where accuracy cannot fall, nothing is detected.
    path = raw / ACCURACY
    path.write_text(path.read_text().replace("0.8999999,0.5,0.35", "0.9,0.9,0.9"))
    assert from_raw(raw, **{**SMALL, "slots": 9, "jobs": 30}).jobs == 0


@pytest.mark.parametrize(
    ("name", "old", "new", "field", "line"),
    [
        ("azure_llm_2023/AzureLLMInferenceTrace_conv.csv", "2023-11", "2023-13", "TIMESTAMP", 2),
        (
            "alibaba_gpu_v2020/minibatch_job_3_norm.csv",
            "0,1,1,11,",
            "0,1,1,11,-",
            "batch_time_norm",
            5,
        ),
        (ACCURACY, "0.98", "1.98", "snow 5", 3),
    ],
)
def test_bad_raw_files_are_named(raw, name, old, new, field, line):
    build = partial(from_raw, **SMALL)
    check_bad_file(build, raw, raw / name, (old, new), field, line)


def test_files_that_say_too_little_are_refused(raw):
    path = raw / ACCURACY
    text = path.read_text()
    path.write_text(text.replace("Standard", "plain"))
    with pytest.raises(InstanceError, match="must name 'Standard'"):
        from_raw(raw, **SMALL)
    path.write_text(text)
    path = raw / "alibaba_gpu_v2020" / "minibatch_job_2_norm.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:40]))
    with pytest.raises(InstanceError, match="20 stretches of 13 steps") as caught:
        from_raw(raw, **SMALL)
    assert caught.value.field == str(path)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"slots": 10}, "10 slots of 2 s from second 0 do not lie in the 18 s on record"),
        ({"first": 7}, "6 slots of 2 s from second 7 do not lie"),
        ({"first": -1}, "first = "),
        ({"pace": 0}, "pace = .*: must be at least 1"),
        ({"slots": 0}, "slots = .*: must be at least 1"),
        ({"devices": 0}, "devices = .*: must be at least 1"),
        ({"sites": 0}, "sites = .*: must be at least 1"),
        ({"jobs": -1}, "jobs = "),
        ({"jobs": -1, "drift": False}, "jobs = .*: must be at least 0"),
        ({"channel": "real"}, "channel = "),
        ({"slo": (0.5, 2.0)}, "slo = "),
        ({"patience": (0.0, 2.0)}, "patience = "),
    ],
)
def test_options_out_of_range_are_refused(raw, options, rule):
    with pytest.raises(OptionError, match=rule):
        from_raw(raw, **{**SMALL, **options})


# --- the tables in the package --------------------------------------------------------------


def test_the_default_instance_says_what_it_is():
    instance = from_bundled()
    assert instance == from_bundled()
    assert (instance.slots, instance.devices, instance.sites) == (200, 40, 12)
    assert 10 < instance.jobs < 40
    assert 0.4 < instance.active.mean() < 0.6
    for words in (
        "Requests: measured, two Azure language services in November 2023", "3 s on record",
        "% of the requests exceed the devices and are left out", "CIFAR-10-C, RobustBench",
        "the arrivals derived", "Alibaba 2020", "are drawn in the setting of Zeng et al.",
        "Channel: literal",
    ):  # fmt: skip
        assert words in instance.origin
    asked = read_tables(FOLDER).arrivals.sum()
    lost = 100 * (1 - instance.active.sum() / asked)
    assert f"and {lost:.1f} % of the requests exceed" in instance.origin
    assert "at moments that are drawn" in from_bundled(slots=10, drift=False).origin
