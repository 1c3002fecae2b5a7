"""How long tasks take under noise: on average, and at least."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement, NotApplicableError, worst
from edgeopt.bounds.tapfinger import counterexamples as named
from edgeopt.bounds.tapfinger.statement import claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.tapfinger import TapFingerInstance, expected_durations, shortest_durations
from edgeopt.instances.tapfinger.laws import COMPLETE, progress_gain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["CLAIMS", "Gain"]

POINTS = 20_000
"""Values of the noise, evenly spread, over which a gain is averaged."""

DRAWN = 5
"""Runs of a task that are drawn for each bundle."""

PER_INSTANCE = 40
"""Bundles of an instance that are looked at."""


@dataclass(frozen=True)
class Gain:
    """Progress of a slot, which noise changes by as much as it does, but never below 0.

    Parameters
    ----------
    law
        Progress without noise.
    noise
        The noise is uniform between minus and plus this.
    """

    law: float
    noise: float

    def mean(self) -> float:
        """Average over the noise."""
        noise = self.noise * ((np.arange(POINTS) + 0.5) / POINTS * 2.0 - 1.0)
        return float(np.maximum(0.0, self.law + noise).mean())

    def corrected(self) -> float:
        """Return the average in closed form."""
        cut = max(0.0, self.noise - self.law)
        return self.law + (cut * cut / (4.0 * self.noise) if self.noise > 0.0 else 0.0)


def _on_average(instance: TapFingerInstance) -> Measurement:
    """Compare with the noise and without, where they differ most."""
    mean, without = expected_durations(instance), instance.duration
    worst_place = np.unravel_index(np.abs(mean - without).argmax(), mean.shape)
    return Measurement(float(mean[worst_place]), float(without[worst_place]))


def _most_above(instance: TapFingerInstance) -> Measurement:
    mean, without = expected_durations(instance), instance.duration
    worst_place = np.unravel_index((mean - without).argmax(), mean.shape)
    return Measurement(float(mean[worst_place]), float(without[worst_place]))


def _no_faster(instance: TapFingerInstance) -> Measurement:
    """Run tasks alone under noise that is drawn, and under the kindest."""
    least = shortest_durations(instance)
    places = np.argwhere(least > 0)[:PER_INSTANCE]
    draw = np.random.default_rng(0)
    found = []
    for n, k, cpu, gpu in places.tolist():
        slots = list(_lengths(instance, (n, k, cpu, gpu), draw))
        found.append(Measurement(float(min(slots)), float(least[n, k, cpu, gpu])))
    if not found:
        raise NotApplicableError("no cluster can hold a task")
    return worst(Relation.AT_LEAST, found)


def _lengths(
    instance: TapFingerInstance, place: tuple[int, int, int, int], draw: np.random.Generator
) -> Iterator[int]:
    assert instance.slowing is not None
    speed, slowing = float(instance.speed[place]), bool(instance.slowing[place[1]])
    for run in range(DRAWN + 1):
        progress, slots = 0.0, 0
        while progress < COMPLETE:
            noise = instance.noise * (1.0 if run == DRAWN else draw.uniform(-1.0, 1.0))
            progress += max(0.0, progress_gain(speed, slowing, progress) + noise)
            slots += 1
        yield slots


_INSTANCE = {"instance_type": TapFingerInstance, "view": lambda instance: instance}
_GAIN = {"instance_type": Gain, "view": lambda gain: gain}
_GAINS = {
    f"Gain({law}, {noise})": lambda law=law, noise=noise: Gain(law, noise)
    for law, noise in ((0.0625, 0.1), (0.0, 0.1), (0.1, 0.1), (0.25, 0.1), (0.25, 0.0), (0.3, 1.0))
}
_NOISY: dict[str, Callable[[], TapFingerInstance]] = {
    "one_gpu()": named.one_gpu,
    "insensitive()": named.insensitive,
    "one_gpu(0.5)": lambda: named.one_gpu(0.5),
    "fast_and_slowing()": named.fast_and_slowing,
}

CLAIMS = (
    claim(
        "noise",
        r"With noise uniform in $[-\epsilon, \epsilon]$ the mean gain of a slot is $g + "
        r"\max(0, \epsilon - g)^2 / (4 \epsilon)$, g being the gain without.",
        "Section V-B, randomness of the gains, corrected",
        lambda gain: Measurement(gain.mean(), gain.corrected()),
        Relation.EQUAL,
        _GAINS,
        tolerance=1e-6,
        **_GAIN,
    ),
    claim(
        "noise.printed",
        "It is g: randomness of 0.1 either way leaves the mean where it is. But progress is never "
        "undone.",
        "Section V-B, randomness of the gains",
        lambda gain: Measurement(gain.mean(), gain.law),
        Relation.EQUAL,
        {"Gain(0.0625, 0.1)": _GAINS["Gain(0.0625, 0.1)"]},
        counterexample="Gain(0.0625, 0.1)",
        corrected_by=("tapfinger.noise",),
        tolerance=1e-6,
        **_GAIN,
    ),
    claim(
        "noise.durations.printed",
        "Under noise a task takes on average as long as without. With one GPU it takes 18.4 slots "
        "and not 21.",
        "Section V-B, randomness of the gains",
        _on_average,
        Relation.EQUAL,
        {"one_gpu()": named.one_gpu},
        counterexample="one_gpu()",
        corrected_by=("tapfinger.noise.shortest", "tapfinger.noise"),
        **_INSTANCE,
    ),
    claim(
        "noise.durations.faster",
        "Under noise a task takes no longer on average than without, since lost progress is cut "
        "off at 0. One of four slots that is complete just in time does.",
        "Section V-B, randomness of the gains",
        _most_above,
        Relation.AT_MOST,
        {"insensitive()": named.insensitive},
        counterexample="insensitive()",
        corrected_by=("tapfinger.noise.shortest", "tapfinger.noise"),
        **_INSTANCE,
    ),
    claim(
        "noise.shortest",
        "No noise brings a task to its end sooner than its shortest duration.",
        "Section V-B, randomness of the gains",
        _no_faster,
        Relation.AT_LEAST,
        _NOISY,
        **_INSTANCE,
    ),
)
