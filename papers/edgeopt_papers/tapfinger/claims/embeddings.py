"""What the network over the graph can tell of tasks: their kinds, only if nodes hear themselves.

Two tasks that wait for one and the same cluster alone have one neighbour, which they weigh with 1
whatever they are: what they hear is equal in every layer.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.instances.tapfinger import TapFingerInstance
from edgeopt.learning.tapfinger.adapters.encoding import encoded
from edgeopt.learning.tapfinger.network import (
    PRESETS,
    NumpyBackend,
    Seen,
    Sizes,
    actor_shapes,
    embed,
    initial,
)
from edgeopt.online.tapfinger import Decision, TapFingerEnvironment
from edgeopt_papers.claims.paper import named_instance, named_instances
from edgeopt_papers.tapfinger.claims import instances as named
from edgeopt_papers.tapfinger.claims.evaluation import claim

if TYPE_CHECKING:
    from collections.abc import Iterator

APART: Final = 1e-3
"""By how much some coordinate of two embeddings is to differ at least."""

NETWORKS: Final = 3
"""Networks that are drawn."""


def _pairs(instance: TapFingerInstance) -> tuple[Seen, list[tuple[int, int, int]]]:
    """Return a round, and cluster and places of tasks of two kinds that wait there alone.

    It is the first one with such tasks if nothing is started; places are next to each other.
    """
    episode = TapFingerEnvironment(instance, patience=1).episode(0)
    while (seen := episode.observe()) is not None:
        kind, alone = seen.tasks.kind, seen.tasks.eligible.sum(axis=1) == 1
        found = []
        for n, pending in enumerate(seen.pending):
            places = [i for i, j in enumerate(pending.tolist()) if j >= 0 and alone[j]]
            found += [
                (n, i, other)
                for i, other in pairwise(places)
                if kind[pending[i]] != kind[pending[other]]
            ]
        if found:
            return Seen.of(*encoded(instance, seen)), found
        episode.act(Decision.void(instance.clusters))
    raise NotApplicableError("no two tasks of different kinds wait for one cluster alone")


def _apart(instance: TapFingerInstance, preset: str) -> Iterator[Measurement]:
    seen, pairs = _pairs(instance)
    form = PRESETS[preset]
    shapes = actor_shapes(form, Sizes.of(instance))
    for seed in range(NETWORKS):
        weights = initial(shapes, np.random.default_rng(seed))
        _, tasks, _ = embed(NumpyBackend, weights, form, seen)
        for n, i, other in pairs:
            apart = float(np.abs(tasks[0, n, i] - tasks[0, n, other]).max())
            yield Measurement(apart, APART, {"network": seed, "cluster": n})


_about = partial(claim, instance_type=TapFingerInstance, view=lambda instance: instance)

_TWO = named_instance(named.two_kinds)

CLAIMS = (
    _about(
        "kinds",
        lambda instance: _apart(instance, "small"),
        (_TWO, named_instances(named.drawn_instance, range(6))),
    ),
    _about("kinds.program", lambda instance: _apart(instance, "no_self_loops"), _TWO),
)
