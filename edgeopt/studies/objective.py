"""The objective of a system, how it is written, and its service constraint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from edgeopt.options import check_choice, check_fields
from edgeopt.representation import brief
from edgeopt.studies.wording import interval, number, percent

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from edgeopt.online.protocols import Trajectory

DIMENSIONLESS = "dimensionless"
"""The unit that is not written after a number."""


@brief
@dataclass(frozen=True)
class Objective:
    """The value that policies maximise or minimise.

    Parameters
    ----------
    name
        Such as ``"profit"``.
    unit
        Its unit.
    sense
        Whether larger or smaller values are better.
    adds
        Whether the value of a run is the sum of the rewards of its slots or their mean.
    total
        ``total(trajectory)`` returns the value of every run, shape [runs], if that is neither;
        infinite if a run has none.
    period
        Name of a slot of a trajectory, in the singular.
    definition
        What exactly it is where its name does not say it, in whole sentences for pages.
    """

    name: str = "profit"
    unit: str = DIMENSIONLESS
    sense: Literal["max", "min"] = "max"
    adds: Literal["sum", "mean"] = "sum"
    total: Callable[[Any], NDArray[np.float64]] | None = None
    period: str = "slot"
    definition: str = ""

    def __post_init__(self) -> None:
        check_fields(self)
        check_choice("sense", self.sense, ("max", "min"))
        check_choice("adds", self.adds, ("sum", "mean"))

    @property
    def heading(self) -> str:
        """Name of the value of a run, with its unit: ``"Profit per run"``."""
        name = self.name.capitalize() + (" per run" if self.adds == "sum" else "")
        return name if self.unit == DIMENSIONLESS else f"{name} ({self.unit})"

    @property
    def most(self) -> str:
        """What the best value is called before any test: ``"highest"``, of a cost ``"least"``."""
        return "highest" if self.sense == "max" else "least"

    def amount(self, value: float, digits: int = 4) -> str:
        """Write a value with its unit: ``12.34``, ``56.78 ms``."""
        text = number(value, digits)
        return text if self.unit == DIMENSIONLESS else f"{text} {self.unit}"

    def over(self, label: str) -> str:
        """Head a column of ratios: ``"ratio (<= 1, more is better) to OPT(LP)"``."""
        sense = "<= 1, more is better" if self.sense == "max" else ">= 1, less is better"
        return f"ratio ({sense}) to {label}"

    def ratio(self, value: float) -> str:
        """Write a value over a bound: a profit as a share, ``68.9 %``, a cost as a multiple."""
        return percent(value) if self.sense == "max" else number(value, 4)

    def ratios(self, low: float, high: float) -> str:
        """Write the interval of such a ratio."""
        return interval(low, high, share=self.sense == "max")

    def against(self, value: float, label: str) -> str:
        """Write a ratio with its bound: ``68.9 % of OPT(LP)``, ``2.294 times OPT(LP)``."""
        return f"{self.ratio(value)} {'of' if self.sense == 'max' else 'times'} {label}"

    def values(self, trajectory: Trajectory) -> NDArray[np.float64]:
        """Return the value of every run, shape [runs]."""
        if self.total is not None:
            return self.total(trajectory)
        return trajectory.total if self.adds == "sum" else trajectory.reward.mean(axis=1)

    def so_far(self, trajectory: Trajectory) -> NDArray[np.float64]:
        """Return the value of every run up to the end of each slot, shape [runs, T]."""
        total = np.cumsum(np.asarray(trajectory.reward, dtype=float), axis=1)
        if self.adds == "mean":
            total /= np.arange(1, total.shape[1] + 1)
        return total


def _none(_instance: Any) -> int:
    return 0


@brief
@dataclass(frozen=True)
class Constraint:
    """The service constraint, which a run can violate; ``Trajectory.violations`` counts how often.

    Parameters
    ----------
    name
        What is violated, in the singular: ``"reserved task"``.
    count
        Maps an instance to how many of them there are in a run.
    verb
        Verb for violating one, in the present and in the past: ``("fails", "failed")``.
    soft
        Whether a violation is a matter of degree: the policy with the best value is then called
        best whatever it violates, and its violations are told.
    """

    name: str = "service constraint"
    count: Callable[[Any], int] = _none
    verb: tuple[str, str] = ("violates", "violated")
    soft: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
