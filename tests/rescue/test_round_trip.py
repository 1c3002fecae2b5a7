"""A saved instance is the same instance: same plan, same runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.instances.rescue import RescueInstance, generate
from edgeopt.models.rescue import p1_lp_matrix, solve_p1_lp
from edgeopt.online import simulate
from edgeopt.online.rescue import Rescue, RescueEnvironment, RescuePlus, value_functions
from tests.draws import draws
from tests.oracles.rescue import plain
from tests.rescue.cases import cases


def reload(instance, folder):
    path = Path(folder) / "instance.nc"
    instance.save(path)
    return RescueInstance.load(path)


def check_same_results(instance, again):
    assert again == instance
    assert again.fingerprint() == instance.fingerprint()
    before, after = p1_lp_matrix(instance), p1_lp_matrix(again)
    assert np.array_equal(before.cost, after.cost)
    assert (before.matrix != after.matrix).nnz == 0
    assert np.array_equal(before.row_upper, after.row_upper)
    plan, repeated = solve_p1_lp(instance), solve_p1_lp(again)
    assert plan.objective == repeated.objective
    assert plan.bound == repeated.bound
    assert np.array_equal(plan.y, repeated.y)
    for x, y in zip(
        value_functions(instance, plan.y), value_functions(again, repeated.y), strict=True
    ):
        assert np.array_equal(x, y)
    for kind in (Rescue, RescuePlus):
        a = simulate(RescueEnvironment(instance), kind(plan=plan, guarded=True), rng=7, runs=3)
        b = simulate(RescueEnvironment(again), kind(plan=repeated, guarded=True), rng=7, runs=3)
        for name in ("reward", "violations", "decisions", "retraining_work", "reserved_work"):
            assert np.array_equal(getattr(a, name), getattr(b, name))


# writing and reading a file takes most of the time: fewer examples than elsewhere
@settings(max_examples=draws(25))
@given(cases())
def test_a_saved_instance_gives_the_same_results(instance):
    with tempfile.TemporaryDirectory() as folder:
        again = reload(instance, folder)
    assert plain(again, float) == plain(instance, float)
    check_same_results(instance, again)


@pytest.mark.parametrize("beyond", ["hold", "drop"])
def test_a_saved_physical_instance_gives_the_same_results(tmp_path, beyond):
    instance = generate(servers=2, devices=3, profiles=2, horizon=15, reserved=4, rng=2)
    instance = instance.replace(beyond=beyond)
    check_same_results(instance, reload(instance, tmp_path))
