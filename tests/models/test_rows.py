"""Rows of users' constraints, and what a user's program adds to the one that edgeopt builds."""

from __future__ import annotations

import pickle
import re

import cvxpy as cp
import numpy as np
import pyomo.environ as pyo
import pytest

from edgeopt.errors import ProblemTypeError
from edgeopt.instances.oinc import generate as generate_oinc
from edgeopt.instances.rescue import generate
from edgeopt.models.oinc import joint
from edgeopt.models.rescue import p1_lp
from edgeopt.models.rows import compare, rows_of

INSTANCE = generate(servers=2, devices=3, profiles=2, horizon=6, reserved=2, rng=0)
SERVED = next(iter(p1_lp(INSTANCE).x))  # a reserved task and a slot of its window


def changed_by(edit):
    model = p1_lp(INSTANCE)
    edit(model)
    return compare(model, p1_lp(INSTANCE))


def fair(model):
    model.fair = pyo.Constraint(
        model.devices, rule=lambda m, j: pyo.quicksum(m.y[k] for k in m.y if k[1] == j) >= 0.1
    )


def test_rows_are_what_the_modelling_language_says_at_a_point():
    model, rng = p1_lp(INSTANCE), np.random.default_rng(1)
    fair(model)
    model.two = pyo.Constraint(expr=(0.5, 2.0 * model.y[0, 0, 0, 0] + 3.0 - model.x[SERVED], 4.0))
    for variable in model.component_data_objects(pyo.Var):
        variable.set_value(float(rng.random()), skip_validation=True)
    point = {v.name: v.value for v in model.component_data_objects(pyo.Var)}
    for component in model.component_objects(pyo.Constraint):
        rows = pickle.loads(pickle.dumps(rows_of(component)))
        assert rows.name == component.name
        data = list(component.values())
        assert rows.at(point) == pytest.approx([pyo.value(c.body) for c in data])
        for side, theirs in ((rows.lower, "lower"), (rows.upper, "upper")):
            stated = [pyo.value(getattr(c, theirs)) for c in data]
            absent = -np.inf if theirs == "lower" else np.inf
            assert side.tolist() == [absent if s is None else s for s in stated]


def test_rows_of_a_constraint_of_cvxpy():
    y, s = cp.Variable((3, 2), name="y"), cp.Variable(name="s")
    numbers, scalar = np.arange(6.0).reshape(3, 2), 4.0
    point = {f"y[{i},{j}]": numbers[i, j] for i in range(3) for j in range(2)} | {"s": scalar}
    for constraint in (cp.sum(y[:, 0]) <= s + 2, 3 * y.T >= 1, y[0] == s, cp.sum(y @ [1, 2]) <= 1):
        rows = rows_of(constraint, "mine")
        assert y.value is None, "values of the user's variables are left as they were"
        y.value, s.value = numbers, scalar
        assert rows.at(point) == pytest.approx(np.ravel(constraint.expr.value, order="F"))
        y.value = s.value = None
        one_sided = "<=" in str(constraint)
        assert (rows.upper == 0.0).all()
        assert (rows.lower == (-np.inf if one_sided else 0.0)).all()
    with pytest.raises(ProblemTypeError, match="only affine"):
        rows_of(cp.norm(y[:, 0]) <= 1)
    with pytest.raises(ProblemTypeError, match="float is no constraint"):
        rows_of(1.0)


def test_a_model_as_it_is_whatever_the_order():
    def reorder(model):
        was = model.eq_3a
        index, body = list(was), {key: was[key].expr for key in was}
        model.del_component(was)
        model.eq_3a = pyo.Constraint(index[::-1], rule=lambda _, t, j: body[t, j])

    assert changed_by(lambda model: None).program == "as it is"
    assert changed_by(reorder).program == "as it is"


def test_what_is_added():
    def more(model):
        fair(model)
        model.y[0, 0, 0, 0].fix(0)
        model.x[SERVED].setub(0.5)
        model.own = pyo.Var(bounds=(0, 1))
        model.uses = pyo.Constraint(expr=model.own <= model.y[0, 1, 0, 0])

    found = changed_by(more)
    assert found.program == "extended"
    assert not found.changed
    assert [rows.name for rows in found.added] == ["fair", "uses"]
    assert [(row.name, row.lower, row.upper) for row in found.narrowed.rows] == [
        ("y[0,0,0,0]", 0.0, 0.0),
        ("x[{},{}]".format(*SERVED), 0.0, 0.5),
    ]
    assert found.rows[0].lower.tolist() == [0.1] * INSTANCE.devices


def replace_objective(model, sense, factor=1.0):
    goal = factor * model.profit.expr
    model.profit.deactivate()
    model.other = pyo.Objective(expr=goal, sense=sense)


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (lambda m: m.del_component("eq_3b"), "eq_3b is missing or deactivated"),
        (lambda m: m.eq_2d.deactivate(), "eq_2d is missing or deactivated"),
        (lambda m: m.eq_3a[2, 1].deactivate(), r"eq_3a\[2,1\]: missing, deactivated or"),
        (lambda m: m.eq_3b[1, 3].set_value(m.eq_3b[1, 3].body <= 1.5), r"eq_3b\[1,3\]: not as it"),
        (lambda m: m.eq_3b[1, 3].set_value(m.eq_3b[1, 3].body >= 1.0), r"eq_3b\[1,3\]: not as it"),
        (
            lambda m: m.eq_3b[1, 3].set_value(m.eq_3b[1, 3].body + m.y[0, 0, 0, 0] <= 1.0),
            r"eq_3b\[1,3\]: not as it was",
        ),
        (lambda m: m.x[SERVED].setub(2), r"x.* may take values"),
        (lambda m: replace_objective(m, pyo.minimize), "the objective is another one"),
        (lambda m: replace_objective(m, pyo.maximize, 2.0), "the objective is another one"),
        (lambda m: m.profit.deactivate(), "the objective is another one"),
    ],
)
def test_what_is_changed(edit, sentence):
    found = changed_by(edit)
    assert found.program == "other"
    [found] = found.changed
    assert re.match(sentence, found)


def test_a_variable_that_need_not_be_whole_any_more_is_another():
    model = p1_lp(INSTANCE)
    for variable in model.y.values():
        variable.domain = pyo.Binary
    found = compare(model, p1_lp(INSTANCE))
    assert found.program == "extended"
    assert len(found.narrowed.nonlinear) == len(model.y)
    assert compare(p1_lp(INSTANCE), model).program == "other"


def test_cones_are_compared_by_name():
    instance = generate_oinc(slots=1, jobs=1, devices=2, sites=2, rng=0)
    model, base = joint(instance), joint(instance)
    assert compare(model, base).program == "as it is"
    model.spread = pyo.Constraint(expr=pyo.quicksum(v**2 for v in model.v.values()) <= 1)
    found = compare(model, base)
    assert found.program == "extended"
    assert found.added[0].nonlinear == ("spread",)
    with pytest.raises(ProblemTypeError, match="spread: only linear rows"):
        found.added[0].at({})
    model.cone_cpu.deactivate()
    assert compare(model, base).changed == ("cone_cpu is missing or deactivated",)
