"""The picture of the value over time, which every system with slots has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.estimate import curve
from edgeopt.studies.drawing import Curve, Curves, Line, Panels, Said
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import axis_limits, policy_styles
from edgeopt.studies.sentences import ONLY_HINDSIGHT
from edgeopt.studies.system import DIMENSIONLESS
from edgeopt.studies.wording import plural, uncapitalised

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from edgeopt.studies.results import Case


def over_time(
    case: Case,
    values: Mapping[str, NDArray[np.float64]],
    ylabel: str,
    lines: Sequence[Line] = (),
    *,
    late: bool = False,
) -> Panels:
    """Describe one curve per policy over the slots, those with hindsight in every panel.

    There is a panel per variant of policies. The vertical axis fits the curves or, if `late`, their
    second halves; then the first slots have more space.
    """
    styles = policy_styles(case)
    found: dict[str, Curve] = {}
    fitted: list[float] = []
    for name, runs in values.items():
        entry, style = case.entries[name], styles[name]
        mean, low, high = curve(runs, case.estimates[name], case.controls, case.settings.confidence)
        # The value after slot t is drawn at t + 1, where the slot ends.
        at = np.arange(1, mean.size + 1)
        found[name] = Curve(entry.title, at, mean, style.colour, style.dashes, low, high)
        fitted += [*mean[late * (mean.size // 2) :], low[-1], high[-1]]
    slots = max(runs.shape[1] for runs in values.values())
    variants = list(dict.fromkeys(case.entries[name].variant for name in case.causal)) or [""]
    return Panels(
        [
            Curves(
                case.objective.period,
                ylabel,
                [
                    curve
                    for name, curve in found.items()
                    if not case.entries[name].causal or case.entries[name].variant == variant
                ],
                lines,
                variant,
                across=(1, max(2, slots)) if late else (0, slots),
                up=axis_limits(fitted, [line.value for line in lines]),
                log={"x": 10} if late else {},
            )
            for variant in variants
        ],
        abreast=True,
    )


def _over_time(case: Case) -> Panels:
    objective, bound = case.objective, case.benchmark.bound
    values = {name: _so_far(case, name) for name in case.trajectories}
    return over_time(
        case,
        values,
        f"{objective.name} so far" + f" ({objective.unit})" * (objective.unit != DIMENSIONLESS),
        [Line(case.label, bound, [Said("", f", {objective.amount(bound)}")])],
        # A mean changes most in the first slots; later the policies can be told apart.
        late=objective.adds == "mean",
    )


def _so_far(case: Case, policy: str) -> NDArray[np.float64]:
    """Return the value of runs up to each slot, moved so that the mean ends at the table's value.

    Both differ where more is known than the mean; it moves in proportion to what there is so far.
    """
    runs = case.objective.so_far(case.trajectories[policy])
    mean = runs.mean(axis=0)
    share = mean / mean[-1] if mean[-1] else np.linspace(0.0, 1.0, mean.size)
    return np.asarray(runs + (float(case.rows[policy]["value"]) - mean[-1]) * share)


def _over_time_title(case: Case) -> str:
    best = case.best()
    if best is None:
        return f"{case.objective.name.capitalize()} over time; {uncapitalised(ONLY_HINDSIGHT)}"
    objective = case.objective
    name = str(best["policy"])
    so_far = objective.so_far(case.trajectories[name])
    total = curve(so_far, case.estimates[name], case.controls, case.settings.confidence)[0]
    if total[-1] == 0:
        return f"No policy {'earns' if objective.sense == 'max' else 'has'} any {objective.name}"
    first = (
        f"{case.title(best)} ends with the "
        f"{'most' if objective.sense == 'max' else 'least'} {objective.name}"
    )
    if objective.adds == "mean":
        over = plural(len(total), objective.period)
        first += f", a mean of {objective.amount(best['value'])} over {over}"
    elif total[-1] < 0:
        first += f", {objective.amount(best['value'])}"
    else:
        half = int(np.searchsorted(total, total[-1] / 2)) + 1
        first += f", half of it within {plural(half, objective.period)} of {len(total)}"
    return first + case.standings.price(str(best["policy"]))


VALUE_OVER_TIME = Picture(
    "value_over_time",
    _over_time_title,
    _over_time,
    "Value up to the end of each slot on this instance; bands are the confidence interval, with "
    "fewer than ten runs the range. Every curve ends at the value in the table; where that is not "
    "the mean, the curve is moved there in proportion. The horizontal line is the "
    "reference bound of the whole horizon. An axis of means fits the second half of it.",
)
