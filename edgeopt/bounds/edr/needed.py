"""How many rounds a task needs: the printed bound grows with the sites that share the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edgeopt.bounds.claim import Measurement
from edgeopt.bounds.edr.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.edr import rounds_needed

__all__ = ["CLAIMS", "Federation"]


@dataclass(frozen=True)
class Federation:
    """Numbers of equal sites that all take part in a task.

    Parameters
    ----------
    few, many
        Two numbers of sites, the second larger.
    """

    few: int
    many: int

    def fingerprint(self) -> str:
        """Return both numbers."""
        return f"{self.few} and {self.many} sites"


def _rounds(case: Federation, bound: Literal["printed", "corrected"]) -> Measurement:
    """Compare the rounds of many sites with those of few, with nothing left to rounding up."""
    many, few = (
        rounds_needed(sites=sites, clients=sites, accuracy=ACCURACY, rounds_bound=bound)
        for sites in (case.many, case.few)
    )
    return Measurement(many, few)


ACCURACY = 1e-4
"""So small that the rounds of both bounds are many."""

_FAMILY = {
    "Federation(20, 50)": lambda: Federation(20, 50),
    "Federation(1, 1000)": lambda: Federation(1, 1000),
}

CLAIMS = (
    claim(
        "rounds",
        r"More equal sites do not need more rounds, with the variance $\sum_j \sigma_j^2 / J^2$ of "
        "the mean of their gradients.",
        "Section 2.1, the number of global iterations, corrected",
        lambda case: _rounds(case, "corrected"),
        Relation.AT_MOST,
        _FAMILY,
        instance_type=Federation,
        view=lambda case: case,
    ),
    claim(
        "rounds.printed",
        r"More equal sites do not need more rounds, with $\sum_j \sigma_j^2 / j^2$, in which j is "
        "the number of the site.",
        "Section 2.1, the number of global iterations",
        lambda case: _rounds(case, "printed"),
        Relation.AT_MOST,
        {"Federation(20, 50)": _FAMILY["Federation(20, 50)"]},
        instance_type=Federation,
        view=lambda case: case,
        counterexample="Federation(20, 50)",
        corrected_by=("edr.rounds",),
    ),
)
