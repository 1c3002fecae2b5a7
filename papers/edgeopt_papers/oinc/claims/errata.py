"""Errors in the paper on continuous learning at the edge, and their corrections."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from edgeopt.instances.oinc import link_rates
from edgeopt.instances.radio import (
    decibel_to_ratio,
    small_cell_loss_decibel,
    transmission_seconds,
)
from edgeopt.online.oinc.retraining import run_density
from edgeopt_papers.oinc.claims.certificate import dual_certificate
from edgeopt_papers.oinc.claims.evaluation import erratum
from edgeopt_papers.oinc.claims.instances import (
    Due,
    busy_site,
    idle_sites,
    overloaded_sites,
    overpriced,
    overtaken_in_service,
    overtaken_in_wait,
)
from edgeopt_papers.oinc.claims.modelling import left_for_requests
from edgeopt_papers.oinc.claims.order import queues_of, run_urgent, swaps, weights_at_arrival

if TYPE_CHECKING:
    from edgeopt.instances.oinc.channel import Channel
    from edgeopt_papers.claims.errata import Erratum


def counted(arrival: float, duration: float, first: int) -> float:
    """Return the least that program (8) counts for a job alone, from a slot on."""
    left, total, slot = duration, 0.0, first
    while left > 0:
        used = min(left, 1.0)
        total += used * ((slot - arrival) / duration + 0.5)
        left, slot = left - used, slot + 1
    return total


def link_rate(
    channel: Channel, kilometres: float = 0.15, milliwatt: float = 100.0, megahertz: float = 3.0
) -> float:
    """Return the rate of a link with the whole band, Mbit/s; by default of the nearest device."""
    return float(link_rates(channel, kilometres, milliwatt, megahertz))


def _overtaken(due: Due, *, in_service: bool) -> tuple[float, float, float]:
    """Count jobs that lose their place: with weights that grow, that stay, and as is meant."""
    runs = run_urgent(due).queues, queues_of(run_density(weights_at_arrival(due)))
    grow, stay = (
        sum(ahead == queue.job[0] or not in_service for queue, ahead, _ in swaps(queues))
        for queues in runs
    )
    return grow, stay, 0.0


def _violations(due: Due, epsilon: float) -> tuple[float, float, float]:
    """Return by how much dual points break a constraint: weights that grow, and that stay."""
    problem = weights_at_arrival(due)
    runs = run_urgent(due, epsilon=epsilon), run_density(problem, epsilon=epsilon)
    grow, stay = (dual_certificate(problem, run, epsilon).violation_in_time for run in runs)
    return grow, stay, 0.0


def _advantages() -> tuple[float, float, float]:
    """Compare rewards of two plans for slots of one and three requests, by mean and by sum.

    One answers after 0.5 s and 3 times 0.1 s, the other after 0.1 s and 3 times 0.3 s.
    """
    better, worse = ((0.5,), (0.1,) * 3), ((0.1,), (0.3,) * 3)
    mean = sum(sum(slot) / len(slot) for slot in worse) - sum(
        sum(slot) / len(slot) for slot in better
    )
    return mean, sum(map(sum, worse)) - sum(map(sum, better)), 0.0


def errata() -> tuple[Erratum, ...]:
    """Evaluate all examples."""
    large, negative, mixed = idle_sites(), overloaded_sites(), busy_site()
    work, speed, share = 10.0, 5.0, 0.8
    near, far = link_rate("physical"), link_rate("physical", 0.45, 80.0, 2.0)
    loss = float(small_cell_loss_decibel(0.15))
    return (
        erratum(
            "lemma1.instants",
            counted(0.5, 0.25, math.ceil(0.5)),
            counted(0.5, 0.25, math.floor(0.5)),
            0.25,
        ),
        erratum("order.published", *_overtaken(overtaken_in_wait(), in_service=False)),
        erratum("order.service", *_overtaken(overtaken_in_service(), in_service=True)),
        erratum("urgent.certificate.published", *_violations(overpriced(), 0.25)),
        erratum("equation2.published", large.published(), large.corrected(), 1.0),
        erratum("equation2.negative", negative.published(), negative.corrected(), 0.0),
        erratum(
            "equation2.units",
            left_for_requests(mixed, mixed.published()),
            left_for_requests(mixed, mixed.corrected()),
            mixed.needed,
        ),
        erratum("reward.published", *_advantages()),
        erratum(
            "equation5.published",
            (work - share) / (share * speed),
            (work - share * speed) / (share * speed),
            work / (share * speed) - 1.0,
        ),
        erratum("radio.published", 6.4 / link_rate("published"), 6.4 / near, 1.0),
        erratum(
            "radio.everywhere",
            12.8 / far,
            12.8 / 8.0 / link_rate("physical", 0.45, 80.0, 20.0),
            1.0,
        ),
        erratum(
            "radio.bits.published",
            0.8 / near,
            8.0 * 0.8 / near,
            float(transmission_seconds(0.8, 1e6 * near)),
        ),
        erratum("radio.gain.published", loss, float(decibel_to_ratio(-loss)), 1.0),
    )
