"""Problem P: declarative and compiled forms, and how training is spread over slots."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import InputError
from edgeopt.instances.edr import small
from edgeopt.models.edr.matrix import colocation_columns, colocation_matrix
from edgeopt.models.edr.penalties import late_price, served_cap, unserved_price
from edgeopt.models.edr.programs import colocation
from edgeopt.solvers import solve
from edgeopt.testing.strategies import edr_instances
from tests.draws import draws
from tests.models.matrix_forms import assert_same_program

AXES = {
    "x": ("frame", "task"),
    "missing": ("task",),
    "y": ("frame", "slot", "origin", "site", "type"),
    "unserved": ("frame", "slot", "origin", "type"),
    "eq_1a": ("task",),
    "eq_1b": ("frame",),
    "eq_1d": ("frame", "slot", "origin", "type"),
    "eq_1g": ("frame", "site"),
    "eq_1h": ("frame", "slot", "site"),
}


def without_spreading(model):
    """Add up (1f), (1g) and (1h) of a frame and site, so that z leaves; (1h) keeps the requests."""
    fits = {}
    for t, k in model.eq_1g:
        slots = [model.eq_1h[key] for key in model.eq_1h if (key[0], key[2]) == (t, k)]
        spread = sum(one.body for one in slots) + model.eq_1g[t, k].body - model.eq_1f[t, k].body
        fits[t, k] = spread <= sum(pyo.value(one.upper) for one in slots)
    serving = {(t, s, k) for t, s, _, k, _ in model.y}
    for key in list(model.eq_1h):
        own, upper = model.eq_1h[key].body, pyo.value(model.eq_1h[key].upper)
        del model.eq_1h[key]
        if key in serving:
            own = own - model.z_slot[key] if key in model.z_slot else own
            model.eq_1h[key] = own <= upper
    for name in ("eq_1f", "eq_1g", "z", "z_slot"):
        model.del_component(name)
    model.eq_1g = pyo.Constraint(list(fits), rule=lambda _, *key: fits[key])
    return model


@given(edr_instances(), st.booleans())
@settings(max_examples=draws(60))
def test_the_matrix_form_holds_the_declared_rows(instance, relax):
    model = without_spreading(colocation(instance, relax=relax))
    assert_same_program(model, colocation_matrix(instance, relax=relax), AXES)


@given(edr_instances(), st.booleans())
def test_leaving_out_how_training_is_spread_is_exact(instance, relax):
    whole = solve(colocation(instance, relax=relax), gap=1e-9)
    reduced = solve(colocation_matrix(instance, relax=relax), gap=1e-9)
    assert reduced.objective == pytest.approx(whole.objective, rel=1e-7, abs=1e-7)


@given(edr_instances())
@settings(max_examples=draws(60))
def test_the_penalties_are_dearer_than_what_they_replace(instance):
    late, lost = late_price(instance), unserved_price(instance)
    assert (late >= 0).all()
    for i in range(instance.tasks):
        window = slice(instance.arrival[i], instance.deadline[i] + 1)
        mean = instance.round_cost[window, i].mean()
        assert late[i] == pytest.approx(2 * max(mean, 0.0), rel=1e-12)
    columns = colocation_columns(instance)
    t, s, j, k, n = columns.route.T
    energy = instance.energy_per_work[k] * instance.request_work[n]
    cost = instance.energy_weight * instance.price[t] * energy
    delay = [instance.request_seconds(*pair)[at] for *pair, at in zip(t, s, zip(j, k, n))]  # noqa: B905
    cost += instance.delay_weight * np.array(delay)
    assert (cost <= lost[n] / 2 * (1 + 1e-12)).all()


@given(edr_instances())
@settings(max_examples=draws(40))
def test_a_raised_cap_leaves_just_enough_to_serve_all_that_can_be(instance):
    # From the linear program: as many requests as can be, then with the least energy.
    program = colocation_matrix(instance, cap=np.full(instance.frames, np.inf), relax=True)
    columns = colocation_columns(instance)
    first = len(columns.rounds) + instance.tasks
    t, _, _, k, n = columns.route.T
    upper = program.upper.copy()
    upper[: len(columns.rounds)] = 0.0
    least = np.zeros(instance.frames)
    for frame in np.unique(t):
        cost = np.zeros(program.shape[1])
        cost[first : first + t.size] = instance.request_energy[k, n] * (t == frame)
        cost[first + t.size :] = 1e4 * (columns.asked[:, 0] == frame)
        found = solve(program.replace(cost=cost, upper=upper)).values
        least[frame] = cost[first : first + t.size] @ found[first : first + t.size]
    for share in (0.0, 0.75, 1.5):
        given = replace(instance, cap=share * least + (share > 1))
        assert served_cap(given) == pytest.approx(np.maximum(given.cap, least), rel=1e-6, abs=1e-6)
    assert np.isposinf(served_cap(replace(instance, cap=np.full(instance.frames, np.inf)))).all()


@pytest.mark.parametrize(
    ("cap", "named"), [([1.0], "shape"), ([-1.0] * 9, r"cap\[0\] = -1.0"), ([np.nan] * 9, "cap")]
)
@pytest.mark.parametrize("build", [colocation, colocation_matrix])
def test_wrong_caps_are_named(build, cap, named):
    instance = small(0)
    wrong = cap if len(cap) == 1 else cap[:1] * instance.frames
    with pytest.raises(InputError, match=named):
        build(instance, cap=wrong)
