"""Tuning: every policy gets the same number of evaluations, on instances that serve nothing else.

Options found so are kept with the package, together with a digest of the code by which they were
found.
"""

from __future__ import annotations

from edgeopt.studies.tuning.run import tune
from edgeopt.studies.tuning.stored import tuned, tuned_in_words
from edgeopt.studies.tuning.tuning import Tuned, Tuning

__all__ = ["Tuned", "Tuning", "tune", "tuned", "tuned_in_words"]
