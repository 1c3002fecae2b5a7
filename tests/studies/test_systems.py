"""What holds for every built-in system: commands from a file to a study, and its registration."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import xarray as xr

import edgeopt
from edgeopt.cli.main import run
from edgeopt.studies import find_system, registry
from tests.draws import some
from tests.results import SYSTEMS

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.instances import Instance


@dataclass(frozen=True)
class Given:
    """A drawn instance, and what the commands say of it."""

    settings: dict[str, Any]
    described: tuple[str, Any]
    policies: list[str]
    printed: tuple[str, ...]
    gap: float = 1.0
    method: str = ""
    agrees: bool = True
    """Whether `method` finds the same optimum, not only a weaker bound."""


GIVEN = {
    "idn": Given(
        {"topology": 2, "tasks": 5, "replicas": 2, "horizon": 8, "alpha": 3},
        ("alpha_ms_per_percent", 3.0),
        ["infida+fill", "sg"],
        ("gain per request (ms)", "model updates (MB per slot)"),
        gap=1e-3,
    ),
    "oinc": Given(
        {"sites": 3, "devices": 7, "slots": 24, "jobs": 5, "job_scale": 0.1}
        | {"channel": "physical", "bandwidth": (20, 30)},
        ("jobs", 5),
        ["oinc", "near+dedas"],
        ("weighted scaled sum", "missed objectives", "Table I; 1 instance"),
    ),
    "edr": Given(
        {"sites": 5, "tasks": 4, "frames": 24, "slots": 2, "types": 2, "reuse": "none"},
        ("frames", 24),
        ["even_rate", "saddle_point"],
        ("penalised cost per run", "exceeded capped frames"),
        gap=1e-6,
        method="highs",
    ),
    "tapfinger": Given(
        {"clusters": 2, "tasks": 24, "rate": 2.5, "law": "constant", "single_start": True},
        ("tasks", 24),
        ["reservation", "min"],
        ("sum of flow times per run (slots)", "Flow times; 1 instance"),
        method="trivial",
        agrees=False,
    ),
}


def document(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the JSON document on standard output, which must hold nothing else."""
    return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)


@pytest.mark.parametrize("name", some(GIVEN, "tapfinger"))
def test_command_line_from_file_to_study(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given, instances = GIVEN[name], find_system(name).instances
    path, plan = str(tmp_path / "mine.nc"), tmp_path / "plan.csv"
    options = [part for one in given.settings.items() for part in ("--set", "{}={}".format(*one))]
    assert run(["generate", name, "--out", path, "--seed", "3", *options]) == 0
    assert "fingerprint" in capsys.readouterr().out
    assert instances.generate is not None
    assert instances.load(tmp_path / "mine.nc") == instances.generate(**given.settings, rng=3)

    assert run(["solve", name, "--instance", path, "--out", str(plan), "--json"]) == 0
    solved = document(capsys)
    benchmark, (key, value) = solved["benchmark"], given.described
    assert benchmark["relative_gap"] <= given.gap
    assert solved["instance"][key] == value
    assert plan.is_file()
    if find_system(name).objective.sense == "min":
        assert benchmark["bound"] <= benchmark["value"] * (1 + 1e-9)
    if given.method:
        method = ["--method", given.method, "--json"]
        assert run(["solve", name, "--instance", path, *method]) == 0
        other = document(capsys)["benchmark"]
        assert other["bound"] <= benchmark["value"]
        if given.agrees:
            assert other["value"] == pytest.approx(benchmark["value"], rel=1e-5)
        else:
            assert other["bound"] <= benchmark["bound"]

    wanted = ["--policies", ",".join(given.policies), "--runs", "3"]
    assert run(["study", name, "--instance", path, *wanted, "--json"]) == 0
    found = document(capsys)
    assert found["benchmark"]["bound"] == pytest.approx(benchmark["bound"])
    assert [row["policy"] for row in found["policies"]] == given.policies
    if name == "idn":
        assert all(row["violated"] == 0 for row in found["policies"])
    assert run(["study", name, "--instance", path, *wanted, "--wide"]) == 0
    printed = capsys.readouterr()
    assert all(text in printed.out for text in given.printed)
    if not find_system(name).constraint.count(instances.load(tmp_path / "mine.nc")):
        assert "service constraint" not in printed.out
    assert printed.err == "" or "no difference can be resolved" in printed.err


@pytest.mark.parametrize("claim", ["edr.lemma2", "idn.lemma_c2.published"])
def test_check_by_name(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", claim, "--json"]) == 0
    assert [one["id"] for one in document(capsys)["claims"]] == [claim]


@pytest.mark.parametrize("name", ["rescue", *GIVEN])
def test_registry_knows_the_system(name: str) -> None:
    record = find_system(name)
    assert record.instances.random_small is not None
    assert registry.system_of(record.instances.random_small(1)) is record


def with_names(instance: Instance) -> Instance:
    """Return an instance whose tasks, sites and so on have names, in no order of the alphabet."""
    axes = instance._along()
    counts = {axis: instance._length(axis) for axis in axes}
    return instance.with_labels(
        {
            axis: [f"{axis} {count - n:02d}" for n in range(count)]
            for axis, count in counts.items()
            if count and not instance.called(axis)
        }
    )


@pytest.mark.parametrize("name", SYSTEMS)
def test_plans_and_logs_name_entries_by_their_labels(name: str, tmp_path: Path) -> None:
    record = find_system(name)
    plain = record.instances.random_small(3)
    named, written = with_names(plain), {}
    assert record.offline.export is not None
    for one, instance in (("plain", plain), ("named", named)):
        found = record.offline.solve(instance)
        record.offline.export(found, tmp_path / f"{one}.csv")
        written[one] = pd.read_csv(tmp_path / f"{one}.csv", keep_default_na=False)
    record.offline.export(found, tmp_path / "named.nc")
    assert list(written["plain"].columns) == list(written["named"].columns)
    replaced = 0
    for column in written["plain"]:
        numbers, texts = written["plain"][column].tolist(), written["named"][column].tolist()
        before, names = plain.called(column), named.called(column)
        if names is None:
            assert texts == pytest.approx(numbers) or column == "seconds"
            continue
        replaced += 1
        places = [before.index(one) for one in numbers] if before else numbers
        assert texts == ["none" if place < 0 else names[place] for place in places]
    assert replaced >= 1
    with xr.open_dataset(tmp_path / "named.nc", engine="h5netcdf") as stored:
        for axis in set(stored.dims) & set(named.labels):
            assert tuple(stored[axis].to_numpy()) == named.labels[axis]
    for log in record.reporting.logs:
        key = {"tasks": "task", "jobs": "job"}.get(log.name)
        if key is not None:
            policy = GIVEN[name].policies[0]
            [case] = edgeopt.study(named, [policy], runs=2, progress=False).cases
            rows = log.rows(case, policy)
            assert tuple(rows[key]) == named.called(key)
            if "server" in rows:
                assert rows["server"].tolist() == [named.called("site")[j] for j in named.server]
