"""Facts behind the profit model: the end of the horizon, time budgets, accuracy, radio."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Assumption, Measurement
from edgeopt.bounds.named import one
from edgeopt.bounds.rescue.assumptions import LOG_PROFIT
from edgeopt.bounds.rescue.counterexamples import outlasting_run
from edgeopt.bounds.rescue.families import INDEPENDENT, PAPER_SETTING, TINY
from edgeopt.bounds.rescue.statement import EXACT, claim
from edgeopt.bounds.verdict import Relation
from edgeopt.instances.radio import (
    decibel_to_ratio,
    path_loss_decibel,
    shannon_rate,
    thermal_noise_dbm,
)
from edgeopt.instances.rescue import LogProfit
from edgeopt.instances.rescue.physical import BANDWIDTH, TRANSMIT_DBM, retraining_budget

if TYPE_CHECKING:
    from edgeopt.bounds.rescue.evaluation import Evaluation

__all__ = ["CLAIMS", "RadioCell", "radio_cell"]

PRINTED_NOISE_DBM = -40.0


@dataclass(frozen=True)
class RadioCell:
    """The links of the evaluation, reduced to what a time budget depends on.

    Parameters
    ----------
    noise_dbm
        Noise power, dBm.
    nearest, farthest
        Range of distances between device and server, km.
    megabytes
        Least amount of data per task, up and down, 10^6 bytes.
    deadline
        Latest deadline, slots.
    slot_seconds
        Length of a slot, s.
    """

    noise_dbm: float
    nearest: float = 0.15
    farthest: float = 0.45
    megabytes: float = 9.0
    deadline: float = 28.0
    slot_seconds: float = 10.0


@cache
def radio_cell(noise_dbm: float) -> RadioCell:
    """Distances, least data and longest deadline as printed, behind the given noise in dBm.

    At the printed -40 dBm and a macro-cell path loss the links carry 14 to 860 bit/s, so that 8 MB
    take 20 hours at best and no run ever meets a deadline of some minutes.
    """
    return RadioCell(noise_dbm)


def _budget(cell: RadioCell, kilometres: float) -> tuple[float, float]:
    """Return rate in bit/s and slots left for retraining at a distance."""
    ratio = decibel_to_ratio(TRANSMIT_DBM - path_loss_decibel(kilometres) - cell.noise_dbm)
    rate = np.asarray(shannon_rate(BANDWIDTH, ratio)).reshape(1, 1)
    left = retraining_budget([cell.deadline], [cell.megabytes], rate, cell.slot_seconds)
    return float(rate.item()), float(left.item())


def _largest_budget(cell: RadioCell) -> Measurement:
    rate, left = _budget(cell, cell.nearest)
    return Measurement(left, 1.0, {"bit_per_second": rate})


def _smallest_budget(cell: RadioCell) -> Measurement:
    rate, left = _budget(cell, cell.farthest)
    return Measurement(left, 1.0, {"bit_per_second": rate})


def _last_slot(view: Evaluation) -> Measurement:
    """Compare the baseline of the last slot with the plan's profit in it, on the worst server."""
    reward = view.instance.expected_profit_block(slice(view.instance.horizon - 1, None))[0]
    planned = np.einsum("jkl,jkl->k", view.routing(view.instance.horizon - 1), reward)
    last = view.values[1][:, -2]
    worst = int(np.argmax(np.abs(last - planned)))
    return Measurement(last[worst], planned[worst], {"baseline": last, "planned": planned})


def _held_and_dropped(view: Evaluation) -> Measurement:
    """Compare OPT(LP) when runs beyond the horizon are paid with OPT(LP) when they are not."""
    other = view.other_ending
    value = {
        view.instance.beyond: view.plan.objective,
        other.instance.beyond: other.plan.objective,
    }
    return Measurement(value["hold"], value["drop"], {"bound": view.plan.bound})


def _profit(view: Evaluation) -> LogProfit:
    profit = view.instance.profit
    if not isinstance(profit, LogProfit):
        raise AssertionError("the assumption of the claim was not tested")
    return profit


def _budget_spread(view: Evaluation) -> Measurement:
    budget = _profit(view).budget
    return Measurement(float(np.ptp(budget)), 0.0, {"budget": budget})


def _profit_past_budget(view: Evaluation) -> Measurement:
    profit = _profit(view)
    late = np.arange(1, profit.max_duration + 1) > profit.budget[:, :, None]
    largest = max(
        float((view.instance.profit_block(slice(t, t + 1))[0] * late[:, :, None]).max())
        for t in range(view.instance.horizon)
    )
    return Measurement(largest, 0.0, {"budget": profit.budget})


def _gap_after_retraining(view: Evaluation) -> Measurement:
    """Compare accuracy gaps with those of devices that were retrained one slot before."""
    profit = _profit(view)
    fresh = 1 - profit.accuracy * np.exp(-profit.decay) / profit.best_accuracy
    change = np.abs(profit.accuracy_gap() - np.maximum(fresh, 0))
    return Measurement(float(change.max()), 0.0, {"change": change}, size=1.0)


def _gap_growth(view: Evaluation) -> Measurement:
    gap = _profit(view).accuracy_gap()
    smallest = min(float(np.diff(gap, axis=0).min(initial=0.0)), float(gap.min()))
    return Measurement(smallest, 0.0, {"accuracy_gap": gap}, size=1.0)


_PRINTED_NOISE = Assumption(
    "printed noise", "noise of -40 dBm", lambda cell: cell.noise_dbm == PRINTED_NOISE_DBM
)
_THERMAL_NOISE = Assumption(
    "thermal noise",
    "thermal noise of the bandwidth",
    lambda cell: abs(cell.noise_dbm - thermal_noise_dbm(BANDWIDTH)) < 0.1,
)
_PRINTED_CELL = {"radio_cell(-40.0)": partial(radio_cell, PRINTED_NOISE_DBM)}
_THERMAL_CELL = {"radio_cell(-109.2)": partial(radio_cell, -109.2)}
_RADIO = {"instance_type": RadioCell, "view": lambda cell: cell}
_BEYOND = {**one(outlasting_run, "hold"), **one(outlasting_run, "drop")}

CLAIMS = (
    claim(
        "horizon",
        r"$\mathcal{B}_k(T) = \sum_{j,l} y_{jkl}(T) R_{jkl}(T)$, whether runs that end after the "
        "horizon are paid or not; on the worst server.",
        "equation (6)",
        _last_slot,
        Relation.EQUAL,
        {**_BEYOND, **TINY, **INDEPENDENT, **PAPER_SETTING},
        tolerance=EXACT,
    ),
    claim(
        "beyond.printed",
        r"$\mathrm{OPT}(LP)$ does not depend on what is assumed after the horizon.",
        "equations (1) and (4)",
        _held_and_dropped,
        Relation.EQUAL,
        one(outlasting_run, "hold"),
        counterexample="outlasting_run(hold)",
        corrected_by=("rescue.beyond", "rescue.horizon"),
    ),
    claim(
        "beyond",
        r"$\mathrm{OPT}(LP)$ with runs paid that end after the horizon is at least what it is "
        "without.",
        "equations (1) and (4), corrected",
        _held_and_dropped,
        Relation.AT_LEAST,
        {**_BEYOND, **TINY},
    ),
    claim(
        "budget.printed",
        r"The time budget $\bar d_l$ depends on the profile alone; its spread over devices and "
        "servers is measured, in slots.",
        "section III-B",
        _budget_spread,
        Relation.AT_MOST,
        PAPER_SETTING,
        assumptions=(LOG_PROFIT,),
        counterexample=next(iter(PAPER_SETTING)),
        corrected_by=("rescue.budget",),
    ),
    claim(
        "budget",
        "A run of device j on server k earns nothing past the budget of the pair (j, k); the "
        "largest profit past it is measured.",
        "section III-B, corrected",
        _profit_past_budget,
        Relation.AT_MOST,
        PAPER_SETTING,
        assumptions=(LOG_PROFIT,),
        tolerance=0.0,
    ),
    claim(
        "accuracy_gap.printed",
        r"$R_{jkl}(t)$ is a function of the slot although $t_0$ is the slot of the last "
        "retraining; how much the gap changes by a retraining one slot before is measured.",
        "section III-B",
        _gap_after_retraining,
        Relation.AT_MOST,
        PAPER_SETTING,
        assumptions=(LOG_PROFIT,),
        counterexample=next(iter(PAPER_SETTING)),
        corrected_by=("rescue.accuracy_gap",),
    ),
    claim(
        "accuracy_gap",
        r"With $t_0$ given in advance the accuracy gap is a function of slot and device, not "
        "negative and never falling; its smallest step or value is measured.",
        "section III-B, corrected",
        _gap_growth,
        Relation.AT_LEAST,
        PAPER_SETTING,
        assumptions=(LOG_PROFIT,),
        tolerance=EXACT,
    ),
    claim(
        "radio.printed",
        "With noise of -40 dBm behind a macro-cell path loss the nearest device with the least "
        "data and the latest deadline has a slot left to retrain.",
        "section VI-A",
        _largest_budget,
        Relation.AT_LEAST,
        _PRINTED_CELL,
        assumptions=(_PRINTED_NOISE,),
        counterexample="radio_cell(-40.0)",
        corrected_by=("rescue.radio",),
        **_RADIO,
    ),
    claim(
        "radio",
        "With thermal noise even the farthest device has a slot left to retrain.",
        "section VI-A, corrected",
        _smallest_budget,
        Relation.AT_LEAST,
        _THERMAL_CELL,
        assumptions=(_THERMAL_NOISE,),
        **_RADIO,
    ),
)
