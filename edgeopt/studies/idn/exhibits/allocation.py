"""Figure 5: which models of the most popular task the tiers settle on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.studies.exhibits import Exhibit, Printed, plays
from edgeopt.studies.idn.exhibits.setting import OPEN, RUNS, recipe
from edgeopt.studies.idn.network import hosted_share, popular_task
from edgeopt.studies.pictures.canvas import blank
from edgeopt.studies.wording import number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

    from edgeopt.studies.result import Case
    from edgeopt.studies.sweeps import Cell

__all__ = ["FIGURE_5", "settled"]

_ALPHAS: Final = (3.0, 4.0, 5.0)
_SMALL: Final = 18
"""The paper calls the first models, sorted by accuracy and counted from 0, small: up to here."""


def settled(case: Case) -> dict[str, Any]:
    """Return how often each tier hosts each model of the most popular task, in the last third."""
    instance = case.instance
    [policy] = case.trajectories
    hosted = case.replay(policy).hosted
    rows, models, share = hosted_share(instance, hosted, popular_task(instance))
    ranking = instance.ranking
    of_task = int(np.flatnonzero(instance.request_task == popular_task(instance))[0])
    options = ranking.options(of_task)
    first = options.start + int(np.flatnonzero(ranking.permanent[options])[0])
    # The least accurate first, as the paper numbers them.
    return {
        "tiers": rows,
        "repository": 100.0 - float(ranking.inaccuracy[first]),
        "accuracy": instance.accuracy[models][::-1].tolist(),
        "share": share[:, ::-1].ravel().tolist(),
    }


def _cells(quick: bool) -> list[Cell]:
    return [
        cell
        for alpha in _ALPHAS
        for cell in plays(
            "idn",
            recipe(quick, 0, topology=1, alpha=alpha),
            ["infida"],
            runs=RUNS,
            at={"alpha": alpha},
            reading=settled,
        )
    ]


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    parts = []
    for row in table.to_dict("records"):
        share = np.array(row["share"]).reshape(len(row["tiers"]), -1)
        tier, model = np.indices(share.shape)
        parts.append(
            pd.DataFrame(
                {
                    "alpha": row["alpha"],
                    "tier": np.array(row["tiers"])[tier.ravel()],
                    "model": model.ravel(),
                    "accuracy": np.array(row["accuracy"])[model.ravel()],
                    "share": share.ravel(),
                    "repository": row["repository"],
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def _draw(rows: pd.DataFrame) -> Figure:
    figure = blank(height=5.4)
    grid = figure.subplots(len(_ALPHAS), 1, sharex=True)
    for axes, alpha in zip(grid, _ALPHAS, strict=True):
        own = rows[rows["alpha"] == alpha]
        shares = own.pivot_table(index="tier", columns="model", values="share")
        mesh = axes.pcolormesh(shares.to_numpy(), cmap="Blues", vmin=0.0, vmax=1.0)
        axes.set_title(f"alpha = {alpha:g} ms per percent", fontsize=9)
        axes.set_yticks(np.arange(len(shares)) + 0.5, [f"tier {tier}" for tier in shares.index])
        axes.set_ylim(len(shares), 0)
        axes.grid(visible=False)
    grid[-1].set_xlabel("model of the task, the least accurate first")
    figure.colorbar(mesh, ax=grid, label="share of nodes and slots that host it", pad=0.02)
    return figure


def _small_below(alpha: float, rows: pd.DataFrame) -> float:
    """Return the mean number of small models that a node below the cloud hosts."""
    own = rows[(rows["alpha"] == alpha) & (rows["tier"] > 0) & (rows["model"] <= _SMALL)]
    return float(own["share"].sum() / own["tier"].nunique())


def _repository(rows: pd.DataFrame) -> str:
    """Say which model the repository serves with: the cheapest of all, which it stores."""
    ranks = sorted(rows["accuracy"].unique(), reverse=True)
    places = sorted({ranks.index(value) + 1 for value in rows["repository"]})
    return f"number {', '.join(map(str, places))} by accuracy"


def _notice(rows: pd.DataFrame) -> str:
    said = [f"{number(_small_below(alpha, rows), 3)} (alpha {alpha:g})" for alpha in _ALPHAS]
    return f"Small models of the most popular task per tier below the cloud: {', '.join(said)}"


FIGURE_5 = Exhibit(
    kind="figure",
    number="5",
    title="models of the most popular task at each tier under INFIDA, topology I",
    cells=_cells,
    rows=_rows,
    columns={
        "alpha": "alpha",
        "tier": "Tier",
        "model": "Model",
        "accuracy": "Accuracy (%)",
        "share": "Share of nodes and slots",
    },
    percent=("share",),
    draw=_draw,
    notice=_notice,
    printed=(
        Printed(
            what="model that the repository serves with",
            value="number 2 by accuracy",
            ours=_repository,
        ),
        *(
            Printed(
                what=f"small models (0 to {_SMALL}) per tier below the cloud, alpha {alpha:g}",
                value=said,
                ours=lambda rows, alpha=alpha: _small_below(alpha, rows),  # type: ignore[misc]
            )
            for alpha, said in zip(
                _ALPHAS, ("a considerable amount", "rarely", "none in practice"), strict=True
            )
        ),
    ),
    differs=(
        *OPEN[:2],
        "Shown are deployed models, whose share has the fractional allocation as its mean, over "
        "the last third of the slots.",
    ),
    caption="Dark: many of the tier's nodes on a path of that task host the model. The three "
    "replicas of a variant stand side by side.",
)
