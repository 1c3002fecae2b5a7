"""Errors in the paper on demand response, and their corrections."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from edgeopt.instances.edr import rounds_needed
from edgeopt.instances.edr.named import tiled
from edgeopt.online.primal_dual import ScaledStep
from edgeopt_papers.edr.claims import counterexamples
from edgeopt_papers.edr.claims.evaluation import erratum
from edgeopt_papers.edr.claims.instances import arriving, late_start, no_room, three_alike
from edgeopt_papers.edr.claims.relaxed import Relaxed
from edgeopt_papers.edr.claims.rounded import Frame, product
from edgeopt_papers.edr.claims.separation import parts, published_constant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from edgeopt_papers.claims.errata import Erratum

    Ends = tuple[Fraction, Fraction]

COPIES = 4


def _open(frame: Frame, state: Sequence[Fraction]) -> list[int]:
    """Tasks that are not yet decided and take part in pair steps: those that need energy."""
    pairs = zip(state, frame.energy, strict=True)
    return [i for i, (v, e) in enumerate(pairs) if 0 < v < 1 and e > 0]


def _step(
    frame: Frame, state: tuple[Fraction, ...], *, ceiling: bool
) -> tuple[tuple[int, int], Ends, Ends]:
    """Return the pair that is joined and both ends of its step, with g1 and g2 as printed or not.

    The paper prints the floor of a fraction, which is 0, where its ceiling, 1, is meant.
    """
    i, j = _open(frame, state)[:2]
    q = frame.energy[i] / frame.energy[j]
    whole = 1 if ceiling else 0
    up = min(whole - state[i], state[j] / q)
    down = min((whole - state[j]) / q, state[i])
    return (i, j), (state[i] + up, state[j] - q * up), (state[i] - down, state[j] + q * down)


def _most_energy(frame: Frame, state: tuple[Fraction, ...]) -> Fraction:
    """Take pair steps after which an entry that is not yet whole gets its old value back."""
    if len(_open(frame, state)) < 2:
        return product(frame.energy, [v // 1 for v in state])
    pair, up, down = _step(frame, state, ceiling=True)
    most = Fraction(0)
    for ends in (up, down):
        following = list(state)
        for i, value in zip(pair, ends, strict=True):
            following[i] = value if value in (0, 1) else state[i]
        most = max(most, _most_energy(frame, tuple(following)))
    return most


def _largest_entry(frame: Frame, *, ceiling: bool) -> float:
    _, up, down = _step(frame, frame.rounds, ceiling=ceiling)
    return float(max(*up, *down))


def _more_rounds(bound: Literal["published", "corrected"]) -> float:
    """Return how many more rounds 50 equal sites need than 20, to an accuracy of 1e-4."""
    few, many = (
        rounds_needed(sites=sites, clients=sites, accuracy=1e-4, rounds_bound=bound)
        for sites in (20, 50)
    )
    return many - few


def _margin(problem: Relaxed) -> float:
    """Return by how much the slack of Assumption 2 exceeds the drift of Assumption 3."""
    return problem.slack - float(problem.drift.max(initial=0.0))


def errata() -> tuple[Erratum, ...]:
    """Evaluate all examples."""
    alike, lemma5, overloaded = three_alike(), counterexamples.lemma5(), no_room()
    floored = max(float(product(alike.energy, x)) for x in alike.distribution("floor"))
    problem, least = Relaxed.of(lemma5), parts(lemma5)
    price = lemma5.energy_weight * lemma5.price[:, None]
    trained = float((price * problem.energy * problem.rate).sum())
    late = late_start()
    window = late.deadline - late.arrival
    still = Relaxed.of(counterexamples.theorem3())
    scaled = ScaledStep(still.frames, point=1.0, gradient=1.0).sizes(0).primal
    many = np.tile(problem.cost, COPIES)
    load = float((overloaded.points @ overloaded.instance.round_work).max())
    able = float((overloaded.instance.capacity * overloaded.instance.slots).max())
    return (
        erratum("rounds.published", _more_rounds("published"), _more_rounds("corrected"), 0.0),
        erratum(
            "rate.published",
            (late.rounds / window * late.window)[0],
            Relaxed.of(late).rate.sum(),
            late.rounds[0],
        ),
        erratum(
            "algorithm2.range.published",
            _largest_entry(alike, ceiling=False),
            _largest_entry(alike, ceiling=True),
            1.0,
        ),
        erratum(
            "algorithm2.update.published",
            float(_most_energy(alike, alike.rounds)),
            floored,
            float(alike.spent),
        ),
        erratum(
            "assumption3.published",
            _margin(Relaxed.of(arriving())),
            _margin(Relaxed.of(arriving().replace(arrival=np.zeros(1, dtype=int)))),
            0.0,
        ),
        erratum(
            "constants",
            1.0,
            math.sqrt(COPIES),
            np.linalg.norm(many, axis=1).max() / problem.gradient,
        ),
        erratum(
            "equation17.still",
            math.sqrt(max(still.path, still.drift.sum()) / still.frames) / scaled,
            1.0,
            1.0,
        ),
        erratum(
            "lemma5.doubled",
            1.0,
            2.0,
            published_constant(tiled(lemma5, 2)) / published_constant(lemma5),
        ),
        erratum(
            "equation51.published",
            lemma5.tasks * lemma5.sites * lemma5.frames * least.round_energy,
            least.task_energy,
            trained,
        ),
        erratum("compute.published", load, min(load, able), able),
    )
