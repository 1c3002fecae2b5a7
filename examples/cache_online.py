"""Fill a cache and set a clock online, with a proven regret whatever demand comes."""

import numpy as np

from edgeopt.online.mirror_ascent import (
    BoxEuclidean,
    KnapsackEntropy,
    KnapsackEuclidean,
    MirrorAscent,
    Product,
    TheoryStep,
)

SIZE, ROOM = np.array([2.0, 3.0, 5.0, 8.0]), 9.0  # of four models and of the cache, GB
WATTS = 0.8  # price of one GHz; the clock runs at 0.5 to 2 GHz


def demand(slots, rng):
    """Requests for each model, which becomes less popular as another becomes more, and load."""
    turn = np.arange(slots)[:, None] / slots
    popular = (1 - turn) * [8.0, 6.0, 2.0, 1.0] + turn * [1.0, 2.0, 5.0, 12.0]
    return rng.poisson(popular).astype(float), rng.uniform(0.5, 1.5, slots)


def play(ascent, requests, load):
    """Return what was earned, and the state after the last slot."""
    state, earned = ascent.start(), 0.0
    for asked, work in zip(requests, load, strict=True):
        *cached, clock = state.point
        earned += asked @ cached + work * np.log(clock) - WATTS * clock
        state = ascent.update(state, [*asked, work / clock - WATTS])
    return earned, state


if __name__ == "__main__":
    requests, load = demand(2000, np.random.default_rng(7))
    clock = BoxEuclidean([0.5], [2.0])
    entropy = Product([KnapsackEntropy(SIZE, ROOM), clock])
    euclidean = Product([KnapsackEuclidean(SIZE, ROOM), clock])

    # The best fixed point in hindsight: the models asked for most per GB, and the best clock.
    cached = entropy.blocks[0].best(requests.sum(axis=0))
    speed = np.clip(load.mean() / WATTS, 0.5, 2.0)
    best = (requests @ cached + load * np.log(speed) - WATTS * speed).sum()

    # With the horizon and bounds of the gradients known, the rates can be set beforehand.
    ranges = (requests / SIZE).max() / 2, load.max() / 0.5
    for name, ascent in (
        ("entropy", MirrorAscent(entropy)),
        ("Euclidean", MirrorAscent(euclidean)),
        ("entropy, horizon known", MirrorAscent(entropy, TheoryStep(ranges, len(load)))),
    ):
        earned, state = play(ascent, requests, load)
        bound = ascent.regret_bound(state)
        print(f"{name}: regret {best - earned:.0f} of {best:.0f}, proven at most {bound:.0f}")
