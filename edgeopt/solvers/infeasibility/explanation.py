"""What `explain` answers, and how it reads."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["Explanation", "Side"]


@dataclass(frozen=True)
class Side:
    """One constraint, with its sides and the value between them.

    Parameters
    ----------
    label
        Name of the row, column or constraint.
    lower, upper
        Its sides, infinite where absent; in a conflict only those that take part.
    value
        What it comes to at the cheapest repair; nan if there is none.
    """

    label: str
    lower: float
    upper: float
    value: float

    @property
    def violation(self) -> float:
        """By how much the value leaves the sides, 0 if it does not."""
        excess = np.fmax(self.lower - self.value, self.value - self.upper)
        return float(max(0.0, excess)) if np.isfinite(excess) else 0.0

    def __str__(self) -> str:
        value = "?" if np.isnan(self.value) else f"{self.value:.10g}"
        left = "" if np.isneginf(self.lower) else f"{self.lower:.10g} <= "
        right = "" if np.isposinf(self.upper) else f" <= {self.upper:.10g}"
        if self.lower == self.upper:
            left, right = "", f" = {self.upper:.10g}"
        broken = f"   broken by {self.violation:.6g}" if self.violation > 0.0 else ""
        return f"{self.label}:  {left}({value}){right}{broken}"


@dataclass(frozen=True)
class Explanation:
    """Why a problem is infeasible.

    Parameters
    ----------
    feasible
        Whether the problem turned out to have feasible points after all.
    conflict
        Constraints that cannot hold together.
    minimal
        Whether each of them was checked to be needed: without it the others can hold.
    background
        What was taken for granted while looking for the conflict, in words; empty for nothing.
    repair
        The sides that have to give way in the cheapest relaxation, with the values they need.
    cost
        Sum over the repaired sides of their changes, relative to the side or to the unit of its
        row, whichever is larger.
    """

    feasible: bool
    conflict: tuple[Side, ...] = ()
    minimal: bool = False
    background: str = ""
    repair: tuple[Side, ...] = ()
    cost: float = field(default=0.0)

    def __str__(self) -> str:
        if self.feasible:
            return "The problem is feasible: there is nothing to explain."
        lines = []
        if self.minimal and not self.conflict:
            lines.append("No row is to blame: the columns' own conditions exclude every point.")
        if self.conflict:
            count = len(self.conflict)
            needed = "; without any one of them the others can" if self.minimal else ""
            what = "This constraint cannot" if count == 1 else f"These {count} constraints cannot"
            together = "" if count == 1 else " together"
            lines.append(f"{what} hold{together}{needed if count > 1 else ''}")
            if self.background:
                lines[-1] += f" ({self.background})"
            lines[-1] += ", shown with their values at the cheapest repair:"
            lines += [f"  {side}" for side in self.conflict]
        if self.repair:
            lines.append(
                f"The cheapest repair changes sides by {self.cost:.6g} in all, relatively:"
            )
            lines += [f"  {side}" for side in self.repair]
        return "\n".join(lines) or "The problem is infeasible; no conflict was found in time."
