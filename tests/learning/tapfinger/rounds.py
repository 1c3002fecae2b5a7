"""Rounds side by side that random networks have come to, and other forms of them."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import numpy as np

from edgeopt.instances.tapfinger import generate
from edgeopt.learning.tapfinger.network import (
    PRESETS,
    NumpyBackend,
    Seen,
    Sizes,
    act,
    actor_shapes,
    initial,
)
from edgeopt.learning.tapfinger.runs import Runs

drawn = partial(generate, clusters=3, capacity=((12, 12), (16, 16), (16, 16)), pending=6)
INSTANCES = tuple(drawn(rng=seed, tasks=40) for seed in range(3))
SIZES = Sizes.of(INSTANCES[0])


def weights(name: str = "small", seed: int = 0, scale: float = 1.0) -> dict[str, Any]:
    """Draw weights of a network."""
    shapes = actor_shapes(PRESETS[name], SIZES)
    return {
        part: array * np.float32(scale)
        for part, array in initial(shapes, np.random.default_rng(seed)).items()
    }


@cache
def rounds(count: int = 60) -> Seen:
    """Return rounds in which some cluster has a choice."""
    rng = np.random.default_rng(1)
    runs, found = Runs(INSTANCES, 6, rng), []
    while sum(len(one.node) for one in found) < count:
        acts = runs.seen.startable.any((1, 2))
        found.append(Seen(*(part[acts] for part in runs.seen)))
        for _ in range(4):
            made = act(NumpyBackend, weights(), PRESETS["small"], SIZES, runs.seen, rng)
            runs.renew(runs.act(made))
    return Seen(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def renamed(tasks: Any) -> Any:
    """Return the nodes of places that show such tasks, all of which have numbers of their own."""
    E, N, P = tasks.shape
    node = np.zeros((E, N * P), dtype=np.int16)
    for e, row in enumerate(tasks.reshape(E, -1).tolist()):
        node[e] = [row.index(task) for task in row]
    return node.reshape(E, N, P)


def reordered(seen: Seen, order: Any, axis: int) -> Seen:
    """Return rounds with clusters (axis 1) or places (axis 2) in another order."""
    parts = seen._asdict()
    for name in ("pending", "node", "startable", "box"):
        parts[name] = parts[name].take(order, axis)
    if axis == 1:
        parts |= {name: parts[name].take(order, 1) for name in ("cluster", "running")}
    return Seen(**parts)._replace(node=renamed(parts["node"]))


def widened(seen: Seen, places: int, rows: int) -> Seen:
    """Return rounds with further empty places and rows."""
    E, N, _ = seen.node.shape

    def empty(part: Any, count: int) -> Any:
        more = np.zeros((E, N, count, part.shape[-1]), part.dtype)
        more[..., 2] = 1.0
        return np.concatenate([part, more], axis=2)

    own = 10_000 + np.arange(N * places).reshape(1, N, places).repeat(E, axis=0)
    node = renamed(np.concatenate([seen.node, own], axis=2))
    room = ((0, 0), (0, 0), (0, places))
    return seen._replace(
        pending=empty(seen.pending, places), running=empty(seen.running, rows), node=node,
        startable=np.pad(seen.startable, room), box=np.pad(seen.box, (*room, (0, 0))),
    )  # fmt: skip
