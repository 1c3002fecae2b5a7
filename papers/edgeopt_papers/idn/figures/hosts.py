"""Figure 5: which models of the most popular task INFIDA hosts at each tier."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt_papers.figures import said
from edgeopt_papers.figures.aggregates import unrolled
from edgeopt_papers.figures.drawing import shaded
from edgeopt_papers.idn.figures.setting import (
    CAVEATS,
    OPEN,
    Check,
    Evaluation,
    Statement,
    jobs,
    within,
)

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from edgeopt.instances.idn import IdnInstance
    from edgeopt.studies.results import Case

_ALPHAS: Final = {alpha: f"alpha = {alpha:g} ms per percent" for alpha in (3.0, 4.0, 5.0)}

_SMALL: Final = {3.0: 18, 4.0: 18, 5.0: 20}
"""Up to this one the paper calls models small, sorted by accuracy and counted from 0."""


def popular_task(instance: IdnInstance) -> int:
    """Return the task with the most requests."""
    of_type = instance.requests.sum(axis=0)
    return int(np.bincount(instance.request_task, of_type, instance.tasks).argmax())


def hosted_share(
    instance: IdnInstance, hosted: NDArray[np.bool_], task: int
) -> tuple[list[int], NDArray[np.int64], NDArray[np.float64]]:
    """Say which share of a tier's nodes hosts each model of a task, in the last third."""
    models = np.flatnonzero(instance.task == task)
    models = models[np.argsort(-instance.accuracy[models], kind="stable")]
    nodes = np.unique(instance.path[instance.request_task == task])
    nodes = nodes[nodes >= 0]
    late = hosted[-max(1, len(hosted) // 3) :]
    assert instance.tier is not None
    tier = instance.tier[nodes]
    rows = sorted(set(tier.tolist()))
    share = [late[:, nodes[tier == row]][:, :, models].mean(axis=(0, 1)) for row in rows]
    return rows, models, np.array(share)


def hosted(case: Case) -> dict[str, Any]:
    """Return how often each tier hosts each model of the most popular task, in the last third.

    As in the paper, the least accurate model is the first.
    """
    instance = case.instance
    [policy] = case.trajectories
    task = popular_task(instance)
    tiers, models, share = hosted_share(instance, case.replay(policy).hosted, task)
    ranking = instance.ranking
    options = ranking.options(int(np.flatnonzero(instance.request_task == task)[0]))
    first = options.start + int(np.flatnonzero(ranking.permanent[options])[0])
    return {
        "tier": tiers,
        "repository": 100.0 - float(ranking.inaccuracy[first]),
        "accuracy": [instance.accuracy[models][::-1].tolist()] * len(tiers),
        "share": share[:, ::-1].tolist(),
    }


def _rows(table: pd.DataFrame) -> pd.DataFrame:
    lists = ["tier", "accuracy", "share"]
    rows = unrolled(table, lists, ["", "model"], ["alpha", "repository"])
    by = ["alpha", "tier", "model", "accuracy"]
    return rows.groupby(by, sort=False, as_index=False)[["share", "repository"]].mean()


def _copies(alpha: float, rows: pd.DataFrame, *, small: bool) -> float:
    """Return how many small models, or how many others, a node below the cloud hosts."""
    own = rows[(rows["alpha"] == alpha) & (rows["tier"] > 0)]
    copies = own.loc[(own["model"] <= _SMALL[alpha]) == small, "share"].sum()
    return float(copies / own["tier"].nunique())


def _small(alpha: float, rows: pd.DataFrame) -> float:
    return _copies(alpha, rows, small=True)


def _accurate(rows: pd.DataFrame) -> float:
    return _copies(5.0, rows, small=False)


def _fewer(rows: pd.DataFrame) -> Check:
    """Check that a node below the cloud hosts fewer models at alpha 5 than at alpha 4."""
    four, five = (
        sum(_copies(alpha, rows, small=small) for small in (True, False)) for alpha in (4.0, 5.0)
    )
    return Check(int(five < four), value=five)


def _rank(rows: pd.DataFrame) -> Check:
    """Rank the model of the repository by accuracy: of all its models it serves the cheapest."""
    ranks = sorted(rows["accuracy"].unique(), reverse=True)
    places = [1 + int(np.abs(np.array(ranks) - value).argmin()) for value in rows["repository"]]
    return Check(int(set(places) == {2}), value=float(max(places)))


_STATEMENTS: Final = (
    Statement("5a", "small models (0 to 18) per node, alpha 3", "a considerable amount",
              "at least 3 copies", within(partial(_small, 3.0), 3.0, np.inf), ""),
    Statement("5b", "small models (0 to 18) per node, alpha 4", "rarely",
              "at most 1 copy", within(partial(_small, 4.0), 0.0, 1.0), "",
              why="About one copy, by draw a tenth of a copy more or less: the limit of one is "
              "ours, as the paper shades its figure and gives no number."),
    Statement("5c", "small models (0 to 20) per node, alpha 5", "none in practice",
              "at most 0.5 copies", within(partial(_small, 5.0), 0.0, 0.5), ""),
    Statement("5c", "accurate models (21 to 29) per node, alpha 5", "multiple replicas",
              "at least 1.5 copies", within(_accurate, 1.5, np.inf), ""),
    Statement("5c", "models per node, alpha 5", "fewer", "fewer than at alpha 4", _fewer,
              ""),
    Statement("5", "rank of the model that the repository serves with", "2 by accuracy", "",
              _rank, ""),
)  # fmt: skip

FIGURE_5: Final = Evaluation.of(
    "5",
    "models of the most popular task at each tier under INFIDA, topology I",
    attachment="all",
    jobs=partial(
        jobs, policies=["infida"], over={"alpha": list(_ALPHAS)}, few=slice(None), aggregate=hosted
    ),
    rows=_rows,
    columns={
        "alpha": "alpha", "tier": "Tier", "model": "Model", "accuracy": "Accuracy (%)",
        "share": "Share of nodes and slots",
    },
    percent=("share",),
    draw=partial(
        shaded, x="model", y="tier", metric="share", top=1.0, below=True, panels=("alpha", _ALPHAS),
        labels=("model of the task, the least accurate first", "tier",
                "share of nodes and slots that host it"),
    ),
    takeaway=said(
        "A node below the cloud hosts {least:3} small models of the most popular task at alpha 3, "
        "{middle:3} at alpha 4 and {most:3} at alpha 5",
        least=partial(_small, 3.0), middle=partial(_small, 4.0), most=partial(_small, 5.0),
    ),
    statements=_STATEMENTS,
    caveats=(*OPEN[:3], CAVEATS["figure 5"]),
    caption="The darker a cell, the more of the tier's nodes on a path of the task host the "
    "model. The three replicas of a variant are neighbours. Numbers per node are means over the "
    "tiers below the cloud.",
)  # fmt: skip
