from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from edgeopt_papers import cases
from edgeopt_papers.figures import reproduce
from edgeopt_papers.figures.aggregates import where
from edgeopt_papers.rescue.figures import PAPER_FIGURES
from edgeopt_papers.rescue.figures.examples import with_reservations
from edgeopt_papers.rescue.figures.profits import BASELINES, CAVEATS, FIT_SEEDS, QUICK

from edgeopt.instances.rescue import generate
from edgeopt.studies import study
from edgeopt.studies.rescue import SYSTEM
from edgeopt.studies.rescue.policies import PLAIN

if TYPE_CHECKING:
    import pandas as pd
    from edgeopt_papers.figures import Outcome

NO_CLAIMS = replace(SYSTEM, claims=None)
NAMED = {paper_figure.number: paper_figure for paper_figure in PAPER_FIGURES}


def quick(number: str) -> Outcome:
    [outcome] = reproduce("rescue", figure=number, quick=True).outcomes
    return outcome


@pytest.fixture(scope="module")
def servers() -> Outcome:
    return quick("9")


def one(rows: pd.DataFrame, **at: Any) -> dict[Any, Any]:
    [row] = where(rows, **at).to_dict("records")
    return row


def test_every_figure_with_numbers_is_there_in_the_order_of_the_paper() -> None:
    assert [one.heading for one in PAPER_FIGURES] == [f"Figure {n}" for n in (1, *range(3, 10))]
    assert [one.name for one in cases.figures("rescue")] == [one.name for one in PAPER_FIGURES]


def shares_of_the_program(instances: dict[str, Any], policies: list[str]) -> pd.DataFrame:
    """The table of a study, with the value of each policy as a share of OPT(LP)."""
    found = study(instances, policies, system=NO_CLAIMS, runs=20, progress=False)
    program = {name: bounds[PLAIN].bound for name, bounds in found.benchmarks.items()}
    return found.table.assign(share=found.table["value"] / found.table["instance"].map(program))


@pytest.mark.long
def test_profits_of_a_sweep_are_those_of_a_study(servers: Outcome) -> None:
    policies = ["rescue+guard", *(f"{name}+guard" for name in BASELINES)]
    instances = {str(n): generate(**(QUICK | {"servers": 6}), rng=n) for n in range(3)}
    table = shares_of_the_program(instances, policies)
    for policy, group in table.groupby("policy"):
        row = one(servers.rows, sweep="servers", place=6, policy=policy, variant="guarded")
        columns = {"profit": "value", "ratio": "share", "own_ratio": "bound_ratio"}
        for name, expected in columns.items():
            assert row[name] == pytest.approx(group[expected].mean(), rel=1e-12)
        assert row["failed"] == 0
    values = table.pivot(index="instance", columns="policy", values="value")
    best = values.drop(columns="rescue+guard").mean().idxmax()
    leads = values["rescue+guard"] / values[best] - 1
    [line] = [
        each
        for each in servers.lines
        if each["what"].endswith("6 servers") and each["setting"] == "guarded"
    ]
    assert line["computed"] == pytest.approx(leads.mean(), rel=1e-9)
    assert line["published"] == 0.83
    assert line["low"] < line["computed"] < line["high"]


def test_the_takeaway_says_first_where_the_sign_turns(servers: Outcome) -> None:
    rows = servers.rows.copy()
    mixed = (rows["variant"] == "mixed") & (rows["group"] == "rescue")
    rows.loc[mixed, "lead"] = np.where(rows.loc[mixed, "place"].isin([2, 18]), 0.25, -0.5)
    rows.loc[mixed, "failed"] = 0.125
    rows.loc[(rows["variant"] == "guarded") & (rows["group"] == "rescue"), "lead"] = 0.75
    said = NAMED["9"].takeaway(rows).replace("\N{NO-BREAK SPACE}", " ").replace("\u2212", "-")
    assert said.startswith(
        "As printed, against baselines that protect reserved tasks, RESCUE leads with 2 servers "
        "(25.0 %) and 18 types of tasks (25.0 %), and does not with 6 servers (-50.0 %) and "
        "10 types of tasks (-50.0 %); for it 12.5 % of these tasks fail."
    )
    assert "75.0 % if all do" in said
    rows.loc[mixed, "lead"] = -0.5
    assert "RESCUE does not lead with 2 and 6 servers (" in NAMED["9"].takeaway(rows)


def test_readings_differ_in_who_protects_and_in_settings(servers: Outcome) -> None:
    """The third has the policies of the first two, so that its lead follows from theirs."""
    rows = servers.rows
    guarded = where(rows, sweep="servers", place=6, variant="guarded")
    best = guarded.loc[guarded[guarded["group"].isin(BASELINES)]["profit"].idxmax()]
    own = one(rows, sweep="servers", place=6, variant="mixed", group="rescue")
    leads = [
        mine / other - 1
        for mine, other in zip(own["profit_each"], best["profit_each"], strict=True)
    ]
    assert own["lead"] == pytest.approx(np.mean(leads))
    assert own["profit"] == pytest.approx(
        one(rows, sweep="servers", place=6, variant="unguarded", group="rescue")["profit"]
    )
    fitted = one(rows, sweep="servers", place=6, variant="fitted", group="rescue")
    assert fitted["profit"] != pytest.approx(own["profit"], rel=1e-3)
    assert not set(range(20)) & set(FIT_SEEDS)


def test_every_statement_has_a_reason_of_its_own(servers: Outcome) -> None:
    every = quick("1").lines + quick("5").lines + servers.lines
    reasons = {line["why"]: (line["paper_figure"], line["what"]) for line in every}
    assert all(why.endswith(".") for why in reasons)
    assert len(reasons) == len({(line["paper_figure"], line["what"]) for line in every})
    known = [line for figure in PAPER_FIGURES for line in figure.published if line.rule == 0.1]
    assert all(line.why for line in known)
    words = CAVEATS["why"].values()
    assert len({text.split(".")[0] for text in words}) == len(words)


def test_every_line_of_a_sweep_has_a_figure(servers: Outcome) -> None:
    for line in servers.lines:
        assert isinstance(line["computed"], str) or np.isfinite(line["computed"])


def test_reservations_fit_and_exceed_loads_by_the_over_provisioning() -> None:
    rows = quick("1").rows
    reserved = [with_reservations(36, 0.1, draw) for draw in range(5)]
    assert max(map(np.max, reserved)) <= 1 + 1e-9
    unused = [1 - one.mean() / 1.1 for one in reserved]
    row = one(rows, sweep="over", over=0.1)
    assert row["unused"] == pytest.approx(np.mean(unused))
    assert row["gaps"] + row["over_provisioned"] == pytest.approx(row["unused"])
    assert one(rows, sweep="over", over=0.0)["over_provisioned"] == pytest.approx(0, abs=1e-12)


def test_the_example_adds_to_what_reserved_tasks_use() -> None:
    found = quick("3")
    used = {
        policy: float((own["reserved"] + own["retraining"]).sum()) / 60
        for policy, own in found.rows.groupby("policy")
    }
    assert used["none"] == pytest.approx(0.3)
    for line, policy in zip(found.lines, ("rescue", "rescue+guard"), strict=True):
        assert line["computed"] == pytest.approx(used[policy] - 0.3)
    guarded = found.rows[found.rows["policy"] == "rescue+guard"]
    assert guarded["failed"].eq(0).all()
    assert guarded["reserved"].sum() == pytest.approx(18)


def test_the_variation_that_a_curve_explains() -> None:
    rows = quick("4").rows
    for _, own in rows.groupby("device"):
        measured, fitted = (own[name].to_numpy(dtype=float) for name in ("measured", "fitted"))
        left = ((measured - fitted) ** 2).sum() / ((measured - measured.mean()) ** 2).sum()
        assert own["explained"].iloc[0] == pytest.approx(1 - left)
        assert np.argmin(own["true"]) == 0


def test_shares_over_time_end_where_a_study_does() -> None:
    rows = quick("5").rows
    instances = {str(n): generate(**QUICK, rng=n) for n in range(3)}
    policies = ["rescue", "rescueplus+guard"]
    table = shares_of_the_program(instances, policies)
    # The curve is of the runs as they are.
    table["share"] *= table["raw_mean"] / table["value"]
    for policy, group in table.groupby("policy"):
        last = one(rows, policy=policy, slot=QUICK["horizon"])
        assert last["earned"] == pytest.approx(group["share"].mean())
        assert last["utilisation"] == pytest.approx(group["utilisation"].mean())
        earned = rows[rows["policy"] == policy]["earned"]
        assert earned.is_monotonic_increasing
