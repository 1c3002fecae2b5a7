"""Figures of OINC against simulations of the same instances, counted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from edgeopt.instances.oinc import generate
from edgeopt.online import simulate
from edgeopt.online.oinc import Ekya, Kalmia, OincEnvironment
from edgeopt.studies.figures import NOT_BUILT, Outcome, reproduce
from edgeopt.studies.figures.reading import ahead, largest, needed, trend
from edgeopt.studies.oinc import learning
from edgeopt.studies.oinc.calibrated import FITTED, TESTED, TITLES
from edgeopt.studies.oinc.figures import PAPER_FIGURES
from edgeopt.studies.sweeps import run_cells

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.online.oinc import OincTrajectory
    from edgeopt.studies.figures import Reproduction


@pytest.fixture(scope="module")
def devices() -> Reproduction:
    return reproduce("oinc", figure="4", quick=True, progress=False)


def simulated(seed: int, devices: int, policy: Ekya | Kalmia) -> OincTrajectory:
    instance = generate(rng=seed, devices=devices, slots=30, jobs=6, duty=0.45)
    return simulate(OincEnvironment(instance), policy, rng=0, runs=1)


def test_learning_curves_are_those_of_the_package() -> None:
    code, points = learning.kept()
    assert len(code) == 64
    [two, _] = learning.FIGURE_2, learning.FIGURE_3
    rows = two.rows(run_cells(two.cells(True), progress=False))
    own = rows[rows["policy"] == "insertion"].sort_values("episodes")
    for row in own.to_dict("records"):
        at = [
            one.reward for one in points
            if (one.policy, one.episodes) == ("insertion", row["episodes"])
        ]  # fmt: skip
        assert len(at) >= 3
        assert row["reward"] == pytest.approx(np.median(at))
    assert {one.policy for one in points} == {*learning.LEARNED, *learning.FIXED}
    outcome = Outcome(two, rows, 2)
    assert NOT_BUILT not in [line["computed"] for line in outcome.lines]
    assert f"{own['reward'].iloc[-1]:.3f}" in two.takeaway(rows)


def test_the_file_of_curves_reads_as_it_was_written(tmp_path: Path) -> None:
    points = [learning.Point("sac-d", 1, 25.6, -1.5, 0.7, 0.7)]
    path = learning.written(points, tmp_path / "curves.csv")
    assert learning.kept(path) == (learning.code(), points)


def test_published_times_of_the_table_add_up() -> None:
    [table] = [one for one in PAPER_FIGURES if one.number == "I"]
    published = {line.what: line.value for line in table.published}
    assert len(published) == 7 * 3
    for what, value in published.items():
        if what.endswith("sum (s)"):
            parts = (what.replace("sum", part) for part in ("latency", "completion"))
            assert value == pytest.approx(sum(published[part] for part in parts), abs=1e-9)


def test_the_fitted_table_counts_what_is_near_and_what_lies_outside() -> None:
    [table] = [one for one in PAPER_FIGURES if one.number == "S1"]
    printed = {line.what: line.value for line in table.published}
    assert len(printed) == 14
    assert not set(FITTED) & set(TESTED)
    rows = pd.DataFrame(
        {
            "policy": list(dict.fromkeys(line.what.split(",")[0] for line in table.published)),
            "instances": 8,
        }
    )
    for metric in ("latency", "completion"):
        values = [printed[f"{title}, {metric} (s)"] for title in rows["policy"]]
        rows[metric] = np.array(values) * 1.09
        rows[f"{metric}_low"] = np.array(values) * 0.9
        rows[f"{metric}_high"] = np.array(values) * 1.1
    rows["policy"] = [name for name, title in TITLES.items()]
    assert table.takeaway(rows).startswith("14 of 14 figures lie within 10 %")
    assert "; 0 printed ones lie outside the 95 % intervals" in table.takeaway(rows)
    rows.loc[0, "latency"] *= 1.02
    rows.loc[1, "completion_low"] = rows.loc[1, "completion"]
    assert table.takeaway(rows).startswith("13 of 14")
    assert "; 1 printed ones lie outside" in table.takeaway(rows.assign(instances=8))
    assert "outside the ranges" in table.takeaway(rows.assign(instances=4))


@pytest.mark.parametrize("policy", [Ekya(), Kalmia()], ids=["ekya", "kalmia"])
def test_rows_are_medians_over_few_simulated_instances(
    devices: Reproduction, policy: Ekya | Kalmia
) -> None:
    rows = devices.outcomes[0].rows
    name = type(policy).__name__.lower()
    [row] = rows[(rows["policy"] == name) & (rows["devices"] == 50)].to_dict("records")
    runs = [simulated(seed, 50, policy) for seed in range(4)]
    sums, met = [], []
    for run in runs:
        jobs = run.completion[0]
        sums.append(run.latency[0].sum() / 0.25 + jobs.sum() / 100)
        late = (run.latency[0] > run.slo * (1 + 1e-9)).sum() + (jobs > run.instance.deadline).sum()
        met.append(1 - late / (run.slo.size + jobs.size))
    assert row["value"] == pytest.approx(np.median(sums), rel=1e-9)
    assert (row["value_low"], row["value_high"]) == pytest.approx((min(sums), max(sums)))
    assert row["value_each"] == pytest.approx(sums)
    assert row["success"] == pytest.approx(np.median(met), rel=1e-9)
    assert row["latency"] == pytest.approx(np.median([run.latency[0].mean() for run in runs]))
    assert row["instances"] == 4


def test_published_lines_stand_beside_what_the_rows_say(devices: Reproduction) -> None:
    [outcome] = devices.outcomes
    lines = {line["what"]: line for line in outcome.lines}
    for metric, words in (("scaled", "sum of scaled means"), ("value", "weighted sum")):
        found = {
            (row["devices"], row["policy"]): row[metric] for row in outcome.rows.to_dict("records")
        }
        savings = [
            1 - found[place, "oinc"] / found[place, other]
            for place in (20, 50)
            for other in ("ekya", "kalmia")
        ]
        line = lines[f"largest saving of OINC in the {words}"]
        assert line["published"] == 0.237
        assert line["computed"] == pytest.approx(max(savings), rel=1e-12)


def test_statements_hold_for_any_outcome() -> None:
    values = {"oinc": [5.0, 4.0, 3.0], "ekya": [4.0, 4.0, 6.0], "kalmia": [7.0, 6.0, 5.0]}
    rows = pd.DataFrame(
        [
            {"edges": 10 + place, "policy": policy, "sum": value}
            for policy, own in values.items()
            for place, value in enumerate(own)
        ]
    )
    titles = {"oinc": "OINC", "ekya": "Ekya", "kalmia": "Kalmia"}
    least = needed("edges", "sum", "min", "oinc", titles)
    assert ahead("edges", "sum", "min", "oinc")(rows) == (2, 3)
    assert ahead("edges", "sum", "max", "oinc")(rows) == (0, 3)
    assert largest("edges", "sum", "min", "oinc")(rows) == pytest.approx(0.5)
    assert least(rows) == "as OINC with 10: Ekya with 10 and Kalmia with 12"
    most = needed("edges", "sum", "max", "oinc", titles)
    assert most(rows).startswith("as OINC with 10: Ekya with 12")
    assert trend("edges", "sum", titles)(rows) == "falls with OINC and Kalmia; rises with Ekya"
    beyond = rows.assign(sum=rows["sum"].where(rows["policy"] != "oinc", 1.0))
    assert "Kalmia with more than 12" in least(beyond)
