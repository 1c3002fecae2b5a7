"""Figures of EDR against studies and simulations of the same weeks."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from edgeopt import study
from edgeopt.instances.edr import generate
from edgeopt.models.edr import solve_offline
from edgeopt.online import simulate
from edgeopt.online.edr import EdrEnvironment, Greedy, SaddlePoint
from edgeopt.studies import find_system
from edgeopt.studies.edr.figures import PAPER_FIGURES
from edgeopt.studies.edr.figures.weeks import loss_bound
from edgeopt.studies.edr.growth import cut, lost
from edgeopt.studies.edr.policies import FRAMEWISE
from edgeopt.studies.figures import reproduce
from edgeopt.studies.sweeps import run_cells

if TYPE_CHECKING:
    import pandas as pd

    from edgeopt.instances.edr import EdrInstance

BY_NUMBER = {paper_figure.number: paper_figure for paper_figure in PAPER_FIGURES}


def drawn(draw: int, **changes: object) -> EdrInstance:
    setting = {"sites": 8, "tasks": 8, "frames": 24, "slots": 3, "accuracy": 0.1}
    return generate(rng=draw, capable_share=0.25, **(setting | changes))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def weeks() -> pd.DataFrame:
    return run_cells(BY_NUMBER["4a"].cells(True), progress=False)


def rows_of(number: str, table: pd.DataFrame) -> pd.DataFrame:
    return BY_NUMBER[number].rows(table)


def test_figures_of_whole_weeks_share_their_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    # Instances take long to draw, so their specs stand for their fingerprints.
    monkeypatch.setattr("edgeopt.studies.figures.cells._fingerprint", repr)
    shared = {cell.key for cell in BY_NUMBER["4a"].cells(False)}
    for number in ("4b", "4c", "4d", "4e", "4h", "5", "8"):
        assert {cell.key for cell in BY_NUMBER[number].cells(False)} <= shared
    assert shared & {cell.key for cell in BY_NUMBER["4f"].cells(False)}


def test_totals_are_those_of_a_study(weeks: pd.DataFrame) -> None:
    ends = rows_of("4a", weeks).set_index(["policy", "frame"]).xs(24, level="frame")
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
    total = rows_of("4a", weeks)
    total = total[total["frame"] == 24].set_index("policy")["total"]
    tasks = rows_of("4c", weeks).groupby("policy")["cost"].sum()
    online = weeks[weeks["policy"] != "offline"]
    types = rows_of("4d", online).groupby("policy")["cost"].sum()
    for policy in types.index:
        assert tasks[policy] + types[policy] == pytest.approx(total[policy], rel=1e-9)


def test_savings_are_read_at_the_end(weeks: pd.DataFrame) -> None:
    rows = rows_of("4a", weeks)
    ends = rows[rows["frame"] == 24].set_index("policy")["total"]
    line = BY_NUMBER["4a"].published[0]
    assert line.value == 0.588
    assert line.computed is not None
    assert line.computed(rows) == pytest.approx(1 - ends["saddle_point"] / ends["greedy"])


def test_efficiency_and_delays_are_those_of_a_simulation(weeks: pd.DataFrame) -> None:
    own = rows_of("5", weeks).set_index("policy")
    assert own.loc["offline", "relative"] == 1.0
    found = []
    for draw in range(3):
        instance = drawn(draw)
        run = simulate(EdrEnvironment(instance), SaddlePoint(), rng=draw, runs=1)
        training = instance.energy_weight * run.training_energy[0] @ instance.price
        paid = run.energy_cost.sum() - training + run.delay_cost.sum()
        found.append(((run.asked - run.unserved).sum() / paid, run.quality[0] / run.asked.sum()))
    assert own.loc["saddle_point", "efficiency"] == pytest.approx(np.mean([f[0] for f in found]))
    bins = rows_of("8", weeks[weeks["policy"] == "saddle_point"])["share"]
    assert bins.to_numpy() == pytest.approx(np.mean([f[1] for f in found], axis=0), abs=1e-12)


def test_regret_is_what_exceeds_the_best_plan_of_every_frame() -> None:
    cells = [
        cell
        for cell in BY_NUMBER["4f"].cells(True)
        if cell.identity["frames"] == 6
        and cell.identity["draw"] == 0
        and cell.identity["policy"] in ("greedy", "framewise")
    ]
    [row] = rows_of("4f", run_cells(cells, progress=False)).to_dict("records")
    week = cut(drawn(0), 6)
    best = find_system("edr").offline.bounds[FRAMEWISE].compute(week).plan.cost
    run = simulate(EdrEnvironment(week), Greedy(), rng=0, runs=1)
    regret, fit = lost(week, run, best)
    assert (row["regret"], row["fit"]) == pytest.approx((regret, fit))
    assert np.isnan(row["regret_low"])


def test_noise_is_compared_with_the_least_and_with_the_optimum() -> None:
    cells = [
        cell
        for cell in BY_NUMBER["6"].cells(True)
        if cell.identity["reuse"] == "none" and cell.identity["draw"] < 2
    ]
    rows = rows_of("6", run_cells(cells, progress=False)).set_index("noise")
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


def test_the_bound_on_the_loss_reaches_the_accuracy_with_the_last_round() -> None:
    instance = drawn(0)
    assert instance.task_kind is not None
    task = 5
    rounds = np.zeros((instance.frames, instance.tasks))
    rounds[instance.deadline, range(instance.tasks)] = instance.rounds
    rounds[instance.arrival[task], task] = 7
    rounds[instance.deadline[task], task] -= 7
    found = loss_bound(instance, rounds, 0.1)
    needed = float(instance.rounds[0])
    both = [i for i in range(instance.tasks) if instance.task_kind[i] == instance.task_kind[task]]
    first = 0.1 * (needed + 5) / 5
    assert [bounds[0] for bounds in found] == pytest.approx([first] * 4)
    assert [bounds[-1] for bounds in found] == pytest.approx([0.1] * 4)
    later = [first] * (len(both) - 1) + [0.1 * (needed + 5) / 12]
    assert found[instance.task_kind[task]][10] == pytest.approx(np.mean(later))


def test_a_quick_run_is_complete() -> None:
    [outcome] = reproduce("edr", figure="4h", quick=True, progress=False).outcomes
    times = outcome.rows.set_index(["part", "share"])["ms"]
    assert np.isfinite(times).all()
    assert times["slot"].is_monotonic_increasing
    assert [line["computed"] for line in outcome.lines] == [times["frame", 1.0], times["slot", 1.0]]
    assert outcome.paper_figure.takeaway(outcome.rows).count("all within") == 2
