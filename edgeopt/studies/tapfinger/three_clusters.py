"""Mean flow times, gaps and seconds per decision over drawn instances, in both modes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from edgeopt.instances.tapfinger import generate
from edgeopt.studies.entries import Comparison
from edgeopt.studies.over_instances import over_instances, study_drawn
from edgeopt.studies.tapfinger.means import NO_BOUND

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import pandas as pd

    from edgeopt.instances.tapfinger import TapFingerInstance
    from edgeopt.studies.result import Study

RECORDED: Final = {
    "single": {
        "optimus+swapped": (8.562, 7.0),
        "tiresias": (14.661, 15.0),
        "random": (12.839, 10.0),
        "min": (12.745, 13.0),
    },
    "several": {
        "optimus+swapped": (7.734, 6.0),
        "tiresias+elastic": (7.552, 7.0),
        "random": (15.120, 11.0),
        "min": (28.818, 25.0),
    },
    "pointer": {
        "optimus+swapped": (13.333, 11.0),
        "tiresias+elastic": (35.786, 36.5),
        "random": (52.974, 61.0),
        "min": (12.604, 12.0),
    },
}
"""Mean and median flow times of the authors' recorded runs, slots, by setting and policy."""

_MEASURED: Final = ("mean", "median", "p95", "makespan", "gpu", "cpu", "preemptions")
_MODES: Final = {"several": False, "single": True}


def setting(instance: TapFingerInstance) -> str:
    """Name the setting of the paper that an instance is drawn in, "" if it is none of them."""
    alike = instance.clusters == 3 and instance.tasks == 192 and (instance.capacity == 16).all()
    if not alike or instance.task_kinds != 2:
        return ""
    if (instance.minimum == 3).all():
        return "" if instance.single_start else "pointer"
    if not (instance.minimum == (2, 1)).all():
        return ""
    return "single" if instance.single_start else "several"


def _rows(study: Study) -> pd.DataFrame:
    """Average over the instances of a study, and set the recorded figures beside."""
    found = over_instances(
        study,
        (*_MEASURED, "bound_ratio", "decision_us"),
        paired=("mean",),
        shares=("gpu", "cpu"),
    )
    for end in ("", "_low", "_high"):
        found[f"gap{end}"] = found.pop(f"bound_ratio{end}") - 1.0
        found[f"seconds{end}"] = 1e-6 * found.pop(f"decision_us{end}")
    labels = {name: entry.label for name, entry in study.system.offline.bounds.items()}
    bounds = {name: labels.get(entry.bound, "") for name, entry in study.cases[0].entries.items()}
    proven = found["gap"].notna()
    found["bound"] = found["policy"].map(bounds).where(proven, NO_BOUND)
    settings = {setting(case.instance) for case in study.cases}
    recorded = RECORDED.get(settings.pop(), {}) if len(settings) == 1 else {}
    for place, name in enumerate(("mean", "median")):
        found[f"{name}_recorded"] = [
            recorded.get(policy, (np.nan, np.nan))[place] for policy in found["policy"]
        ]
    return found


def three_clusters(
    seeds: int = 5,
    *,
    policies: Iterable[Any] | None = None,
    first: int = 0,
    runs: int | None = None,
    workers: int = 1,
    confidence: float = 0.95,
    make: Callable[..., TapFingerInstance] = generate,
    progress: bool | None = None,
    **settings: Any,
) -> pd.DataFrame:
    """Compare the policies in both modes on drawn instances, with intervals over their draw.

    Parameters
    ----------
    seeds
        Number of instances in each mode, at least 2.
    policies
        As in :func:`edgeopt.study`; by default all of them.
    first
        Seed of the first instance; the others have those that follow.
    runs
        Simulated runs per instance and policy; by default as many as the system says.
    workers
        Processes; -1 takes all cores.
    confidence
        Of the intervals.
    make
        ``make(rng=seed, single_start=..., **settings)`` returns an instance.
    progress
        Whether to show a progress bar; by default only when standard error is a terminal.
    **settings
        What `make` takes, such as ``law="constant"``.

    Returns
    -------
    pandas.DataFrame
        One row per mode and policy: ``mode`` (``"several"`` starts per slot or a ``"single"``
        one), ``mean``, ``median``, ``p95`` flow time and ``makespan`` (slots), ``gap`` to the
        ``bound`` that is valid for the policy (NaN and ``"no bound"`` where none is), ``seconds``
        per decision, shares in use, ``mean_difference`` to the reference on the same instances;
        of each NAME_low and NAME_high, and recorded figures in NAME_recorded.

    Raises
    ------
    OptionError
        If there are fewer than two instances, or an option is out of range.
    """
    import pandas as pd

    from edgeopt.studies.tapfinger.record import SYSTEM

    parts = []
    for mode, single in _MODES.items():
        compared = study_drawn(
            SYSTEM,
            partial(make, single_start=single),
            seeds,
            first=first,
            policies=policies,
            runs=runs,
            workers=workers,
            confidence=confidence,
            progress=progress,
            **settings,
        )
        rows = _rows(compared)
        rows.insert(0, "mode", mode)
        parts.append(rows)
    return pd.concat(parts, ignore_index=True)


THREE_CLUSTERS = Comparison(
    "over_instances",
    "Flow times",
    _rows,
    {
        "mean": "Mean flow time (slots)",
        "mean_recorded": "recorded",
        "mean_difference": "Against the reference",
        "median": "Median (slots)",
        "p95": "95th percentile (slots)",
        "gap": "Gap to the bound",
        "seconds": "Seconds per decision",
        "gpu": "Share of GPUs held",
        "cpu": "Share of CPU cores held",
    },
    percent=("gap", "gpu", "cpu"),
    caption="The gap is that of the sum of flow times to the bound that is valid for the policy: "
    "one for policies that never change the bundle of a running task, another for all. A decision "
    "is one round of all clusters. Beside the mean stands what the authors' own runs came to, one "
    "draw each, where the setting is theirs; their learner, which is not here, came to 6.417 slots "
    "with a single start per slot, 4.292 with several and 8.057 on tasks of 1 and 10 slots. Their "
    "arrivals are other draws, theirs of Optimus has the fit with CPU and GPU swapped, and with a "
    "single start their policies met different arrivals.",
    absent={"gap": NO_BOUND},
)
"""Our figures and the recorded ones, over all instances of a study."""
