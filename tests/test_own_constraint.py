"""Constraints of users: few lines, and the numbers of second programs and of simulations."""

from __future__ import annotations

import ast
import runpy
from pathlib import Path

import pyomo.environ as pyo
import pytest

from edgeopt import study
from edgeopt.instances import edr, idn, oinc, rescue
from edgeopt.models.oinc import SlotProgram
from edgeopt.models.rescue import P1Solution, p1_lp
from edgeopt.online import simulate
from edgeopt.online.edr import EdrEnvironment
from edgeopt.online.idn import IdnEnvironment
from edgeopt.online.oinc import OincEnvironment
from edgeopt.online.rescue import RescueEnvironment, occupation, policy_value

SCRIPT = Path(__file__).parents[1] / "examples" / "own_constraint.py"
USER = runpy.run_path(str(SCRIPT), run_name="own_constraint")
RESCUE = rescue.generate(servers=2, devices=4, profiles=2, horizon=20, reserved=3, rng=3)


def test_users_write_few_lines():
    """A line more, the study, is theirs as well."""
    lines = {
        one.name: sum(isinstance(each, ast.stmt) for each in ast.walk(one)) - 2  # def, docstring
        for one in ast.parse(SCRIPT.read_text()).body
        if isinstance(one, ast.FunctionDef)
    }
    for name, most in {"fairness": 5, "quota": 4, "licences": 6, "egress": 7, "vendor": 4}.items():
        assert lines[name] + 1 <= most


def test_a_floor_for_every_device_is_missed_by_the_policy_that_follows():
    plan = USER["fairness"](RESCUE)
    assert plan.bound == pytest.approx(1.3254, abs=1e-4)
    assert plan.duals_of("fair")["fair[3]"] == pytest.approx(-0.0104, abs=1e-4)
    assert policy_value(RESCUE, plan.policy()) == pytest.approx(0.8347, abs=1e-4)
    assert occupation(RESCUE, plan.policy()).sum(axis=(0, 2, 3))[3] == pytest.approx(
        0.538, abs=1e-3
    )
    runs = simulate(RescueEnvironment(RESCUE), plan.policy(), runs=200)
    assert abs(runs.total.mean() - 0.8347) <= 5 * runs.total.std() / 200**0.5


def test_a_limit_for_every_device_is_kept_in_expectation():
    plan = USER["quota"](RESCUE)
    assert plan.bound == pytest.approx(0.2294, abs=1e-4)
    duals = plan.duals_of("quota").values()
    assert (round(min(duals), 2), round(max(duals), 2)) == (0.17, 0.31)
    begun = occupation(RESCUE, plan.policy()).sum(axis=(0, 2, 3))
    assert (begun <= 0.25 + 1e-9).all()


def test_licences_of_large_models():
    instance = idn.generate(horizon=5, rng=0)
    plan = USER["licences"](instance)
    assert plan.objective == pytest.approx(59.56, abs=5e-3)
    assert plan.gap <= 1e-3
    large = (instance.size > 200) & ~instance.pinned[:, None]
    assert plan.allocation[large].sum() <= 6
    runs = simulate(IdnEnvironment(instance), plan.policy(), runs=1)
    assert runs.total[0] / instance.horizon == pytest.approx(plan.objective, rel=1e-6)


def test_egress_of_a_site():
    instance = edr.generate(sites=3, tasks=3, frames=6, slots=3, rng=1)
    plan = USER["egress"](instance)
    assert plan.objective == pytest.approx(3610.066067, rel=1e-9)
    runs = simulate(EdrEnvironment(instance), plan.policy(), runs=1)
    assert runs.total[0] == pytest.approx(plan.objective, rel=1e-9)


def test_a_vendors_site():
    instance = oinc.generate(slots=6, jobs=2, devices=8, sites=3, rng=2)
    plan = SlotProgram.of(instance, USER["vendor"])
    assert plan.bound == pytest.approx(1.4530, abs=1e-4)
    assert sum(plan.base.scaled_parts) == pytest.approx(1.4315, abs=1e-4)
    runs = simulate(OincEnvironment(instance), plan.policy(), runs=1)
    assert runs.complete.all()
    assert (runs.site >= 0).all()


def test_a_study_says_who_keeps_the_constraint():
    instance = edr.generate(sites=3, tasks=3, frames=6, slots=3, rng=1)
    plan = USER["egress"](instance)
    assert [check.name for check in plan.checks] == ["egress"]
    table = study(instance, [plan, "even_rate"], bounds={"egress": plan}, claims=False).table
    rows = table.set_index("policy")
    assert rows.loc["Plan", "kind"] == "hindsight"
    assert rows["egress"].to_dict() == {"Plan": "kept", "even_rate": "broken"}
    assert rows.loc["Plan", "bound"] == "egress"
    assert rows.loc["Plan", "gap"] == pytest.approx(0.0, abs=1e-9)
    assert rows.loc["even_rate", "bound"] != "egress"
    assert rows.loc["even_rate", "why:egress"] == "egress: broken exact"


def test_what_no_run_tells_is_not_resolved():
    model = p1_lp(RESCUE)
    model.own = pyo.Var(bounds=(0, 0.1))
    model.uses = pyo.Constraint(expr=pyo.quicksum(model.y.values()) <= 5 * model.own)
    [check] = P1Solution.of(model, RESCUE).checks
    assert (check.name, check.measure) == ("uses", None)
    instance = oinc.generate(slots=2, jobs=1, devices=4, sites=3, rng=2)
    plan = SlotProgram.of(instance, USER["vendor"])
    assert [check.name for check in plan.checks] == ["vendor", "no request refused"]
    assert SlotProgram.of(instance, lambda slot: []).checks == ()
