"""Errors in the paper on continuous learning at the edge, and their corrections."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from edgeopt.bounds.verdict import Relation
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
            "Lemma 1, constraint (8c)",
            r"A job may be served from the next slot on, $t \ge a_k$.",
            "It may from the slot of its arrival on. Arrivals of an instance are slots.",
            "What the program counts for a job that arrives within a slot exceeds its flow time.",
            "a job of 1/4 s that arrives in the middle of slot 0 and is served at once",
            (
                counted(0.5, 0.25, math.ceil(0.5)),
                counted(0.5, 0.25, math.floor(0.5)),
                0.25,
            ),
            Relation.AT_MOST,
        ),
        erratum(
            "order.published",
            "Section IV-D, job processing queue",
            "Jobs that wait keep their order if weights are inversely proportional to the time "
            "until the deadline.",
            "They do if weights stay as they were at the arrival.",
            "Weights of jobs that are due sooner grow faster. Jobs that are overtaken are counted.",
            "overtaken_in_wait()",
            _overtaken(overtaken_in_wait(), in_service=False),
        ),
        erratum(
            "order.service",
            "Section IV-D, job processing queue",
            "A job in service is not overtaken by one that was there before, with such weights.",
            "It is not if weights stay as they were at the arrival.",
            "A light job that is due at once grows faster than the one in service gains by being "
            "served. Such jobs are counted.",
            "overtaken_in_service()",
            _overtaken(overtaken_in_service(), in_service=True),
        ),
        erratum(
            "urgent.certificate.published",
            "Theorem 1 and Section IV-D",
            "The dual point of a run with weights that grow breaks no constraint.",
            "That of a run with weights that stay does not.",
            "A job is priced by weights that others did not have at their arrival. The largest "
            "violation is given, sites being faster by a quarter.",
            "overpriced()",
            _violations(overpriced(), 0.25),
        ),
        erratum(
            "equation2.published",
            "Equation (2)",
            r"$\beta (\sum_j f_j - res_{min}) / ((\alpha + \beta) f_{j'})$ is a share of the CPU.",
            "It is clipped to the largest share that is allowed.",
            "What other sites have free counts as well, and no site has it all: a share is at most "
            "1.",
            "idle_sites()",
            (large.published(), large.corrected(), 1.0),
            Relation.AT_MOST,
        ),
        erratum(
            "equation2.negative",
            "Equation (2)",
            "It is not negative.",
            "It is clipped to the smallest share that is allowed.",
            "Requests may need more than there is.",
            "overloaded_sites()",
            (negative.published(), negative.corrected(), 0.0),
            Relation.AT_LEAST,
        ),
        erratum(
            "equation2.units",
            "Equation (2)",
            r"$\sum_j (f_j - p_j)$ is free.",
            r"$\sum_j f_j (1 - p_j)$ is.",
            "A share is taken from a speed. What requests are left with is given, and what they "
            "need.",
            "busy_site()",
            (
                left_for_requests(mixed, mixed.published()),
                left_for_requests(mixed, mixed.corrected()),
                mixed.needed,
            ),
            Relation.AT_LEAST,
        ),
        erratum(
            "reward.published",
            "Equation (4)",
            "The reward of a slot is the mean latency of its requests, taken negatively.",
            "It is their sum.",
            "The mean weighs a request the less the more there are. By how much the reward prefers "
            "the plan that problem (3) prefers is given.",
            "0.5 s and three times 0.1 s, or 0.1 s and three times 0.3 s",
            _advantages(),
            Relation.AT_LEAST,
        ),
        erratum(
            "equation5.published",
            "Equation (5)",
            r"$h_{kj} = (w_k - \sum_t x_{kj}^t u_{kj}^t) / (p_j f_j)$.",
            r"$h_{kj} = (w_k - \sum_t x_{kj}^t u_{kj}^t f_j) / (p_j f_j)$.",
            "Shares are taken from work.",
            "10 Gcycle after one slot at 0.8 of 5 Gcycle/s",
            (
                (work - share) / (share * speed),
                (work - share * speed) / (share * speed),
                work / (share * speed) - 1.0,
            ),
        ),
        erratum(
            "radio.published",
            "Section V-A, wireless links",
            "The noise is -40 dBm/Hz.",
            "It is thermal, -174 dBm/Hz.",
            "The printed noise leaves next to no rate: the nearest device has to send the least "
            "data within a slot.",
            "6.4 Mbit over 0.15 km with 100 mW and 3 MHz, s",
            (6.4 / link_rate("published"), 6.4 / near, 1.0),
            Relation.AT_MOST,
        ),
        erratum(
            "radio.everywhere",
            "Section V-A, wireless links",
            "Requests have so many MB, and bands 2 to 3 MHz.",
            "They have so many Mbit, and bands are ten times as wide.",
            "With thermal noise the farthest device does not send most data within a slot.",
            "12.8 Mbit, or an eighth, over 0.45 km with 80 mW and 2 MHz, or 20 MHz, s",
            (12.8 / far, 12.8 / 8.0 / link_rate("physical", 0.45, 80.0, 20.0), 1.0),
            Relation.AT_MOST,
        ),
        erratum(
            "radio.bits.published",
            "Section III-B, transmission latency",
            "A request takes d / r seconds to be sent, d in MB and r in Mbit/s.",
            "It takes 8 d / r seconds.",
            "A byte has 8 bits.",
            "0.8 MB over 0.15 km with 100 mW and 3 MHz, s",
            (0.8 / near, 8.0 * 0.8 / near, float(transmission_seconds(0.8, 1e6 * near))),
        ),
        erratum(
            "radio.gain.published",
            "Section V-A, wireless links",
            r"The gain is $140.7 + 36.7 \log_{10} r + 4$.",
            "That is the loss in dB.",
            "The number grows with the distance, and no more power is received than sent.",
            "0.15 km",
            (loss, float(decibel_to_ratio(-loss)), 1.0),
            Relation.AT_MOST,
        ),
    )
