"""Randomised rounding: fractions in, decisions out, exact distributions, and what is preserved."""

from edgeopt.rounding.dependent import depround
from edgeopt.rounding.exact import Distribution, depround_distribution, pairwise_distribution
from edgeopt.rounding.integers import independent, pairwise, reduced_limit
from edgeopt.rounding.protocol import Rounding

__all__ = [
    "Distribution",
    "Rounding",
    "depround",
    "depround_distribution",
    "independent",
    "pairwise",
    "pairwise_distribution",
    "reduced_limit",
]
