"""The paper's Table I: latency, completion and their sum, for every combination of policies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.oinc import generate
from edgeopt.studies.entries import Comparison
from edgeopt.studies.over_instances import over_instances, study_drawn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

    from edgeopt.instances.oinc import OincInstance
    from edgeopt.studies.result import Study

PUBLISHED: Final = {
    "oinc": (0.250, 96.209, 96.459),
    "ekya": (0.277, 101.691, 101.968),
    "kalmia": (0.262, 98.372, 98.634),
    "greedy+density": (0.479, 100.684, 101.163),
    "liu+density": (0.271, 100.684, 100.955),
    "near+dedas": (0.256, 101.286, 101.542),
    "near+zhang": (0.256, 144.326, 144.582),
}
"""Latency, completion and their sum as the paper prints them, s, by our name of the policy."""

_TIMES: Final = ("latency", "completion", "both_times")
_SHARES: Final = ("requests_met", "jobs_met", "success")
_COLUMNS: Final = ("latency", "completion", *_SHARES, "refused", "scaled", "value", "ratio")


def _rows(study: Study) -> pd.DataFrame:
    """Average over the instances of a study, and set the printed figures beside."""
    found = over_instances(
        study,
        _COLUMNS,
        paired=("scaled",),
        shares=_SHARES,
        sums={"both_times": ("latency", "completion")},
    )
    published = [PUBLISHED.get(policy, (np.nan,) * len(_TIMES)) for policy in found["policy"]]
    for place, name in enumerate(_TIMES):
        found[f"{name}_published"] = [figures[place] for figures in published]
    return found


def table_one(
    seeds: int = 5,
    *,
    policies: Iterable[Any] | None = None,
    first: int = 0,
    workers: int = 1,
    confidence: float = 0.95,
    make: Callable[..., OincInstance] = generate,
    progress: bool | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Fill the paper's Table I on drawn instances, with intervals over their draw.

    Parameters
    ----------
    seeds
        Number of instances, at least 2.
    policies
        As in :func:`edgeopt.study`; by default the whole table of combinations.
    first
        Seed of the first instance; the others have those that follow.
    workers
        Processes; -1 takes all cores.
    confidence
        Of the intervals.
    make
        ``make(rng=seed, **settings)`` returns an instance.
    progress
        Whether to show a progress bar; by default only when standard error is a terminal.
    **settings
        What `make` takes, such as ``duty=0.45``.

    Returns
    -------
    pandas.DataFrame
        One row per policy: ``latency``, ``completion``, ``both_times`` (s), shares in time by kind
        and together, ``scaled`` (the sum of both means over their scales) with its difference to
        OINC on the same instances, the weighted sum ``value`` and its ``ratio`` to the certified
        bound; of each NAME_low and NAME_high, and the printed times in NAME_printed.

    Raises
    ------
    OptionError
        If there are fewer than two instances, or an option is out of range.
    """
    from edgeopt.studies.oinc.record import SYSTEM

    return _rows(
        study_drawn(
            SYSTEM,
            make,
            seeds,
            first=first,
            policies=policies,
            workers=workers,
            confidence=confidence,
            progress=progress,
            **settings,
        )
    )


TABLE_ONE = Comparison(
    "table_one",
    "Table I",
    _rows,
    {
        "latency": "Latency (s)",
        "latency_published": "published",
        "completion": "Completion (s)",
        "completion_published": "published",
        "both_times": "Their sum (s)",
        "both_times_published": "published",
        "scaled": "Scaled sum",
        "scaled_difference": "Against OINC",
        "requests_met": "Requests in time",
        "jobs_met": "Jobs in time",
        "ratio": "Share of the bound",
    },
    percent=(*_SHARES, "ratio"),
    caption="Mean latency of requests and mean completion time of jobs since the start, as in the "
    "paper's Table I, whose figures stand beside them where it has the policy. Its sum adds "
    "seconds of two kinds, of which nearly all are those of jobs; the scaled sum counts a latency "
    "of a quarter of a second like a completion time of a hundred. The last column is the weighted "
    "sum over the certified bound on it.",
)
"""Our figures and the printed ones, over all instances of a study."""
