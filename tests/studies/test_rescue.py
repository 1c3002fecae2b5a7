from __future__ import annotations

import dataclasses
import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from edgeopt.errors import OptionError
from edgeopt.instances.rescue import RescueInstance, generate, tight
from edgeopt.online import simulate
from edgeopt.studies import study
from edgeopt.studies.files import write_plan
from edgeopt.studies.pages.study import plot
from edgeopt.studies.pictures.canvas import lead
from edgeopt.studies.rescue import SYSTEM
from edgeopt.studies.rescue.pictures import failed_tasks, stretches, utilisation
from edgeopt.studies.rescue.policies import FREE, ONLINE, PLAIN, SAFE, solve
from tests.draws import some
from tests.studies.test_page import assert_self_contained, overlapping

if TYPE_CHECKING:
    from pathlib import Path

    from edgeopt.studies import Case, Study

BY_STATE = ["Competing offers", "Price-greedy"]
GROUPS = ["RESCUE", "RESCUE+", "PickConfigs", "SRS", "Sumita", "CVS", "Random"]


def instance(servers: int = 2, **options: object) -> RescueInstance:
    """Draw an instance with busy servers and much reserved work."""
    sizes = {"devices": 4, "profiles": 3, "horizon": 24, "shortest": 2, "longest": 6}
    demand = {"reserved": 2 * servers, "density": 0.6, "demand": 0.3, "arrival": 0.6}
    return generate(servers=servers, **{**sizes, **demand, **options})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def busy() -> Study:
    return study({"busy": instance()}, "all", runs=60, rng=5)


@pytest.fixture(scope="module")
def case(busy: Study) -> Case:
    return busy.cases[0]


@pytest.mark.long
def test_policies_by_state_and_seven_with_and_without_the_guard(case: Case) -> None:
    table = case.table
    for variant, bound, more in (("unguarded", FREE, []), ("guarded", ONLINE, BY_STATE)):
        rows = table[table["variant"] == variant]
        assert list(rows["group"]) == more + GROUPS
        assert (rows["bound"] == bound).all()


def test_no_share_of_a_valid_bound_is_above_one(case: Case) -> None:
    table = case.table
    assert (table["bound_ratio_low"].dropna() <= 1).all()
    assert (table.loc[table["bound"] != "", "bound_ratio"] <= 1).all()
    assert (table["gap"].dropna() >= 0).all()
    values = {name: benchmark.bound for name, benchmark in case.benchmarks.items()}
    assert values[ONLINE] <= values[SAFE] * (1 + 1e-6)
    assert values[SAFE] <= values[PLAIN] * (1 + 1e-6)
    assert values[PLAIN] <= values[FREE] * (1 + 1e-6)


def test_only_unguarded_policies_fail_reserved_tasks(case: Case) -> None:
    table = case.table.set_index("variant")
    assert (table.loc["guarded", "violated"] == 0).all()
    assert (table.loc["unguarded", "violated"] > 0).any()
    shares = table["violated"] / len(case.instance.reserved)
    assert table["violated_share"].to_numpy() == pytest.approx(shares.to_numpy())


def test_policies_are_compared_with_rescue_of_their_own_kind(case: Case) -> None:
    table = case.table
    expected = np.where(table["variant"] == "guarded", "rescue+guard", "rescue")
    expected[table["policy"] == expected] = ""
    assert list(table["reference"]) == list(expected)


def test_simulation_agrees_with_exact_expectations(case: Case) -> None:
    known = case.table[case.table["value_exact"].notna()]
    assert {"rescue", "sumita"} <= set(known["policy"])
    # Five standard errors: a chance below 1e-6 for each of at most eighteen policies.
    for row in known.to_dict("records"):
        runs = case.values(row["policy"])
        error = runs.std(ddof=1) / runs.size**0.5
        assert abs(row["raw_mean"] - row["value_exact"]) <= 5 * error + 1e-9
        assert row["value"] == row["value_exact"]


def test_what_is_exact_is_shown_without_an_interval(
    case: Case, capsys: pytest.CaptureFixture[str]
) -> None:
    from edgeopt.cli.study import _print

    rows = case.ranked.set_index("policy")
    assert {"rescue", "sumita"} <= set(case.exact)
    for name, value in case.exact.items():
        row = rows.loc[name]
        assert (row["value"], row["value_se"], row["spread"]) == (value, 0.0, "exact")
        assert row["ratio"] == pytest.approx(value / case.benchmark.bound)
        assert row["bound_ratio"] == pytest.approx(value / row["bound_value"])
        ends = [
            f"{part}_{end}" for part in ("gap", "ratio", "bound_ratio") for end in ("low", "high")
        ]
        assert row[ends].isna().all()
    sampled = sorted(set(case.trajectories) - set(case.exact))
    both, raw = rows.loc[sampled], case.table.set_index("policy").loc[sampled]
    assert both[raw.columns].equals(raw)
    _print(case)
    printed = capsys.readouterr().out
    [line] = [one for one in printed.splitlines() if "Sumita (unguarded)" in one]
    assert f"{case.exact['sumita']:.5g}" in line
    assert line.count("exact") == 2
    assert " to " not in line


def test_utilisation_is_retraining_over_what_reserved_work_leaves(case: Case) -> None:
    for name in ("rescueplus", "srs+guard"):
        environment = SYSTEM.policies.environment(case.instance)
        trajectory = simulate(environment, case.policies[name], rng=5, runs=4, keep_trace=True)
        shares = utilisation(case.instance, trajectory)
        for run in range(4):
            used = left = 0.0
            for slot in range(case.instance.horizon):
                left -= trajectory.served[run, :, slot].sum()
                for server in range(case.instance.servers):
                    capacity = case.instance.capacity[server, slot]
                    used += capacity * (trajectory.device[run, server, slot] >= 0)
                    left += capacity
                assert shares[run, slot] == pytest.approx(used / left)


@pytest.mark.parametrize("policy", ["rescueplus", "pickconfigs", "rescue+guard"])
def test_gantt_shows_what_happened(case: Case, policy: str) -> None:
    environment = SYSTEM.policies.environment(case.instance)
    trajectory = simulate(environment, case.policies[policy], rng=5, runs=20, keep_trace=True)
    assert trajectory.accepted.sum() > 0
    for run in range(20):
        failed = failed_tasks(case.instance, trajectory.served[run])
        assert failed.sum() == trajectory.violations[run].sum()
        shown = list(
            stretches(trajectory.device[run], trajectory.profile[run], trajectory.accepted[run])
        )
        assert len(shown) == trajectory.accepted[run].sum()
        painted = np.full_like(trajectory.device[run], -1)
        for stretch in shown:
            assert (painted[stretch.server, stretch.first : stretch.stop] == -1).all()
            painted[stretch.server, stretch.first : stretch.stop] = stretch.device
        assert (painted == trajectory.device[run]).all()


def test_gantt_is_of_the_first_scenario(case: Case) -> None:
    earned = case.trajectories[lead(case)].total[0]
    title = next(p for p in SYSTEM.reporting.pictures if p.name == "gantt").title(case)
    assert f"earns {earned:.4g}" in title


@pytest.mark.parametrize("servers", some([2, 12], 12))
def test_pictures_can_be_read(servers: int) -> None:
    policies = ["rescue", "rescueplus", "random*"]
    drawn = study(instance(servers, horizon=30), policies, runs=5, claims=False).cases[0]
    for picture in SYSTEM.reporting.pictures:
        figure = plot(drawn, picture.name)
        assert overlapping(figure) == [], picture.name
        labels = [axes.get_xlabel() for axes in figure.axes]
        assert any(labels), picture.name
        if servers > 8 and picture.name == "gantt":
            assert any("8 of 12 servers" in label for label in labels)


@pytest.mark.long
def test_claims_may_be_left_out(busy: Study, tmp_path: Path) -> None:
    some = ["random", "random+guard"]
    quick = study({"busy": instance()}, some, runs=60, rng=5, claims=False)
    assert busy.cases[0].verdicts
    assert quick.cases[0].verdicts == ()
    columns = ["policy", "value", "gap"]
    same = busy.table[busy.table["policy"].isin(some)][columns]
    pd.testing.assert_frame_equal(quick.table[columns], same.reset_index(drop=True))
    page = quick.page(tmp_path).read_text(encoding="utf-8")
    assert "Claims" not in page


def test_page_has_notes_findings_and_claims(busy: Study, tmp_path: Path) -> None:
    page = busy.page(tmp_path).read_text(encoding="utf-8")
    text = " ".join(" ".join(assert_self_contained(page).text).split())
    assert (
        "It bounds every policy that meets all reserved tasks, starts no run that might let one "
        "fail and does not know the future" in text
    )
    assert re.search(r"(Best|Only) safe policy: .*?, ([\d.]+\s% of the bound|at most) ", text)
    assert [one.name for one in SYSTEM.reporting.pictures] == ["gantt", "value_over_time", "safety"]
    assert re.search(r"Safety costs \d+\s% of the highest profit", text)
    assert "RESCUE (unguarded) and RESCUE+ (unguarded) are proven to earn at least half" in text
    assert "every guarded policy fails none in any run" in text
    assert "rescue.theorem1" in text
    assert not re.search(r"\b(nan|None|inf)\b", text)


def test_without_reserved_tasks_nothing_is_said_of_them() -> None:
    result = study({"tight": tight(0.25)}, ["rescue", "rescueplus"], runs=30)
    case = result.cases[0]
    assert case.benchmarks[PLAIN].value == pytest.approx(1.75)
    title = SYSTEM.reporting.pictures[-1].title(case)
    assert title == "There is no reserved task: safety costs nothing"
    assert case.table["violated_share"].isna().all()
    assert case.table["value_exact"].to_numpy() == pytest.approx([1.0, 1.0])
    assert not any("guarded policy" in note for note in SYSTEM.reporting.notes(case))
    for picture in SYSTEM.reporting.pictures:
        assert overlapping(plot(case, picture.name)) == [], picture.name


def test_sparse_and_dense_plans_are_written_alike(tmp_path: Path) -> None:
    dense = solve(instance())
    T, J = dense.plan.y.shape[:2]
    plan = dataclasses.replace(dense.plan, y=sparse.csr_array(dense.plan.y.reshape(T * J, -1)))
    thin = dataclasses.replace(dense, plan=plan)
    write_plan(dense, tmp_path / "dense.csv")
    write_plan(thin, tmp_path / "sparse.csv")
    cells = pd.read_csv(tmp_path / "dense.csv")
    pd.testing.assert_frame_equal(cells, pd.read_csv(tmp_path / "sparse.csv"))
    index = tuple(cells[name] for name in ("slot", "device", "server", "profile"))
    assert dense.plan.y[index] == pytest.approx(cells["probability"].to_numpy())
    assert cells["probability"].sum() == pytest.approx(dense.plan.y.sum())
    with pytest.raises(OptionError, match=r"ends in \.csv or \.nc"):
        write_plan(dense, tmp_path / "plan.txt")


def test_default_source_names_its_data() -> None:
    source = SYSTEM.instances.sources["tables"]
    lines = source.provenance()
    assert len(lines) == 3
    assert all("Licence" in line for line in lines)
    assert isinstance(source.make(rng=0), RescueInstance)


@pytest.mark.long
def test_titles_claim_nothing_where_nothing_can_be_earned() -> None:
    worthless = instance().replace(profit=np.zeros((1, 1, 1, 1, 1)))
    case = study({"worthless": worthless}, ["rescue", "random", "srs+guard"], runs=5).cases[0]
    titles = {picture.name: picture.title(case) for picture in SYSTEM.reporting.pictures}
    assert "costs" not in titles["safety"]
    assert titles["value_over_time"] == "No policy earns any profit"
    for picture in SYSTEM.reporting.pictures:
        assert overlapping(plot(case, picture.name)) == [], picture.name
