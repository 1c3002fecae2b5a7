"""Randomised rounding with exact laws: fractions in, decisions out, and what is preserved."""

from edgeopt.rounding.exact import Law, depround_law, pairwise_law

__all__ = ["Law", "depround_law", "pairwise_law"]
