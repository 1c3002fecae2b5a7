from __future__ import annotations

import numpy as np
import pytest

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.arrivals import count_per_slot, read_timestamps
from edgeopt.instances.idn import data as measurements
from edgeopt.instances.idn import from_bundled, from_raw
from edgeopt.instances.idn.data import (
    measure,
    read_classifiers,
    read_tables,
    to_catalogue,
)
from edgeopt.instances.idn.generate import zipf_shares
from edgeopt.instances.tables import FOLDER
from tests.instances.raw_files import check_tables

TABLES = ["classifiers.csv", "links.csv", "requests.csv"]
FAST = "timm_benchmark-infer-amp-nchw-pt291-cu130-5090.csv"
SLOW = "timm_benchmark-infer-amp-nchw-pt240-cu124-rtx3090.csv"
RESULTS = "timm_results-imagenet.csv"


@pytest.fixture
def raw(tmp_path):
    """A folder of small raw files with the layout of the public ones."""
    maps = tmp_path / "topologies" / "topohub_sndlib"
    zoo, azure = tmp_path / "model_zoo", tmp_path / "azure_llm_2023"
    for folder in (maps, zoo, azure):
        folder.mkdir(parents=True)
    nodes = "".join(f'node [ id {v} label "n{v}" ]\n' for v in range(5))
    edges = "".join(
        f"edge [ source {u} target {v} dist {km} ]\n"
        for u, v, km in ((0, 1, 50), (1, 2, 120.25), (1, 3, 7), (3, 4, 300), (0, 4, 8))
    )
    (maps / "geant.gml").write_text(f"graph [\n{nodes}{edges}]\n")
    results = ["model,img_size,top1,param_count"]
    fast, slow = (["model,infer_img_size,infer_samples_per_sec,param_count"] for _ in "ab")
    for k in range(12):
        results.append(f'net{k}.one,224,{60 + k},"1,{k:03}.5"')
        results.append(f"net{k}.two,224,{60 + k + 0.5},1")
        slow.append(f"net{k},224,{2000 - 100 * k},{k + 1}")
        fast.append(f"net{k}.tag,224,{5000 - 100 * k},{k + 1}")
    results += ["worse.a,224,50,1", "bigger,320,99,1", "test_toy,224,99,1"]
    results += ["lost,224,99,1", "half,224,99,1"]
    slow += ["half,224,9000,1", "worse,224,1000,5", "bigger,224,900,5", "test_toy,224,9999,1"]
    fast += ["worse,224,3000,5", "bigger,224,2000,5", "test_toy,224,9999,1"]
    for name, lines in ((RESULTS, results), (FAST, fast), (SLOW, slow)):
        (zoo / name).write_text("\n".join(lines) + "\n")
    for name, minutes in (("code", {0: 3, 1: 4, 2: 0, 3: 6, 4: 2}), ("conv", {1: 9, 2: 8, 3: 7})):
        stamps = [
            f"2023-11-16 18:{10 + minute}:{5 * n:02}.1234567,1,2"
            for minute, count in minutes.items()
            for n in range(count)
        ]
        extra = ["2023-11-16 18:10:59,1,1", "2023-11-16 18:14:00,5,5"]
        text = "\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *extra, *stamps]) + "\n"
        (azure / f"AzureLLMInferenceTrace_{name}.csv").write_text(text)
    return tmp_path


def test_arrivals_are_counted_per_complete_minute(raw):
    # Both services are on record from some time in minute 10 to some time in minute 14.
    assert measure(raw).arrivals.tolist() == [[4, 9], [0, 8], [6, 7]]


def test_counting_by_hand():
    def at(*seconds):
        return np.array(seconds, dtype="datetime64[s]").astype("datetime64[ns]")

    one, other = at(3, 10, 19, 20, 39, 45), at(0, 25, 25, 26, 60)
    assert count_per_slot([one, other], 10).tolist() == [[2, 0], [1, 3], [1, 0]]
    assert count_per_slot([one], 10).tolist() == [[2], [1], [1]]
    with pytest.raises(InstanceError, match="at least one slot"):
        count_per_slot([one, at(100, 200)], 10)
    with pytest.raises(InstanceError, match="at least one slot"):
        count_per_slot([one, at(11, 29)], 10)


@pytest.mark.parametrize(
    ("text", "index", "rule"),
    [
        ("TIMESTAMP,x\n2023-01-01 00:00:00,1\nyesterday,2\n", (3,), "date and time"),
        ("x,TIMESTAMP\n1,2023-01-01 00:00:00\n2\n", None, "line 3 must have 2 entries"),
        ("TIMESTAMP\n2023-01-01 00:00:00\n2023-01-01 00:00:00Z\n", (3,), "has a zone, unlike"),
        ("TIMESTAMP\nNaT\n", (2,), "date and time"),
        ("TIMESTAMP\n", None, "no data"),
        ("TIME\n3\n", None, "no column 'TIMESTAMP'"),
        ("", None, "is empty"),
    ],
)
def test_bad_time_stamps_are_named(tmp_path, text, index, rule):
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(InstanceError, match=rule) as caught:
        read_timestamps(path)
    assert caught.value.index == index
    assert caught.value.field.startswith(str(path))


def test_models_that_no_other_beats_are_picked(raw):
    models = read_classifiers(raw / "model_zoo", count=5)
    # Twelve on the frontier; the best training counts; toys, other inputs and slower ones do not.
    kept = [0, 3, 6, 8, 11]
    assert models.names == tuple(f"net{k}@224" for k in kept)
    assert models.accuracy.tolist() == [60.5 + k for k in kept]
    assert models.parameters.tolist() == [k + 1 for k in kept]
    assert models.slow.tolist() == [2000 - 100 * k for k in kept]
    assert models.fast.tolist() == [5000 - 100 * k for k in kept]
    catalogue = to_catalogue(models)
    assert catalogue.size.tolist() == [4 * (k + 1) for k in kept]
    assert catalogue.frames[0].tolist() == [5000, 2000]
    with pytest.raises(InstanceError, match="13 models that no other beats") as caught:
        read_classifiers(raw / "model_zoo", count=13)
    assert caught.value.value == 12


def test_bad_tables_of_models_are_named(raw):
    path = raw / "model_zoo" / FAST
    text = path.read_text()
    path.write_text(text.replace("net3.tag,224,4700", "net3.tag,224,0"))
    with pytest.raises(InstanceError, match="must be positive") as caught:
        from_raw(raw)
    assert caught.value.field == f"{path}:infer_samples_per_sec"
    assert caught.value.index == (5,)
    path.write_text(text.replace("model,", "net,", 1))
    with pytest.raises(InstanceError, match="no column 'model'"):
        from_raw(raw)


def test_tables_come_back_exactly(raw, tmp_path):
    check_tables(measurements, raw, tmp_path / "out", TABLES)


def test_instances_are_built_from_raw_files(raw):
    options = {"tasks": 5, "replicas": 2, "rate": 10.0}
    instance = from_raw(raw, **options)
    assert instance == from_raw(raw, **options)
    assert instance == from_raw(raw, **options, rng=np.random.default_rng(0))
    assert any(instance != from_raw(raw, **options, rng=seed) for seed in range(1, 9))
    assert (instance.horizon, instance.tasks, instance.models) == (3, 5, 100)
    # Totals follow the record, 13 + 8 + 13 requests, at 10 per second in the mean.
    expected = np.round(np.array([13, 8, 13]) * 1800 / 34)
    assert instance.total_requests.tolist() == expected.tolist()
    # Code completion asks for tasks 0, 2, 4; conversation for 1 and 3.
    entries = instance.types // 5
    by_task = instance.requests.reshape(3, 5, entries).sum(axis=2)
    assert by_task[1, [0, 2, 4]].tolist() == [0, 0, 0]
    shares = np.zeros(5)
    shares[[0, 2, 4]] = 4 / 13 * zipf_shares(3)
    shares[[1, 3]] = 9 / 13 * zipf_shares(2)
    np.testing.assert_allclose(by_task[0], expected[0] * shares, atol=2)
    short = from_raw(raw, **options, horizon=2)
    np.testing.assert_array_equal(short.requests, instance.requests[:2])
    alone = from_raw(raw, tasks=1, rate=1.0)
    assert alone.total_requests.tolist() == [72, 0, 108]  # of the first service only


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"horizon": 4}, "horizon must lie in 1..3"),
        ({"horizon": 0}, "horizon must lie in 1..3"),
        ({"tasks": 0}, "tasks = "),
        ({"rate": -1.0}, "rate = "),
        ({"rate": np.inf}, "rate = "),
        ({"replicas": 0}, "replicas = .*: must be at least 1"),
        ({"cloud_ms": -1.0}, "cloud_ms = -1.0: must be finite and not negative"),
    ],
)
def test_options_out_of_range_are_refused(raw, options, rule):
    with pytest.raises(OptionError, match=rule):
        from_raw(raw, **options)


def test_default_instance_is_real_and_fixed():
    instance = from_bundled()
    assert instance == from_bundled()
    assert instance != from_bundled(rng=1)
    assert (instance.nodes, instance.models, instance.types, instance.horizon) == (23, 600, 40, 56)
    assert instance.total_requests.mean() / 60 == pytest.approx(7500, rel=1e-4)
    assert np.bincount(instance.tier).tolist() == [1, 1, 5, 4, 12]
    assert instance.names[int(np.flatnonzero(instance.tier == 1)[0])] == "de1.de"
    # There is something to gain: for every type some model nearby beats the cloud.
    ranking = instance.ranking
    gain = ranking.repository_cost[ranking.type] - ranking.cost
    assert (np.maximum.reduceat(gain, ranking.first[:-1]) > 0).all()
    # The cloud and the centre have the faster unit.
    seconds = instance.delay[:, 0] / 1000
    fast, slow = to_catalogue(read_tables(FOLDER).classifiers).frames[0]
    np.testing.assert_allclose(seconds, np.where(instance.tier <= 1, 1 / fast, 1 / slow))
    # And not everything fits.
    assert not instance.saturated.any()
