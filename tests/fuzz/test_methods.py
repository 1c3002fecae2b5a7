"""Options and arrays of what solves, bounds, rounds and steps, each replaced by what is none."""

from __future__ import annotations

import inspect
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from edgeopt import bounds, rounding, solvers
from edgeopt.instances import edr, idn, oinc, rescue, tapfinger
from edgeopt.models import edr as edr_models
from edgeopt.models import idn as idn_models
from edgeopt.models import oinc as oinc_models
from edgeopt.models import rescue as rescue_models
from edgeopt.models import tapfinger as tapfinger_models
from edgeopt.models.edr import routing
from edgeopt.models.idn import Demand
from edgeopt.models.oinc import retraining, slot
from edgeopt.models.oinc.slot import columns
from edgeopt.models.rescue.solution import P1Relaxation
from edgeopt.online import mirror_ascent, primal_dual
from tests.fuzz.driver import Case, check, count, source
from tests.fuzz.hostile import must_refuse, shown, spoiled, value_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ONES = np.ones(3)
SEARCH = {"gap": 1e-3, "time_limit": 5.0}
STEP = {"point": ONES, "gradient": ONES, "energy": ONES, "upper": ONES, "cap": 2.0, "step": 0.5}
FLOW = {"midpoint": True, "one_site": True, "horizon": 9}
STARTS = {"bundles": "efficient", "horizon": 30, "relax": True, "grouped": True}
ROUTED = {"elastic": "soft", "gap": 1e-6}


@cache
def given(name: str) -> Any:
    """Return what methods are called with, built once."""
    if name == "demand":
        return Demand.of(given("idn"))
    if name in ("rescue", "idn", "edr", "oinc", "tapfinger"):
        return {"rescue": rescue, "idn": idn, "edr": edr, "oinc": oinc, "tapfinger": tapfinger}[
            name
        ].small(1)
    if name == "schedule":
        return tapfinger_models.scheduling_problem(given("tapfinger"))
    if name == "slot":
        return slot.slot_problem(given("oinc"), 0)
    if name == "jobs":
        return retraining.retraining_problem(given("oinc"))
    if name == "conditions":
        return routing.conditions(given("edr"), 0, 0)
    if name == "routes":
        return routing.routing_problem(given("edr"), given("conditions"), price=1.0)
    return solvers.LinearProgram([3, 2], [[1, 1], [1, 0]], -np.inf, [4, 2], sense="max")


METHODS: tuple[tuple[Callable[..., Any], tuple[str, ...], dict[str, Any]], ...] = (
    (rescue_models.safe_bound, ("rescue",), {"steps": 3, "grid": 0.5}),
    (rescue_models.p1_lp_matrix, ("rescue",), {"aggregated": True, "forbid_unsafe": True}),
    (P1Relaxation, ("rescue",), {"forbid_unsafe": True}),
    (
        rescue_models.solve_p1_lp, ("rescue",),
        SEARCH | {"method": "auto", "forbid_unsafe": True, "threads": 1},
    ),
    (idn_models.placement_matrix, ("idn", "demand"), {"relax": True, "aggregate": True}),
    (idn_models.cooperative_matrix, ("idn", "demand"), {"relax": True, "aggregate": True}),
    (idn_models.solve_placement, ("idn", "demand"), {"relax": True, "aggregate": True}),
    (idn_models.solve_cooperative, ("idn", "demand"), SEARCH | {"method": "auto"}),
    (oinc_models.weighted_sum_bound, ("oinc",), {"gap": 1e-3}),
    (oinc_models.least_latency, ("slot",), {"refusal": 3.0, "gap": 1e-3}),
    (oinc_models.slot_misocp, ("slot",), {"objectives": True, "relax": True}),
    (oinc_models.joint, ("oinc",), {"objectives": True, "relax": True, "slots": 9}),
    (oinc_models.joint_misocp, ("oinc",), {"objectives": True, "relax": True, "slots": 9}),
    (
        slot.allocate, (),
        {"transmission": ONES, "computation": ONES, "slo": 9 * ONES, "room": 1.0, "weight": ONES},
    ),
    (
        slot.closed_form_cost, (),
        {"transmission": ONES, "computation": ONES, "room": 1.0, "weight": ONES},
    ),
    (slot.fits, (), {"transmission": ONES, "computation": ONES, "slo": 9 * ONES, "room": 1.0}),
    (slot.assign, ("slot",), {"urgency": 0.5, "kicks": 3}),
    (slot.solve_slot, ("slot",), {"objectives": True, "unfit": "late", "late": 3.0}),
    (slot.slot_problem, ("oinc",), {"slot": 0, "reserved": 0.5}),
    (columns.slot_bound, ("slot",), SEARCH | {"objectives": True}),
    (columns.solve_by_columns, ("slot",), SEARCH | {"objectives": True}),
    (retraining.retraining_problem, ("oinc",), {"share": 1.0, "weights": "constant"}),
    (retraining.horizon, ("jobs",), {"service": "fluid"}),
    (
        retraining.flow_bound, ("jobs",),
        {"service": "fluid", "strong": True, "midpoint": False, "horizon": 99, "gap": 1e-4,
         "method": "patterns"},
    ),
    (retraining.flow_matrix, ("jobs",), FLOW),
    (retraining.dual_matrix, ("jobs",), FLOW),
    (retraining.flow_lp, ("jobs",), FLOW),
    (edr_models.colocation_matrix, ("edr",), {"relax": True}),
    (
        edr_models.solve_offline, ("edr",),
        {"relax": True, "method": "benders", "gap": 1e-3, "time_limit": 5.0},
    ),
    (edr_models.frame_comparator, ("edr",), {"frame": 0, "cap": 5.0}),
    (edr_models.take_step, (), STEP),
    (edr_models.step_nlp, (), STEP),
    (edr_models.step_program, (), STEP),
    (routing.conditions, ("edr",), {"frame": 0, "slot": 0}),
    (
        routing.routing_problem, ("edr", "conditions"),
        {"price": 1.0, "training": np.zeros(3), "budget": 9.0, "split": "even",
         "energy_weight": 1.0, "delay_weight": 1.0, "energy_price": 0.0},
    ),
    (routing.solve_routing, ("routes",), ROUTED),
    (routing.routing_matrix, ("routes",), {"elastic": "soft"}),
    (tapfinger_models.scheduling_problem, ("tapfinger",), {"single_start": True}),
    (tapfinger_models.scenario_problem, ("tapfinger",), {"scenario": 3, "single_start": True}),
    (
        tapfinger_models.scenario_bound, ("tapfinger",),
        {"scenarios": [3], "method": "best", "time_limit": 5.0},
    ),
    (tapfinger_models.best_list, ("schedule",), {"tries": 3, "rng": 1}),
    (tapfinger_models.list_schedule, ("schedule",), {"pressure": 0.5}),
    (tapfinger_models.start_matrix, ("schedule",), STARTS),
    (tapfinger_models.start_program, ("schedule",), STARTS),
    (
        tapfinger_models.optimal_schedule, ("schedule",),
        {"bundles": "efficient", "time_limit": 5.0, "gap": 0.1, "backend": "highs"},
    ),
    (tapfinger_models.relaxation, ("schedule",), {"time_limit": 5.0}),
    (tapfinger_models.pooled_bound, ("schedule",), SEARCH | {"block": 2}),
    (
        tapfinger_models.flow_bound, ("tapfinger",),
        {"preemptive": True, "method": "best", "time_limit": 5.0},
    ),
    (
        solvers.solve, ("program",),
        {"solver": "highs", "algorithm": "simplex", "time_limit": 5.0, "gap": 1e-3,
         "absolute_gap": 0.0, "tolerance": 1e-7, "threads": 1, "raises": True},
    ),
    (solvers.Reusable, ("program",), {"algorithm": "simplex", "time_limit": 5.0, "threads": 1}),
    (solvers.explain, ("program",), {"time_limit": 5.0}),
    (rounding.independent, (), {"y": ONES / 2, "rng": 1}),
    (
        rounding.depround, (),
        {"y": ONES / 2, "weights": ONES, "rng": 1, "residual": "bernoulli", "order": "index"},
    ),
    (
        rounding.pairwise, (),
        {"x": 1.5 * ONES, "weights": ONES, "rng": 1, "residual": "bernoulli", "margin": 0.5},
    ),
    (rounding.reduced_limit, (), {"limit": 3.0, "weights": ONES, "residual": "bernoulli"}),
    (
        bounds.competitive_ratio, (),
        {"profits": np.ones((3, 4)), "bound": 2.0 * np.ones(3), "confidence": 0.9},
    ),
    (bounds.paired_difference, (), {"a": ONES, "b": 2.0 * ONES, "confidence": 0.9}),
    (bounds.paired_ratio, (), {"a": ONES, "b": 2.0 * ONES, "confidence": 0.9}),
    (bounds.dynamic_fit, (), {"constraints": np.ones((3, 4, 2)), "confidence": 0.9}),
    (
        bounds.dynamic_regret, (),
        {"costs": np.ones((3, 4)), "comparators": np.ones(4), "confidence": 0.9},
    ),
    (
        bounds.regret, (),
        {"outcomes": ONES, "benchmark": 2.0 * ONES, "cost": True, "confidence": 0.9},
    ),
    (bounds.psi_regret, (), {"gains": ONES, "best_static": 2.0, "psi": 0.5, "confidence": 0.9}),
    (
        bounds.growth_exponent, (),
        {"horizons": np.arange(1.0, 5.0), "values": np.ones((3, 4)), "confidence": 0.9,
         "skip": True},
    ),
    (mirror_ascent.AdaptiveStep, (), {"scale": 10.0, "reach": 1.0}),
    (mirror_ascent.FixedStep, (), {"value": 0.5}),
    (mirror_ascent.TheoryStep, (), {"largest": 1.0, "horizon": 9}),
    (mirror_ascent.KnapsackEntropy, (), {"size": ONES, "budget": 2.0, "fill": True}),
    (mirror_ascent.KnapsackEuclidean, (), {"size": ONES, "budget": 2.0, "fill": True}),
    (mirror_ascent.BoxEuclidean, (), {"lower": np.zeros(3), "upper": ONES}),
    (
        partial(mirror_ascent.MirrorAscent, mirror_ascent.KnapsackEntropy(ONES, 2.0)), (),
        {"rule": mirror_ascent.FixedStep(0.5), "ascent": "mirror"},
    ),
    (primal_dual.Box, (), {"lower": np.zeros(3), "upper": ONES}),
    (primal_dual.FixedStep, (), {"primal": 0.5, "dual": 0.5}),
    (primal_dual.ScaledStep, (), {"horizon": 9, "point": 1.0, "gradient": 1.0}),
    (primal_dual.VariationStep, (), {"horizon": 9, "path": 1.0, "drift": 1.0}),
    (primal_dual.PrimalDual, (), {"rule": primal_dual.FixedStep(0.5, 0.5)}),
)  # fmt: skip


def cases() -> Iterator[Case]:
    draw = source("methods")
    for n in range(count("methods")):
        method, first, right = METHODS[n % len(METHODS)]
        name = list(right)[int(draw.integers(len(right)))]
        if isinstance(right[name], np.ndarray) and draw.random() < 0.5:
            label, value, refused = spoiled(right[name], draw)
            # A row has no other axes to be cut along, and what stands alone is as long as it is.
            refused = refused and label == "masked"
        else:
            value = value_for(draw)
            label, refused = shown(value), must_refuse(name, value, right[name])
            refused = refused and not (value is None and _default(method, name) is None)
        options = {**right, name: value}
        yield Case(
            f"{getattr(method, '__module__', '')}.{getattr(method, '__name__', method)}: "
            f"{name}={label}",
            lambda method=method, first=first, options=options: method(
                *map(given, first), **options
            ),
            refused,
        )


def _default(method: Callable[..., Any], name: str) -> Any:
    parameters = inspect.signature(method).parameters
    return parameters[name].default if name in parameters else None


def test_methods():
    for first in {name for _, names, _ in METHODS for name in names}:
        given(first)
    check(cases())


def test_what_is_right_is_taken():
    for method, first, right in METHODS:
        method(*map(given, first), **right)
