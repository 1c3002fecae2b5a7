"""What five seeds of EDR's learners reach: a table that comes with the package.

The table has the penalised cost of each on instances that chose nothing, in terms of the offline
bound, beside scenario control and the saddle point with tuned parameters; and, of networks for
requests, by how much slots cost more than their linear program. Rows of the mode "training" have
gradient steps and seconds of processor time.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from edgeopt.bounds import spread
from edgeopt_papers.edr.tuning import TUNING
from edgeopt_papers.releases import Release

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from edgeopt.learning import Checkpoint, Training

SEEDS: Final = (0, 1, 2, 3, 4)
"""Seeds of the learners."""

TITLES: Final = {
    "rl+lp": "DQN, linear program",
    "rl+routing": "Scenario control, DDPG",
    "rl": "DQN, DDPG",
    "scenario": "Scenario control, tuned",
    "saddle_point": "PROPOSED, tuned",
    "cheapest": "Cheapest routes",
}
"""The rows of the table by policy; the last one is not a policy but a way to route."""


def _trained(learner: str, seed: int, folder: Path) -> Training:
    """Train a network by the default schedule."""
    from edgeopt.learning import train
    from edgeopt.studies.edr.learners import LEARNERS

    [entry] = [one for one in LEARNERS if one.name == learner]
    made = entry.make(seed=seed, updates=entry.updates)
    place = folder / f"{learner}-{seed}"
    return train(made, place, updates=entry.updates, every=entry.every)


def _cost(name: str, mode: str, options: dict[str, Any]) -> Iterator[tuple[int, float]]:
    """Yield the cost of a policy in terms of the bound, by instance."""
    from edgeopt_papers.tuning.run import ratios

    found = ratios("edr", name, mode, TUNING.test_seeds, options)
    yield from zip(TUNING.test_seeds, found.tolist(), strict=True)


def _gaps(mode: str, seed: int, networks: list[Checkpoint]) -> list[float]:
    """Return the mean gap of each network on an instance, and that of the cheapest routes."""
    from edgeopt.learning.edr.rows import gap, optima, plain_gap

    judged = list(optima(TUNING.make(mode, seed), seed))
    found = [np.mean([gap(*one, made.weights) for one in judged]) for made in networks]
    return [float(value) for value in (*found, np.mean([plain_gap(*one) for one in judged]))]


def _table(folder: Path) -> pd.DataFrame:
    """Train all seeds, and return what they reach: a row per policy, seed, mode and instance."""
    import pandas as pd

    from edgeopt_papers.tuning import tuned

    macro, micro = ([_trained(name, seed, folder) for seed in SEEDS] for name in ("macro", "micro"))
    rows: list[tuple[str, int | None, str, int, str, float]] = [
        (name, seed, "training", -1, figure, float(one.rows[-1][figure] or 0.0))
        for name, trained in (("rl+lp", macro), ("rl+routing", micro))
        for seed, one in zip(SEEDS, trained, strict=True)
        for figure in ("steps", "seconds")
    ]
    for mode in TUNING.modes:
        listed: list[tuple[str, int | None, dict[str, Any]]] = []
        for place, rounds, routing in zip(SEEDS, macro, micro, strict=True):
            listed += [
                ("rl+lp", place, {"checkpoint": rounds.checkpoint}),
                ("rl+routing", place, {"routing": routing.checkpoint}),
                ("rl", place, {"checkpoint": rounds.checkpoint, "routing": routing.checkpoint}),
            ]
        listed += [(name, None, tuned("edr", name, mode)) for name in ("scenario", "saddle_point")]
        for name, seed, options in listed:
            for instance, value in _cost(name, mode, options):
                rows.append((name, seed, mode, instance, "cost", value))
        for instance in TUNING.test_seeds:
            gaps = _gaps(mode, instance, [one.checkpoint for one in micro])
            names: list[tuple[str, int | None]] = [("rl+routing", seed) for seed in SEEDS]
            names.append(("cheapest", None))
            for one, value in zip(names, gaps, strict=True):
                rows.append((*one, mode, instance, "gap", value))
    columns = ["policy", "seed", "mode", "instance", "figure", "value"]
    table = pd.DataFrame(rows, columns=columns).astype({"seed": "Int64"})
    return table.assign(value=[float(f"{value:.6g}") for value in table["value"]])


TABLE: Final = Release(
    name="edr-learners",
    path=Path(__file__).with_name("learners.csv"),
    command="make learners NAMES=edr-learners",
    make=_table,
)
"""Five seeds of each learner on instances that chose nothing."""


def summary() -> pd.DataFrame:
    """Return what each row of the table reaches, by mode.

    `value` is over instances, and over seeds where there are some; `seeds` is the range over them.
    `relative` is paired with scenario control, or for gaps with the cheapest routes, on the same
    instances, of means over seeds.
    """
    import pandas as pd

    table = TABLE.read().table
    table, rows = table[table["mode"] != "training"], []
    for key, of in table.groupby(["figure", "mode"], sort=False):
        figure, mode = map(str, key)
        other = "scenario" if figure == "cost" else "cheapest"
        # Gaps may be 0: their means are arithmetic, and they are compared by differences.
        whole = of.assign(value=np.log(of["value"])) if figure == "cost" else of
        mean = whole.groupby(["policy", "instance"])["value"].mean()
        for policy, own in whole.groupby("policy", sort=False):
            row: dict[str, Any] = {"figure": figure, "mode": mode, "policy": TITLES[str(policy)]}
            found = _centre(mean[policy].to_numpy(), figure)
            # Neither a cost nor a gap is below 0.
            row |= {"value": found[0], "low": max(found[1], 0.0), "high": found[2]}
            if own["seed"].notna().any():
                each = own.groupby("seed")["value"].mean().to_numpy(dtype=float)
                row["seeds"] = (np.exp(each) if figure == "cost" else each).round(4).tolist()
            if policy != other:
                paired = (mean[policy] - mean[other]).to_numpy()
                row |= dict(zip(("relative", "relative_low", "relative_high"),
                                _centre(paired, figure), strict=True))  # fmt: skip
            rows.append(row)
    return pd.DataFrame(rows)


def _centre(values: NDArray[np.float64], figure: str) -> tuple[float, float, float]:
    """Return the centre and the ends of an interval, of logarithms of costs or of gaps."""
    found = spread(np.exp(values) if figure == "cost" else values, _NATURE[figure])
    return found.centre, found.low, found.high


_NATURE: Final[dict[str, Literal["positive", "signed"]]] = {"cost": "positive", "gap": "signed"}
