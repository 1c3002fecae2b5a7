"""Runs of a study, and its regret over time, as arrays of xarray with named axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt.bounds.estimate import Control, estimates
from edgeopt.errors import OptionError

if TYPE_CHECKING:
    import xarray as xr
    from numpy.typing import NDArray

    from edgeopt.studies.results import Case, Study

    Floats = NDArray[np.float64]


def of_case(case: Case) -> xr.Dataset:
    """Return the runs of all policies of an instance."""
    import pandas as pd
    import xarray as xr

    objective, period = case.objective, case.objective.period
    found = []
    for name, one in case.trajectories.items():

        def whole(values: Any) -> Any:
            """Repeat a run that all others are like."""
            return np.broadcast_to(values, (case.runs, *np.shape(values)[1:]))

        arrays = {
            part: (("run", period), whole(getattr(one, part)))
            for part in ("reward", "violations", "decisions")
        }
        own = case.bound_of(name)
        made = xr.Dataset({
            **arrays,
            "value": ("run", whole(case.values(name))),
            "bound": ((), case.bounds[own].value if own else np.nan),
        })  # fmt: skip
        counts = {"run": range(case.runs), period: range(one.horizon)}
        found.append(made.assign_coords(counts))
    whole_case = xr.concat(found, pd.Index(case.trajectories, name="policy"), join="outer")
    for part in ("value", "bound"):
        whole_case[part].attrs["units"] = objective.unit
    if objective.total is None:
        whole_case["reward"].attrs["units"] = objective.unit
    return whole_case.assign_coords(title=("policy", [one.title for one in case.entries.values()]))


def of_study(study: Study) -> xr.Dataset:
    """Return the runs of all policies on all instances."""
    import pandas as pd
    import xarray as xr

    names = pd.Index([case.name for case in study.cases], name="instance")
    return xr.concat([of_case(case) for case in study.cases], names, join="outer")


def regret(case: Case, policy: str, against: str) -> xr.Dataset:
    """Return how far a policy is behind a bound or another policy after every slot."""
    import xarray as xr

    objective = case.objective
    own, whole = _summed(case, policy), case.estimates[policy]
    against = against or case.bound_of(policy)
    if against in case.trajectories:
        other, best = _summed(case, against), case.estimates[against]
        own, other = _as_long(own, other), _as_long(other, own)
        label, ends = case.entries[against].title, best.mean
        known = best.known and whole.known
    elif against in case.bounds:
        bound = case.bounds[against]
        label, ends = bound.label or against, bound.value
        # A bound is one of the whole horizon: every slot is charged with the same share.
        share = ends if objective.adds == "mean" else ends / own.shape[1]
        other = share * np.arange(1, own.shape[1] + 1)[None]
        known = whole.known
    else:
        names = ", ".join([*case.bounds, *(name for name in case.trajectories if name != policy)])
        asked = f"{against!r} is neither a bound nor a policy" if against else "no bound is valid"
        raise OptionError(f"regret of {policy!r}: {asked}; choose from {names}")
    sign = 1.0 if objective.sense == "max" else -1.0
    lost = sign * (other - own)
    slots = lost.shape[1]
    after = np.arange(1, slots + 1)
    end = sign * (ends - whole.mean) * (slots if objective.adds == "mean" else 1.0)
    # One that is known takes the luck out of its own slots.
    controls = [Control("", lost[:, -1], end)] if known else case.controls
    found = [estimates({"": runs}, {}, controls)[""] for runs in lost.T]
    spreads = [one.spread(case.settings.confidence) for one in found]
    mean = np.array([one.mean for one in found])
    # Where more is known than the runs, the curve is moved to its end in proportion.
    move = (end - mean[-1]) * after / slots
    low, high = (
        np.where(np.isnan(side), mean, side) + move
        for side in ([one.low for one in spreads], [one.high for one in spreads])
    )
    mean += move
    said = {"units": objective.unit, "long_name": f"{objective.name} lost so far to {label}"}
    per = {"units": objective.unit, "long_name": f"{said['long_name']}, per {objective.period}"}
    axis = (objective.period,)
    made = xr.Dataset(
        {
            "regret": (axis, mean, said),
            "low": (axis, low, said),
            "high": (axis, high, said),
            "mean_regret": (axis, mean / after, per),
        },
        {objective.period: after},
    )
    return made.assign_attrs(policy=policy, against=against, label=label)


def _summed(case: Case, policy: str) -> Floats:
    """Return the reward of every run up to the end of each slot, shape [runs, T]."""
    objective = case.objective
    if policy not in case.trajectories:
        known = ", ".join(case.trajectories)
        raise OptionError(f"policy {policy!r} is not in this study; choose from {known}")
    trajectory = case.trajectories[policy]
    summed = np.cumsum(np.asarray(trajectory.reward, dtype=float), axis=1)
    if objective.total is not None and not np.allclose(summed[:, -1], case.values(policy)):
        raise OptionError(
            f"regret of {policy!r}: {objective.name} is not the sum of what is booked in each "
            f"{objective.period}; `gaps` has how far the whole is from its bound"
        )
    return summed


def _as_long(summed: Floats, other: Floats) -> Floats:
    """Let sums stay as they are to the end of longer ones."""
    return np.pad(summed, ((0, 0), (0, max(0, other.shape[1] - summed.shape[1]))), "edge")
