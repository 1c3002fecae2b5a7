"""Figures of IDN against the demand, the catalogue and a study of the same instances."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from edgeopt_papers.figures import Reproduction, reproduce
from edgeopt_papers.figures.aggregates import where
from edgeopt_papers.idn.figures.gains import EVALUATIONS
from edgeopt_papers.idn.figures.hosts import hosted_share, popular_task
from edgeopt_papers.idn.figures.setting import FIRST, ahead, along, near, pairs, within
from edgeopt_papers.idn.figures.statements import TABLE_S1, checked

from edgeopt.instances.idn import generate
from edgeopt.online import simulate
from edgeopt.online.idn import IdnEnvironment, Olag, StaticGreedy, offline_infida

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.instances.idn import IdnInstance

HOUR = 60
"""Slots between two changes of popularity at 7,500 requests a second."""


@pytest.fixture(scope="module")
def loads() -> Reproduction:
    return reproduce("idn", figure="9", quick=True)


@pytest.mark.long
def test_gains_under_load_are_those_of_simulations(loads: Reproduction) -> None:
    rows = loads.outcomes[0].rows
    settings: dict[str, Any] = {"attachment": "common", "popularity": "sliding", "rate": 10000.0}
    seeds = list(pairs())[::3]
    instances = [generate(rng=seed, **settings, horizon=5 * HOUR) for seed in seeds]
    makers: dict[str, Callable[[IdnInstance], Any]] = {
        "olag": lambda _: Olag(),
        "olag+forwarded": lambda _: Olag(counters="forwarded"),
        "olag+literal": lambda _: Olag(counters="forwarded", ties="literal"),
        "sg": StaticGreedy.plan,
        "sg+published": partial(StaticGreedy.plan, plan="mean", stop="served"),
        "infida-offline+mean": partial(offline_infida, plan="mean"),
    }
    for name, make in makers.items():
        own = where(rows, policy=name, popularity="sliding", rate=10000.0)
        ran = [
            simulate(IdnEnvironment(one), make(one), rng=seed, runs=2)
            for seed, one in zip(seeds, instances, strict=True)
        ]
        expected = np.mean([one.time_averaged_gain().mean() for one in ran])
        assert own["value"].item() == pytest.approx(expected, rel=1e-12)
        assert own["value_low"].item() < expected < own["value_high"].item()


def test_lines_say_what_the_rows_say(loads: Reproduction) -> None:
    rows = loads.outcomes[0].rows.set_index(["popularity", "policy", "rate"])["value"].sort_index()
    lines = {line["what"]: line for line in loads.outcomes[0].lines}
    ahead_of_olag = lines["INFIDA over OLAG, fixed popularity"]
    assert ahead_of_olag["published"] == 0.10
    shared = lines["INFIDA over OLAG with shared counters, fixed popularity"]
    mine = rows["fixed", "infida", 7083.0]
    for line, name in ((ahead_of_olag, "olag+literal"), (shared, "olag+forwarded")):
        assert line["computed"] == pytest.approx(mine / rows["fixed", name, 7083.0] - 1.0)
    assert ahead_of_olag["computed"] > shared["computed"] > 0.0
    lost = lines["loss of static greedy by sliding popularity"]["computed"]
    kept = rows["sliding", "sg+published", 7083.0] / rows["fixed", "sg+published", 7083.0]
    assert lost == pytest.approx(1.0 - kept)


def test_statements_are_checked_on_each_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    # Instances take long to draw, so their specs stand for their fingerprints.
    monkeypatch.setattr("edgeopt_papers.figures.jobs._fingerprint", repr)
    _, *_, figure_9, _ = EVALUATIONS
    listed = [job for job in TABLE_S1.jobs(True) if job.identity["figure"] == "9"]
    draw = np.random.default_rng(7)
    table = pd.DataFrame([{**job.identity, "value": draw.uniform(50, 60)} for job in listed])
    rows = checked(table, [figure_9]).set_index("what")
    assert len(rows) == len(figure_9.statements)
    row = rows.loc["INFIDA over OLAG, fixed popularity"]
    for interpretation, olag, attachment in (
        ("task", "olag+literal", "task"),
        ("common", "olag+literal", "common"),
        ("strong", "olag", "common"),
    ):
        own = where(table, attachment=attachment, popularity="fixed", rate=7083.0)
        wide = own.pivot_table(index="draw", columns="policy", values="value")
        leads = wide["infida"] / wide[olag] - 1.0
        assert len(leads) == (1 if attachment == "task" else 2)
        assert row[f"{interpretation}_value"] == pytest.approx(leads.mean())
        assert row[f"{interpretation}_held"] == leads.between(0.2 / 3, 0.4 / 3).mean()
        low, high = (row[f"{interpretation}_value_{end}"] for end in ("low", "high"))
        assert (low < leads.mean() < high) == (len(leads) > 1)
    # The jobs of a figure are among those of the table, so they are computed once.
    keys = {job.key for job in TABLE_S1.jobs(True)}
    for one in EVALUATIONS:
        assert {job.key for job in one.paper_figure.jobs(True)} <= keys
    # What both baselines do not touch is the same in both readings of the common stations.
    offline = rows.loc["loss of INFIDA offline by sliding popularity"]
    assert offline["common"] == offline["strong"]
    assert row["stations"].startswith("siblings")


def test_two_draws_of_each_kind_of_pair() -> None:
    instance = generate(attachment="common", horizon=1)
    network = nx.Graph(instance.edges.tolist())
    hops = {"siblings": 2, "cousins": 4, "apart": 6}
    kinds: dict[int, str] = {}
    for seed in range(FIRST, max(pairs()) + 1):
        drawn = generate(rng=seed, attachment="common", horizon=1)
        one, other = drawn.path[:2, 0].tolist()
        away = nx.shortest_path_length(network, one, other)
        kinds[seed] = next(kind for kind, length in hops.items() if length == away)
    for kind in hops:
        first = [seed for seed, own in kinds.items() if own == kind][:2]
        assert [seed for seed, own in pairs().items() if own == kind] == first


ROWS = pd.DataFrame(
    {
        "policy": ["a"] * 3 + ["b"] * 3,
        "alpha": [1.0, 2.0, 3.0] * 2,
        "value": [5.0, 4.0, 4.5, 4.0, 5.0, 3.0],
    }
)


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        # a falls, rises; b rises, falls.
        (along("alpha", "value", ["a"], -1), (1, 2, np.nan)),
        (along("alpha", "value", ["a", "b"], 1), (2, 4, np.nan)),
        (ahead("alpha", "value", ["a"], ["b"]), (2, 3, 4.0 / 5.0 - 1.0)),
        (ahead("alpha", "value", ["a", "b"], ["a"]), (1, 3, 3.0 / 4.5 - 1.0)),
        (near(lambda rows: rows["value"].max(), 3.75), (1, 1, 5.0)),
        (near(lambda rows: rows["value"].max(), 3.74), (0, 1, 5.0)),
        (within(lambda rows: rows["value"].min(), 0.0, 3.0), (1, 1, 3.0)),
        (within(lambda rows: rows["value"].min(), 3.1, 9.0), (0, 1, 3.0)),
    ],
)
def test_checks_by_hand(check: Callable[[pd.DataFrame], Any], expected: tuple[float, ...]) -> None:
    assert tuple(check(ROWS)) == pytest.approx(expected, nan_ok=True)


def test_the_cheapest_is_told_by_latency_and_inaccuracy() -> None:
    *_, figure_10 = EVALUATIONS
    rows = pd.DataFrame(
        [
            {"rate": 7500.0, "policy": name, "alpha": alpha, "latency": wait, "inaccuracy": wrong}
            for alpha in (1.0, 2.0)
            for name, wait, wrong in (
                ("infida", 10.0, 30.0),
                ("infida-offline+mean", 11.0, 31.0),
                ("sg+published", 50.0, 11.0),
                ("olag+literal", 60.0, 40.0),
            )
        ]
    )
    # At alpha 1 INFIDA costs 40, static greedy 61; at alpha 2 they cost 70 and 72.
    light, _, offline = figure_10.statements
    assert tuple(light.check(rows)) == pytest.approx((2, 2, 70 / 72 - 1))
    rows.loc[rows["policy"] == "sg+published", "inaccuracy"] = 9.0  # 68 at alpha 2
    assert tuple(light.check(rows)) == pytest.approx((1, 2, 70 / 68 - 1))
    assert tuple(offline.check(rows)) == pytest.approx((0, 2, 42 / 40 - 1))


def test_late_updates_are_those_of_the_last_third() -> None:
    fetched = np.arange(30.0)
    so_far = np.cumsum(fetched) / np.arange(1, 31)
    rows = pd.DataFrame({"policy": "olag+literal", "slot": range(1, 31), "updates": so_far})
    statement = next(
        one for figure in EVALUATIONS for one in figure.statements
        if one.what.startswith("updates of OLAG")
    )  # fmt: skip
    assert statement.check(rows).value == pytest.approx(fetched[20:].mean())


def test_popularity_slides_by_five_tasks_every_hour() -> None:
    [outcome] = reproduce("idn", figure="4", quick=True).outcomes
    sliding = outcome.rows[outcome.rows["popularity"] == "sliding"]
    share = sliding.pivot_table(index="slot", columns="task", values="share").to_numpy()
    distribution = np.arange(1, 21) ** -1.2
    distribution /= distribution.sum()
    for slot in range(5 * HOUR):
        # Request number l is for task i with probability p(i + 5 floor(l / W)).
        expected = distribution[(np.arange(20) + 5 * (slot // HOUR)) % 20]
        assert np.abs(share[slot] - expected).max() < 1e-4


def test_the_repository_serves_with_the_second_most_accurate_model() -> None:
    [outcome] = reproduce("idn", figure="5", quick=True).outcomes
    lines = {line["what"]: line["computed"] for line in outcome.lines}
    # Cheapest at the cloud of 512p (1000 / 55.5 ms, 64.9 %) and 608p (1000 / 41.7 ms, 65.7 %).
    for alpha in (3.0, 4.0, 5.0):
        assert 1000 / 55.5 + alpha * (100 - 64.9) < 1000 / 41.7 + alpha * (100 - 65.7)
    assert lines["rank of the model that the repository serves with"] == "yes: 2.00"
    shares = outcome.rows.groupby(["alpha", "tier"])["share"].sum()
    assert np.allclose(shares.xs(0, level="tier"), 30.0)  # the cloud stores all 30
    below = outcome.rows.query("alpha == 3 and tier > 0 and model <= 18")
    small = below["share"].sum() / 4
    said = lines["small models (0 to 18) per node, alpha 3"]
    assert said.startswith("yes" if small >= 3 else "no")
    assert float(said.split(": ")[1]) == pytest.approx(small, rel=0.01)


def test_heat_map_counts_nodes_on_paths_of_the_task() -> None:
    instance = generate(tasks=3, replicas=2, horizon=7, rng=4)
    hosted = np.random.default_rng(1).random((7, *instance.size.shape)) < 0.4
    task = popular_task(instance)
    requested = [
        sum(int(n) for n, t in zip(slot, instance.request_task, strict=True) if t == task)
        for slot in instance.requests
    ]
    for other in range(instance.tasks):
        assert instance.requests[:, instance.request_task == other].sum() <= sum(requested)
    rows, models, share = hosted_share(instance, hosted, task)
    assert rows == sorted(set(instance.tier.tolist()))
    assert (np.diff(instance.accuracy[models]) <= 0).all()
    assert set(models) == set(np.flatnonzero(instance.task == task))
    last = range(instance.horizon - instance.horizon // 3, instance.horizon)
    for row, tier in enumerate(rows):
        nodes = {
            int(v)
            for path, t in zip(instance.path, instance.request_task, strict=True)
            for v in path
            if t == task and v >= 0 and instance.tier[v] == tier
        }
        for column, model in enumerate(models):
            seen = [hosted[slot, v, model] for slot in last for v in nodes]
            assert share[row, column] == pytest.approx(np.mean(seen))
