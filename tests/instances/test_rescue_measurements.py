from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.rescue import data as measurements
from edgeopt.instances.rescue import from_bundled, from_raw
from edgeopt.instances.rescue.data import measure, read_tables, run_lengths
from edgeopt.instances.tables import FOLDER
from edgeopt.instances.traces.columns import IterationTimes
from tests.instances.raw_files import check_bad_file, check_tables

TABLES = ["drift.csv", "run_lengths.csv", "sites.csv", "users.csv"]


@pytest.fixture
def raw(tmp_path):
    """A folder of small raw files with the layout of the public ones."""
    rng = np.random.default_rng(1)
    for name in ("alibaba_gpu_v2020", "eua", "cifar10c_robustness"):
        (tmp_path / name).mkdir()
    for job in (1, 2, 3, 4):
        lines = [",worker,gpu,time,batch_time_norm"]
        for step in range(120 + 30 * job):
            lines += [
                f"0,{worker},1,{1 + 10 * step},{round(rng.gamma(job * 5, 20)) + 1}"
                for worker in (0, 1)
            ]
        path = tmp_path / "alibaba_gpu_v2020" / f"minibatch_job_{job}_norm.csv"
        path.write_text("\n".join(lines) + "\n")
    for name, columns in (
        ("site-optus-melbCBD.csv", "LATITUDE,LONGITUDE"),
        ("users-melbcbd-generated.csv", "Latitude,Longitude"),
    ):
        points = rng.uniform((-37.82, 144.95), (-37.81, 144.96), (6, 2))
        rows = [f"{a!r},{b!r}" for a, b in points.tolist()]
        (tmp_path / "eua" / name).write_text("\n".join([columns, *rows]) + "\n")
    drift = ",fog,snow\n,1,5\nStandard,0.8999999,0.5\nrobust,0.95,0.8\n"
    (tmp_path / "cifar10c_robustness" / "unaggregated_results.csv").write_text(drift)
    return tmp_path


SMALL = {"servers": 2, "devices": 5, "horizon": 40, "reserved": 4}


def test_run_lengths_are_sums_over_stretches():
    rng = np.random.default_rng(3)
    worker = np.repeat([0.0, 1.0], 130)
    iteration = np.tile(np.arange(1.0, 1301.0, 10.0), 2)
    time = rng.lognormal(0.0, 2.0, 260)  # bursts, so that some runs meet the limit
    shuffled = rng.permutation(260)
    counts = run_lengths(IterationTimes(worker[shuffled], iteration[shuffled], time[shuffled]))
    slot = 5 * time.mean()
    for work in (1, 3, 24):
        expected = np.zeros(72, dtype=int)
        for series in (time[:130], time[130:]):
            for first in range(130 - 5 * work + 1):
                slots = int(np.ceil(series[first : first + 5 * work].sum() / slot))
                expected[min(slots, 3 * work) - 1] += 1
        assert counts[work - 1].tolist() == expected.tolist()
        assert work > 3 or expected[3 * work - 1] > 0


def test_steady_jobs_take_their_nominal_time():
    steady = IterationTimes(np.zeros(200), np.arange(1.0, 201.0), np.full(200, 0.1))
    counts = run_lengths(steady)
    for work in range(1, 25):
        assert np.flatnonzero(counts[work - 1]).tolist() == [work - 1]


def test_tables_come_back_exactly(raw, tmp_path):
    check_tables(measurements, raw, tmp_path / "out", TABLES)


def test_instances_are_built_from_raw_files(raw):
    instance = from_raw(raw, **SMALL)
    assert instance == from_raw(raw, **SMALL)
    assert instance != from_raw(raw, **SMALL, rng=1)
    assert instance.shape[:4] == (40, 5, 2, 5)
    assert set(instance.profit.accuracy.tolist()) <= {0.9, 0.5}
    assert instance.profit.best_accuracy == 0.95
    assert set(from_raw(raw, **SMALL, model="robust").profit.accuracy) <= {0.95, 0.8}
    # Every job counts the same, however many of its stretches were recorded.
    counts = measure(raw).windows[[3, 7, 11, 15, 19]].astype(float)
    share = np.mean([counts[..., n] / counts[..., n].sum(1)[:, None] for n in range(4)], axis=0)
    np.testing.assert_allclose(instance.duration, share[:, : instance.max_duration], atol=1e-15)
    assert not share[:, instance.max_duration :].any()


def test_bad_raw_files_are_named(raw):
    path = raw / "alibaba_gpu_v2020" / "minibatch_job_3_norm.csv"
    change = "\n0,1,1,11,", "\n0,1,1,11,x"
    check_bad_file(from_raw, raw, path, change, "batch_time_norm", 5, "must be a number")


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"servers": 7}, "servers must lie in 1..6"),
        ({"devices": 0}, "devices must lie in 1..6"),
        ({"model": "other"}, "known: Standard, robust"),
        ({"longest": 25}, "<= 24"),
        ({"profiles": 30}, "30 profiles do not fit"),
        ({"profiles": 0}, "0 profiles"),
    ],
)
def test_options_out_of_range_are_refused(raw, options, rule):
    with pytest.raises(OptionError, match=rule):
        from_raw(raw, **{**SMALL, **options})


def test_traces_too_short_for_a_run_are_refused(raw):
    path = raw / "alibaba_gpu_v2020" / "minibatch_job_2_norm.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:101]))
    with pytest.raises(InstanceError, match="120 recorded steps") as caught:
        from_raw(raw)
    assert caught.value.field == str(path)


def test_default_instance_is_real_and_fixed():
    instance = from_bundled()
    assert instance == from_bundled()
    assert instance.shape[:4] == (100, 14, 4, 5)
    assert len(instance.reserved) == 16
    assert np.abs(instance.mean_duration - [4, 8, 12, 16, 20]).max() < 0.6
    assert (instance.longest == 3 * np.array([4, 8, 12, 16, 20])).all()
    assert instance.expected_profit.max() > 0
    table = read_tables(FOLDER)
    assert set(instance.profit.accuracy) <= set(
        table.drift.accuracy[table.drift.models.index("Standard")]
    )
