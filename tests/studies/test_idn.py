from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from edgeopt_papers.idn.claims.instances import adversarial
from edgeopt_papers.idn.claims.theorem import all_allocations

from edgeopt.instances.idn import IdnInstance, generate, small
from edgeopt.online.idn import serve
from edgeopt.studies import Case, Study, registry, study
from edgeopt.studies.idn import SYSTEM
from edgeopt.studies.idn.policies import solve
from edgeopt.studies.pages.study import plot
from edgeopt.studies.pictures.canvas import lead
from tests.draws import some
from tests.studies.test_page import assert_readable, assert_self_contained, overlapping

if TYPE_CHECKING:
    from pathlib import Path

    from tests.studies.conftest import Plans

SIZES = {"topology": 2, "tasks": 5, "replicas": 2, "horizon": 8}
KEEPING = ["portfolio", "infida+", "infida+fill", "olag", "olag+forwarded", "sg"]


@pytest.fixture(scope="module")
def steady() -> Study:
    return study({"steady": generate(**SIZES)}, runs=4, rng=5)


@pytest.fixture(scope="module")
def case(steady: Study) -> Case:
    return steady.cases[0]


def test_default_policies_and_their_bounds(case: Case) -> None:
    table = case.table.set_index("policy")
    assert set(table.index) == {"infida", *KEEPING}
    assert list(table.index[table["kind"] == "hindsight"]) == ["sg"]
    assert table.index[-1] == "sg"
    assert set(table.index[table["bound"] == "moving"]) == {*KEEPING} - {"sg"}
    assert table.loc["sg", "bound"] == "static"
    assert (table.loc[KEEPING, "bound_ratio"] <= 1 + 1e-9).all()
    assert table.loc["infida", "bound"] == ""  # it exceeds budgets
    assert (table.loc[KEEPING, "violated"] == 0).all()
    assert table.loc["infida", "violated"] > 0
    entries = registry.choose(SYSTEM, "*")
    assert {entry.name for entry in entries if not entry.causal} == {
        "infida-offline",
        "infida-offline+mean",
        "sg",
        "sg+published",
    }
    names = [entry.name for entry in entries]
    assert {
        "infida+every8",
        "olag+forwarded",
        "olag+literal",
    } <= set(names)


def test_the_bound_on_moving_placements_is_that_of_the_best_in_every_slot() -> None:
    instance = adversarial(horizon=2)

    def cost(requests: Any, allocation: Any) -> float:
        served = serve(instance, requests, allocation > 0, order="sequential")
        return float(served.cost) / float(requests.sum())

    empty = np.asarray(instance.empty)
    gains = [
        [cost(requests, empty) - cost(requests, x) for x in all_allocations(instance)]
        for requests in instance.requests
    ]
    best, fixed = np.max(gains, axis=1).mean(), np.mean(gains, axis=0).max()
    bounds = SYSTEM.offline.bounds
    moving, static = (bounds[name].compute(instance).bound for name in ("moving", "static"))
    assert moving == pytest.approx(best)
    assert static == pytest.approx(fixed)
    assert static < best
    for seed in range(6):
        drawn = small(np.random.default_rng(seed))
        assert bounds["moving"].compute(drawn).gap <= 1e-5
        assert bounds["moving"].compute(drawn).bound >= bounds["static"].compute(drawn).value - 1e-9


def test_value_is_the_mean_gain_per_request_over_slots(case: Case) -> None:
    instance, ranking = case.instance, case.instance.ranking
    for name, trajectory in case.trajectories.items():
        alone = ranking.repository_cost @ instance.requests.T
        gain = (alone - trajectory.cost) / instance.total_requests
        assert case.values(name) == pytest.approx(gain.mean(axis=1))
        row = case.table.set_index("policy").loc[name]
        assert row["ratio"] == pytest.approx(gain.mean() / case.benchmark.bound)
        # Without a table of costs of its own, a request costs what it is said to suffer.
        suffered = row["latency"] + instance.alpha * row["inaccuracy"]
        spent = trajectory.cost.sum() / instance.total_requests.sum() / trajectory.runs
        assert suffered == pytest.approx(spent)


@pytest.mark.parametrize("policy", ["infida+fill", "olag"])
def test_metrics_are_those_of_the_trajectory(case: Case, policy: str) -> None:
    instance, ranking = case.instance, case.instance.ranking
    hosted = case.replay(policy).hosted
    scenarios = np.random.default_rng(5).spawn(2)[0]
    turns = SYSTEM.policies.environment(instance).scenarios(scenarios, 1)[0]
    fetched = latency = inaccuracy = 0.0
    for slot in range(instance.horizon):
        load = serve(instance, instance.requests[slot], hosted[slot], draw=turns[slot]).load
        for option, served in enumerate(load):
            latency += served * ranking.latency[option]
            inaccuracy += served * (100.0 - instance.accuracy[ranking.model[option]])
        if slot:
            new = hosted[slot] & ~hosted[slot - 1]
            fetched += instance.size[new].sum()
    found = {
        metric.name: metric.compute(instance, case.trajectories[policy])[0]
        for metric in SYSTEM.reporting.metrics
    }
    total = instance.requests.sum()
    assert found["latency"] == pytest.approx(latency / total)
    assert found["inaccuracy"] == pytest.approx(inaccuracy / total)
    assert found["updates"] == pytest.approx(fetched / instance.horizon)


def test_slots_weigh_as_their_requests_in_metrics() -> None:
    instance = generate(**SIZES)
    requests = instance.requests.copy()
    requests[0] = 0
    requests[1] //= 3
    given = study(instance.replace(requests=requests), ["olag"], runs=2).cases[0]
    trajectory = given.trajectories["olag"]
    weights = requests.sum(axis=1)
    expected = np.nansum(trajectory.latency * weights, axis=1) / weights.sum()
    assert np.isnan(trajectory.latency[:, 0]).all()
    assert given.table["latency"][0] == pytest.approx(expected.mean())


def test_updates_are_means_over_slots_and_runs(case: Case) -> None:
    row = case.table.set_index("policy").loc["infida"]
    assert row["updates"] == pytest.approx(case.trajectories["infida"].fetched.mean())


def drawn() -> dict[str, IdnInstance]:
    cases = {
        "tree": generate(**SIZES),
        "sliding": generate(
            **SIZES | {"horizon": 12}, popularity="sliding", shift_every=900_000, shift_by=2
        ),
        "no tiers": generate(**SIZES).replace(tier=None, names=None),
        "own cost": small(3, own_cost=True),
        "tiny": small(4),
        "one node": adversarial(horizon=9),
        "accuracy is free": generate(**SIZES, alpha=0.0),
        "one slot": generate(**SIZES | {"horizon": 1}),
    }
    silent = cases["tree"]
    return cases | {"silent": silent.replace(requests=np.zeros_like(silent.requests))}


@pytest.mark.parametrize("name", some(drawn(), "sliding"))
def test_pictures_can_be_read(name: str) -> None:
    case = study({name: drawn()[name]}, ["infida", "infida+fill", "sg"], runs=3).cases[0]
    assert_readable(case)


@pytest.mark.long
def test_real_network_can_be_read() -> None:
    instance = SYSTEM.instances.sources["tables"].make(rng=0)
    short = instance.replace(requests=instance.requests[:4])
    case = study({"tables": short}, ["infida", "sg"], runs=2).cases[0]
    figure = plot(case, "hosted")
    assert overlapping(figure) == []
    shown = {tick.get_text() for tick in figure.axes[0].get_yticklabels()}
    assert len(shown) == 8
    assert shown <= set(instance.names)


def test_titles_say_what_the_table_says(case: Case) -> None:
    table = case.table.set_index("policy")
    titles = {picture.name: picture.title(case) for picture in SYSTEM.reporting.pictures}
    assert table["value"].idxmax() == "sg"
    half = case.trajectories[lead(case)].reward[:, :4].mean()
    said = f"After 4 of 8 slots, {case.entries[lead(case)].title} is at {half:.2f}"
    assert titles["value_over_time"].startswith(said)
    table = table.drop(index="sg")
    fastest = table["latency"].idxmin()
    assert (
        f"{case.entries[fastest].title} in {table.loc[fastest, 'latency']:.3g} ms"
        in (titles["trade_off"])
    )
    hosted = case.replay(lead(case)).hosted[-1]
    free = ~case.instance.pinned
    used = (hosted * case.instance.size)[free].sum() / case.instance.budget[free].sum()
    assert f"{100 * used:.1f}" in titles["hosted"]


def test_without_infida_the_best_policy_is_shown() -> None:
    case = study(generate(**SIZES), ["olag", "sg"], runs=2).cases[0]
    best = case.best()
    assert best is not None
    assert lead(case) == best["policy"]
    assert case.entries[lead(case)].title in SYSTEM.reporting.pictures[0].title(case)


@pytest.mark.long
def test_page_says_which_policies_the_bound_is_valid_for(steady: Study, tmp_path: Path) -> None:
    page = steady.page(tmp_path).read_text(encoding="utf-8")
    text = " ".join(" ".join(assert_self_contained(page).text).split())
    assert "It bounds the gain of every policy that keeps every budget in every slot" in text
    assert "Neither bounds a policy that keeps a budget on average only" in text
    assert "Every node has a budget in every slot" in text
    assert "Gain per request (ms)" in text
    assert "Exceeded node budgets" in text
    assert "idn.theorem5_1" in text
    assert not re.search(r"\b(nan|None|inf|profit|failed)\b", re.split(r"All \d+ claims", text)[0])


def test_notes_count_changes_of_the_requests() -> None:
    moving = generate(
        **SIZES | {"horizon": 5}, popularity="sliding", shift_every=900_000, shift_by=2
    )
    case = study(moving, ["infida", "sg"], runs=2).cases[0]
    changes = sum(
        (a != b).any() for a, b in zip(moving.requests, moving.requests[1:], strict=False)
    )
    assert changes > 0
    assert any(f"change {changes} time" in note for note in SYSTEM.reporting.notes(case))


def test_every_source_makes_an_instance() -> None:
    assert list(SYSTEM.instances.sources) == [
        "topology_1_common",
        "topology_1",
        "topology_2",
        "topology_1_sliding",
        "topology_2_sliding",
        "tables",
    ]
    made = {name: source.make(rng=1) for name, source in SYSTEM.instances.sources.items()}
    assert all(isinstance(instance, IdnInstance) for instance in made.values())
    assert len({instance.fingerprint() for instance in made.values()}) == len(made)
    assert {name: instance.nodes for name, instance in made.items()} == {
        "topology_1": 36,
        "topology_2": 5,
        "topology_1_sliding": 36,
        "topology_2_sliding": 5,
        "topology_1_common": 36,
        "tables": 23,
    }
    for name in list(made)[:5]:
        assert made[name].horizon == 300
        moves = (made[name].requests != made[name].requests[0]).any()
        assert moves == name.endswith("sliding")
    lines = SYSTEM.instances.sources["tables"].provenance()
    assert len(lines) == 3
    assert all("Licence" in line for line in lines)


def test_export_writes_both_files_alike(plans: Plans) -> None:
    instance = generate(**SIZES)
    benchmark = solve(instance)
    cells, stored = plans(benchmark)
    share = stored["share"].to_numpy()
    assert share == pytest.approx(np.asarray(benchmark.plan.allocation, dtype=float))
    names = instance.called("node")
    assert names is not None
    assert share[[names.index(one) for one in cells["node"]], cells["model"]] == pytest.approx(
        cells["share"].to_numpy()
    )
    assert cells["share"].sum() == pytest.approx(share.sum())
