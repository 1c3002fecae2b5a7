"""Tuning: every policy gets the same number of evaluations, on instances that serve nothing else.

Options found so are kept with the package, with the version and commit by which they were found.
"""

from __future__ import annotations

from edgeopt_papers.tuning.run import tune
from edgeopt_papers.tuning.stored import tuned, tuned_in_words
from edgeopt_papers.tuning.tuning import Tuned, Tuning

__all__ = ["Tuned", "Tuning", "tune", "tuned", "tuned_in_words"]
