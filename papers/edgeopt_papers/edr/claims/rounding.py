"""Lemmas 1 and 2: what rounding keeps depends on what becomes of the last fraction."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Assumption, Measurement, NotApplicableError
from edgeopt_papers.claims.paper import named_instance
from edgeopt_papers.edr.claims import instances as named
from edgeopt_papers.edr.claims.evaluation import Evaluation, claim, whole
from edgeopt_papers.edr.claims.instances import HAND, STEADY, always_dropped
from edgeopt_papers.edr.claims.relaxed import Relaxed
from edgeopt_papers.edr.claims.rounded import Frame, about_frames, mean, product

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from edgeopt.rounding import Distribution


def _means(frames: Sequence[Frame], residual: str, margin: bool = False) -> Iterator[Measurement]:
    """Compare the expected rounds with the fractional ones, at the task where they differ most."""
    for frame in frames:
        means = mean(frame.distribution(residual, frame.hungriest if margin else None))
        i = max(range(len(means)), key=lambda i: abs(means[i] - frame.rounds[i]))
        proof = {"task": i, "means": means, "frame": frame}
        yield Measurement(float(means[i]), float(frame.rounds[i]), proof)


def _energies(frame: Frame, distribution: Distribution) -> list[Fraction]:
    return [product(frame.energy, outcome) for outcome in distribution]


def _most_energy(frames: Sequence[Frame], residual: str, more: int) -> Iterator[Measurement]:
    """Compare the most energy of an outcome with what was planned and so many rounds more."""
    for frame in frames:
        distribution = frame.distribution(residual)
        limit = frame.spent + more * frame.hungriest
        yield Measurement(
            float(max(_energies(frame, distribution))), float(limit), {"distribution": distribution}
        )


def _most_energy_with_margin(frames: Sequence[Frame]) -> Iterator[Measurement]:
    """Compare the most energy of an outcome with the plan and margins of half and a whole round."""
    for frame in frames:
        for margin in (frame.hungriest / 2, frame.hungriest):
            most = max(_energies(frame, frame.distribution("bernoulli", margin)))
            proof = {"frame": frame, "margin": margin}
            yield Measurement(float(most), float(frame.spent + margin), proof)


def _least_energy(frames: Sequence[Frame]) -> Iterator[Measurement]:
    for frame in frames:
        distribution = frame.distribution("floor")
        limit = frame.spent - frame.hungriest
        yield Measurement(
            float(min(_energies(frame, distribution))), float(limit), {"distribution": distribution}
        )


def _lost(frames: Sequence[Frame]) -> Iterator[Measurement]:
    """Sum what rounding down takes from all tasks that need energy, in expectation."""
    for frame in frames:
        means = mean(frame.distribution("floor"))
        lost = sum((frame.rounds[i] - means[i] for i in frame.mixed), Fraction(0))
        yield Measurement(float(lost), 1.0, {"means": means})


def _either(frames: Sequence[Frame]) -> Iterator[Measurement]:
    """Compare the expected energy above the plan with e v (1 - v), for a single fraction v."""
    for frame in frames:
        distribution, [i] = frame.distribution("bernoulli"), frame.mixed
        above = sum(
            (
                p * max(product(frame.energy, z) - frame.spent, Fraction(0))
                for z, p in distribution.items()
            ),
            Fraction(0),
        )
        v = frame.rounds[i] % 1
        yield Measurement(float(above), float(frame.energy[i] * v * (1 - v)))


def _expected_cost(frames: Sequence[Frame], residual: str) -> Iterator[Measurement]:
    for frame in frames:
        after = product(frame.cost, mean(frame.distribution(residual)))
        before = product(frame.cost, frame.rounds)
        yield Measurement(float(after), float(before), {"frame": frame})


def _carried(view: Evaluation) -> Measurement:
    """Round all frames in turn, each with what the one before has lost, and sum up the loss."""
    from edgeopt.rounding import pairwise

    energy, points = view.problem.energy, view.points
    if not (energy > 0).all():
        raise NotApplicableError("a round without energy has a coin of its own")
    draw = np.random.default_rng(0)
    carry, total = np.zeros(1), 0.0
    for t in range(len(points)):
        counts, carry = pairwise(points[t], energy[t], rng=draw, carry=carry)
        total += float(counts[0])
    return Measurement(float(points.sum()) - total, 1.0, {"carry": carry})


_INSTANCES = {**HAND, **STEADY}
SINGLE = Assumption(
    "a single fraction",
    "one frame with one task whose rounds are not whole",
    lambda one: isinstance(one, Frame) and len(one.mixed) == 1,
)

ALONE = Assumption(
    "a single task",
    "there is one task",
    lambda given: Relaxed.of(whole(given)).tasks == 1,
)

CLAIMS = (
    about_frames("lemma1.mean", lambda frames: _means(frames, "bernoulli"), _INSTANCES),
    about_frames("lemma1.energy", lambda frames: _most_energy(frames, "floor", 0), _INSTANCES),
    about_frames("lemma1.published", lambda frames: _means(frames, "floor"), named.half),
    about_frames("lemma1.drawn", lambda frames: _most_energy(frames, "bernoulli", 0), named.half),
    about_frames("lemma1.near", lambda frames: _most_energy(frames, "bernoulli", 1), _INSTANCES),
    about_frames("lemma1.kept", _least_energy, _INSTANCES),
    about_frames("lemma1.lost", _lost, _INSTANCES),
    about_frames("lemma1.either", _either, named.half, assumptions=(SINGLE,)),
    about_frames(
        "margin.mean", lambda frames: _means(frames, "bernoulli", margin=True), _INSTANCES
    ),
    about_frames("margin.energy", _most_energy_with_margin, _INSTANCES),
    claim("carry", _carried, (STEADY, named_instance(always_dropped, 100)), assumptions=(ALONE,)),
    about_frames("lemma2", lambda frames: _expected_cost(frames, "bernoulli"), _INSTANCES),
    about_frames("lemma2.published", lambda frames: _expected_cost(frames, "floor"), named.half),
)
