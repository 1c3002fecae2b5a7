"""Serve streams under a budget of energy that is kept in the long run, not in every slot."""

import numpy as np

from edgeopt.online.mirror_ascent import KnapsackEntropy
from edgeopt.online.primal_dual import (
    Box,
    LinearSlot,
    PrimalDual,
    ScaledStep,
    VariationStep,
    fit_bound,
    multiplier_bound,
    regret_bound,
)

ENERGY, BUDGET = np.array([0.1, 0.2, 0.3, 0.4]), 0.5  # of each stream and per slot, J
DAY, NIGHT = [0.2, 0.3, 0.6, 1.0], [0.6, 0.8, 0.4, 0.2]  # mean value of each stream
PHASE = 2000  # slots of a day or a night


def play(rule, value):
    """Return the served shares, shape [slots, streams], and the last multiplier."""
    method, box = PrimalDual(rule), Box(np.zeros(4), np.ones(4))
    state, served = method.start(np.zeros(4), 1), []
    for gain in value:
        served.append(state.point)
        state = method.update(state, LinearSlot(-gain, [ENERGY], [-BUDGET]), box)
    return np.array(served), float(state.multipliers[0])


if __name__ == "__main__":
    mean = np.repeat([DAY, NIGHT, DAY, NIGHT], PHASE, axis=0)
    value = mean * np.random.default_rng(7).uniform(0.5, 1.5, mean.shape)
    slots = len(value)

    # Compare with the best share of every day and night, which keeps the budget in each slot.
    within = KnapsackEntropy(ENERGY, BUDGET, fill=False)
    sums = value.reshape(-1, PHASE, 4).sum(axis=1)
    best = np.array([within.best(gain) for gain in sums])
    path = float(np.linalg.norm(np.diff(best, axis=0), axis=1).sum())

    known = {
        "gradient": float(np.linalg.norm(value, axis=1).max()),
        "constraints": max(BUDGET, ENERGY.sum() - BUDGET),
        "diameter": 2.0,  # of the box
    }
    for rule in (ScaledStep(slots), VariationStep(slots, path=path, drift=0.0)):
        served, multiplier = play(rule, value)
        steps = rule.sizes(0)
        print(f"{type(rule).__name__}, sizes {steps.primal:.3f} and {steps.dual:.3f}")
        regret = (sums * best).sum() - (value * served).sum()
        limit = regret_bound(steps, slots, path=path, **known)
        print(f"  regret {regret:.0f} of {(sums * best).sum():.0f}, proven at most {limit:.0f}")
        fit = max(0.0, (served @ ENERGY - BUDGET).sum())
        after = fit_bound(multiplier, steps.dual)
        before = fit_bound(multiplier_bound(steps, slack=BUDGET, **known), steps.dual)
        print(
            f"  beyond the budget {fit:.1f} of {slots * BUDGET:.0f} J, proven at most {after:.1f} "
            f"after the run and {before:.0f} before it"
        )
