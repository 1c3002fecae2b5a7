"""A rounding of your own: what it keeps, exactly, and what that proves of a policy that uses it."""

# start of the rounding of one's own
import math
from fractions import Fraction
from itertools import pairwise

import numpy as np

from edgeopt.instances.idn import generate
from edgeopt.online import simulate
from edgeopt.online.idn import IdnEnvironment, Infida
from edgeopt.testing import check_rounding


class Systematic:
    """An entry is 1 where it reaches across a line; the lines are 1 apart, the first is drawn."""

    name = "systematic sampling"
    keeps = ("marginals", "cardinality")

    def __call__(self, y, weights, *, rng):
        line = np.random.default_rng(rng).random((*y.shape[:-1], 1))
        crossed = np.floor(np.cumsum(y, axis=-1) - line + 1e-12)
        return np.diff(crossed, axis=-1, prepend=-1.0) > 0.5

    def distribution(self, y, weights):
        ends = [sum(y[: i + 1], Fraction(0)) for i in range(len(y))]
        found = {}
        for low, high in pairwise(sorted({Fraction(0), Fraction(1), *(end % 1 for end in ends)})):
            crossed = [-1, *(math.floor(end - (low + high) / 2) for end in ends)]
            x = tuple(after - before for before, after in pairwise(crossed))
            found[x] = found.get(x, 0) + high - low
        return found


print(check_rounding(Systematic()))
report = check_rounding(Systematic(), keeps=["marginals", "correlation"], raises=False)
print(report["correlation"].message)

network = generate(rng=0, horizon=40)
for policy in (Infida(residual=Systematic(), label="systematic"), Infida()):
    gain = simulate(IdnEnvironment(network), policy, runs=3).time_averaged_gain().mean()
    share, why = policy.guarantee(network)
    print(f"{policy.name}: {gain:.1f} ms a request; proven {share:.2f} of the best, {why}")
# end of the rounding of one's own
