"""Errors in RESCUE's model and evaluation, and their corrections."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.instances.radio import (
    decibel_to_ratio,
    path_loss_decibel,
    shannon_rate,
    thermal_noise_dbm,
)
from edgeopt.instances.rescue import LogProfit, RescueInstance
from edgeopt.instances.rescue.generate import BANDWIDTH, TRANSMIT_DBM, retraining_budget
from edgeopt.models.rescue import solve_p1_lp
from edgeopt_papers.rescue.claims.evaluation import erratum
from edgeopt_papers.rescue.claims.instances import PAPER_SETTING, independent_arrivals

if TYPE_CHECKING:
    from edgeopt_papers.claims.errata import Erratum

PUBLISHED_NOISE_DBM = -40.0


def link_rate(noise_dbm: float, kilometres: float) -> float:
    """Return the rate of a link of the evaluation, bit/s."""
    ratio = decibel_to_ratio(TRANSMIT_DBM - path_loss_decibel(kilometres) - noise_dbm)
    return float(np.asarray(shannon_rate(BANDWIDTH, ratio)))


def slots_left(noise_dbm: float, kilometres: float) -> float:
    """Return the slots of 10 s left to retrain with 9 MB to send and 28 slots until the deadline.

    That is the least data and the latest deadline of the evaluation.
    """
    rate = np.array([[link_rate(noise_dbm, kilometres)]])
    return float(retraining_budget([28.0], [9.0], rate, 10.0).item())


def _profit(instance: RescueInstance) -> LogProfit:
    assert isinstance(instance.profit, LogProfit)
    return instance.profit


def _longest_paid(instance: RescueInstance) -> np.ndarray:
    """Return the longest run that earns something, slots, shape [J, K]."""
    paid = np.zeros(_profit(instance).budget.shape, dtype=int)
    for t in range(instance.horizon):
        earns = (instance.profit_block(slice(t, t + 1))[0] > 0).any(axis=2)
        last = earns.shape[2] - np.argmax(earns[:, :, ::-1], axis=2)
        paid = np.maximum(paid, np.where(earns.any(axis=2), last, 0))
    return paid


def errata() -> tuple[Erratum, ...]:
    """Evaluate all examples."""
    [(name, build)] = PAPER_SETTING.items()
    setting, crowd = build(), independent_arrivals(0.25)
    profit = _profit(setting)
    gap = profit.accuracy_gap()
    again = replace(
        profit, trained=np.full_like(profit.trained, setting.horizon - 2)
    ).accuracy_gap()
    j = int(np.argmax(np.abs(gap - again)[-1]))
    decayed = profit.accuracy[j] * np.exp(-profit.decay[j])
    return (
        erratum(
            "budget.published",
            0.0,
            float(np.ptp(profit.budget)),
            float(np.ptp(_longest_paid(setting))),
            example=name,
        ),
        erratum(
            "accuracy_gap.published",
            gap[-1, j],
            max(0.0, 1.0 - decayed / profit.best_accuracy),
            again[-1, j],
            example=name,
        ),
        erratum("recursion.published", crowd.arrival.sum(), solve_p1_lp(crowd).y.sum(), 1.0),
        erratum(
            "radio.published",
            slots_left(PUBLISHED_NOISE_DBM, 0.15),
            slots_left(float(thermal_noise_dbm(BANDWIDTH)), 0.45),
            1.0,
        ),
    )
