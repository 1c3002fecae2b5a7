"""Round fractions to decisions that keep the expectations and respect a shared budget."""

# start of the rounding example
from fractions import Fraction

import numpy as np

from edgeopt.rounding import depround, depround_distribution

share, size = [Fraction(1, 2), Fraction(1, 3), Fraction(3, 4)], [2, 3, 4]  # 5 MB on average
rows = np.tile(np.array(share, dtype=float), (10_000, 1))
for residual in ("bernoulli", "half", "drop"):  # how the last fraction is rounded
    chosen = depround(rows, size, rng=7, residual=residual)
    print(residual, "mean", chosen.mean(axis=0).round(2), "MB at most", (chosen @ size).max())
for decision, probability in depround_distribution(share, size).items():  # the exact distribution
    print(decision, probability)
# end of the rounding example
