"""Randomised rounding with exact laws: fractions in, decisions out, and what is preserved."""

from edgeopt.rounding.dependent import depround
from edgeopt.rounding.exact import Law, depround_law, pairwise_law
from edgeopt.rounding.integers import independent, pairwise, reduced_limit

__all__ = [
    "Law",
    "depround",
    "depround_law",
    "independent",
    "pairwise",
    "pairwise_law",
    "reduced_limit",
]
