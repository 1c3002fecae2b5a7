"""The picture of the value over time, which every system with slots has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.estimate import curve
from edgeopt.studies.drawing import Curve, Curves, Line, Said
from edgeopt.studies.entries import Picture
from edgeopt.studies.pictures.canvas import axis_limits, curve_styles, foremost, lead
from edgeopt.studies.sentences import ONLY_HINDSIGHT
from edgeopt.studies.system import DIMENSIONLESS
from edgeopt.studies.wording import plural

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
) -> Curves:
    """Describe one curve per policy over the slots.

    The vertical axis fits the curves or, if `late`, their second halves; then the first slots have
    more space.
    """
    styles = curve_styles(case, values)
    drawn: list[Curve] = []
    fitted: list[float] = []
    for name, runs in values.items():
        style = styles[name]
        mean, low, high = curve(runs, case.estimates[name], case.controls, case.settings.confidence)
        # The value after slot t is drawn at t + 1, where the slot ends.
        at, title = np.arange(1, mean.size + 1), case.entries[name].title
        drawn.append(Curve(title, at, mean, style.colour, style.dashes, low, high))
        fitted += [*mean[late * (mean.size // 2) :], low[-1], high[-1]]
    slots = max(runs.shape[1] for runs in values.values())
    return Curves(
        case.objective.period,
        ylabel,
        drawn,
        lines,
        across=(1, max(2, slots)) if late else (0, slots),
        up=axis_limits(fitted, [line.value for line in lines]),
        log={"x": 10} if late else {},
    )


def _over_time(case: Case) -> Curves:
    objective = case.objective
    shown = foremost(case)
    bounds = dict.fromkeys(case.bound_of(name) for name in shown)
    return over_time(
        case,
        {name: _so_far(case, name) for name in shown},
        f"{objective.name} so far" + f" ({objective.unit})" * (objective.unit != DIMENSIONLESS),
        [
            Line(one.label, one.value, [Said("", f", {objective.amount(one.value)}")])
            for one in (case.bounds[name] for name in bounds if name)
        ],
        # A mean changes most in the first slots; later the policies can be told apart.
        late=objective.adds == "mean",
    )


def _so_far(case: Case, policy: str) -> NDArray[np.float64]:
    """Return the value of runs up to each slot, moved so that the curve ends at the table's value.

    Both differ where more is known than the runs; it moves in proportion to what there is so far.
    """
    runs = case.objective.so_far(case.trajectories[policy])
    if not runs.size:
        return np.zeros((len(runs), 1))
    found = case.estimates[policy]
    mean = curve(runs, found, case.controls, case.settings.confidence)[0]
    share = mean / mean[-1] if mean[-1] else np.linspace(0.0, 1.0, mean.size)
    return np.asarray(runs + (found.mean - mean[-1]) * share)


def _over_time_title(case: Case) -> str:
    if case.standings.first is None:
        return ONLY_HINDSIGHT
    objective, name = case.objective, lead(case)
    title = case.standings.of(name).named
    total = curve(
        _so_far(case, name), case.estimates[name], case.controls, case.settings.confidence
    )[0]
    if total[-1] == 0:
        return f"{title} {'earns' if objective.sense == 'max' else 'has'} no {objective.name}"
    slots, middle = plural(total.size, objective.period), (total.size + 1) // 2
    if objective.adds == "mean" or total[-1] < 0:
        return f"After {middle} of {slots}, {title} is at {objective.amount(total[middle - 1])}"
    half = int(np.searchsorted(total, total[-1] / 2)) + 1
    return f"{title} has half of its {objective.name} after {half} of {slots}"


VALUE_OVER_TIME = Picture(
    "value_over_time",
    _over_time_title,
    _over_time,
    "Of the first five policies, the value up to the end of each slot; curves end at the values of "
    "the table. Bands: intervals, at the end those of the table, or ranges of fewer than ten runs. "
    "Level lines: bounds on the value at the end.",
)
