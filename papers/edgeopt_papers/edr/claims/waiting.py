"""What plans cost at least that do not know the future, on trees of scenarios."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from edgeopt.bounds.claim import Measurement, NotApplicableError
from edgeopt.models.edr.training import Coming, informed_value, room_prices
from edgeopt.solvers import LinearProgram, solve
from edgeopt_papers.claims.paper import SOLVED, named_instances
from edgeopt_papers.edr.claims.evaluation import claim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

LARGEST = 1000
"""Most paths through a tree that is written out."""

BETAS = (0.25, 0.5, 0.75, 1.0, 1.3)
"""Multiples of the fluid prices that are tried, beside prices that are drawn."""

DRAWN = 10
"""Prices that are drawn, up to the largest price of being late for a full frame."""


def scenario_tree(seed: int) -> Coming:
    """Draw one to three tasks that share three frames, each of which has two outcomes."""
    draw = np.random.default_rng(seed)
    tasks, frames, samples = int(draw.integers(1, 4)), 3, 2
    first = draw.integers(0, frames, tasks)
    return Coming(
        cost=draw.uniform(-0.1, 1.0, (tasks, frames, samples)),
        cap=draw.uniform(0.2, 1.0, frames) * (draw.random(frames) < 0.9),
        weight=draw.uniform(0.05, 0.5, tasks) * (draw.random(tasks) < 0.9),
        remaining=draw.integers(1, 6, tasks).astype(float),
        late=draw.uniform(0.5, 2.0, tasks),
        first=first,
        last=draw.integers(first, frames),
    )


def coin(frames: int = 3) -> Coming:
    """Let one round cost 0 or 1 in each frame, and 1 if it is missing.

    Whoever does not know the future takes the first frame that costs nothing, and pays 1 with
    chance 1 / 2^frames; the fluid answer, which splits the round over outcomes, pays nothing.
    """
    whole = np.ones(1)
    return Coming(
        np.tile([0.0, 1.0], (1, frames, 1)), np.ones(frames), whole / 8, whole, whole,
        np.zeros(1, dtype=int), np.full(1, frames - 1),
    )  # fmt: skip


def multistage_optimum(coming: Coming) -> float:
    """Solve the program over all nodes of the tree: what the best plan is expected to cost."""
    tasks, frames, samples = coming.cost.shape
    if samples**frames > LARGEST:
        raise NotApplicableError(f"has more than {LARGEST} paths")
    # Nodes of depth h are numbered in base Q by the outcomes of frames 0 to h.
    nodes = [samples ** (h + 1) for h in range(frames)]
    start = np.concatenate(([0], np.cumsum(nodes)))
    leaves, width = nodes[-1], int(start[-1]) + nodes[-1]
    cost, upper = np.zeros((tasks, width)), np.zeros((tasks, width))
    rooms = sparse.lil_array((int(start[-1]), tasks * width))
    paths = sparse.lil_array((leaves, width))
    for h, count in enumerate(nodes):
        own = slice(int(start[h]), int(start[h + 1]))
        cost[:, own] = np.tile(coming.cost[:, h], count // samples) / count
        upper[:, own] = np.where(coming.usable[:, h], np.inf, 0.0)[:, None]
        leaf = np.arange(leaves)
        paths[leaf, start[h] + leaf // (leaves // count)] = 1.0
    cost[:, start[-1] :], upper[:, start[-1] :] = coming.late[:, None] / leaves, np.inf
    paths[np.arange(leaves), start[-1] + np.arange(leaves)] = 1.0
    for node in range(int(start[-1])):
        rooms[node, node + width * np.arange(tasks)] = coming.weight
    needed, room = np.repeat(coming.remaining, leaves), np.repeat(coming.cap, nodes)
    matrix = sparse.vstack([sparse.block_diag([paths] * tasks), rooms])
    low = np.concatenate((needed, np.full(room.size, -np.inf)))
    high = np.concatenate((needed, room))
    return solve(LinearProgram(cost.ravel(), matrix, low, high, 0.0, upper.ravel())).objective


def _prices(coming: Coming) -> Iterator[tuple[str, NDArray[np.float64]]]:
    fluid, draw = room_prices(coming).price, np.random.default_rng(0)
    for beta in BETAS:
        yield f"{beta:g} times the fluid prices", beta * fluid
    heavy = coming.weight > 0
    most = (coming.late[heavy] / coming.weight[heavy]).max(initial=1.0)
    for number in range(DRAWN):
        scale = most * draw.random() ** 2
        yield f"drawn {number}", scale * draw.random(fluid.shape)


def _bound(coming: Coming) -> Iterator[Measurement]:
    best = multistage_optimum(coming)
    size = float(coming.remaining @ coming.late)
    for name, price in _prices(coming):
        proof = {"prices": name, "price": price}
        yield Measurement(informed_value(coming, price), best, proof, size=size)


def fluid_optimum(coming: Coming) -> float:
    """Solve the program in which a round may wait for any outcome of any frame with certainty."""
    tasks, frames, samples = coming.cost.shape
    width = frames * samples + 1
    cost = np.column_stack([coming.cost.reshape(tasks, -1), coming.late])
    usable = np.repeat(coming.usable, samples, axis=1)
    upper = np.column_stack([np.where(usable, np.inf, 0.0), np.full(tasks, np.inf)])
    whole = sparse.block_diag([np.ones((1, width))] * tasks)
    outcomes = sparse.eye_array(width - 1, width)
    shared = sparse.hstack([weight * outcomes for weight in coming.weight])
    room = np.repeat(coming.cap / samples, samples)
    low = np.concatenate((coming.remaining, np.full(room.size, -np.inf)))
    high = np.concatenate((coming.remaining, room))
    matrix = sparse.vstack([whole, shared])
    return solve(LinearProgram(cost.ravel(), matrix, low, high, 0.0, upper.ravel())).objective


def _fluid(coming: Coming) -> Measurement:
    price = room_prices(coming).price
    return Measurement(informed_value(coming, price), fluid_optimum(coming), {"price": price})


TREES = named_instances(scenario_tree, range(12))
"""Random trees."""

about_trees = partial(claim, instance_type=Coming, view=lambda coming: coming, tolerance=SOLVED)
"""Build a claim about tasks and scenarios."""

CLAIMS = (
    about_trees("informed_bound", _bound, (TREES, coin)),
    about_trees("informed_bound.fluid", _fluid, (TREES, coin)),
)
