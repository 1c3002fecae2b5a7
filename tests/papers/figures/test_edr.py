"""Figures of EDR against studies and simulations of the same weeks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from edgeopt_papers.edr.figures import PAPER_FIGURES
from edgeopt_papers.edr.figures.growth import cut, lost
from edgeopt_papers.edr.figures.weeks import (
    _QUICK as QUICK,
)
from edgeopt_papers.edr.figures.weeks import (
    BEHIND,
    LONGER,
    OWN,
    SIDES,
    global_loss,
    on_both_sides,
    week,
)
from edgeopt_papers.edr.losses import loss_after, measured
from edgeopt_papers.edr.tuning import TUNING
from edgeopt_papers.figures import reproduce
from edgeopt_papers.figures.aggregates import where
from edgeopt_papers.figures.report import in_words
from edgeopt_papers.figures.reproduce import Outcome

from edgeopt import study
from edgeopt.instances.edr import generate
from edgeopt.instances.edr.random_parts import LEARNING_MODELS
from edgeopt.models.edr import solve_offline
from edgeopt.online import simulate
from edgeopt.online.edr import EdrEnvironment, Greedy, SaddlePoint
from edgeopt.studies import find_system
from edgeopt.studies.edr.policies import FRAMEWISE
from edgeopt.studies.sweeps import run_jobs

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance

BY_NUMBER = {paper_figure.number: paper_figure for paper_figure in PAPER_FIGURES}


def drawn(draw: int, **changes: object) -> EdrInstance:
    setting = {"sites": 8, "tasks": 8, "frames": 24, "slots": 3, "accuracy": 0.1}
    return generate(rng=draw, capable_share=0.25, **(setting | changes))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def weeks() -> pd.DataFrame:
    return run_jobs(BY_NUMBER["4a"].jobs(True), progress=False)


def by_default(table: pd.DataFrame) -> pd.DataFrame:
    return where(table, parameters="default")


def rows_of(number: str, table: pd.DataFrame) -> pd.DataFrame:
    return BY_NUMBER[number].rows(table)


def test_figures_of_whole_weeks_share_their_jobs(monkeypatch: pytest.MonkeyPatch) -> None:
    # Instances take long to draw, so their specs stand for their fingerprints.
    monkeypatch.setattr("edgeopt_papers.figures.jobs._fingerprint", repr)
    shared = {job.key for job in BY_NUMBER["4a"].jobs(False)}
    for number in ("4b", "4c", "4d", "4e", "4h", "8"):
        assert {job.key for job in BY_NUMBER[number].jobs(False)} <= shared
    assert shared <= {job.key for job in BY_NUMBER["5"].jobs(False)}
    assert shared & {job.key for job in BY_NUMBER["4f"].jobs(False)}


@pytest.mark.long
def test_totals_are_those_of_a_study(weeks: pd.DataFrame) -> None:
    rows = rows_of("4a", by_default(weeks))
    ends = rows.set_index(["parameters", "policy", "frame"]).loc["default"].xs(24, level="frame")
    record = replace(find_system("edr"), claims=None)
    drawings = [drawn(draw) for draw in range(3)]
    computed = study(drawings, ["greedy", "oasdr"], system=record, runs=2, progress=False)
    expected = computed.table.groupby("policy")[["value", "energy_cost"]].mean()
    for policy in ("greedy", "oasdr"):
        assert ends.loc[policy, "total"] == pytest.approx(expected.loc[policy, "value"])
        assert ends.loc[policy, "energy"] == pytest.approx(expected.loc[policy, "energy_cost"])
    best = np.mean([case.benchmark.value for case in computed.cases])
    assert ends.loc["offline", "total"] == pytest.approx(best)


def test_kinds_of_tasks_and_types_of_requests_make_up_the_total(weeks: pd.DataFrame) -> None:
    assert "offline" in set(weeks["policy"])
    for draw in range(3):  # medians of several draws do not add up
        one = weeks[weeks["draw"] == draw]
        totals = where(rows_of("4a", one), frame=max)
        parts = [rows_of(number, one) for number in ("4c", "4d")]
        for side, policy, total in zip(
            totals["parameters"], totals["policy"], totals["total"], strict=True
        ):
            own = [where(part, parameters=side, policy=policy)["cost"].sum() for part in parts]
            assert sum(own) == pytest.approx(total, rel=1e-6 if policy == "offline" else 1e-9)


def test_savings_are_those_of_each_draw_at_its_end(weeks: pd.DataFrame) -> None:
    line = BY_NUMBER["4a"].published[3]
    assert (line.value, line.what) == (
        0.588, "PROPOSED costs less than GREEDY by, default parameters",
    )  # fmt: skip
    assert line.computed is not None
    found: Any = line.computed(rows_of("4a", weeks))
    ends = {
        policy: np.array([total[-1] for total in where(by_default(weeks), policy=policy)["total"]])
        for policy in ("saddle_point", "greedy")
    }
    saved = 1 - ends["saddle_point"] / ends["greedy"]
    mean = 1 - ends["saddle_point"].mean() / ends["greedy"].mean()
    assert found[:3] == pytest.approx((mean, saved.min(), saved.max()))
    assert found[3:] == ("range", "not resolved")


def test_findings_and_sizes_reach_the_page(weeks: pd.DataFrame) -> None:
    figure = BY_NUMBER["4a"]
    full, quick = (Outcome(figure, rows_of("4a", weeks), len(weeks), few) for few in (False, True))
    assert [("Here 8 sites" in " ".join(one.caveats)) for one in (full, quick)] == [False, True]
    published, computed = in_words(quick.lines[0])
    assert published.split() == ["58.8", "%"]
    assert computed.endswith(", not resolved)")


def test_tuned_parameters_are_set_and_stand_beside_the_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "edgeopt_papers.edr.figures.weeks.tuned",
        lambda _, policy, mode: {"alpha0": 99.0} if (policy, mode) == (OWN, "group") else {},
    )
    jobs = [
        job
        for job in BY_NUMBER["4a"].jobs(True)
        if job.identity["draw"] == 0 and job.identity["policy"] in (OWN, BEHIND, "greedy")
    ]
    sides = [(job.identity["policy"], job.identity["parameters"]) for job in jobs]
    assert sides == [
        (OWN, "tuned"), (OWN, "default"), (BEHIND, "default"), ("greedy", "tuned"),
        ("greedy", "default"),
    ]  # fmt: skip
    table = run_jobs(jobs, progress=False)
    both = on_both_sides(table)
    assert list(zip(both["parameters"], both["policy"], strict=True)) == [
        (side, policy) for kind in SIDES for policy, side in sides if side == kind
    ]
    ends = [total[-1] for total in where(both, policy=OWN)["total"]]
    shared = TUNING.settings
    policies = (SaddlePoint(alpha0=99.0, **shared), SaddlePoint(), Greedy(**shared), Greedy())
    runs = [
        simulate(EdrEnvironment(drawn(0)), policy, rng=0, runs=1).total[0] for policy in policies
    ]
    ends += [total[-1] for total in where(both, policy="greedy")["total"]]
    assert ends == pytest.approx(runs)
    assert ends[0] != ends[1]
    assert BY_NUMBER["6"].jobs(True)[0].identity["options"] == {**shared, "alpha0": 99.0}
    alone = [one.identity for one in BY_NUMBER["6"].jobs(True) if one.identity["reuse"] == "none"]
    assert all(one["options"] == shared for one in alone if one["parameters"] == "tuned")
    assert {one["policy"] for one in alone if one["parameters"] == "tuned"} <= set(
        TUNING.parameters
    )


def test_no_interval_of_the_loss_is_below_0(weeks: pd.DataFrame) -> None:
    import pandas as pd

    own = by_default(where(weeks, policy=OWN))
    own = pd.concat([own, own.assign(draw=own["draw"] + 3)], ignore_index=True)
    losses = [[[0.5, 0.9]] * 4] + [[[0.5, 0.0]] * 4] * (len(own) - 1)
    rows = rows_of("4e", own.assign(loss=losses))
    assert rows["loss_low"].min() == 0.0
    assert (rows["loss_low"].isna() | (rows["loss_low"] < rows["loss_high"])).all()


def test_no_interval_of_the_fit_is_below_0(weeks: pd.DataFrame) -> None:
    import pandas as pd

    own = by_default(where(weeks, policy=OWN)).head(1).assign(paid=2.0)
    own = pd.concat([own.assign(draw=draw, fit=50.0 * (draw == 0)) for draw in range(5)])
    rows = rows_of("4f", pd.concat([own, own.assign(policy="framewise")], ignore_index=True))
    assert set(rows["fit_spread"]) == {"range"}
    assert rows["fit_low"].min() == 0


def test_a_page_tells_the_size_of_its_own_instances() -> None:
    for number, full in (("4a", 50), ("4f", 50), ("6", 20), ("8", 50)):
        for quick, sites in ((True, 8), (False, full)):
            [said] = [one for one in BY_NUMBER[number].caveats_of(quick) if "lie at random" in one]
            assert f"Here {sites} sites lie at random places" in said
    assert all("step sizes" in one.caveats_of(True)[0] for one in PAPER_FIGURES)


def test_efficiency_and_delays_are_those_of_a_simulation(weeks: pd.DataFrame) -> None:
    own = where(rows_of("5", weeks), parameters="default").set_index("policy")
    assert own.loc["offline", "relative"] == 1.0
    found = []
    for draw in range(3):
        instance = drawn(draw)
        run = simulate(EdrEnvironment(instance), SaddlePoint(), rng=draw, runs=1)
        training = instance.energy_weight * run.training_energy[0] @ instance.price
        paid = run.energy_cost.sum() - training + run.delay_cost.sum()
        found.append(((run.asked - run.unserved).sum() / paid, run.quality[0] / run.asked.sum()))
    assert own.loc["saddle_point", "efficiency"] == pytest.approx(np.mean([f[0] for f in found]))
    mine = where(rows_of("8", weeks[weeks["policy"] == "saddle_point"]), parameters="default")
    shares = np.array([f[1] for f in found])
    assert mine["share"][:20].to_numpy() == pytest.approx(np.mean(shares, axis=0), abs=1e-12)
    wide = [shares[:, :6].sum(axis=1), shares[:, 14:18].sum(axis=1), shares.sum(axis=1)]
    assert mine["share"][20:].to_numpy() == pytest.approx(np.mean(wide, axis=1))
    assert list(zip(mine["from"][20:], mine["to"][20:], strict=True)) == [
        (0.0, 0.3), (0.7, 0.9), (0.0, 1.0),
    ]  # fmt: skip
    [tall, _] = BY_NUMBER["8"].draw(rows_of("8", weeks[weeks["policy"] == OWN])).axes
    assert len(tall.patches) == 20


def test_regret_is_what_exceeds_the_best_plan_of_every_frame() -> None:
    jobs = [
        job
        for job in BY_NUMBER["4f"].jobs(True)
        if job.identity["frames"] == 6
        and job.identity["draw"] == 0
        and job.identity["policy"] in ("greedy", "framewise")
    ]
    rows = where(rows_of("4f", run_jobs(jobs, progress=False)), parameters="default")
    [row] = rows.to_dict("records")
    week = cut(drawn(0), 6)
    best = find_system("edr").offline.bounds[FRAMEWISE].compute(week).plan.cost
    run = simulate(EdrEnvironment(week), Greedy(), rng=0, runs=1)
    regret, fit = lost(week, run, best)
    assert (row["regret"], row["fit"]) == pytest.approx((regret, fit))
    assert np.isnan(row["regret_low"])


def test_noise_is_compared_with_the_least_and_with_the_optimum() -> None:
    jobs = [
        job
        for job in BY_NUMBER["6"].jobs(True)
        if job.identity["reuse"] == "none"
        and job.identity["draw"] < 2
        and job.identity["parameters"] == "default"
    ]
    rows = rows_of("6", run_jobs(jobs, progress=False))
    rows = where(rows, parameters="default").set_index("noise")
    changes, ratios = [], []
    for draw in range(2):
        costs = []
        for noise in (-174.0, -154.0):
            instance = drawn(draw, reuse="none", noise=noise)
            run = simulate(EdrEnvironment(instance), SaddlePoint(), rng=draw, runs=1)
            costs.append(run.total[0])
        changes.append(costs[1] / costs[0] - 1)
        ratios.append(costs[1] / solve_offline(instance).bound)
    assert rows.loc[-174.0, "change"] == 0
    assert rows.loc[-154.0, "change"] == pytest.approx(np.mean(changes))
    assert rows.loc[-154.0, "ratio"] == pytest.approx(np.mean(ratios), rel=1e-6)


def test_the_loss_is_the_measured_one_after_the_rounds_done() -> None:
    instance, table = drawn(0), measured()
    assert instance.task_kind is not None
    assert (np.bincount(instance.task_kind) == 2).all()
    rounds = np.zeros((instance.frames, instance.tasks))
    rounds[instance.arrival] += 0.0
    rounds[instance.deadline, range(instance.tasks)] = 30
    rounds[instance.arrival[5], 5] = 7
    rounds[instance.deadline[5], 5] -= 7
    found = np.array(global_loss(instance, rounds))
    mean = table.loss.mean(axis=2)
    at = {done: int(np.flatnonzero(table.rounds == done)[0]) for done in (0, 7, 30)}
    assert found[:, 0] == pytest.approx(mean[:, at[0]])
    assert found[:, -1] == pytest.approx(mean[:, at[30]])
    kind = instance.task_kind[5]
    assert found[kind, 10] == pytest.approx((mean[kind, at[0]] + mean[kind, at[7]]) / 2)


def test_measured_losses_are_of_these_networks() -> None:
    table = measured()
    assert table.loss.shape == (len(LEARNING_MODELS), table.rounds.size, 3)
    assert table.loss[:, 0] == pytest.approx(np.log(10), abs=0.05)
    assert (table.loss[:, -1] < table.loss[:, 0]).all()
    for model, kind in zip(LEARNING_MODELS, table.kinds, strict=True):
        assert model.name.split()[0] == kind.split(",")[0].split()[0]
    assert loss_after(np.array([1, 0]), np.array([1e9, 15.0])) == pytest.approx(
        [table.loss[1, -1].mean(), table.loss[0, table.rounds == 15].mean()]
    )


@pytest.mark.trains
def test_networks_have_the_weights_of_the_tasks() -> None:
    pytest.importorskip("torch", reason="training needs PyTorch")
    from edgeopt_papers.edr.federated import KINDS, network

    counts = [sum(part.numel() for part in network(kind).parameters()) for kind in KINDS]
    assert counts[:2] == [model.parameters for model in LEARNING_MODELS[:2]]
    # On 8 x 8 pixels the last layer is smaller.
    assert counts[2] == 20_490 - 10 * 32 * (7**2 - 2**2)


def test_a_quick_run_is_complete() -> None:
    [outcome] = reproduce("edr", figure="4h", quick=True, progress=False).outcomes
    assert outcome.quick
    times = outcome.rows.set_index(["part", "share"])["ms"]
    assert np.isfinite(times).all()
    assert times["slot"].is_monotonic_increasing
    assert [line["computed"] for line in outcome.lines] == [times["frame", 1.0], times["slot", 1.0]]
    assert outcome.paper_figure.takeaway(outcome.rows).count("all within") == 2


def test_every_judged_statement_has_a_reason_of_its_own() -> None:
    judged = [one for figure in PAPER_FIGURES for one in figure.published if one.rule is not None]
    assert [one.what for one in judged if not one.why] == []


def test_longer_objectives_change_nothing_else_that_is_drawn(weeks: pd.DataFrame) -> None:
    setting: dict[str, Any] = {"rng": 1, "first": 24, **QUICK, "capable_share": 0.25}
    short, long = week(**setting), week(**setting, longer=LONGER)
    assert long == short.replace(slo=LONGER * short.slo)
    jobs = [one for one in BY_NUMBER["5"].jobs(True) if "longer" in one.identity]
    assert {(one.identity["policy"], one.identity["parameters"]) for one in jobs} == {
        *((name, "tuned") for name in (OWN, "oasdr", "lyapunov", "greedy", "scenario")),
        *((name, "default") for name in ("rl", "offline")),
    }
    few = [one for one in jobs if one.identity["policy"] in (OWN, "greedy", "offline")]
    longer = run_jobs(few, progress=False)
    both = pd.concat([weeks.assign(longer=np.nan), longer], ignore_index=True)
    rows = where(rows_of("5", both), parameters="longer").set_index("policy")
    per_draw = longer.pivot(index="draw", columns="policy", values="efficiency")
    ratio = (per_draw["greedy"] / per_draw["offline"]).mean()
    assert rows.loc["greedy", "relative"] == pytest.approx(ratio)
    drawn_too = where(rows_of("5", both), parameters="tuned").set_index("policy")
    assert rows.loc["greedy", "relative"] < 0.7 * drawn_too.loc["greedy", "relative"]
