"""RESCUE+, a step of policy improvement on Algorithm 1; and the end of the horizon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgeopt.bounds.claim import Measurement
from edgeopt_papers.claims.paper import named_instance
from edgeopt_papers.rescue.claims.assumptions import EXCLUSIVE
from edgeopt_papers.rescue.claims.assumptions import INDEPENDENT as INDEPENDENT_ARRIVALS
from edgeopt_papers.rescue.claims.evaluation import EXACT, Evaluation, claim
from edgeopt_papers.rescue.claims.exhaustive import evaluate
from edgeopt_papers.rescue.claims.instances import INDEPENDENT, PAPER_SETTING, TINY, outlasting_run

if TYPE_CHECKING:
    from numpy.typing import NDArray


def _improved(view: Evaluation) -> float:
    return evaluate(view.instance, view.improved()).profit


def _improved_by_turn(view: Evaluation) -> float:
    return evaluate(view.instance, view.improved_by_turn()).profit


def _no_worse_by_turn(view: Evaluation) -> Measurement:
    earned = view.microslot_earned
    return Measurement(_improved_by_turn(view), earned.sum(), {"earned": earned})


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


_BEYOND = {**named_instance(outlasting_run, "hold"), **named_instance(outlasting_run, "drop")}


def reserved_price(view: Evaluation) -> NDArray[np.float64]:
    r"""Return what a slot of a server is worth to its reserved tasks.

    :math:`\rho_k(t) = c_k(t) \max_i \pi_i` over the tasks i of server k whose window contains t,
    :math:`\pi_i` being what one TMAC less of demand would add to OPT(LP).
    """
    instance, tasks = view.instance, view.instance.reserved
    price = np.zeros((instance.servers, instance.horizon))
    saving = np.maximum(-view.plan.duals.reserved, 0)
    for k, start, end, worth in zip(tasks.server, tasks.start, tasks.end, saving, strict=True):
        window = price[k, start : end + 1]
        np.maximum(window, worth, out=window)
    return price * instance.capacity


def priced_values(
    view: Evaluation,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    r"""Run the recursion (4)-(6) on :math:`R_{jkl}(t) - \sum_a \Pr(d_l > a) \rho_k(t+a)`.

    Profits below zero count as zero: such a pair is rejected either way.
    """
    from edgeopt.online.rescue import value_functions

    instance = view.instance
    price = reserved_price(view)
    charge = np.zeros((instance.horizon, instance.servers, instance.profiles))
    for age in range(min(instance.max_duration, instance.horizon)):
        charge[: instance.horizon - age] += (
            price.T[age:, :, None] * instance.survival[None, None, :, age]
        )
    net = np.maximum(instance.expected_profit - charge[:, None], 0)
    priced = instance.replace(profit=net[..., None], beyond="hold")
    activation, baseline = value_functions(priced, view.routings)
    threshold = np.broadcast_to(
        baseline.T[1:, None, :], (*instance.arrival.shape, instance.servers)
    )
    return activation, threshold, price


CLAIMS = (
    claim(
        "plus",
        lambda view: Measurement(_improved(view), view.earned.sum(), {"earned": view.earned}),
        TINY,
        assumptions=(EXCLUSIVE,),
        tolerance=EXACT,
    ),
    claim(
        "plus.half",
        lambda view: view.against_bound(_improved(view), {}),
        TINY,
        assumptions=(EXCLUSIVE,),
    ),
    claim(
        "plus.optimum",
        lambda view: Measurement(_improved(view), view.online, {}),
        TINY,
        assumptions=(EXCLUSIVE,),
        tolerance=EXACT,
    ),
    claim(
        "plus.microslot",
        _no_worse_by_turn,
        INDEPENDENT,
        assumptions=(INDEPENDENT_ARRIVALS,),
        tolerance=EXACT,
    ),
    claim(
        "plus.microslot.half",
        lambda view: view.against_bound(_improved_by_turn(view), {}),
        INDEPENDENT,
        assumptions=(INDEPENDENT_ARRIVALS,),
    ),
    claim("horizon", _last_slot, (_BEYOND, TINY, INDEPENDENT, PAPER_SETTING), tolerance=EXACT),
    claim("beyond.published", _held_and_dropped, named_instance(outlasting_run, "hold")),
    claim("beyond", _held_and_dropped, (_BEYOND, TINY)),
)
