"""Comparisons are stored job by job, resumed, checked against what is proven, and written."""

from __future__ import annotations

import csv
import re

import numpy as np
import pandas as pd
import pytest

import edgeopt
from edgeopt.cli.main import run
from edgeopt.collection import Bench, comparison_page, entry, jobs, names
from edgeopt.collection import compare as comparing
from edgeopt.collection.entries import gap_of
from edgeopt.errors import OptionError
from edgeopt.online import simulate
from edgeopt.online.tapfinger import Min, TapFingerEnvironment
from edgeopt.studies import find_system

SMALL = ["tapfinger-odd-c1-n7", "tapfinger-tight-c2-n8", "rescue-odd-k1-t50"]


class Smallest(Min):
    """A policy of a user."""

    system = "tapfinger"


class Homeless(Min):
    """A policy of a user that does not say for which system it is."""


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> tuple[Bench, object]:
    store = tmp_path_factory.mktemp("bench") / "jobs"
    online = ["min", "random", f"{__name__}:Smallest"]
    return edgeopt.bench(SMALL, offline=["auto", "scip"], online=online, runs=6, store=store), store


def test_policies_ran_on_the_common_scenarios(found) -> None:
    results = found[0].results
    rows = results[results["part"] == "online"].set_index(["instance", "competitor"])
    name = SMALL[0]
    one = entry(name)
    from edgeopt.collection.jobs import scenarios_of

    instance = edgeopt.collection.load(name)
    runs = simulate(
        TapFingerEnvironment(instance), Min(), rng=scenarios_of(one.fingerprint), runs=6
    )
    assert rows.loc[(name, "min"), "value"] == pytest.approx(runs.weighted_flow_time().mean())
    own = f"{__name__}:Smallest"
    assert rows.loc[(name, own), "value"] == rows.loc[(name, "min"), "value"]
    assert set(rows.index.get_level_values(1)) == {"min", "random", own}
    assert (SMALL[2], "random") in rows.index
    assert (SMALL[2], "min") not in rows.index
    assert rows.loc[(name, "min"), "bound"] <= one.offline.best * (1 + 1e-9)


def test_solvers_agree_with_the_entries(found) -> None:
    results = found[0].results
    rows = results[results["part"] == "offline"]
    assert len(rows) == 3 * 6
    assert (rows["failed"] == "").all()
    for row in rows.to_dict("records"):
        assert row["value"] == pytest.approx(entry(row["instance"]).offline.best, rel=1e-6)
    profile = found[0].profile()
    assert {one.solved for one in profile.values()} == {1.0}
    best = np.sum([one.share[0] for one in profile.values()])
    assert best >= 1 - 1e-12


def test_finished_jobs_are_not_computed_again(found) -> None:
    first, store = found
    moments = {path: path.stat().st_mtime_ns for path in store.glob("*.json")}
    again = edgeopt.bench(
        SMALL, offline=["auto", "scip"], online=["min", "random"], runs=6, store=store
    )
    assert {path: path.stat().st_mtime_ns for path in store.glob("*.json")} == moments
    own = first.results[~first.results["competitor"].str.contains(":")]
    pd.testing.assert_frame_equal(again.results, own.reset_index(drop=True))


def test_what_contradicts_proofs_has_failed(found, monkeypatch) -> None:
    row = {"value": 100.0, "bound": 100.0, "gap": 0.0, "seconds": 1.0, "failed": ""}
    known = {"offline": {"best": 92.0, "bound": 92.0}, "goal": "min"}
    assert "excludes the value 92" in comparing.wrong(row, known)
    assert "surpasses the bound 92" in comparing.wrong(row | {"value": 90.0, "bound": 90.0}, known)
    assert comparing.wrong(row | {"value": 93.0, "bound": 91.0}, known) == ""
    worse = known | {"goal": "max"}
    assert "surpasses" in comparing.wrong(row, worse)
    assert "excludes" in comparing.wrong(row | {"value": 80.0, "bound": 85.0}, worse)


def test_files(found, tmp_path) -> None:
    page = found[0].save(tmp_path / "out")
    text = page.read_text()
    assert "Policies of tapfinger" in text
    assert f"{__name__}:Smallest" in text
    rows = list(csv.DictReader((tmp_path / "out/results.csv").open()))
    assert len(rows) == len(found[0].results)
    gaps = pd.read_csv(tmp_path / "out/gaps.csv")
    assert set(gaps["group"]) == {
        "offline 0.01",
        "offline 0.0001",
        "offline 1e-06",
        "tapfinger",
        "rescue",
    }
    assert (tmp_path / "out/profile.svg").read_text().count("<svg") == 1


def test_groups_and_rankings(found) -> None:
    bench = found[0]
    assert bench.groups == (
        "offline 1e-06",
        "offline 0.0001",
        "offline 0.01",
        "tapfinger",
        "rescue",
    )
    ranking = bench.ranking("tapfinger")
    assert list(ranking["mean"]) == sorted(ranking["mean"])
    wins = bench.wins("tapfinger")
    own = f"{__name__}:Smallest"
    assert wins.loc["min", own] == wins.loc[own, "min"] == 0.0
    with pytest.raises(OptionError, match=re.escape("compared were offline 1e-06, offline 0.0001")):
        bench.ranking("edr")


def test_solvers_are_compared_where_all_apply() -> None:
    rows = [
        {"part": "offline", "instance": name, "system": system, "size": "s", "competitor": who,
         "target": 1e-6, "value": 1.0, "bound": 1.0, "gap": 0.0, "seconds": 1.0, "se": None,
         "violated": None, "failed": failed}
        for name, system, who, failed in (
            ("a", "rescue", "auto", ""), ("a", "rescue", "highs", "gap 1.0 is above 1e-06"),
            ("b", "oinc", "auto", ""),
        )
    ]  # fmt: skip
    bench = Bench(pd.DataFrame(rows), 60.0, (1e-6,))
    assert bench.group("offline").instances == ["a"]
    assert bench.profile()["highs"].solved == 0.0
    assert bench.ranking("offline").loc["highs", "mean"] == pytest.approx(60.0)
    assert bench.shift == 1.0


def test_gaps_have_the_sign_and_size_of_those_of_studies(found) -> None:
    assert gap_of({"goal": "max"}, 8.0, 10.0) == pytest.approx(0.2)
    assert gap_of({"goal": "max"}, 11.0, 10.0) == pytest.approx(-0.1)
    assert gap_of({"goal": "min"}, 30.0, 10.0) == pytest.approx(2.0)
    assert gap_of({"goal": "min"}, 3.0, 0.0) == 3.0
    ranking = found[0].ranking("tapfinger")
    rows = found[0].results.query("system == 'tapfinger' and competitor == 'min'")
    wanted = (rows["value"] / rows["bound"] - 1.0).mean()
    assert set(rows["how"]) == {"6 runs"}  # it draws tasks, whatever comes of it
    assert ranking.loc["min", "mean"] == pytest.approx(wanted)


def test_policies_that_violate_come_last() -> None:
    rows = [
        {"part": "online", "instance": "a", "system": "edr", "size": "s", "competitor": who,
         "target": None, "value": 1.0, "bound": 1.0, "gap": gap, "seconds": 1.0, "se": 0.1,
         "violated": violated, "failed": ""}
        for who, gap, violated in (("bold", 0.1, 2.0), ("good", 0.2, 0.0), ("safe", 0.3, 0.0))
    ]  # fmt: skip
    ranking = Bench(pd.DataFrame(rows), 60.0, (1e-6,)).ranking("edr")
    assert list(ranking.index) == ["good", "safe", "bold"]
    assert list(ranking["violated"]) == [0.0, 0.0, 2.0]
    assert list(ranking["place"]) == ["1-2", "1-2", "3"]


def test_clear_differences_over_twelve_instances_have_places() -> None:
    rng = np.random.default_rng(1)
    rows = [
        {"part": "online", "instance": str(place), "system": "edr", "size": "s",
         "competitor": who, "target": None, "value": 1.0, "bound": 1.0,
         "gap": max(0.0, gap), "gap_raw": gap, "seconds": 1.0, "se": 0.1, "violated": 0.0,
         "failed": ""}
        for place in range(12)
        for who, middle in (("best", -0.01), ("good", 0.2), ("like it", 0.2001))
        for gap in [middle + 0.01 * rng.normal()]
    ]  # fmt: skip
    ranking = Bench(pd.DataFrame(rows), 60.0, (1e-6,)).ranking("edr")
    assert ranking["place"].to_dict()["best"] == "1"
    assert set(ranking["place"][1:]) == {"2-3"}
    assert ranking.loc["best", "mean"] == ranking.loc["best", "low"] == 0.0


def test_options_are_refused() -> None:
    for how, says in (
        ({"online": ["mni"]}, "policy 'mni' is unknown"),
        ({"offline": ["hihgs"]}, "solver 'hihgs' is not installed"),
        ({}, "nothing to compare"),
        ({"online": ["min"], "runs": 1}, "runs"),
        ({"online": ["min"], "time_limit": 0.0}, "time_limit"),
        ({"online": ["no.such.module:Mine"]}, "cannot be found"),
        ({"online": [":x"]}, "write it as module:Class"),
        ({"online": ["math:"]}, "write it as module:Class"),
        ({"online": ["..up:x"]}, "cannot be found"),
        ({"online": [f"{__name__}:Homeless"]}, "name instances of one system"),
    ):
        with pytest.raises(OptionError, match=re.escape(says)):
            edgeopt.bench("s", **how)
    with pytest.raises(OptionError, match="did you mean"):
        edgeopt.bench("tapfinger-odd-c1-n8", online=["min"])
    assert comparing.chosen("all") == list(names())
    assert comparing.chosen(["s", "l", names(size="s")[0]]) == [*names(size="s"), *names(size="l")]


@pytest.mark.parametrize(
    "text",
    ["def broken(:", "raise ValueError('no')", "import sys; sys.exit(3)", "\0", "'\ud800'"],
    ids=["syntax", "raises", "exits", "binary", "surrogate"],
)
def test_a_module_that_cannot_be_imported_is_named(text, tmp_path, monkeypatch) -> None:
    (tmp_path / "own_broken_policy.py").write_text(text, "utf-8", "surrogatepass")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OptionError, match=r"'own_broken_policy:Mine' cannot be found: \w+"):
        edgeopt.bench("s", online=["own_broken_policy:Mine"])


def test_a_class_that_cannot_be_made_is_named(tmp_path, monkeypatch) -> None:
    text = "class Mine:\n    def __init__(self): raise RuntimeError('not now')"
    (tmp_path / "own_late_policy.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OptionError, match="made without arguments: RuntimeError: not now"):
        jobs.chosen(find_system("tapfinger"), "own_late_policy:Mine")


def test_a_forecast_measures_a_job_of_each_system_and_size() -> None:
    names_of = [*SMALL[:2], "rescue-odd-k1-t50"]
    plan = comparing.planned(names_of, ["highs"], ["min", "rescueplus"], 60.0, [1e-2], 4)
    rows = comparing.forecast(plan)
    groups = [(row["part"], row["system"], row["size"]) for row in rows]
    assert len(set(groups)) == len(groups) == len(rows)
    assert {system for _, system, _ in groups} == {"rescue", "tapfinger"}
    assert sum(row["jobs"] for row in rows) == len(plan.jobs)
    for row in rows:
        assert row["sum"] == row["jobs"] * row["seconds"] > 0.0
        # Offline problems are solved once; policies run on 4 scenarios each.
        times = 250.0 if row["part"] == comparing.ONLINE else 1.0
        assert row["of_1000"] == pytest.approx(times * row["sum"])


def test_command(tmp_path, capsys) -> None:
    words = ["bench", "--instances", SMALL[0], "--online", "min,random", "--runs", "4"]
    assert run([*words, "--dry-run"]) == 0
    said = capsys.readouterr().out
    assert "2 jobs" in said
    assert re.search(r"take about .+ of one core, and .+ on 1,000 scenarios, if they", said)
    assert run(words) == 2
    assert "--out" in capsys.readouterr().err
    assert run([*words, "--out", str(tmp_path / "b")]) == 0
    assert "tapfinger, 1 instance: " in capsys.readouterr().out
    assert (tmp_path / "b/index.html").exists()


def test_lines_of_the_picture_are_where_their_labels_and_the_table_say(found) -> None:
    bench = found[0]
    drawn = comparison_page.figure(bench)
    # Groups of solvers have several here.
    assert len(drawn.axes) == len(bench.groups)
    for axes, name in zip(drawn.axes, bench.groups, strict=True):
        styles = {(line.get_color(), line.get_linestyle(), str(line._unscaled_dash_pattern))
                 for line in axes.lines}  # fmt: skip
        assert len(styles) == len(axes.lines)
        group = bench.group(name)
        for line in axes.lines:
            x, y = (np.asarray(data) for data in line.get_data())
            competitor, _, ends = str(line.get_label()).partition(" (ends at ")
            if ends:
                assert f"{y[-1]:.0%}" == ends.rstrip(")")
                gap = float(name.split()[1])
                profile = bench.profile(gap)[competitor]
                assert 2 ** x[:-1] == pytest.approx(profile.factor)
                assert y[:-1] == pytest.approx(profile.share)
            else:
                gaps = group.gap[group.competitors.index(competitor)]
                for at, share in zip(x, y, strict=True):
                    least = group.weight[gaps < at - 1e-12].sum()
                    most = group.weight[gaps <= at + 1e-12].sum()
                    assert least - 1e-9 <= share <= most + 1e-9, (competitor, at)
            assert axes.get_xlim()[0] <= x.min()
