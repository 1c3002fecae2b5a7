"""Figures of IDN against the demand, the catalogue and a study of the same instances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from edgeopt.instances.idn import generate
from edgeopt.online import simulate
from edgeopt.online.idn import IdnEnvironment, Olag, StaticGreedy
from edgeopt.studies.figures import Reproduction, reproduce
from edgeopt.studies.figures.reading import where

if TYPE_CHECKING:
    from collections.abc import Callable

    from edgeopt.instances.idn import IdnInstance

HOUR = 8
"""Slots between two changes of popularity in a quick run."""


@pytest.fixture(scope="module")
def loads() -> Reproduction:
    return reproduce("idn", figure="9", quick=True)


def test_gains_under_load_are_those_of_simulations(loads: Reproduction) -> None:
    rows = loads.outcomes[0].rows
    settings: dict[str, Any] = {"topology": 1, "popularity": "sliding", "rate": 10000.0}
    days: dict[str, Any] = {"horizon": 5 * HOUR, "shift_every": HOUR * 600_000}
    instances = [generate(rng=seed, **settings, **days) for seed in range(2)]
    makers: dict[str, Callable[[IdnInstance], Any]] = {
        "olag": lambda _: Olag(),
        "sg": StaticGreedy.plan,
    }
    for name, make in makers.items():
        own = where(rows, policy=name, popularity="sliding", rate=10000.0)
        ran = [simulate(IdnEnvironment(one), make(one), rng=0, runs=1) for one in instances]
        expected = np.mean([one.time_averaged_gain().item() for one in ran])
        assert own["value"].item() == pytest.approx(expected, rel=1e-12)
        assert own["value_low"].item() < expected < own["value_high"].item()


def test_lines_say_what_the_rows_say(loads: Reproduction) -> None:
    rows = loads.outcomes[0].rows.set_index(["popularity", "policy", "rate"])["value"].sort_index()
    lines = {line["what"]: line for line in loads.outcomes[0].lines}
    ahead = lines["INFIDA above OLAG at 7,083 requests per second, fixed popularity"]
    assert ahead["published"] == 0.10
    mine, other = rows["fixed", "infida", 7083.0], rows["fixed", "olag", 7083.0]
    assert ahead["computed"] == pytest.approx(mine / other - 1.0)
    lost = lines["loss of static greedy when popularity slides"]["computed"]
    kept = rows["sliding", "sg"].mean() / rows["fixed", "sg"].mean()
    assert lost == pytest.approx(1.0 - kept)


def test_popularity_slides_by_five_tasks_every_hour() -> None:
    [outcome] = reproduce("idn", figure="4", quick=True).outcomes
    sliding = outcome.rows[outcome.rows["popularity"] == "sliding"]
    share = sliding.pivot_table(index="slot", columns="task", values="share").to_numpy()
    law = np.arange(1, 21) ** -1.2
    law /= law.sum()
    for slot in range(5 * HOUR):
        # Request number l is for task i with probability p(i + 5 floor(l / W)).
        expected = law[(np.arange(20) + 5 * (slot // HOUR)) % 20]
        assert np.abs(share[slot] - expected).max() < 1e-4


def test_the_repository_serves_with_the_second_most_accurate_model() -> None:
    [outcome] = reproduce("idn", figure="5", quick=True).outcomes
    lines = {line["what"]: line["computed"] for line in outcome.lines}
    # Cheapest at the cloud of 512p (1000 / 55.5 ms, 64.9 %) and 608p (1000 / 41.7 ms, 65.7 %).
    for alpha in (3.0, 4.0, 5.0):
        assert 1000 / 55.5 + alpha * (100 - 64.9) < 1000 / 41.7 + alpha * (100 - 65.7)
    assert lines["model that the repository serves with"] == "number 2 by accuracy"
    shares = outcome.rows.groupby(["alpha", "tier"])["share"].sum()
    assert np.allclose(shares.xs(0, level="tier"), 30.0)  # the cloud stores all 30
