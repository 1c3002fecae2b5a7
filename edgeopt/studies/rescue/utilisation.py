"""How much of the capacity that reserved work leaves is used for retraining."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from edgeopt.instances.edf import ROUNDING
from edgeopt.studies.entries import Measure, Picture
from edgeopt.studies.pictures.over_time import curves
from edgeopt.studies.wording import percent

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from edgeopt.instances.rescue import RescueInstance
    from edgeopt.online.rescue import RescueTrajectory
    from edgeopt.studies.result import Case

__all__ = ["UTILISATION", "UTILISATION_OVER_TIME", "utilisation"]


def utilisation(instance: RescueInstance, trajectory: RescueTrajectory) -> NDArray[np.float64]:
    r"""Return retraining work over the capacity left by reserved work, up to each slot.

    .. math::

        U(t) = \frac{\sum_{k,\tau\le t} c_k(\tau)\,1[k \text{ retrains in } \tau]}
                    {\sum_{k,\tau\le t} c_k(\tau) - \text{reserved work served up to } t}
    """
    offered = np.cumsum(instance.capacity.sum(axis=0))
    left = offered - np.cumsum(np.asarray(trajectory.reserved_work, float), axis=1)
    used = np.cumsum(np.asarray(trajectory.retraining_work, float), axis=1)
    # What rounding leaves where reserved work took all is no capacity.
    some = left > ROUNDING * offered
    share: NDArray[np.float64] = np.divide(used, left, out=np.zeros_like(used), where=some)
    return share


def _final(instance: RescueInstance, trajectory: RescueTrajectory) -> NDArray[np.float64]:
    return utilisation(instance, trajectory)[:, -1]


def _title(case: Case) -> str:
    rows = case.table
    low, high = rows["utilisation"].min(), rows["utilisation"].max()
    busiest = rows.iloc[int(rows["utilisation"].to_numpy().argmax())]
    best = case.best()
    ending = ""
    if best is not None and best["value"] > busiest["value"]:
        ending = (
            f", but {case.entries[str(best['policy'])].title} earns more with "
            f"{percent(best['utilisation'], 0)}"
        )
    if low == high:
        return f"Retraining takes {percent(high, 0)} of the capacity that reserved work leaves"
    return (
        f"{case.entries[str(busiest['policy'])].title} keeps servers busiest "
        f"({percent(high, 0)}){ending}"
    )


def _draw(case: Case) -> Figure:
    values = {
        name: 100 * utilisation(case.instance, cast("RescueTrajectory", trajectory))
        for name, trajectory in case.trajectories.items()
    }
    return curves(case, values, "utilisation so far (%)")


UTILISATION = Measure("utilisation", "Utilisation", _final, percent=True)

UTILISATION_OVER_TIME = Picture(
    "utilisation_over_time",
    _title,
    _draw,
    "Retraining work up to the end of each slot as a share of the capacity that reserved work has "
    "left by then, all servers together: mean over the runs with confidence interval.",
)
