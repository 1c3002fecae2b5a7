from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from edgeopt_papers.edr.figures.growth import cut, exponent, lost
from edgeopt_papers.edr.learners import SEEDS, TABLE, TITLES, summary

from edgeopt.instances.edr import EdrInstance, generate, small
from edgeopt.models.edr import served_cap
from edgeopt.studies import Case, Claims, Study, registry, study
from edgeopt.studies.edr import SYSTEM
from edgeopt.studies.edr.policies import FRAMEWISE, INFORMED, OFFLINE, least_rounds, solve
from edgeopt.studies.edr.tables import cost_parts, simulated
from edgeopt.studies.pages.study import document, plot
from edgeopt.studies.pictures.canvas import lead
from tests.draws import some
from tests.edr.tiny import forced_excess
from tests.oracles.edr import plain
from tests.oracles.edr.log import late_price, unserved_price
from tests.oracles.edr.offline import enumerate_rounds
from tests.studies.test_page import assert_readable, assert_self_contained

if TYPE_CHECKING:
    from pathlib import Path

    from tests.studies.conftest import Plans

SIZES: dict[str, Any] = {"sites": 5, "tasks": 4, "frames": 24, "slots": 2, "types": 2}
SHEDDING = "scenario+shed"


FEW_CLAIMS = replace(SYSTEM, claims=Claims("edr.lemma1*"))
"""The record, with claims that take no time."""


@pytest.fixture(scope="module")
def day() -> Study:
    return study({"day": generate(**SIZES, rng=1)}, system=FEW_CLAIMS, runs=2, rng=5)


@pytest.fixture(scope="module")
def case(day: Study) -> Case:
    return day.cases[0]


def test_default_policies_and_their_bounds(case: Case) -> None:
    table = case.table.set_index("policy")
    assert {"saddle_point", "saddle_point+published", "greedy", "lyapunov", "oasdr"} <= set(
        table.index
    )
    assert SHEDDING in set(table.index[table["bound"] == OFFLINE])
    assert ((table["bound"] == OFFLINE) == (table["violated"] == 0)).all()
    assert (table.loc[table["bound"] == OFFLINE, "gap"] >= -1e-6).all()
    assert table.loc[table["bound"] != OFFLINE, "gap"].isna().all()
    assert (table["violated"] > 0).any()
    assert case.instance.cap.min() < np.inf
    names = [entry.name for entry in registry.choose(SYSTEM, "*")]
    assert {"scenario+history", "rl", "rl+lp", "rl+routing"} <= set(names)
    assert len(registry.choose(SYSTEM, "*")) > len(registry.choose(SYSTEM))


def test_without_caps_the_bound_is_one_for_all() -> None:
    instance = generate(**SIZES | {"frames": 12}, rng=1, capped=0.0)
    names = ["scenario", "greedy", "oasdr", "saddle_point+published", "even_rate"]
    mine = next(iter(SYSTEM.policies.entries)).make(instance, {})
    table = study(
        instance, [mine, *names], system=FEW_CLAIMS, runs=2, rng=5, progress=False
    ).table  # fmt: skip
    assert (table["bound"] == OFFLINE).all()
    assert len(table) == len(names) + 1
    assert (table["gap"] >= -1e-6).all()


def test_the_bound_is_one_for_runs_that_keep_the_caps() -> None:
    """An oracle tries all rounds and serves at its own optimum; the rule is that of energies."""
    bounded, beyond = 0, 0
    for seed in range(12):
        instance = small(seed)
        given = plain(instance, float)
        cap = served_cap(instance)
        best = enumerate_rounds(
            given, late_price=late_price(given), unserved_price=unserved_price(given), cap=cap
        )
        names = ["greedy", "even_rate", "saddle_point", SHEDDING]
        found = study(
            instance, names, system=FEW_CLAIMS, runs=2, rng=seed, progress=False
        ).cases[0]  # fmt: skip
        for name, trajectory in simulated(found).items():
            kept = (trajectory.energy <= instance.cap * (1 + 1e-9)).all()
            assert found.bound_of(name) == (OFFLINE if kept else "")
            least = found.values(name).min()
            if kept:
                bounded += 1
                assert least >= best - 1e-6 * abs(best)
            else:
                beyond += least < found.benchmark.bound * (1 - 1e-3)
    assert bounded >= 10
    assert beyond >= 1, "no run shows why the rule is needed"


def test_what_foresight_is_worth_is_said_of_instances_with_a_law(case: Case) -> None:
    assert INFORMED not in case.benchmarks
    [said] = [note for note in SYSTEM.reporting.notes(case) if "prices are drawn" in note]
    assert "no bound for plans without foresight" in said
    small_sizes = SIZES | {"frames": 12}
    known = study(
        {"known": generate(**small_sizes, rng=1, distribution=True)},
        ["even_rate"], system=FEW_CLAIMS, runs=2, rng=5,
    ).cases[0]  # fmt: skip
    found = known.benchmarks[INFORMED]
    assert found.bound == pytest.approx(found.value - 2 * found.plan.training_error)
    assert found.value == pytest.approx(found.plan.training + found.plan.serving)
    [said] = [note for note in SYSTEM.reporting.notes(known) if "prices are drawn" in note]
    assert f"{found.bound:.5g}".rstrip("0").rstrip(".") in said
    assert f"{found.plan.serving:.5g} holds for this instance: no run serves" in said
    assert f"The other {found.plan.training:.1f}, for training, is an expectation over" in said
    share = 100 * (found.value / known.benchmark.bound - 1)
    assert re.search(rf"differs from the LP bound by {share:.1f}".replace("-", "."), said), said
    # The other benchmarks and the table are as without the distribution.
    assert known.benchmark.bound > 0
    assert INFORMED in document(known)["benchmark"]["others"]


def test_parts_of_the_cost_add_up(case: Case) -> None:
    instance = case.instance
    for name, trajectory in simulated(case).items():
        parts = cost_parts(instance, trajectory)
        total = np.sum(list(parts.values()), axis=0)
        assert total == pytest.approx(case.values(name))
        for r in range(trajectory.runs):
            rounds = trajectory.rounds[r]
            dollars = sum(
                instance.price[t] * instance.round_energy[t] @ rounds[t]
                for t in range(instance.frames)
            )
            seconds = (instance.round_seconds * rounds).sum()
            assert parts["training energy"][r] == pytest.approx(instance.energy_weight * dollars)
            assert parts["training exchange"][r] == pytest.approx(instance.delay_weight * seconds)
            all_dollars = instance.price @ trajectory.energy[r]
            both = parts["training energy"][r] + parts["inference energy"][r]
            assert both == pytest.approx(instance.energy_weight * all_dollars)


def test_metrics_are_those_of_the_frames(case: Case) -> None:
    instance, table = case.instance, case.table.set_index("policy")
    allowed = sum(cap for cap in instance.cap if np.isfinite(cap))
    for name, trajectory in simulated(case).items():
        row = table.loc[name]
        excess = np.maximum(trajectory.energy - instance.cap, 0.0).sum(axis=1).mean()
        assert row["excess"] == pytest.approx(excess / allowed, abs=1e-12)
        needed = instance.rounds.sum()
        assert row["completion"] == pytest.approx(
            1 - trajectory.missing.sum(axis=1).mean() / needed
        )
        paid = row["energy_cost"] + row["delay_cost"]
        fined = (trajectory.late_cost + trajectory.unserved_cost).sum(axis=1).mean()
        assert row["value"] == pytest.approx(paid + fined)
        assert row["late"] == pytest.approx((trajectory.missing > 0).sum(axis=1).mean())
        assert row["unserved"] == pytest.approx(trajectory.unserved.sum() / trajectory.runs)


def test_logs_hold_every_frame_and_every_task(case: Case) -> None:
    frames, tasks = SYSTEM.reporting.logs
    instance, table = case.instance, case.table.set_index("policy")
    for name in case.trajectories:
        rows = frames.rows(case, name)
        assert rows["frame"].tolist() == list(range(instance.frames))
        assert rows["cap (Wh)"].tolist() == instance.cap.tolist()
        above = rows["energy (Wh)"] - rows["excess (Wh)"]
        assert (above <= rows["cap (Wh)"] * (1 + 1e-9)).all()
        assert rows["requests"].sum() == pytest.approx(instance.requests.sum())
        assert rows[SYSTEM.objective.name].sum() == pytest.approx(table.loc[name, "value"])
        missing = simulated(case)[name].missing.mean(axis=0)
        for frame, missed in enumerate(rows["rounds missed"]):
            assert missed == pytest.approx(missing[instance.deadline == frame].sum())
        each = tasks.rows(case, name)
        assert each["task"].tolist() == list(range(instance.tasks))
        met = each["rounds done"] + each["rounds missed"]
        assert met.to_numpy() == pytest.approx(instance.rounds)
        assert each["rounds missed"].sum() == pytest.approx(rows["rounds missed"].sum())
        assert each["rounds done"].sum() == pytest.approx(rows["rounds done"].sum())
        assert set(frames.bad) | set(tasks.bad) <= set(rows.columns) | set(each.columns)


def test_framewise_benchmark_trains_at_least_what_fits() -> None:
    instance = generate(**SIZES, rng=1)
    tight = instance.replace(cap=np.where(np.isfinite(instance.cap), 0.5 * instance.cap, np.inf))
    rate = np.where(tight.active, tight.even_rate, 0.0)
    least = least_rounds(tight)
    free = ~np.isfinite(tight.cap)
    assert (least <= rate + 1e-12).all()
    full = (least @ tight.round_work / (tight.slots * tight.capacity)).max(axis=1)
    assert (full <= 1 + 1e-9).all()
    whole = full < 1 - 1e-9  # elsewhere a site has no capacity for more
    assert least[free & whole] == pytest.approx(rate[free & whole])
    assert (free & whole).sum() > 3
    assert (least[~free].sum(axis=1) < rate[~free].sum(axis=1)).any()
    trains = (least * tight.round_energy).sum(axis=1)
    assert (trains <= tight.cap * (1 + 1e-9)).all()
    found = SYSTEM.offline.bounds[FRAMEWISE].compute(tight)
    assert np.isfinite(found.plan.cost).all()
    assert found.gap <= 1e-6
    assert found.plan.cost.sum() == pytest.approx(found.value)


def test_what_trains_at_its_rate_every_frame_is_above_the_framewise_benchmark() -> None:
    instance = generate(**SIZES, rng=2, capped=None)
    whole = instance.replace(rounds=instance.window * 3)
    trajectory = simulated(study(whole, ["even_rate"], system=FEW_CLAIMS, runs=2).cases[0])[
        "even_rate"
    ]
    best = SYSTEM.offline.bounds[FRAMEWISE].compute(whole).plan.cost
    assert (trajectory.rounds[0] == np.where(whole.active, 3, 0)).all()
    regret, fit = lost(whole, trajectory, best)
    assert -1e-6 <= regret == pytest.approx(trajectory.cost[0].sum() - best.sum(), abs=1e-6)
    assert fit == 0.0
    uneven = whole.replace(rounds=instance.window * 3 + 1)
    trajectory = simulated(study(uneven, ["even_rate"], system=FEW_CLAIMS, runs=2).cases[0])[
        "even_rate"
    ]
    assert not trajectory.missing.any()
    assert lost(uneven, trajectory, best)[1] == 0.0


def test_fit_is_the_norm_of_what_tasks_lack(case: Case) -> None:
    best = case.benchmarks[FRAMEWISE].plan.cost
    finished = 0
    for trajectory in simulated(case).values():
        regret, fit = lost(case.instance, trajectory, best)
        lacking = np.linalg.norm(trajectory.missing.mean(axis=0))
        assert fit == pytest.approx(lacking, abs=1e-3)
        finished += not trajectory.missing.any()
        paid = trajectory.total - trajectory.late_cost.sum(axis=1)
        assert regret == pytest.approx(paid.mean() - best.sum())
    assert finished < len(case.trajectories)


@pytest.mark.parametrize("frames", [1, 5, 11, 23, 24])
def test_cut_instance_keeps_even_rates_and_the_frames(frames: int) -> None:
    instance = generate(**SIZES, rng=3, power="frame")
    short = cut(instance, frames)
    here = [i for i in range(instance.tasks) if instance.arrival[i] < frames]
    assert (short.frames, short.tasks) == (frames, len(here))
    assert (short.requests == instance.requests[:frames]).all()
    assert (short.cap == instance.cap[:frames]).all()
    assert (short.power == instance.power[:frames]).all()
    for i, task in enumerate(here):
        rate = short.rounds[i] / short.window[i]
        assert instance.even_rate[task] <= rate + 1e-12
        assert rate < instance.even_rate[task] + 1 / short.window[i]
        assert short.active[:, i].tolist() == instance.active[:frames, task].tolist()
        assert (short.client[i] == instance.client[task]).all()
        if instance.deadline[task] < frames:
            assert short.rounds[i] == instance.rounds[task]


def test_exponent_of_a_power_and_of_nothing() -> None:
    lengths = np.array([6, 12, 24, 48])
    growth = exponent(lengths, 3.0 * lengths**0.7, 0.95)
    assert growth is not None
    assert growth.exponent == pytest.approx(0.7)
    some = exponent(lengths, np.array([6.0, 12.0, -1.0, 48.0]), 0.95)
    assert some is not None
    assert some.exponent == pytest.approx(1.0)
    assert exponent(lengths, np.array([1.0, 2.0, 0.0, -3.0]), 0.95) is None
    assert exponent(lengths[:2], np.array([1.0, 2.0]), 0.95) is None


def drawn() -> dict[str, EdrInstance]:
    usual = generate(**SIZES, rng=1)
    nobody = np.zeros((0, usual.sites), dtype=bool)
    none = np.zeros(0, dtype=int)
    long = tuple(f"A very long name of site {j}" for j in range(usual.sites))
    return {
        "day": usual,
        "no caps": generate(**SIZES, capped=None).replace(names=long),
        "no power": usual.replace(cap=np.where(np.isfinite(usual.cap), 0.0, np.inf)),
        "negative prices": usual.replace(price=np.where(usual.price < 3e-5, -1e-4, -1e-6)),
        "nowhere": usual.replace(
            position=None, price=np.where(usual.price < 3e-5, -1e-5, usual.price)
        ),
        "silent": usual.replace(requests=np.zeros_like(usual.requests)),
        "idle": usual.replace(
            arrival=none, deadline=none, rounds=none, server=none, local_steps=none, client=nobody,
            step_work=nobody.astype(float), aggregation_work=none, model_size=none, task_kind=None,
        ),
        "free": usual.replace(energy_weight=0.0, delay_weight=0.0),
        "one frame": generate(**SIZES | {"frames": 1}),
        "one site": forced_excess(),
        "tiny": small(3),
    }  # fmt: skip


@pytest.mark.parametrize("name", some(drawn(), "negative prices"))
def test_pictures_can_be_read(name: str) -> None:
    policies = ["saddle_point", SHEDDING, "greedy"]
    case = study({name: drawn()[name]}, policies, system=FEW_CLAIMS, runs=2).cases[0]
    assert_readable(case)
    low, high = plot(case, "value_over_time").axes[0].get_ylim()
    assert low <= case.benchmark.value <= high


def test_titles_say_what_the_table_says(case: Case) -> None:
    table = case.table.set_index("policy")
    titles = {picture.name: picture.title(case) for picture in SYSTEM.reporting.pictures}
    best = lead(case)
    assert f"Of the cost of {case.entries[best].title}, " in titles["cost"]
    energy = table.loc[best, "energy_cost"] / table.loc[best, "value"]
    assert f"{100 * energy:.0f}\N{NO-BREAK SPACE}% is for energy" in titles["cost"]
    exceeded = np.asarray(simulated(case)[best].violations).sum(axis=1).mean()
    assert ("keeps the caps" if not exceeded else f"exceeds the cap in {exceeded:.2g}") in (
        titles["energy"]
    )
    assert "frames" in titles["value_over_time"]
    assert plot(case, "value_over_time").axes[0].get_xlabel() == "frame"


@pytest.mark.long
def test_page_counts_every_frame(day: Study, tmp_path: Path) -> None:
    page = day.page(tmp_path).read_text(encoding="utf-8")
    text = " ".join(" ".join(assert_self_contained(page).text).split())
    origin = " ".join(day.cases[0].instance.origin.split())
    assert origin in text
    assert "The instance has 24 frames" in text
    assert "Penalised cost per run" in text
    assert "Exceeded capped frames" in text
    assert not re.search(r"\b(nan|None|inf|profit|failed)\b", re.split(r"All \d+ claims", text)[0])
    written = pd.read_csv(tmp_path / "frames.csv")
    assert len(written) == 24 * len(day.cases[0].trajectories)


def test_sources_and_what_they_are_made_of() -> None:
    assert list(SYSTEM.instances.sources) == ["drawn", "quiet", "tables"]
    lines = SYSTEM.instances.sources["tables"].provenance()
    for source in ("Ontario", "EIA", "London", "EUA"):
        assert any(line.startswith(source) for line in lines)
    assert "drawn" in SYSTEM.instances.sources["quiet"].title


def test_the_page_says_who_knows_the_day_before(case: Case) -> None:
    assert case.instance.history is None
    assert any("no policy uses it" in line for line in SYSTEM.reporting.notes(case))
    known = generate(**SIZES, history=True)
    names = ["scenario", "scenario+history"]
    [both] = study({"day": known}, names, system=FEW_CLAIMS, runs=2).cases
    [one] = study({"day": known}, names[:1], system=FEW_CLAIMS, runs=2).cases
    said, other = (" ".join(SYSTEM.reporting.notes(each)) for each in (both, one))
    assert "Scenario control with history uses it and the others do not" in said
    assert "no policy here uses it" in other
    table = both.table.set_index("policy")["value"]
    assert table["scenario"] != table["scenario+history"]


def test_export_writes_both_files_alike(plans: Plans) -> None:
    benchmark = solve(generate(**SIZES))
    cells, stored = plans(benchmark)
    rounds = stored["rounds"].to_numpy()
    assert stored["energy"].attrs["units"] == "Wh"
    assert rounds == pytest.approx(np.asarray(benchmark.plan.rounds, dtype=float))
    assert rounds[cells["frame"], cells["task"]] == pytest.approx(cells["rounds"].to_numpy())
    assert cells["rounds"].sum() == pytest.approx(rounds.sum())


def test_the_summary_of_learners_is_that_of_its_table() -> None:
    found, table = summary(), TABLE.read().table
    assert (found["low"] >= 0.0).all()
    assert (found["low"] < found["value"]).all()
    assert (found["value"] < found["high"]).all()
    training = table[table["mode"] == "training"].pivot(
        index=["policy", "seed"], columns="figure", values="value"
    )
    assert set(found["mode"]) == set(table["mode"]) - {"training"}
    assert len(training) == 2 * len(SEEDS)
    assert (training > 0).all(axis=None)
    names = {title: name for name, title in TITLES.items()}
    for row in found.itertuples():
        own = table[(table["figure"] == row.figure) & (table["mode"] == row.mode)]
        own = own[own["policy"] == names[row.policy]]
        mean = own["value"].mean() if row.figure == "gap" else np.exp(np.log(own["value"]).mean())
        assert row.value == pytest.approx(mean)
        assert np.isnan(row.relative) == (row.policy in {TITLES["scenario"], TITLES["cheapest"]})
